"""Replaces in the written pages what a screen reader stumbles over."""

import re
from pathlib import Path

FIXES = {
    # the label would stand in for the words that say what is folded
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # a role that is deprecated, and no part of the list around it
    'role="doc-biblioentry"': 'role="listitem"',
    # the parameters of a long signature are no terms with definitions
    r'<dl>(?=\n<dd><em class="sig-param">)': '<dl role="presentation">',
    # in the side bar, a page with pages below it
    "(<a [^>]*>([^<]*)</a><details[^>]*><summary)>": r'\1 aria-label="Pages below \2">',
}


def fix(app, exception):
    """Fix every page that there is."""
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text("utf-8")
        for wrong, right in FIXES.items():
            page = re.sub(wrong, right, page)
        path.write_text(page, "utf-8")


def setup(app):
    app.connect("build-finished", fix)
