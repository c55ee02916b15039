"""A box that the reader opens: its summary says what it hides, so no two on a page share a name."""

from docutils import nodes


class folded(nodes.General, nodes.Element):
    """Content that is hidden until its summary is chosen; it works without a script."""


def fold(summary: str, *content: nodes.Node, **attributes) -> folded:
    """That content, folded away under that summary."""
    return folded("", *content, summary=summary, **attributes)


def visit(translator, node):
    summary = translator.encode(node["summary"])
    start = translator.starttag(node, "details", "", CLASS="folded")
    translator.body.append(f"{start}<summary>{summary}</summary>\n")


def depart(translator, node):
    translator.body.append("</details>\n")


def pass_by(translator, node):
    """Write only the content, in a text or the like, where nothing can be folded."""


def fold_dropdowns(app, doctree):
    """Fold the boxes of the class `dropdown`: the theme does it by a script."""
    for box in list(doctree.findall(nodes.Admonition)):
        if "dropdown" in box["classes"]:
            title, *content = box.children
            box.replace_self(fold(title.astext(), *content))


def setup(app):
    app.add_node(folded, html=(visit, depart), text=(pass_by, pass_by))
    app.connect("doctree-read", fold_dropdowns)
