"""Serving the site: the port, the pages that load again, and what follows an edit."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest
from tornado.websocket import websocket_connect

from tests import ROOT
from tools.serve import free_port


@pytest.mark.parametrize("port", ["", "0", "-1", "eight", "65536", "8000.5"])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(ValueError, match=f"PORT={port} is not a port"):
        free_port(port)


def test_the_last_port_is_not_answered_with_one_that_is_none(monkeypatch):
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: socket.socket())
    with pytest.raises(ValueError, match="make book PORT=65534"):
        free_port("65535")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_is_taken_at_either_address_of_localhost(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with listener:
        port = listener.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port} is taken"):
            free_port(str(port))


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return answer.read().decode()


@pytest.fixture
def book(tmp_path):
    """A book of two pages without cells, whose site was built before its last edit."""
    for name in ("_config.yml", "tools/theme", "reference/references.bib"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: one\n")
    (tmp_path / "one.md").write_text("# One\n\nOne sentence.\n")
    (tmp_path / "index.md").write_text("# Book\n\nEdited.\n")
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").write_text("<head></head>old")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "site").write_text("of another day")
    return tmp_path


@pytest.fixture
def served(book):
    """What serves the book, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tools.serve", str(port), str(book)]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as server:
        # a build that never ends would let this test wait for ever
        limit = threading.Timer(300, server.kill)
        limit.start()
        assert f"http://localhost:{port}" in server.stdout.readline()
        yield server, f"localhost:{port}/"
        limit.cancel()
        server.kill()


async def told(address: str) -> str:
    """What an open page is told next."""
    page = await websocket_connect(f"ws://{address}livereload")
    await page.write_message(json.dumps({"command": "info", "url": address}))
    message = await page.read_message()
    page.close()
    return message


def until_built(server: subprocess.Popen) -> str:
    """What is said up to the end of a build, good or bad."""
    said = ""
    for line in server.stdout:
        said += line
        if "the site is in" in line or "still served" in line:
            break
    return said


def test_an_edit_before_anyone_watched_is_built_and_a_faulty_one_leaves_the_last_good_site(
    book, served
):
    server, address = served
    text = book / "index.md"
    assert "==> the site is in" in until_built(server)
    assert "Edited." in get(f"http://{address}") and "livereload" in get(f"http://{address}")
    assert "livereload" not in (book / "_build" / "html" / "index.html").read_text()
    text.write_text("# Book\n\nSee {term}`nowhere`.\n")
    said = until_built(server)
    assert "==> changed: index.md" in said and "the last good site is still served" in said
    assert "index.md:3" in said and "nowhere" in said
    assert "Edited." in get(f"http://{address}")
    text.write_text("# Book\n\nMended.\n")
    assert '"reload"' in asyncio.run(told(address))
    assert "==> the site is in" in until_built(server)
    assert "Mended." in get(f"http://{address}")
    server.send_signal(signal.SIGINT)
    assert server.stdout.read().strip() == ""
    assert server.wait(timeout=60) == 0
