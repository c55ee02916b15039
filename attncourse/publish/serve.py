"""Serve the built site on this machine: `make book`.

Imports the standard library alone, so that a taken port is known before anything is installed.
"""

import argparse
import functools
import http.server
import socket
import sys


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


def serve(folder: str, port: int) -> None:
    """Serve a folder to this machine until Ctrl-C."""
    handler = functools.partial(Quiet, directory=folder)
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise ValueError(f"port {port} cannot be used ({error.strerror})") from error
    with server:
        print(f"==> the course is at http://localhost:{port} (Ctrl-C stops it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Answers without a line for each request."""

    def log_message(self, format, *args):
        """Say nothing."""


def main() -> int:
    """Check the port, and serve the folder if one is given."""
    parser = argparse.ArgumentParser(prog="attncourse.publish.serve", description=__doc__)
    parser.add_argument("port")
    parser.add_argument("folder", nargs="?")
    given = parser.parse_args()
    try:
        port = free_port(given.port)
        if given.folder:
            serve(given.folder, port)
    except ValueError as error:
        print(f"==> {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
