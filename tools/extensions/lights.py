"""`{lights}`: a word that lights up, on hover and focus, what it names in a figure of its page.

Its content is the word, the figure's label, and a CSS class or slot of the figure's picture:
{lights}`the query <fig-plane.query>`. Without scripts it is a link to the figure.
"""

from docutils import nodes
from sphinx.util.docutils import ReferenceRole

from .details import skip_wrapper


class lights(nodes.Inline, nodes.TextElement):
    """A word, with the label of a figure and a part of its picture."""


class LightsRole(ReferenceRole):
    """The role `{lights}`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        figure, _, part = self.target.partition(".")
        return [lights("", self.title, figure=figure, part=part)], []


def visit_lights(translator, node):
    attributes = {"href": f"#{node['figure']}", "data-part": node["part"]}
    translator.body.append(translator.starttag(node, "a", "", CLASS="lights", **attributes))


def depart_lights(translator, node):
    translator.body.append("</a>")


def setup(app):
    app.add_node(lights, html=(visit_lights, depart_lights), text=(skip_wrapper, skip_wrapper))
    app.add_role("lights", LightsRole())
