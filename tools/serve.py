"""Serve the site on this machine and build it again when a file changes: `make book`."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import livereload

from tools.execute import source_files


def parse_free_port(text: str) -> int:
    """Read a port number; exit with a message if it is not valid or in use."""
    port = int(text) if text.isdecimal() else 0
    if not 0 < port < 65536:
        sys.exit(f"==> PORT={text} is not a port: choose a number between 1 and 65535")
    try:
        # some systems let a used address be bound: try to connect instead
        socket.create_connection(("localhost", port), timeout=1).close()
    except OSError:
        return port
    sys.exit(f"==> port {port} is taken: stop what uses it, or give make book another PORT=")


def rebuild_on_change(book: Path) -> None:
    """Build the site now, and again whenever a file of the book has changed; never return."""
    previous: set[tuple[Path, float]] = set()
    while True:
        current = {(path, path.stat().st_mtime) for path in source_files(book)}
        if previous and current != previous:
            print(f"==> changed: {min(current ^ previous)[0].relative_to(book)}", flush=True)
        if current != previous:
            # in a process of its own, which imports the package as it is now
            if subprocess.run([sys.executable, "-m", "tools.site", str(book)]).returncode:
                print("==> fix the fault and save; until then the site stays as it was", flush=True)
        previous = current
        time.sleep(0.5)


def serve(book: Path, port: int) -> None:
    """Serve the site until Ctrl-C; open pages reload after each successful build."""
    server = livereload.Server()
    server.watch(str(book / ".cache" / "site"))
    # it logs each request and its own address
    livereload.server.logger.disabled = True
    threading.Thread(target=rebuild_on_change, args=[book], daemon=True).start()
    address = f"http://localhost:{port}"
    print(f"==> once built, the course is at {address}; it follows your edits (Ctrl-C stops it)")
    server.serve(port=port, root=str(book / "_build" / "html"))


if __name__ == "__main__":
    serve(Path(sys.argv[2]).resolve(), parse_free_port(sys.argv[1]))
