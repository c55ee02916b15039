"""What all tests in a browser share: the built site, a server for it, one browser, watched tabs.

A package of tests that imports the fixtures closes its browser with its last test: while one is
open, an event loop runs in this thread, and what comes after would find it.
"""

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests import ROOT
from tests.needs import lacks
from tools.chromium import FLAGS, chromium_path
from tools.urls import repository_url, site_url

# a busy machine is slow, not wrong
expect.set_options(timeout=30_000)
# what a reader sees of an interactive figure: its drawing, its table, its sentence
SHOWN = "one => [...one.querySelectorAll('.scroll, p')].map((part) => part.innerHTML).join()"
CHOSEN = "input:is(:checked, [type=range])"
# a figure with controls to choose by, and one with a text to write
CHOOSES = ".attncourse-figure:not(:has(textarea))"
WRITES = ".attncourse-figure:has(textarea)"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files as they are, below the same folder as on GitHub, which the 404 page names."""

    below = urlsplit(site_url(repository_url())).path

    def translate_path(self, path):
        """The file for a path; one that does not exist for a path beside the folder."""
        inside = path.startswith(f"{self.below}/")
        return super().translate_path(path.removeprefix(self.below) if inside else "/-/outside")

    def log_message(self, format, *args):
        """Say nothing of a request."""


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site, which is built first where it is stale."""
    # in a process of its own: in this one annotations are checked and warnings are errors
    command = [sys.executable, "-m", "tools.site", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def names(site) -> list[str]:
    """The pages of the site, as paths in it."""
    paths = (path.relative_to(site) for path in sorted(site.rglob("*.html")))
    return [path.as_posix() for path in paths if "_static" not in path.parts]


@pytest.fixture(scope="session")
def address(site) -> Iterator[str]:
    """Where the site is served while the tests run."""
    handler = functools.partial(Handler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{Handler.below}/"
        server.shutdown()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser to which this machine is the only one there is."""
    if (path := chromium_path()) is None:
        pytest.skip(lacks("a browser"))
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


def watch(page: Page) -> list[str]:
    """The faults of a page, as they come: requests to other hosts, errors of its scripts."""
    faults = []

    def requested(request):
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob", "file") and url.hostname != "127.0.0.1":
            faults.append(f"{page.url} asked another host: {request.url}")

    def said(message):
        if message.type == "error":
            where = message.location
            line = f"{where.get('url')}:{where.get('lineNumber')}"
            faults.append(f"{page.url} logged an error: {message.text} ({line})")

    def raised(error):
        # Firefox says so of a formula of which it has read one part so far
        if "Incorrect number of children for <m" not in error.message:
            faults.append(f"{page.url} raised: {error}")

    page.on("request", requested)
    page.on("console", said)
    page.on("pageerror", raised)
    return faults


def answers_a_key(figure: Locator) -> bool:
    """Whether an arrow key at its first control changes what an interactive figure shows."""
    chosen, seen = figure.locator(CHOSEN).locator("visible=true").first, []
    for key in ("ArrowLeft", "ArrowRight"):
        chosen.press(key)
        seen.append(figure.evaluate(SHOWN))
    return len({*seen}) > 1


def answers_a_text(figure: Locator) -> bool:
    """Whether a figure that a reader writes in shows the words, and what may come next."""
    figure.locator("textarea").fill("We must not")
    expect(figure.locator("[data-show=seen]").last).to_have_text("not")
    return figure.locator("[data-show=share]").count() > 1


@pytest.fixture
def new_tab(browser) -> Iterator[Callable[..., Page]]:
    """Opens a page in a fresh context, with playwright's options: `new_tab(color_scheme="dark")`.

    The test fails at its end if any of its pages asked another host or logged an error.
    """
    contexts, faults = [], []

    def new(**options) -> Page:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        faults.append(watch(page))
        return page

    yield new
    for context in contexts:
        context.close()
    assert not any(faults), "\n".join(["", *chain(*faults)])


@pytest.fixture
def tab(new_tab) -> Page:
    """One page in a fresh context, watched as those of `new_tab` are."""
    return new_tab()
