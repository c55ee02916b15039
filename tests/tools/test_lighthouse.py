"""What Lighthouse is asked."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import lighthouse
from tools.chromium import ALONE


@pytest.fixture
def three_pages(tmp_path, monkeypatch):
    """A built site for Lighthouse to look at, and the commands that it would be called with."""
    commands = []

    def run(command, **settings):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, "{}", "")

    for name in ("index.html", "chapters/one.html", "404.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(lighthouse, "build", lambda root: tmp_path)
    monkeypatch.setattr(lighthouse, "chromium", lambda: "chromium")
    monkeypatch.setattr(lighthouse, "install", lambda: Path("lighthouse"))
    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_lighthouse_compares_a_chapter_or_says_that_none_is_named(three_pages, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["lighthouse", "index.html", "--stock"])
    assert lighthouse.main() == 1
    assert "the comparison is of a chapter: PAGES=index.html names none" in capsys.readouterr().err
    assert not three_pages


def test_the_browser_of_lighthouse_reaches_no_other_host(three_pages):
    lighthouse.ask("http://127.0.0.1:1/", "chromium")
    (command,) = three_pages
    flag, _, rules = ALONE.partition("=")
    assert f"{flag}='{rules}'" in command[-1]
