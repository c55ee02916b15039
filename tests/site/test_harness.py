"""The tab that the site's tests look through sees what it is there to see."""

import pytest

from tools.chromium import chromium

from .conftest import watch


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<img alt='' src='https://example.org/a.png'>", "asked another host: https://example.org"),
        ("<script>fetch('http://localhost:1/a')</script>", "asked another host: http://localhost"),
        ("<script>nothing.there</script>", "raised: nothing is not defined"),
        ("<script>console.error('too late')</script>", "logged an error: too late"),
        ("<img alt='' src='missing.png'>", "logged an error: Failed to load resource"),
    ],
)
def test_a_fault_of_a_page_is_seen(body, fault, browser, address):
    page = browser.new_page()
    faults = watch(page)
    page.goto(address + "_static/pygments.css")
    page.set_content(body, wait_until="networkidle")
    page.close()
    assert any(fault in one for one in faults), faults


def test_the_browser_can_be_named(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNCOURSE_CHROMIUM", str(tmp_path / "none"))
    assert chromium() is None
    (tmp_path / "none").touch(mode=0o755)
    assert chromium() == str(tmp_path / "none")
