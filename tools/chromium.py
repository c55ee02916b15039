"""Find a Chromium: for the tests in a browser, the printed book and the pictures of drawings."""

import os
import shutil

CHROMIUMS = (
    # it draws no windows, and needs half the CPU time of the others
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
    # no other machine can be reached
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
MISSING = (
    "no Chromium: say `make system` (Debian, Ubuntu), install Chromium or Chrome, "
    "or name it with ATTNCOURSE_CHROMIUM=/path/to/it"
)


def chromium_path() -> str | None:
    """The path of a Chromium: ATTNCOURSE_CHROMIUM, or the first one installed; None without one."""
    override = os.environ.get("ATTNCOURSE_CHROMIUM")
    return next(filter(None, map(shutil.which, [override] if override else CHROMIUMS)), None)
