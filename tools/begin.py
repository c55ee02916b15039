"""Begin a chapter or an exercise: `make chapter SLUG=name`, `make exercise NAME=chapter/name`.

What it writes runs, and passes the tests; its contents are there to be replaced.
"""

import re
import sys
from pathlib import Path

from tools import release
from tools.urls import ROOT

TEMPLATES = Path(__file__).parent / "templates"


def write_template(kind: str, root: Path, **words: str) -> list[str]:
    """Write the files of a template; text marked `after` a pattern goes into the existing file."""
    files, template = [], (TEMPLATES / f"{kind}.txt").read_text("utf-8")
    for placeholder, value in words.items():
        template = template.replace(placeholder, value)
    for part in template.split("=== ")[1:]:
        target, _, text = part.partition("\n")
        name, _, after = target.partition(" after ")
        path = root / name
        if after:
            content = path.read_text("utf-8")
            end = re.search(after, content).end()
            text = content[:end] + text + content[end:]
        elif path.exists():
            raise ValueError(f"{name} is there already")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        files.append(name)
    return files


def write_chapter(slug: str, root: Path = ROOT) -> list[str]:
    """Write the skeleton of a chapter, and list it in `_toc.yml` and among the modules."""
    if not re.fullmatch(r"[a-z][a-z_]*", slug):
        raise ValueError(f"SLUG={slug} is no plain word, as in make chapter SLUG=relative")
    topic = slug.replace("_", " ")
    last = re.findall(r"file: exercises/(\w+)", (root / "_toc.yml").read_text("utf-8"))[-1]
    header = (root / f"chapters/{last}.md").read_text("utf-8").partition("\n\n")[0]
    names = {"SLUG": slug, "TOPIC": topic, "TITLE": topic.capitalize(), "LAST": last}
    return write_template("chapter", root, NOTEBOOK=header, **names)


def write_exercise(path: str, root: Path = ROOT) -> list[str]:
    """Write the skeleton of the exercise at `chapter/name`, and list it last in its chapter."""
    slug, _, name = path.partition("/")
    if not name.isidentifier():
        raise ValueError(f"NAME={path} is not as in make exercise NAME=dot_product/prefix_mask")
    if not (root / f"attncourse/course/{slug}").is_dir():
        raise ValueError(f"there is no chapter {slug}: begin it with make chapter SLUG={slug}")
    aims = (root / "attncourse/course/aims.py").read_text("utf-8")
    aim = re.search(rf'"{slug}": {{\n +"([a-z-]+)"', aims)[1]
    return write_template("exercise", root, SLUG=slug, NAME=name, AIM=aim)


def main() -> None:
    """Write the skeleton that the command line names, and say what to do next."""
    kind, name = sys.argv[1:]
    try:
        files = {"chapter": write_chapter, "exercise": write_exercise}[kind](name)
    except ValueError as error:
        sys.exit(f"==> {error}")
    # the notebooks of what was added
    release.write()
    print(f"==> wrote {', '.join(files)}: make them yours, then say make release")
    if kind == "exercise":
        print("    it has its chapter's first aim and stands last in index.md: choose both")


if __name__ == "__main__":
    main()
