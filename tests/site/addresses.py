"""The addresses of a built site: its pages, and the anchors that a reader may have kept.

The anchors of what has moved from a chapter's page to its page that goes deeper are on both.
`python -m tests.site.addresses` adds those of `_build/html` to the list of what every later site
must have.
"""

import re
from pathlib import Path

from bs4 import BeautifulSoup

from tests import ROOT

KEPT = Path(__file__).with_name("addresses.txt")
# what holds content: the rest are parts of drawings and of a page's frame
CONTENT = ", ".join(
    f"{one}[id]" for one in ("section", "div", "figure", "table", "dt", "span", "p")
)
# of the frame, of citations, and of the package's functions, which have their own names
NOT_CONTENT = re.compile(r"(pst-|id\d+$|ethical-|searchbox$|attncourse\.|module-)")


def anchors(page: BeautifulSoup) -> list[str]:
    """The anchors of a page's content."""
    found = [element["id"] for element in page.select(CONTENT)]
    return [one for one in found if not NOT_CONTENT.match(one)]


def addresses(pages: dict[str, BeautifulSoup]) -> set[str]:
    """Each page, and each of its anchors as `page#anchor`."""
    return {*pages, *(f"{name}#{one}" for name, page in pages.items() for one in anchors(page))}


if __name__ == "__main__":
    site = ROOT / "_build" / "html"
    files = [file for file in site.rglob("*.html") if "_static" not in file.parts]
    pages = {
        file.relative_to(site).as_posix(): BeautifulSoup(file.read_text("utf-8"), "html.parser")
        for file in files
    }
    kept = KEPT.read_text("utf-8").splitlines() if KEPT.exists() else []
    KEPT.write_text("\n".join(sorted({*kept, *addresses(pages)})) + "\n", "utf-8")
