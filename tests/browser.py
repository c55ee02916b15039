"""Fixtures for tests in a browser: the built site, its server, a browser, and watched tabs.

A package of tests that imports the fixtures closes its browser with its last test, because an open
browser runs an event loop in this thread, which would disturb later tests.
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
# the view of an interactive figure: its drawing, its table, its sentence
VIEW_SCRIPT = (
    "figure => [...figure.querySelectorAll('.scroll, p')].map((part) => part.innerHTML).join()"
)
ACTIVE_INPUT = "input:is(:checked, [type=range])"
# selectors of figures with other controls, and of those with a text field
CONTROL_FIGURES = ".attncourse-figure:not(:has(textarea))"
TEXT_FIGURES = ".attncourse-figure:has(textarea)"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site under the path that it has on GitHub, which the 404 page names."""

    site_path = urlsplit(site_url(repository_url())).path

    def translate_path(self, path):
        """The file of a path; a missing one for a path outside the site."""
        in_site = path.startswith(f"{self.site_path}/")
        return super().translate_path(
            path.removeprefix(self.site_path) if in_site else "/-/outside"
        )

    def log_message(self, format, *args):
        """Log no requests."""


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site; it is built first if it is stale."""
    # in a process of its own: in this one annotations are checked and warnings are errors
    command = [sys.executable, "-m", "tools.site", str(ROOT)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def names(site) -> list[str]:
    """The pages of the site, as paths in it."""
    paths = (path.relative_to(site) for path in sorted(site.rglob("*.html")))
    return [path.as_posix() for path in paths if "_static" not in path.parts]


@pytest.fixture(scope="session")
def address(site) -> Iterator[str]:
    """The address of a server of the site."""
    handler = functools.partial(Handler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{Handler.site_path}/"
        server.shutdown()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A Chromium that reaches no other machine."""
    if (executable := chromium_path()) is None:
        pytest.skip(lacks("a browser"))
    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield instance
        instance.close()


def watch(page: Page) -> list[str]:
    """A list that grows by the faults of a page: requests to other hosts, and script errors."""
    faults = []

    def on_request(request):
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob", "file") and url.hostname != "127.0.0.1":
            faults.append(f"{page.url} asked another host: {request.url}")

    def on_console(message):
        if message.type == "error":
            location = message.location
            line = f"{location.get('url')}:{location.get('lineNumber')}"
            faults.append(f"{page.url} logged an error: {message.text} ({line})")

    def on_error(error):
        # Firefox reports this of a formula that it has not read to the end yet
        if "Incorrect number of children for <m" not in error.message:
            faults.append(f"{page.url} raised: {error}")

    page.on("request", on_request)
    page.on("console", on_console)
    page.on("pageerror", on_error)
    return faults


def responds_to_key(figure: Locator) -> bool:
    """Whether an arrow key at its first control changes what an interactive figure shows."""
    control, views = figure.locator(ACTIVE_INPUT).locator("visible=true").first, []
    for key in ("ArrowLeft", "ArrowRight"):
        control.press(key)
        views.append(figure.evaluate(VIEW_SCRIPT))
    return len({*views}) > 1


def responds_to_text(figure: Locator) -> bool:
    """Whether a figure with a text field shows a typed text, and several next words."""
    figure.locator("textarea").fill("We must not")
    expect(figure.locator("[data-show=seen]").last).to_have_text("not")
    return figure.locator("[data-show=share]").count() > 1


@pytest.fixture
def new_tab(browser) -> Iterator[Callable[..., Page]]:
    """Opens a page in a fresh context, with playwright's options: `new_tab(color_scheme="dark")`.

    The test fails at its end if any of its pages asked another host or logged an error.
    """
    contexts, faults = [], []

    def open_page(**options) -> Page:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        faults.append(watch(page))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not any(faults), "\n".join(["", *chain(*faults)])


@pytest.fixture
def tab(new_tab) -> Page:
    """One page in a fresh context, watched as those of `new_tab` are."""
    return new_tab()
