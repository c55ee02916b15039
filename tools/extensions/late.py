"""Move scripts that an interactive figure loads on first use into files of the site.

In a notebook they stay inside the figure.
"""

import re
from hashlib import sha256
from pathlib import Path

LATE_SCRIPT = re.compile(
    r'(<script type="text/plain" data-late=")([\w.]+)">(.+?)</script>', re.DOTALL
)


def extract_scripts(app, pagename, templatename, context, doctree):
    """Write the late scripts of a page to files, and put their addresses into the page."""

    def write(late: re.Match) -> str:
        opening, name, text = late.groups()
        path = Path(app.outdir, "_static", name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        version = sha256(text.encode()).hexdigest()[:8]
        address = context["pathto"](f"_static/{name}", resource=True)
        return f'{opening}{address}?v={version}"></script>'

    context["body"] = LATE_SCRIPT.sub(write, context.get("body", ""))


def setup(app):
    app.connect("html-page-context", extract_scripts)
