"""The picture of the whole model on a page of its own, and small at each chapter's top.

`{whole-model}` is the interactive figure. Both pictures are made of `attncourse.course.whole`; a
chapter that has no part in it has no picture.
"""

from collections.abc import Callable
from functools import partial
from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from attncourse.course.whole import PARTS, Part, parts_of
from drawings import you_are_here

from .page_head import render_template

PAGE = "reference/the_whole_model"
TEXT, BLOCK, HEAD = "There is more work in this country today", 2, 0


class whole_model(nodes.General, nodes.Element):
    """A placeholder for the figure, which is made when the chapters' titles are known."""


class WholeModel(SphinxDirective):
    """The directive `{whole-model}`."""

    def run(self) -> list[nodes.Node]:
        return [whole_model()]


def chapter_link(app, page: str, address: str) -> tuple[str, str]:
    """A chapter's title, and the link to an address such as `relative#eq-rope` from a page."""
    slug, _, anchor = address.partition("#")
    # as Sphinx names an equation
    target = f"equation-{anchor}" if anchor.startswith("eq-") else anchor
    document = f"chapters/{slug}"
    return (
        app.env.titles[document].astext(),
        f"{app.builder.get_relative_uri(page, document)}#{target}",
    )


def links_html(part: Part, link: Callable[[str], tuple[str, str]]) -> str:
    """HTML of the links of a part: where it is built, its equation, what others put there."""
    lines = []
    for title, address, words in ((*link(one), words) for one, words in part.built.items()):
        line = f'Built in {escape(title)}: <a href="{address}">{words}</a>'
        if part.equation:
            line += f', <a href="{link(part.equation)[1]}">equation</a>'
        lines.append(line)
    for title, address, words in ((*link(one), words) for one, words in part.instead.items()):
        lines.append(f'<em>An alternative:</em> <a href="{address}">{words}</a> ({escape(title)})')
    return " ".join(f"<span>{line}.</span>" for line in lines)


def figure_html(link: Callable[[str], tuple[str, str]]) -> str:
    """HTML of the interactive figure, whose first numbers are PyTorch's."""
    # imported here: the other pages need no torch
    from attncourse.course.language_model.live import traced
    from attncourse.data.windows import DECADES
    from attncourse.figures.whole import Entry, whole

    text, values, vocabulary = traced(TEXT)
    entries = {
        name: Entry(part.name, part.says, links_html(part, link)) for name, part in PARTS.items()
    }
    figure = whole(entries, values, text, vocabulary, DECADES, block=BLOCK, head=HEAD)
    return f'<div class="whole-model">{figure._repr_html_()}</div>'


def insert_figure(app, doctree, page):
    """Replace the placeholder by the figure."""
    for placeholder in list(doctree.findall(whole_model)):
        html = app.builder.format == "html" and figure_html(partial(chapter_link, app, page))
        placeholder.replace_self(nodes.raw("", html, format="html") if html else [])


def insert_small_picture(app, doctree, page):
    """Put the small picture below the title of a chapter, if the chapter has parts in it."""
    folder, _, slug = page.partition("/")
    built, instead = parts_of(slug)
    if folder != "chapters" or PAGE not in app.env.found_docs or not (built or instead):
        return
    title = next(doctree.findall(nodes.title))
    first = next(name for name in PARTS if name in built or name in instead)
    picture = render_template(
        app,
        "you_are_here.html",
        svg=you_are_here.svg(built, instead),
        link=f"{app.builder.get_relative_uri(page, PAGE)}#part-{first}",
        built=[PARTS[name].name for name in built],
        instead={PARTS[name].name: words for name, words in instead.items()},
    )
    title.parent.insert(title.parent.index(title) + 1, picture)


def setup(app):
    app.add_node(whole_model)
    app.add_directive("whole-model", WholeModel)
    app.connect("doctree-resolved", insert_figure)
    app.connect("doctree-resolved", insert_small_picture)
