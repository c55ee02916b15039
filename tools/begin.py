"""Begin a chapter or an exercise: `make chapter SLUG=name`, `make exercise NAME=chapter/name`.

What it writes runs, and passes the tests; its contents are there to be replaced.
"""

import re
import sys
from pathlib import Path

from tools import release
from tools.urls import ROOT

TEMPLATES = Path(__file__).parent / "templates"


def put(kind: str, root: Path, **words: str) -> list[str]:
    """Write the files of a template; into one that is there, what stands `after` a pattern."""
    written, template = [], (TEMPLATES / f"{kind}.txt").read_text("utf-8")
    for word, meant in words.items():
        template = template.replace(word, meant)
    for part in template.split("=== ")[1:]:
        place, _, text = part.partition("\n")
        name, _, after = place.partition(" after ")
        path = root / name
        if after:
            whole = path.read_text("utf-8")
            end = re.search(after, whole).end()
            text = whole[:end] + text + whole[end:]
        elif path.exists():
            raise ValueError(f"{name} is there already")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        written.append(name)
    return written


def chapter(slug: str, root: Path = ROOT) -> list[str]:
    """Write the files of a chapter, and name it in the table of contents and among the modules."""
    if not re.fullmatch(r"[a-z][a-z_]*", slug):
        raise ValueError(f"SLUG={slug} is no plain word, as in make chapter SLUG=relative")
    title = slug.replace("_", " ").capitalize()
    last = re.findall(r"file: exercises/(\w+)", (root / "_toc.yml").read_text("utf-8"))[-1]
    header = (root / f"chapters/{last}.md").read_text("utf-8").partition("\n\n")[0]
    return put("chapter", root, NOTEBOOK=header, SLUG=slug, TITLE=title, LAST=last)


def exercise(place: str, root: Path = ROOT) -> list[str]:
    """Write the files of an exercise, and name it as the last one of its chapter."""
    slug, _, name = place.partition("/")
    if not name.isidentifier():
        raise ValueError(f"NAME={place} is not as in make exercise NAME=dot_product/prefix_mask")
    if not (root / f"attncourse/course/{slug}").is_dir():
        raise ValueError(f"there is no chapter {slug}: begin it with make chapter SLUG={slug}")
    known = (root / "attncourse/course/aims.py").read_text("utf-8")
    aim = re.search(rf'"{slug}": {{\n +"([a-z-]+)"', known)[1]
    return put("exercise", root, SLUG=slug, NAME=name, AIM=aim)


def main() -> None:
    """Begin what is asked for, and say what to do next."""
    kind, name = sys.argv[1:]
    try:
        written = {"chapter": chapter, "exercise": exercise}[kind](name)
    except ValueError as error:
        sys.exit(f"==> {error}")
    # their notebooks
    release.write()
    print(f"==> wrote {', '.join(written)}: make them yours, then say make release")


if __name__ == "__main__":
    main()
