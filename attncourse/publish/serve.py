"""Serve a folder on this machine.

Imports the standard library alone, so that a taken port is known before anything is installed.
"""

import argparse
import http.server
import socket
import sys
import threading
from pathlib import Path

EVENTS = "/-/built-since/"
# the files on disk stay as they were built: a page asks for news only where they are served so
RELOAD = "<script>new EventSource('{}{}').onmessage = () => location.reload()</script>"


def free_port(text: str) -> int:
    """The port as a number; raises ValueError where it is no port or something listens there."""
    port = int(text) if text.isdecimal() else 0
    if not 0 < port < 65536:
        raise ValueError(f"PORT={text} is not a port: choose a number between 1 and 65535")
    with socket.socket() as probe:
        # a listener on every interface lets this address be bound on some systems: knock first
        probe.settimeout(1)
        taken = probe.connect_ex(("127.0.0.1", port)) == 0
    if taken:
        raise ValueError(
            f"port {port} is taken: stop what uses it, or say make book PORT={port + 1}"
        )
    return port


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Answers without a line for each request."""

    def log_message(self, format, *args):
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder, and tells the pages that are open in a browser when to load again."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int):
        self.folder, self.built, self.news = folder, 0, threading.Condition()
        try:
            super().__init__(("127.0.0.1", port), Handler)
        except OSError as error:
            raise ValueError(f"port {port} cannot be used ({error.strerror})") from error

    def reload(self) -> None:
        """Let every open page load again."""
        with self.news:
            self.built += 1
            self.news.notify_all()

    def wait(self, seen: int, seconds: float) -> bool:
        """Whether a page is older than the last build, as soon as it is."""
        with self.news:
            return self.news.wait_for(lambda: self.built != seen, seconds)

    def handle_error(self, request, client_address):
        """A browser that leaves in the middle of an answer is no fault."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(Quiet):
    """Serves pages that load again when there are newer ones."""

    def __init__(self, request, client_address, server: Server):
        self.site = server
        super().__init__(request, client_address, server, directory=str(server.folder))

    def do_GET(self):
        """A page with the script that loads it again, the news of a new build, or a file."""
        kind, _, seen = self.path.rpartition("/")
        if f"{kind}/" == EVENTS and seen.isdecimal():
            return self.tell(int(seen))
        page = Path(self.translate_path(self.path))
        if page.is_dir() and self.path.partition("?")[0].endswith("/"):
            page /= "index.html"
        if page.suffix != ".html" or not page.is_file():
            return super().do_GET()
        script = RELOAD.format(EVENTS, self.site.built)
        content = page.read_bytes().replace(b"</body>", script.encode() + b"</body>")
        self.answer("text/html; charset=utf-8", len(content))
        self.wfile.write(content)

    def tell(self, seen: int):
        """One event when there is a newer build than the page has seen."""
        self.answer("text/event-stream")
        while not self.site.wait(seen, seconds=15):
            # a line that starts with a colon says nothing, but shows whether anyone still listens
            self.wfile.write(b":\n\n")
        self.wfile.write(b"data: built\n\n")

    def answer(self, kind: str, length: int | None = None):
        """The head of an answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def end_headers(self):
        """A browser asks again each time: what it has kept may be from before a build."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def main() -> int:
    """Say whether the port is free."""
    parser = argparse.ArgumentParser(prog="attncourse.publish.serve", description=__doc__)
    parser.add_argument("port")
    try:
        free_port(parser.parse_args().port)
    except ValueError as error:
        print(f"==> {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
