"""Serving the site: the port, the pages that load again, and what follows an edit."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from attncourse.publish.serve import Server, free_port

ROOT = Path(__file__).parents[1]
PAGE = "<html><head></head><body>{}</body></html>"


@pytest.mark.parametrize("port", ["", "0", "-1", "eight", "65536", "8000.5"])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(ValueError, match=f"PORT={port} is not a port"):
        free_port(port)


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return answer.read().decode()


def news(address: str) -> str:
    """Where a page asks for news, as its script does."""
    found = re.search(r"new EventSource\('([^']+)'\)", get(address))
    assert found
    return address.rstrip("/") + found[1]


@pytest.fixture
def served(tmp_path):
    """A server of a folder with one page and one style sheet, and its address."""
    (tmp_path / "index.html").write_text(PAGE.format("old"))
    (tmp_path / "page.css").write_text("body {}")
    # as on a machine that gives the next free port
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with Server(tmp_path, port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server, f"http://127.0.0.1:{port}/"
        server.shutdown()


def test_pages_get_the_script_and_the_files_on_disk_do_not(served, tmp_path):
    _, address = served
    page = get(address)
    assert page.startswith("<html><head></head><body>old<script>")
    assert get(f"{address}index.html") == page
    assert get(f"{address}page.css") == "body {}"
    assert (tmp_path / "index.html").read_text() == PAGE.format("old")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(f"{address}nowhere.html")


def test_a_page_hears_of_a_build_that_came_before_it_listened(served):
    server, address = served
    older = news(address)
    server.reload()
    assert get(older) == "data: built\n\n"
    newer = news(address)
    assert newer != older
    threading.Timer(0.2, server.reload).start()
    assert get(newer) == "data: built\n\n"


def test_an_edit_is_built_and_a_faulty_one_leaves_the_last_good_site(tmp_path):
    for name in ("_config.yml", "theme", "reference/references.bib"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: one\n")
    (tmp_path / "one.md").write_text("# One\n\nOne sentence.\n")
    text = tmp_path / "index.md"
    text.write_text("# Book\n")
    page = tmp_path / "_build" / "html" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE.format("old"))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "attncourse.publish.live", str(port), str(tmp_path)]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as live:
        # a build that never ends would let this test wait for ever
        limit = threading.Timer(300, live.kill)
        limit.start()
        try:
            address = f"http://localhost:{port}/"
            assert address.rstrip("/") in live.stdout.readline()
            waits = news(address)
            text.write_text("# Book\n\nSee {term}`nowhere`.\n")
            said = until_built(live)
            assert "the last good site is still served" in said
            assert "==> changed: index.md" in said
            assert "index.md:3" in said and "nowhere" in said
            assert "old" in get(address)
            text.write_text("# Book\n\nMended.\n")
            said = until_built(live)
            assert "==> the site is in" in said, said
            assert get(waits) == "data: built\n\n"
            assert "Mended." in get(address)
            live.send_signal(signal.SIGINT)
            assert live.stdout.read().strip() == ""
            assert live.wait(timeout=60) == 0
        finally:
            limit.cancel()
            live.kill()


def until_built(live: subprocess.Popen) -> str:
    """What is said up to the end of a build, good or bad."""
    said = ""
    for line in live.stdout:
        said += line
        if "the site is in" in line or "still served" in line:
            break
    return said
