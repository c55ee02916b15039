"""The notebooks that are made from the texts: a chapter's Colab copy and its exercises."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import nbformat
from nbformat import NotebookNode

from attncourse.course import COURSE
from attncourse.course.aims import AIMS, bullets
from judge.cells import UNCOMPARED, answer_and_check, exercise_of
from judge.course import FIRST, LEVELS, MORE
from tools.blocks import Block
from tools.book import Book, Document
from tools.markdown import Writer
from tools.setup_cell import setup_cell
from tools.urls import colab_url, repository_url

RUNS = ("code-cell", "literalinclude")
# a picture is a long line, which nobody should meet who edits the text around it
OWN_CELL_KINDS = {*RUNS, "drawing"}
# what the site folds, Colab and Jupyter do
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}
# what is said of a group of exercises; the title of a capstone says enough
GROUP_SENTENCES = {
    FIRST: "If you have an hour for exercises, do these. They take about {} minutes",
    MORE: "These take about {} minutes together",
}


def chapter_notebook(slug: str, book: Book) -> NotebookNode:
    """The copy of a chapter that runs in Colab."""
    document = book.documents[f"chapters/{slug}"]
    link = f"the notebook of [{document.title}]({book.page_url(document.name)})"
    return notebook(book, document, f"This is {link}, a chapter of", document_cells(document, book))


def deeper_notebook(slug: str, book: Book) -> NotebookNode:
    """The copy of what goes deeper than a chapter, which runs without that of the chapter."""
    document, chapter = book.documents[f"deeper/{slug}"], book.documents[f"chapters/{slug}"]
    link = f"[{chapter.title}]({book.page_url(chapter.name)})"
    words = f"These sections go deeper than {link}, a chapter of"
    return notebook(book, document, words, document_cells(document, book))


def exercise_notebook(slug: str, book: Book, solved: bool = False) -> NotebookNode:
    """A chapter's exercises, with empty answers, or with the worked ones where `solved`."""
    # imported here: the checks need torch, the site's pages do not
    from attncourse.course import exercises, groups

    cards = exercises(slug)
    document, chapter = book.documents[f"exercises/{slug}"], book.documents[f"chapters/{slug}"]

    def answer_cells(block: Block) -> list[NotebookNode]:
        name = exercise_of(block.text)
        return exercise_cells(cards[name], block.text if solved else cards[name].task.start)

    status = "from attncourse import status\n\nstatus()"
    with_headings = replace(document, blocks=[*with_group_headings(document.blocks, groups(slug))])
    cells = document_cells(with_headings, book, answer_cells)
    cells.append(code("status", status, tags=[UNCOMPARED]))
    link = f"[{chapter.title}]({book.page_url(chapter.name)})"
    return notebook(book, document, f"These are the exercises of {link}, a chapter of", cells)


def with_group_headings(blocks: list[Block], groups: dict[str, list]) -> Iterator[Block]:
    """The blocks of a chapter's exercises, with a heading and a word before each group."""
    group_of_first = {
        members[0].name: name for name, members in groups.items() if name in GROUP_SENTENCES
    }
    headings = [i for i, block in enumerate(blocks) if block.kind == "heading"]
    for start, end in pairwise([0, *headings, len(blocks)]):
        section = blocks[start:end]
        names = [exercise_of(block.text) for block in section if {"answer", "stub"} & {*block.tags}]
        if group := group_of_first.get(names[0] if names else ""):
            line = section[0].line
            yield Block("heading", line, group, "##")
            yield Block("text", line, group_sentence(group, groups[group]))
        yield from section


def solved_notebook(slug: str) -> NotebookNode:
    """A chapter's exercise notebook with the worked solutions in place."""
    return exercise_notebook(slug, Book(repository_url()), solved=True)


