"""Serve the site on this machine and build it again when a file changes: `make book`."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import livereload

from tools.execute import source_files


def free_port(text: str) -> int:
    """The port as a number; ends the program where it is no port or something listens there."""
    port = int(text) if text.isdecimal() else 0
    if not 0 < port < 65536:
        sys.exit(f"==> PORT={text} is not a port: choose a number between 1 and 65535")
    try:
        # some systems let a taken address be bound: we knock
        socket.create_connection(("localhost", port), timeout=1).close()
    except OSError:
        return port
    sys.exit(f"==> port {port} is taken: stop what uses it, or give make book another PORT=")


def follow(book: Path) -> None:
    """Build now, and whenever a file of the book has changed."""
    before: set[tuple[Path, float]] = set()
    while True:
        dates = {(path, path.stat().st_mtime) for path in source_files(book)}
        if before and dates != before:
            print(f"==> changed: {min(dates ^ before)[0].relative_to(book)}", flush=True)
        if dates != before:
            # in a process of its own, which imports the package as it is now
            if subprocess.run([sys.executable, "-m", "tools.site", str(book)]).returncode:
                print("==> fix the fault and save; until then the site stays as it was", flush=True)
        before = dates
        time.sleep(0.5)


def serve(book: Path, port: int) -> None:
    """Serve the site until Ctrl-C; its pages load again when a build has ended well."""
    server = livereload.Server()
    server.watch(str(book / ".cache" / "site"))
    # it would say each request, and its own address
    livereload.server.logger.disabled = True
    threading.Thread(target=follow, args=[book], daemon=True).start()
    place = f"http://localhost:{port}"
    print(f"==> once built, the course is at {place}; it follows your edits (Ctrl-C stops it)")
    server.serve(port=port, root=str(book / "_build" / "html"))


if __name__ == "__main__":
    serve(Path(sys.argv[2]).resolve(), free_port(sys.argv[1]))
