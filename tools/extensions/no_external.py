"""A page must not load anything from another host: what would is a warning that names it."""

import re
from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)
URL = r"(?:https?:|wss?:)?//[^\s\"'<>)]+"
RELATIONS = "icon|manifest|modulepreload|preconnect|prefetch|preload|stylesheet"
CALLS = "EventSource|SharedWorker|WebSocket|Worker|fetch|import|importScripts|sendBeacon"
LOADING = re.compile(
    # a link in the text or in the head leads elsewhere without loading anything
    rf"<(?!a\b|form\b|link\b|meta\b)[a-z][\w-]*\b[^>]*?\s"
    rf"(?:src|data|poster|href|xlink:href)\s*=\s*[\"']?\s*({URL})"
    # several addresses, parted by commas
    rf"|\s(?:image)?srcset\s*=\s*(?:[\"'](?:[^\"'>]*[\s,])?)?({URL})"
    # several words, of which one may load; its hyphen makes dns-prefetch a word here too
    rf"|<link\b(?=[^>]*\brel\s*=\s*(?:[\"'][^\"'>]*|[^\s\"'>]*)\b(?:{RELATIONS})\b)"
    rf"[^>]*?\bhref\s*=\s*[\"']?\s*({URL})"
    rf"|(?:url\(|@import)\s*[\"']?({URL})"
    rf"|(?:\b(?:from|import)|\.src\s*=|\b(?:{CALLS})\s*\(\s*(?:new\s+URL\(\s*)?)\s*[\"'`]({URL})",
    re.IGNORECASE,
)
# what a page shows of a program is not run
SHOWN = re.compile(r"<pre\b.*?</pre>", re.DOTALL | re.IGNORECASE)


def external(text: str) -> list[str]:
    """The addresses of other hosts from which this page, style sheet or script would load."""
    found = LOADING.findall(SHOWN.sub("", text))
    return [next(filter(None, one)) for one in found]


def line_of(env, name: str, address: str):
    """The page's source, and the line of it that has the address, where there is one."""
    if name not in env.found_docs:
        return name
    lines = Path(env.doc2path(name)).read_text("utf-8").splitlines()
    return name, next((number for number, line in enumerate(lines, 1) if address in line), None)


def report(app, exception):
    """Warn of every address from which a built page would load."""
    if exception:
        return
    out = Path(app.outdir)
    for path in sorted(out.rglob("*")):
        if path.suffix in {".html", ".css", ".js", ".svg"}:
            name = path.relative_to(out).as_posix()
            for address in external(path.read_text("utf-8")):
                where = line_of(app.env, name.removesuffix(".html"), address)
                logger.warning("%s would load %s from another host", name, address, location=where)


def setup(app):
    """Register with Sphinx."""
    # after the files that no page asks for are gone
    app.connect("build-finished", report, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