def notebook(book: Book, document: Document, words: str, cells: list) -> NotebookNode:
    """The notebook of these cells, below what each begins with: its place, and the set-up cell."""
    colab = colab_url(f"{document.name}.ipynb", book.repository, book.root)
    introduction = (
        f"[Open in Colab]({colab})\n\n"
        f"{words} [the course on self-attention]({book.site}). Run the next cell first."
    )
    start = code("setup", setup_cell(book.repository, book.root), cellView="form")
    metadata = {
        "attncourse": {"repository": book.repository},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    new_notebook = nbformat.v4.new_notebook(metadata=metadata)
    new_notebook.nbformat_minor = 5
    new_notebook.cells = [markdown("about", introduction), start, *cells]
    counts: Counter = Counter()
    for cell in new_notebook.cells:
        counts[cell.id] += 1
        if counts[cell.id] > 1:
            cell.id = f"{cell.id}--{counts[cell.id]}"
    nbformat.validate(new_notebook)
    return new_notebook


def document_cells(
    document: Document,
    book: Book,
    answer_cells: Callable[[Block], list[NotebookNode]] | None = None,
) -> list[NotebookNode]:
    """The cells that a document becomes, those of an answer as told; a fault is at its line."""
    writer, section, count, path = Writer(book, document), "text", 0, document.path
    cells: list[NotebookNode] = []

    def name() -> str:
        nonlocal count
        count += 1
        return section if count == 1 else f"{section}-{count}"

    try:
        for first, *following in blocks_by_cell(document.blocks):
            if first.kind == "heading":
                section, count = slug_of(first.text), 0
            cell_id, writer.line, path = name(), first.line, first.path or document.path
            if answer_cells and "answer" in first.tags:
                cells += answer_cells(first)
            elif first.kind in RUNS:
                source = first.text if first.kind == "code-cell" else writer.function(first)
                folded = FOLDED if first.folded else {}
                cells.append(code(cell_id, source, tags=first.tags, **folded))
                if first.figure:
                    caption = writer.inline(first.figure["caption"].strip())
                    cells.append(markdown(name(), f"**{first.number}.** {caption}"))
            else:
                source = "\n\n".join(writer.write(block) for block in (first, *following))
                cells.append(markdown(cell_id, source))
    except (LookupError, OSError, ValueError) as error:
        raise ValueError(f"{path}:{writer.line}: {error}") from error
    return cells


def blocks_by_cell(blocks: list[Block]) -> list[list[Block]]:
    """The blocks of each cell: what runs or is drawn by itself, text up to that or to a heading;
    no stubs."""
    groups: list[list[Block]] = []
    for block in blocks:
        if "stub" in block.tags:
            continue
        if (
            not groups
            or {block.kind, groups[-1][0].kind} & OWN_CELL_KINDS
            or block.kind == "heading"
        ):
            groups.append([])
        groups[-1].append(block)
    return groups


def slug_of(heading: str) -> str:
    """The words of a heading as a cell's id may hold them."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:48].strip("-") or "text"


def markdown(name: str, source: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, id=name)


def code(name: str, source: str, **metadata) -> NotebookNode:
    filled = {key: value for key, value in metadata.items() if value}
    return nbformat.v4.new_code_cell(source, id=name, metadata=filled)


def group_sentence(name: str, exercises: list) -> str:
    """What is said of a group: how long it takes and, if it carries a chapter, what it lacks."""
    minutes = sum(exercise.minutes for exercise in exercises)
    sentence = f"{GROUP_SENTENCES[name].format(minutes)}, and the easier ones come first."
    if name == MORE:
        return sentence
    tested = {aim for exercise in exercises for aim in exercise.aims}
    left_out = [text for aim, text in AIMS[exercises[0].chapter].items() if aim not in tested]
    match left_out:
        case []:
            return f"{sentence} They leave out none of the chapter's aims."
        case [text]:
            return f"{sentence} They leave out one of the chapter's aims: to {text}."
    return f"{sentence} They leave out some of the chapter's aims:\n\n{bullets(left_out)}"


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
    return [markdown(f"card-{name}", card), *answer_and_check(COURSE, exercise, source)]
