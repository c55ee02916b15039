"""Folded boxes: `<details>` elements, each with a summary of its own on the page."""

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode


class folded(nodes.General, nodes.Element):
    """Content that is hidden until its summary is clicked; it needs no script."""


def fold(summary: str, *content: nodes.Node, **attributes) -> folded:
    """Fold content under a summary."""
    return folded("", *content, summary=summary, **attributes)


def visit_folded(translator, node):
    summary = translator.encode(node["summary"])
    start = translator.starttag(node, "details", "", CLASS="folded")
    translator.body.append(f"{start}<summary>{summary}</summary>\n")


def depart_folded(translator, node):
    translator.body.append("</details>\n")


def visit_hidden_code(translator, node):
    """Fold the code of a cell as everything else is folded."""
    prompts = (
        f'<span class="{state}">{translator.encode(node[prompt])}</span>'
        for state, prompt in (("collapsed", "prompt_show"), ("expanded", "prompt_hide"))
    )
    # without the node's own classes, for which the theme has other looks
    summary = f"<summary>{''.join(prompts)}</summary>"
    translator.body.append(f'<details class="folded">{summary}\n')


def skip_wrapper(translator, node):
    """Write only the content, in formats that cannot fold it."""


def fold_dropdowns(app, doctree):
    """Fold the boxes of class `dropdown`, for which the theme would need a script."""
    for box in list(doctree.findall(nodes.Admonition)):
        if "dropdown" in box["classes"]:
            title, *content = box.children
            box.replace_self(fold(title.astext(), *content))


def setup(app):
    app.add_node(folded, html=(visit_folded, depart_folded), text=(skip_wrapper, skip_wrapper))
    app.add_node(HideCodeCellNode, html=(visit_hidden_code, depart_folded), override=True)
    app.connect("doctree-read", fold_dropdowns)
