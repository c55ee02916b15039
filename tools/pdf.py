"""Print the built site as one book: `make pdf`.

Chromium prints one page that holds all. Where each heading came to stand is read back from the
PDF, the numbers are filled in, and it is printed again.
"""

import io
import json
import re
import subprocess
import sys
import time
from datetime import date
from html import escape
from pathlib import Path
from string import Template

import yaml
from bs4 import Tag

from attncourse import __version__
from tools.binding import Pages, bind
from tools.chromium import FLAGS, MISSING, chromium
from tools.site import ZIP
from tools.urls import repository_url, site_url

PDF = "attncourse.pdf"
HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
# the first that prints what a style puts into the margins of a sheet: the numbers of the pages
OLDEST = 131
FILL = """numbers => {
  for (const one of document.querySelectorAll("[data-page]"))
    one.textContent = numbers[one.dataset.page] ?? "";
}"""


class PrintError(Exception):
    """Why there is no book."""


def make(book: Path, say=print) -> Path:
    """Print a book whose site is built, and link to it from the site's front page."""
    site = book / "_build" / "html"
    if not (site / "index.html").is_file():
        raise PrintError(f"{site} is no built site: say `make site` first")
    if (path := chromium()) is None:
        raise PrintError(f"there is {MISSING}")
    say("binding the pages into one")
    bound = book / "_build" / "book.html"
    bound.write_text(whole(book, bind(book, site_url(repository_url(book)))), "utf-8")
    say("printing it, and once more with the numbers of its pages (Chromium)")
    pdf, pages = printed(bound, path)
    (site / PDF).write_bytes(pdf)
    bound.unlink()
    announce(site / "index.html", pages, len(pdf))
    return site / PDF


def whole(book: Path, parts: dict[str, Pages]) -> str:
    """The page that holds all: a title page, the contents, and every page of the parts."""
    config = yaml.safe_load((book / "_config.yml").read_text("utf-8"))
    style = [(TEMPLATES / "book.css").read_text("utf-8")]
    pages = [page for part in parts.values() for page in part.values()]
    for number, page in enumerate(pages):
        page["class"], page["style"] = "bd-article", f"page: p{number}"
        # a text in CSS is written as one in JSON
        head = json.dumps(page.h1.get_text(), ensure_ascii=False)
        style.append(f"@page p{number} {{ @top-center {{ content: {head} }} }}")
    return Template((TEMPLATES / "book.html").read_text("utf-8")).substitute(
        {name: escape(str(config[name])) for name in ("title", "author", "copyright")},
        address=site_url(repository_url(book)),
        version=" of ".join([f"Version {__version__}", *committed(book)]),
        sign=(HERE / "theme" / "templates" / "favicon.svg").read_text("utf-8"),
        style="\n".join(style),
        contents=contents(parts),
        pages="\n".join(map(str, pages)),
    )


def committed(book: Path) -> list[str]:
    """The day of the last commit, where git knows it."""
    command = ["git", f"--git-dir={book / '.git'}", "log", "-1", "--format=%cs"]
    try:
        day = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return []
    return [f"{date.fromisoformat(day):%d %B %Y}".lstrip("0")]


def contents(parts: dict[str, Pages]) -> str:
    """The titles and the sections of every page, each with the number of its page."""
    listed = []
    for caption, pages in parts.items():
        listed.append(f'<p class="caption">{escape(caption)}</p>')
        for page in pages.values():
            listed.append(entry("title", page["id"], page.h1))
            for heading in page.select("h2"):
                section = heading.find_parent("section") or heading
                listed.append(entry("section", section["id"], heading))
    return "\n".join(listed)


def entry(kind: str, place: str, heading: Tag) -> str:
    """A line of the contents: a heading, without a link or an id of its own, and its page."""
    words = re.sub(r'</?a\b[^>]*>| id="[^"]*"', "", heading.decode_contents())
    return (
        f'<a class="{kind}" href="#{place}"><span>{words}</span>'
        f'<span data-page="{place}"></span></a>'
    )


def printed(bound: Path, path: str) -> tuple[bytes, int]:
    """The PDF of a page in which each `data-page` has the number it was found on; its pages."""
    # imported here: who builds the site alone needs neither
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        if int(browser.version.partition(".")[0]) < OLDEST:
            raise PrintError(f"Chromium {browser.version} is too old: {OLDEST} or newer is needed")
        # what needs a script is then not there
        page = browser.new_page(color_scheme="light", java_script_enabled=False)
        page.set_default_timeout(0)
        page.goto(bound.as_uri())
        numbers = None
        for _ in range(3):
            page.evaluate(FILL, numbers or {})
            pdf = page.pdf(
                prefer_css_page_size=True, print_background=True, outline=True, tagged=True
            )
            found, pages = places(pdf)
            if found == numbers:
                return pdf, pages
            numbers = found
    raise PrintError("the pages moved each time that their numbers were filled in")


def places(pdf: bytes) -> tuple[dict[str, int], int]:
    """The page on which each place that a link leads to stands, counted from 1; all pages."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(pdf))
    named = reader.named_destinations
    # a name has a slash before it
    found = {
        name[1:]: reader.get_destination_page_number(place) + 1 for name, place in named.items()
    }
    return found, len(reader.pages)


def announce(index: Path, pages: int, size: int) -> None:
    """Put a link to the PDF into the front page, below that to the zip; an earlier one goes."""
    text = re.sub(r'\n<p class="pdf">.*?</p>', "", index.read_text("utf-8"))
    link = f'<a href="{PDF}" download>a book of {pages} pages</a>'
    line = f'\n<p class="pdf">To print the course, take {link}, a PDF of {size / 1e6:.0f} MB.</p>'
    text = re.sub(rf'(href="{ZIP}".*?</p>)', lambda zip: zip[0] + line, text, count=1, flags=re.S)
    index.write_text(text, "utf-8")


def main() -> None:
    """Print the book of a folder, and say in one line how that went."""
    book, start = Path(*sys.argv[1:]).resolve(), time.monotonic()
    try:
        path = make(book, lambda line: print(f"==> {line}", flush=True))
    except PrintError as failure:
        sys.exit(f"==> the book was not printed: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"==> the book is in {path.relative_to(book)} ({time.monotonic() - start:.0f} s)")


if __name__ == "__main__":
    main()
