"""Print the built site as one book: `make pdf`.

Chromium prints all pages as one. The page number of each heading is read from the PDF and filled
into the contents and the references, and the book is printed again.
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
from tools.chromium import FLAGS, MISSING, chromium_path
from tools.site import ZIP
from tools.urls import repository_url, site_url

PDF = "attncourse.pdf"
FOLDER = Path(__file__).parent
TEMPLATES = FOLDER / "templates"
# the first version that prints the margin boxes of CSS, which hold the page numbers
OLDEST_CHROMIUM = 131
FILL_PAGE_NUMBERS = """numbers => {
  for (const element of document.querySelectorAll("[data-page]"))
    element.textContent = numbers[element.dataset.page] ?? "";
}"""


class PrintError(Exception):
    """The book could not be printed; the message says why."""


def print_book(book: Path, log=print) -> Path:
    """Print the built site as a PDF in its folder, and link to it from the front page."""
    site = book / "_build" / "html"
    if not (site / "index.html").is_file():
        raise PrintError(f"{site} is no built site: say `make site` first")
    if (executable := chromium_path()) is None:
        raise PrintError(f"there is {MISSING}")
    log("binding the pages into one")
    html_path = book / "_build" / "book.html"
    html_path.write_text(book_html(book, bind(book, site_url(repository_url(book)))), "utf-8")
    log("printing it, and once more with the numbers of its pages (Chromium)")
    pdf, pages = print_pdf(html_path, executable)
    (site / PDF).write_bytes(pdf)
    html_path.unlink()
    link_from_index(site / "index.html", pages, len(pdf))
    return site / PDF


def book_html(book: Path, parts: dict[str, Pages]) -> str:
    """The HTML of the whole book: a title page, the contents, and every page of the parts."""
    config = yaml.safe_load((book / "_config.yml").read_text("utf-8"))
    style = [(TEMPLATES / "book.css").read_text("utf-8")]
    pages = [page for part in parts.values() for page in part.values()]
    for number, page in enumerate(pages):
        page["class"], page["style"] = "bd-article", f"page: p{number}"
        # a CSS string has the syntax of a JSON string
        head = json.dumps(page.h1.get_text(), ensure_ascii=False)
        style.append(f"@page p{number} {{ @top-center {{ content: {head} }} }}")
    return Template((TEMPLATES / "book.html").read_text("utf-8")).substitute(
        {name: escape(str(config[name])) for name in ("title", "author", "copyright")},
        address=site_url(repository_url(book)),
        version=" of ".join([f"Version {__version__}", *commit_date(book)]),
        sign=(FOLDER / "theme" / "templates" / "favicon.svg").read_text("utf-8"),
        style="\n".join(style),
        contents=table_of_contents(parts),
        pages="\n".join(map(str, pages)),
    )


def commit_date(book: Path) -> list[str]:
    """The date of the last commit; an empty list without git or a repository."""
    command = ["git", f"--git-dir={book / '.git'}", "log", "-1", "--format=%cs"]
    try:
        day = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return []
    return [f"{date.fromisoformat(day):%d %B %Y}".lstrip("0")]


def table_of_contents(parts: dict[str, Pages]) -> str:
    """The contents: the title and sections of each page, with their page numbers."""
    entries = []
    for caption, pages in parts.items():
        entries.append(f'<p class="caption">{escape(caption)}</p>')
        for page in pages.values():
            entries.append(contents_entry("title", page["id"], page.h1))
            for heading in page.select("h2"):
                section = heading.find_parent("section") or heading
                entries.append(contents_entry("section", section["id"], heading))
    return "\n".join(entries)


def contents_entry(kind: str, target: str, heading: Tag) -> str:
    """A line of the contents: a heading, without its own links and ids, and its page number."""
    title = re.sub(r'</?a\b[^>]*>| id="[^"]*"', "", heading.decode_contents())
    return (
        f'<a class="{kind}" href="#{target}"><span>{title}</span>'
        f'<span data-page="{target}"></span></a>'
    )


def print_pdf(html_path: Path, executable: str) -> tuple[bytes, int]:
    """Print a page to PDF, with its page numbers filled in; return the PDF and its page count."""
    # imported here: the site is built without it
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        if int(browser.version.partition(".")[0]) < OLDEST_CHROMIUM:
            raise PrintError(
                f"Chromium {browser.version} is too old: {OLDEST_CHROMIUM} or newer is needed"
            )
        # without JavaScript, pages show their fallbacks
        page = browser.new_page(color_scheme="light", java_script_enabled=False)
        page.set_default_timeout(0)
        page.goto(html_path.as_uri())
        numbers = None
        for _ in range(3):
            page.evaluate(FILL_PAGE_NUMBERS, numbers or {})
            pdf = page.pdf(
                prefer_css_page_size=True, print_background=True, outline=True, tagged=True
            )
            page_of_target, pages = page_numbers(pdf)
            if page_of_target == numbers:
                return pdf, pages
            numbers = page_of_target
    raise PrintError("the pages moved each time that their numbers were filled in")


def page_numbers(pdf: bytes) -> tuple[dict[str, int], int]:
    """The page number, from 1, of each named destination of a PDF, and its page count."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(pdf))
    destinations = reader.named_destinations
    # the name begins with a slash
    numbers = {
        name[1:]: reader.get_destination_page_number(destination) + 1
        for name, destination in destinations.items()
    }
    return numbers, len(reader.pages)


def link_from_index(index: Path, pages: int, size: int) -> None:
    """Insert or replace the link to the PDF in the front page, below the link to the zip."""
    text = re.sub(r'\n<p class="pdf">.*?</p>', "", index.read_text("utf-8"))
    link = f'<a href="{PDF}" download>a book of {pages} pages</a>'
    line = f'\n<p class="pdf">To print the course, take {link}, a PDF of {size / 1e6:.0f} MB.</p>'
    text = re.sub(rf'(href="{ZIP}".*?</p>)', lambda zip: zip[0] + line, text, count=1, flags=re.S)
    index.write_text(text, "utf-8")


def main() -> None:
    """Print the book of a folder, and say in one line how that went."""
    book, start = Path(*sys.argv[1:]).resolve(), time.monotonic()
    try:
        path = print_book(book, lambda line: print(f"==> {line}", flush=True))
    except PrintError as failure:
        sys.exit(f"==> the book was not printed: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"==> the book is in {path.relative_to(book)} ({time.monotonic() - start:.0f} s)")


if __name__ == "__main__":
    main()
