"""The set-up cell says in one message what is missing where it cannot install the course."""

import importlib.util
import sys

import pytest

from tools.setup_cell import setup_cell


def test_without_git_the_message_says_what_to_look_for_and_what_to_run(monkeypatch, tmp_path):
    pip = tmp_path / "python"
    pip.write_text("#!/bin/sh\necho \"Cannot find command 'git'\" >&2\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(pip))
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: None)
    with pytest.raises(RuntimeError) as error:
        exec(setup_cell("https://github.com/someone/course"), {})
    message = str(error.value)
    assert "Cannot find command 'git'" in message
    assert "Check that there is a network, git and pip" in message
    assert (
        f"{pip} -m pip install" in message and "git+https://github.com/someone/course@" in message
    )
