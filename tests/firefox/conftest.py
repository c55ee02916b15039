"""A Firefox over WebDriver BiDi, by the tool that drives Chromium."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import address, names, new_tab, site, tab  # noqa: F401
from tests.needs import lacks

FIREFOXES = ("firefox-esr", "firefox", "/Applications/Firefox.app/Contents/MacOS/firefox")
SCHEME = "layout.css.prefers-color-scheme.content-override"
# Playwright tells a browser the preferred colours by a command that Firefox 153 does not know, and
# would then give up: Firefox knows them from its preferences
IGNORE_COMMAND_JS = """const { parse } = JSON;
JSON.parse = (...given) => {
  const one = parse(...given);
  const deaf = one?.message === "emulation.setMediaFeaturesOverride";
  return deaf ? { id: one.id, type: "success", result: {} } : one;
};"""


@pytest.fixture(scope="package", params=[1, 0], ids=["light", "dark"])
def browser(request, tmp_path_factory) -> Iterator[Browser]:
    """A Firefox that prefers the light, and one that prefers the dark."""
    configured = os.environ.get("ATTNCOURSE_FIREFOX")
    path = next(filter(None, map(shutil.which, [configured] if configured else FIREFOXES)), None)
    if path is None:
        pytest.skip(lacks("Firefox"))
    script_path = tmp_path_factory.mktemp("node") / "deaf.cjs"
    script_path.write_text(IGNORE_COMMAND_JS, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_OPTIONS", f"--require={script_path}")
        with sync_playwright() as playwright:
            firefox = playwright.firefox.launch(
                executable_path=path,
                channel="moz-firefox",
                firefox_user_prefs={SCHEME: request.param},
            )
            yield firefox
            firefox.close()
