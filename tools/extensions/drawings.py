"""`{drawing}`: a drawing of the course inside the page, with a number and a caption."""

from typing import ClassVar
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from drawings import source_file, svgs


def alt_text(svg: str) -> str:
    """The alternative text of a drawing: the title of its SVG."""
    return ElementTree.fromstring(svg)[0].text or ""


class Drawing(SphinxDirective):
    """A figure whose argument is the drawing's name and whose content is its caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        if (svg := svgs().get(self.arguments[0])) is None:
            raise self.error(f"no drawing is called {self.arguments[0]}")
        self.env.note_dependency(source_file(self.arguments[0]))
        # it scrolls where the page is narrow, so it takes the keyboard's focus, and has a name
        name = self.arguments[0].replace("_", " ")
        wide = ElementTree.fromstring(svg).get("width")
        frame = (
            f'<div class="drawn" role="group" aria-label="Drawing: {name}" tabindex="0" '
            f'style="--wide: {wide}px">'
        )
        html = nodes.raw("", f"{frame}{svg}</div>", format="html")
        figure = nodes.figure("", html, drawing=svg)
        figure += nodes.caption("", "", *self.parse_inline(" ".join(self.content))[0])
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure]


def number_by_page(app, env) -> list[str]:
    """Number figures and tables from 1 on each page outside the numbered chapters."""
    for kinds in env.toc_fignumbers.values():
        for numbers in kinds.values():
            if all(len(number) == 1 for number in numbers.values()):
                first = min(numbers.values())[0]
                numbers.update({name: (n - first + 1,) for name, (n,) in numbers.items()})
    return []


def setup(app):
    app.add_directive("drawing", Drawing)
    # after Sphinx has numbered them
    app.connect("env-get-updated", number_by_page, priority=800)
