"""Serving the site: the port, the pages that load again, and what follows an edit."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest
from tornado.websocket import websocket_connect

from tests.books import NOTEBOOK, write
from tools.serve import parse_free_port


@pytest.mark.parametrize("port", ["", "0", "-1", "eight", "65536", "8000.5"])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(SystemExit, match=f"PORT={port} is not a port"):
        parse_free_port(port)


def test_a_taken_port_is_said():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        with pytest.raises(SystemExit, match=f"port {port} is taken"):
            parse_free_port(port)


CHAPTER = (
    NOTEBOOK + "# One\n\n```{code-cell}\nfine = 1\n```\n\n(here)=\n## Here\n\nBy {cite:t}`known`.\n"
)
INDEX = "# Book\n\nSee {ref}`here`.\n\n```{bibliography}\n:filter: True\n```\n"
PAPER = "@misc{{known, title={{T}}, author={{A. Author}}, year={{{}}}}}"


@pytest.fixture
def served_book(tmp_path):
    """A book, the process that serves it, and its address."""
    papers = {"reference/references.bib": PAPER.format(2001)}
    book = write(tmp_path, {"chapters/one.md": CHAPTER, "index.md": INDEX, **papers})
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
        yield book, server, f"localhost:{port}/"
        limit.cancel()
        server.kill()


def read_page(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}", timeout=60) as answer:
        return answer.read().decode()


async def livereload_message(address: str) -> str:
    """The next livereload message to an open page."""
    page = await websocket_connect(f"ws://{address}livereload")
    await page.write_message(json.dumps({"command": "info", "url": address}))
    message = await page.read_message()
    page.close()
    return message


def output_until(server: subprocess.Popen, end: str) -> str:
    """Read the server's output up to a line with these words."""
    lines = ""
    for line in server.stdout:
        lines += line
        if end in line:
            return lines
    raise AssertionError(f"{end!r} is not in {lines}")


@pytest.mark.slow
def test_an_edit_reaches_all_that_shows_it_and_a_fault_leaves_the_last_good_site(served_book):
    book, server, address = served_book
    chapter_path, success, failure = (
        book / "chapters" / "one.md",
        "the site is in",
        "the site stays as it was",
    )
    output_until(server, success)
    assert "2001" in read_page(f"{address}chapters/one.html") and "livereload" in read_page(address)
    assert "livereload" not in (book / "_build" / "html" / "index.html").read_text()

    edited = CHAPTER.replace("## Here", "## There")
    chapter_path.write_text(edited)
    (book / "reference" / "references.bib").write_text(PAPER.format(2002))
    assert '"reload"' in asyncio.run(livereload_message(address))
    assert "running the cells" not in output_until(server, success)
    page = read_page(f"{address}chapters/one.html")
    assert "2002" in page and "There" in page and "There" in read_page(address)

    noisy = edited.replace("fine = 1", "import sys; print('oh', file=sys.stderr)")
    chapter_path.write_text(noisy.replace("(here)=\n", ""))
    words = output_until(server, failure)
    assert "==> changed: chapters/one.md" in words
    assert "index.md:3: WARNING: undefined label: 'here'" in words and "stderr was found" in words
    assert "the site was not built: Sphinx warned" in words
    assert "There" in read_page(address)

    chapter_path.write_text(edited + "\nFixed.\n")
    output_until(server, success)
    assert "Fixed." in read_page(f"{address}chapters/one.html")
    server.send_signal(signal.SIGINT)
    assert server.stdout.read().strip() == ""
    assert server.wait(timeout=60) == 0
