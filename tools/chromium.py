"""Where a Chromium is, which the tests look at pages with and which takes pictures of drawings."""

import os
import shutil

CHROMIUMS = (
    # it has no windows to draw: it takes half the processor's time of the others
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # no other machine can be reached: a page that asks one is seen to
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
MISSING = (
    "no Chromium: say `make system` (Debian, Ubuntu), install Chromium or Chrome, "
    "or name it with ATTNCOURSE_CHROMIUM=/path/to/it"
)


def chromium() -> str | None:
    """The path of a Chromium; None where there is none."""
    named = os.environ.get("ATTNCOURSE_CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else CHROMIUMS)), None)
