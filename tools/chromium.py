"""The browser that the site is looked at with: its tests, its screenshots, its measurements."""

import os
import shutil

# the first has no windows to draw: it takes half the processor's time of the others
NAMES = (
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
)
# no other machine can be reached: a page that asks one is seen to
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
MISSING = (
    "no Chromium: say `make system` (Debian, Ubuntu), install Chromium or Chrome, "
    "or name it with ATTNCOURSE_CHROMIUM=/path/to/it"
)


def chromium() -> str | None:
    """The path of this machine's Chromium or Chrome; None where there is none."""
    names = [os.environ["ATTNCOURSE_CHROMIUM"]] if "ATTNCOURSE_CHROMIUM" in os.environ else NAMES
    return next(filter(None, map(shutil.which, names)), None)
