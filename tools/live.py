"""Serve the built site, build it again when a file changes, and reload the browser: `make book`."""

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path

from tools.execute import package_files, source_files
from tools.serve import Server, free_port
from tools.site import book_digest, is_built

# an editor that writes several files, or one in two steps, is let finish
PAUSE = 0.3


def seen(book: Path) -> dict[Path, tuple[int, int]]:
    """When each file that the site is made of was last written, and its size."""
    found = {}
    for path in (*source_files(book), *package_files()):
        try:
            state = path.stat()
        # removed since it was listed
        except FileNotFoundError:
            continue
        found[path] = state.st_mtime_ns, state.st_size
    return found


def watch(book: Path, server: Server) -> None:
    """Build whenever a file has changed since the site was built."""
    before = seen(book)
    if not is_built(book, book_digest(book)):
        print("==> something changed while the site was built", flush=True)
        build(book, server)
    while True:
        time.sleep(PAUSE)
        now = seen(book)
        if now == before:
            continue
        while (later := pause(book)) != now:
            now = later
        changed = sorted({path for path, _ in before.items() ^ now.items()})
        print(f"==> changed: {', '.join(path.name for path in changed)}", flush=True)
        before = now
        build(book, server)


def build(book: Path, server: Server) -> None:
    """Build, and let the pages load again; where it fails the last good site stays in place."""
    # in a process of its own, which imports the package as it is now
    done = subprocess.run([sys.executable, "-m", "tools.site", str(book)])
    if done.returncode:
        print("==> the last good site is still served; mend the fault and save", flush=True)
    else:
        server.reload()


def pause(book: Path) -> dict[Path, tuple[int, int]]:
    time.sleep(PAUSE)
    return seen(book)


def main() -> int:
    """Serve and watch until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="tools.live", description=__doc__)
    parser.add_argument("port")
    parser.add_argument("book", nargs="?", type=Path, default=Path(), help="the book's folder")
    given = parser.parse_args()
    book = given.book.resolve()
    try:
        server = Server(book / "_build" / "html", free_port(given.port))
    except ValueError as error:
        print(f"==> {error}", file=sys.stderr)
        return 1
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"==> the course is at http://localhost:{server.server_port}", end=" ")
        print("and follows your edits (Ctrl-C stops it)", flush=True)
        try:
            watch(book, server)
        except KeyboardInterrupt:
            print()
            server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
