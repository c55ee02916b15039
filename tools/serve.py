"""Serve the site on this machine and build it again when a file changes: `make book`."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

# what the site is made of; `make book` is started anew for the rest
TEXTS = ("*.md", "*.yml", "chapters", "exercises", "reference", "solutions")
CODE = ("attncourse", "benchmarks/results", "tools")


def free_port(text: str) -> int:
    """The port as a number; raises ValueError where it is no port or something listens there."""
    port = int(text) if text.isdecimal() else 0
    if not 0 < port < 65536:
        raise ValueError(f"PORT={text} is not a port: choose a number between 1 and 65535")
    try:
        # some systems let a taken address be bound: we knock
        socket.create_connection(("localhost", port), timeout=1).close()
    except OSError:
        return port
    raise ValueError(f"port {port} is taken: stop what uses it, or give make book another PORT=")


def build(book: Path) -> None:
    """Build the site; where that fails, the last good one stays in place."""
    # in a process of its own, which imports the package as it is now
    if subprocess.run([sys.executable, "-m", "tools.site", str(book)]).returncode:
        print("==> the last good site is still served; fix the fault and save", flush=True)


def follow(book: Path) -> None:
    """Build whenever a file of the book has changed."""
    from livereload.watcher import Watcher

    sources = Watcher()
    for name in (*TEXTS, *CODE):
        sources.watch(str(book / name))
    # the first look only learns the dates: what was edited before it is built now
    sources.examine()
    build(book)
    while True:
        time.sleep(0.5)
        if changed := sources.examine()[0]:
            print(f"==> changed: {Path(changed).relative_to(book)}", flush=True)
            build(book)


def serve(book: Path, port: int) -> None:
    """Serve the site until Ctrl-C; its pages load again when a build has ended well."""
    # imported here: a taken port is said before anything is installed
    import livereload

    server = livereload.Server()
    server.watch(str(book / ".cache" / "site"))
    # it would say each request, and its own address
    livereload.server.logger.disabled = True
    threading.Thread(target=follow, args=[book], daemon=True).start()
    print(f"==> the course is at http://localhost:{port}", end=" ")
    print("and follows your edits (Ctrl-C stops it)", flush=True)
    server.serve(port=port, root=str(book / "_build" / "html"))


def main() -> None:
    """Serve the book in a folder, or with none say whether the port is free."""
    text, *book = sys.argv[1:]
    try:
        port = free_port(text)
    except ValueError as error:
        sys.exit(f"==> {error}")
    if book:
        serve(Path(*book).resolve(), port)


if __name__ == "__main__":
    main()
