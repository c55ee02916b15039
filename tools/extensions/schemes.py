"""Where no script chooses a colour scheme, a page has the light one, or the dark one if asked."""

import re
from pathlib import Path

RULE = re.compile(r"([^{}]*\[data-theme=\"?dark\"?\][^{}]*)(\{[^{}]*\})")
LIGHT, DARK = (re.compile(rf"\[data-theme=\"?{scheme}\"?\]") for scheme in ("light", "dark"))
UNCHOSEN = "[data-theme=auto]"


def follow_preference(app, exception):
    """Give the theme's rules for both schemes to the pages as they are written."""
    path = Path(app.outdir) / "_static" / "site.css"
    if exception or not path.is_file():
        return
    css = path.read_text("utf-8")
    dark = "".join(
        DARK.sub(UNCHOSEN, selectors.strip()) + body
        for selectors, body in RULE.findall(re.sub(r"/\*.*?\*/", "", css, flags=re.S))
    )
    light = LIGHT.sub(rf":is(\g<0>,{UNCHOSEN})", css)
    path.write_text(f"{light}@media (prefers-color-scheme:dark){{{dark}}}", "utf-8")


def setup(app):
    """Register with Sphinx."""
    # after the style sheets have been joined
    app.connect("build-finished", follow_preference, priority=910)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
