"""What an interactive figure loads at the first touch becomes a file of the site.

In a notebook it is part of the figure.
"""

import re
from hashlib import sha256
from pathlib import Path

LATE = re.compile(r'(<script type="text/plain" data-late=")([\w.]+)">(.+?)</script>', re.DOTALL)


def put_aside(app, pagename, templatename, context, doctree):
    """Write such scripts of a page to files, and leave their addresses in the page."""

    def write(late: re.Match) -> str:
        opening, name, text = late.groups()
        path = Path(app.outdir, "_static", name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        version = sha256(text.encode()).hexdigest()[:8]
        address = context["pathto"](f"_static/{name}", resource=True)
        return f'{opening}{address}?v={version}"></script>'

    context["body"] = LATE.sub(write, context.get("body", ""))


def setup(app):
    app.connect("html-page-context", put_aside)
