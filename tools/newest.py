"""Build the site with plain sphinx-build, of another environment, and compare it with ours.

`make newest`, weekly in CI. jupyter-book holds Sphinx back: this says early what the next one will
want of the course. It takes the configuration that jupyter-book writes, and our extensions.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup

from tools.site import settings

BOOK = Path(__file__).parents[1]


def configured(book: Path, folder: Path) -> None:
    """Write the configuration that jupyter-book gives to Sphinx, as a conf.py in that folder."""
    from jupyter_book.config import get_final_config

    made, _ = get_final_config(
        user_yaml=book / "_config.yml", sourcedir=book, cli_config=settings(book)
    )
    # these it looks for beside the configuration
    made["templates_path"] = [str(book / one) for one in made["templates_path"]]
    made["bibtex_bibfiles"] = [str(book / one) for one in made["bibtex_bibfiles"]]
    made["html_favicon"] = str(book / made["html_favicon"])
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} = {value!r}\n" for name, value in sorted(made.items())]
    (folder / "conf.py").write_text("".join(lines), "utf-8")


def built(python: str, book: Path, folder: Path) -> tuple[Path, list[str]]:
    """The site that this Python's Sphinx makes of the book, and its warnings."""
    configured(book, folder)
    site, warnings = folder / "html", folder / "warnings.txt"
    command = ["-q", "-b", "html", "-E", "-j", "auto", "--keep-going", "-c", folder, "-w", warnings]
    done = subprocess.run(
        [python, "-m", "sphinx", *command, "-d", folder / "trees", book, site],
        env=os.environ | {"PYTHONPATH": str(book)},
    )
    if done.returncode:
        sys.exit(f"==> sphinx-build failed ({done.returncode}): its last lines say where")
    return site, warnings.read_text("utf-8").splitlines()


def anchors(page: Path) -> set[str]:
    """What a link may lead to in the text of a page."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    text = soup.find("article") or soup
    return {str(one["id"]) for one in text.find_all(id=True)}


def differences(ours: Path, theirs: Path) -> Iterator[str]:
    """A line for each page that only one site has, and for each page with other anchors."""
    pages = [
        {
            path.relative_to(site).as_posix()
            for path in site.rglob("*.html")
            if "_static" not in path.parts
        }
        for site in (ours, theirs)
    ]
    yield from (f"only ours has {page}" for page in sorted(pages[0] - pages[1]))
    yield from (f"only the new one has {page}" for page in sorted(pages[1] - pages[0]))
    for page in sorted(pages[0] & pages[1]):
        old, new = anchors(ours / page), anchors(theirs / page)
        if old != new:
            lost, more = (", ".join(sorted(some)) or "none" for some in (old - new, new - old))
            yield f"{page}: lost are the anchors {lost}; new are {more}"


def main() -> int:
    site, warnings = built(sys.argv[1], BOOK, BOOK / "_build" / "newest")
    found = [f"it warns: {line}" for line in warnings]
    found += differences(BOOK / "_build" / "html", site)
    print(*found or ["==> no warning; the same pages with the same anchors"], sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
