"""The notebooks that are made from the texts: a chapter's Colab copy and its exercises."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import nbformat
from nbformat import NotebookNode

from attncourse.cells import exercise_of
from tools.blocks import Cell
from tools.book import Book, Document
from tools.markdown import Writer, captioned
from tools.setup_cell import setup_cell
from tools.stubs import stub_of
from tools.urls import repository_url

BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
LEVELS = {1: "★☆☆ easy", 2: "★★☆ medium", 3: "★★★ hard"}
# what hides a cell's code on the site hides it in Jupyter and in Colab too
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def chapter_notebook(slug: str, book: Book) -> NotebookNode:
    """The copy of a chapter that runs in Colab."""
    document = book.documents[f"chapters/{slug}"]
    here = f"the notebook of [{document.title}]({book.page_url(document.name)})"
    notebook = opening(book, document.name, f"This is {here}, a chapter of")
    notebook.cells += [cell for made in written(document, book) for cell in made]
    return finished(notebook)


def exercise_notebook(
    slug: str, book: Book, exercises: Mapping | None = None, solved: bool = False
) -> NotebookNode:
    """A chapter's exercises, with empty answers, or with the worked ones where `solved`."""
    exercises = known_exercises(slug) if exercises is None else exercises
    page = book.documents.get(f"exercises/{slug}")
    if page is None:
        raise ValueError(f"exercises/{slug} is not in _toc.yml, or solutions/{slug}.md is missing")
    cells, stubs = without_stubs(page)
    document = replace(page, cells=cells)
    chapter = book.documents[f"chapters/{slug}"]
    there = f"[{chapter.title}]({book.page_url(chapter.name)})"
    notebook = opening(book, document.name, f"These are the exercises of {there}, a chapter of")
    answered = []
    for cell, made in zip(document.cells, written(document, book), strict=True):
        if "answer" not in cell.tags:
            notebook.cells += made
            continue
        name = answer_name(cell, document, exercises)
        answered.append(name)
        source = cell.source if solved else stubs.get(name) or stub_of(cell.source)
        notebook.cells += exercise_cells(name, exercises[name], source)
    if twice := [name for name, count in Counter(answered).items() if count > 1]:
        raise ValueError(f"{document.path}: answered twice: {', '.join(twice)}")
    if absent := sorted(set(exercises) - set(answered)):
        raise ValueError(f"{document.path}: no answer cell for {', '.join(absent)}")
    if unused := sorted(set(stubs) - set(answered)):
        raise ValueError(f"{document.path}: a stub but no answer cell for {', '.join(unused)}")
    notebook.cells.append(
        code("status", "from attncourse import status\n\nstatus()", tags=["nbval-ignore-output"])
    )
    return finished(notebook)


def solved_notebook(slug: str) -> NotebookNode:
    """A chapter's exercise notebook with the worked solutions in place."""
    return exercise_notebook(slug, Book(repository_url()), solved=True)


def known_exercises(slug: str) -> Mapping:
    # imported here: the checks need torch, the rest of publishing does not
    from attncourse.checks import exercises

    return exercises(slug)


def opening(book: Book, name: str, words: str) -> NotebookNode:
    """A notebook that holds what each begins with: where it belongs, and the set-up cell."""
    badge = f"[![Open in Colab]({BADGE})]({book.colab_url(f'{name}.ipynb')})"
    about = (
        f"{badge}\n\n{words} [the course on self-attention]({book.site}). Run the next cell first."
    )
    start = code("setup", setup_cell(book.repository, book.root), cellView="form")
    metadata = {
        "attncourse": {"repository": book.repository},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook = nbformat.v4.new_notebook(metadata=metadata, cells=[markdown("about", about), start])
    notebook.nbformat_minor = 5
    return notebook


def written(document: Document, book: Book) -> Iterator[list[NotebookNode]]:
    """For each cell of a document, the notebook cells it becomes: a new one at each heading."""
    writer, section, count = Writer(book, document), "text", 0
    for cell in document.cells:
        made = []
        for heading, source in pieces(cell, writer):
            if heading:
                section, count = slug_of(heading), 0
            count += 1
            name = section if count == 1 else f"{section}-{count}"
            made.append(markdown(name, source) if source is not None else code_cell(name, cell))
        yield made


def pieces(cell: Cell, writer: Writer) -> Iterator[tuple[str, str | None]]:
    """The heading (or none) and the text of each cell to make; no text for the code itself."""
    if cell.kind == "code":
        yield "", None
        if cell.number:
            caption = writer.inline(cell.figure.get("caption", ""), cell.line)
            yield "", captioned("figure", cell.number, caption)
        return
    heading, parts = "", []
    for block in cell.blocks:
        if block.kind == "heading":
            if parts:
                yield heading, "\n\n".join(parts)
            heading, parts = block.text, []
        parts.append(writer.write(block))
    if parts:
        yield heading, "\n\n".join(parts)


def slug_of(heading: str) -> str:
    """The words of a heading as a cell's id may hold them."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:48].strip("-") or "text"


def markdown(name: str, source: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, id=name)


def code(name: str, source: str, **metadata) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, id=name, metadata=metadata)


def code_cell(name: str, cell: Cell) -> NotebookNode:
    """A code cell of the text, with its tags; `mystnb` speaks to the site alone."""
    metadata = {key: value for key, value in cell.metadata.items() if key != "mystnb"}
    if HIDDEN & set(cell.tags):
        metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
    return code(name, cell.source, **metadata)


def without_stubs(document: Document) -> tuple[list[Cell], dict[str, str]]:
    """The cells but for those tagged `stub`, and the source of these by exercise."""
    cells, stubs = [], {}
    for cell in document.cells:
        if "stub" in cell.tags:
            stubs[named(cell, document)] = cell.source
        else:
            cells.append(cell)
    return cells, stubs


def named(cell: Cell, document: Document) -> str:
    name = exercise_of(cell.source)
    if name is None:
        raise ValueError(
            f"{document.path}:{cell.line}: the cell's first line is not `# exercise: <name>`"
        )
    return name


def answer_name(cell: Cell, document: Document, exercises: Mapping) -> str:
    name = named(cell, document)
    if name not in exercises:
        known = ", ".join(exercises)
        raise ValueError(f"{document.path}:{cell.line}: exercise {name} is not one of {known}")
    return name


def exercise_cells(name: str, exercise, source: str) -> list[NotebookNode]:
    """The card, the answer and the check of one exercise."""
    points = f"{exercise.points} point{'s' * (exercise.points != 1)}"
    card = (
        f"*{exercise.kind.capitalize()}* · {LEVELS[exercise.difficulty]} · "
        f"about {exercise.minutes} minutes · {points}. "
        f'Stuck? Run `from attncourse import hint; hint("{name}", 1)`; 2 and 3 say more.'
    )
    check = code(
        f"check-{name}",
        f'from attncourse import check\n\ncheck("{name}", {name})',
        # nbval need not compare: where it runs a check, a wrong answer is an error
        tags=["check", "nbval-ignore-output"],
    )
    answer = code(
        f"answer-{name}",
        source,
        tags=["answer", "nbval-ignore-output"],
        attncourse={"exercise": name, "points": exercise.points},
    )
    return [markdown(f"card-{name}", card), answer, check]


def finished(notebook: NotebookNode) -> NotebookNode:
    """The notebook, its ids made unique, known to be valid."""
    seen: Counter = Counter()
    for cell in notebook.cells:
        seen[cell.id] += 1
        if seen[cell.id] > 1:
            cell.id = f"{cell.id}--{seen[cell.id]}"
    nbformat.validate(notebook)
    return notebook
