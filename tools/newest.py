"""Build the site with the sphinx-build of another environment, and compare it with ours.

`make newest`, weekly in CI. jupyter-book holds Sphinx back: this says early what the next one will
want of the course. It takes the configuration that jupyter-book writes, and our extensions.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup

from tools.site import sphinx_settings

BOOK = Path(__file__).parents[1]


def write_config(book: Path, folder: Path) -> None:
    """Write the configuration that jupyter-book gives to Sphinx as conf.py into a folder."""
    from jupyter_book.config import get_final_config

    config, _ = get_final_config(
        user_yaml=book / "_config.yml", sourcedir=book, cli_config=sphinx_settings(book)
    )
    # Sphinx resolves these relative to conf.py
    config["templates_path"] = [str(book / path) for path in config["templates_path"]]
    config["bibtex_bibfiles"] = [str(book / path) for path in config["bibtex_bibfiles"]]
    config["html_favicon"] = str(book / config["html_favicon"])
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} = {value!r}\n" for name, value in sorted(config.items())]
    (folder / "conf.py").write_text("".join(lines), "utf-8")


def build_site(python: str, book: Path, folder: Path) -> tuple[Path, list[str]]:
    """Build the book with the Sphinx of a Python executable; return the site and the warnings."""
    write_config(book, folder)
    site, warnings = folder / "html", folder / "warnings.txt"
    command = ["-q", "-b", "html", "-E", "-j", "auto", "--keep-going", "-c", folder, "-w", warnings]
    result = subprocess.run(
        [python, "-m", "sphinx", *command, "-d", folder / "trees", book, site],
        env=os.environ | {"PYTHONPATH": str(book)},
    )
    if result.returncode:
        sys.exit(f"==> sphinx-build failed ({result.returncode}): its last lines say where")
    return site, warnings.read_text("utf-8").splitlines()


def anchors(page: Path) -> set[str]:
    """The ids in the article of a page."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    article = soup.find("article") or soup
    return {str(element["id"]) for element in article.find_all(id=True)}


def differences(ours: Path, theirs: Path) -> Iterator[str]:
    """A line for each page that only one site has, and for each page whose anchors differ."""
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
            missing, added = (", ".join(sorted(ids)) or "none" for ids in (old - new, new - old))
            yield f"{page}: lost are the anchors {missing}; new are {added}"


def main() -> int:
    site, warnings = build_site(sys.argv[1], BOOK, BOOK / "_build" / "newest")
    problems = [f"it warns: {line}" for line in warnings]
    problems += differences(BOOK / "_build" / "html", site)
    print(*problems or ["==> no warning; the same pages with the same anchors"], sep="\n")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
