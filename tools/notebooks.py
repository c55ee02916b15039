"""The notebooks that are made from the texts: a chapter's Colab copy and its exercises."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import nbformat
from nbformat import NotebookNode

from attncourse.cells import exercise_of
from tools.blocks import Block, Cell
from tools.book import Book, Document
from tools.markdown import Writer, captioned
from tools.setup_cell import setup_cell
from tools.stubs import stub_of
from tools.urls import colab_url, repository_url

BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
# what the site folds, Colab and Jupyter do
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
LEVELS = {1: "★☆☆ easy", 2: "★★☆ medium", 3: "★★★ hard"}


def chapter_notebook(slug: str, book: Book) -> NotebookNode:
    """The copy of a chapter that runs in Colab."""
    document = book.documents[f"chapters/{slug}"]
    here = f"the notebook of [{document.title}]({book.page_url(document.name)})"
    written = [cell for _, made in translated(document, book) for cell in made]
    return notebook(book, document, f"This is {here}, a chapter of", written)


def exercise_notebook(slug: str, book: Book, solved: bool = False) -> NotebookNode:
    """A chapter's exercises, with empty answers, or with the worked ones where `solved`."""
    # imported here: the checks need torch, the site's pages do not
    from attncourse.checks import exercises

    cards = exercises(slug)
    document, chapter = book.documents[f"exercises/{slug}"], book.documents[f"chapters/{slug}"]
    stubs = {exercise_of(one.source): one.source for one in document.cells if "stub" in one.tags}
    answers = [exercise_of(one.source) for one in document.cells if "answer" in one.tags]
    if Counter(answers) != Counter([*cards]) or not {*stubs} <= {*answers}:
        raise ValueError(
            f"{document.path} has answers to {answers} and stubs of {[*stubs]}; "
            f"the chapter's checks are of {[*cards]}"
        )
    written = []
    for cell, made in translated(document, book):
        name = exercise_of(cell.source)
        if "answer" in cell.tags:
            source = cell.source if solved else stubs.get(name) or stub_of(cell.source)
            made = exercise_cells(cards[name], source)
        written += made
    written.append(
        code("status", "from attncourse import status\n\nstatus()", tags=["nbval-ignore-output"])
    )
    there = f"[{chapter.title}]({book.page_url(chapter.name)})"
    return notebook(book, document, f"These are the exercises of {there}, a chapter of", written)


def solved_notebook(slug: str) -> NotebookNode:
    """A chapter's exercise notebook with the worked solutions in place."""
    return exercise_notebook(slug, Book(repository_url()), solved=True)


def notebook(book: Book, document: Document, words: str, cells: list) -> NotebookNode:
    """The notebook of these cells, below what each begins with: its place, and the set-up cell."""
    colab = colab_url(f"{document.name}.ipynb", book.repository, book.root)
    about = (
        f"[![Open in Colab]({BADGE})]({colab})\n\n"
        f"{words} [the course on self-attention]({book.site}). Run the next cell first."
    )
    start = code("setup", setup_cell(book.repository, book.root), cellView="form")
    metadata = {
        "attncourse": {"repository": book.repository},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    made = nbformat.v4.new_notebook(metadata=metadata)
    made.nbformat_minor = 5
    made.cells = [markdown("about", about), start, *cells]
    seen: Counter = Counter()
    for cell in made.cells:
        seen[cell.id] += 1
        if seen[cell.id] > 1:
            cell.id = f"{cell.id}--{seen[cell.id]}"
    nbformat.validate(made)
    return made


def translated(document: Document, book: Book) -> Iterator[tuple[Cell, list[NotebookNode]]]:
    """Each cell of a document but the stubs, and what it becomes: code, or plain Markdown."""
    writer, section, count = Writer(book, document), "text", 0

    def name() -> str:
        nonlocal count
        count += 1
        return section if count == 1 else f"{section}-{count}"

    for cell in document.cells:
        if "stub" in cell.tags:
            continue
        if cell.blocks and cell.blocks[0].kind == "heading":
            section, count = slug_of(cell.blocks[0].text), 0
        if cell.kind == "code":
            made = [code_cell(name(), cell)]
            if cell.number:
                caption = writer.inline(cell.figure.get("caption", ""), cell.line)
                made.append(markdown(name(), captioned("figure", cell.number, caption)))
            yield cell, made
            continue
        made = []
        for runs, blocks in groupby(cell.blocks, lambda one: one.kind == "literalinclude"):
            if runs:
                made += [function_cell(name(), one, writer.function(one)) for one in blocks]
            else:
                made.append(markdown(name(), "\n\n".join(map(writer.write, blocks))))
        yield cell, made


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
    return code(name, cell.source, **metadata, **(FOLDED if "hide-input" in cell.tags else {}))


def function_cell(name: str, block: Block, source: str) -> NotebookNode:
    """A function of the package, for the reader to change."""
    return code(name, source, **(FOLDED if "dropdown" in block.options.get("class", "") else {}))


def card_facts(exercise) -> tuple[str, ...]:
    """What an exercise's card says: its kind, how hard it is, how long it takes, its points."""
    return (
        exercise.kind.capitalize(),
        LEVELS[exercise.difficulty],
        f"about {exercise.minutes} minutes",
        f"{exercise.points} point{'s' * (exercise.points != 1)}",
    )


def exercise_cells(exercise, source: str) -> list[NotebookNode]:
    """The card, the answer and the check of one exercise."""
    name, (kind, *facts) = exercise.name, card_facts(exercise)
    card = (
        f"{' · '.join([f'*{kind}*', *facts])}. "
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
        attncourse=exercise.facts,
    )
    return [markdown(f"card-{name}", card), answer, check]
