"""Serve a folder on this machine.

Imports the standard library alone, so that a taken port is known before anything is installed.
"""

import argparse
import http.server
import socket
import sys
import time
from pathlib import Path

BUILT = "/-/built"
# the files on disk stay as they were built: a page asks for news only where they are served so.
# It asks each second: a browser holds few connections open, and there may be many pages
RELOAD = """<script>{
const seen = "%d", timer = setInterval(async () => {
  if (document.hidden) return;
  const built = await fetch("%s").then((answer) => answer.text()).catch(() => seen);
  if (built !== seen) { clearInterval(timer); location.reload(); }
}, 1000);
}</script>"""


def free_port(text: str) -> int:
    """The port as a number; raises ValueError where it is no port or something listens there."""
    port = int(text) if text.isdecimal() else 0
    if not 0 < port < 65536:
        raise ValueError(f"PORT={text} is not a port: choose a number between 1 and 65535")
    # a browser takes localhost for either
    if any(listens(host, port) for host in ("127.0.0.1", "::1")):
        other = port + 1 if port < 65535 else port - 1
        raise ValueError(f"port {port} is taken: stop what uses it, or say make book PORT={other}")
    return port


def listens(host: str, port: int) -> bool:
    """Whether something answers there: some systems let a taken address be bound, so we knock."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Answers without a line for each request."""

    def log_message(self, format, *args):
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder, and tells the pages that are open in a browser when to load again."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int):
        self.folder = folder
        self.reload()
        try:
            super().__init__(("127.0.0.1", port), Handler)
        except OSError as error:
            raise ValueError(f"port {port} cannot be used ({error.strerror})") from error

    def reload(self) -> None:
        """Let every open page load again."""
        # never a number that an earlier server gave
        self.built = time.time_ns()

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
        """A page with the script that loads it again, the number of the last build, or a file."""
        if self.path == BUILT:
            return self.answer("text/plain", str(self.site.built).encode())
        page = Path(self.translate_path(self.path))
        if page.is_dir() and self.path.partition("?")[0].endswith("/"):
            page /= "index.html"
        if page.suffix != ".html" or not page.is_file():
            return super().do_GET()
        # read before the page: one that is older than it says is only loaded once more
        script = RELOAD % (self.site.built, BUILT)
        content = page.read_bytes().replace(b"</body>", script.encode() + b"</body>")
        self.answer("text/html; charset=utf-8", content)

    def answer(self, kind: str, content: bytes):
        """A whole answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def end_headers(self):
        """A browser asks again each time: what it has kept may be from before a build."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def main() -> int:
    """Say whether the port is free."""
    parser = argparse.ArgumentParser(prog="tools.serve", description=__doc__)
    parser.add_argument("port")
    try:
        free_port(parser.parse_args().port)
    except ValueError as error:
        print(f"==> {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
