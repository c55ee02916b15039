"""Begin a chapter or an exercise: `make chapter SLUG=name`, `make exercise NAME=chapter/name`.

What it writes runs, and passes the tests; its contents are there to be replaced.
"""

import re
import sys
from pathlib import Path

from tools.urls import ROOT

TEMPLATES = Path(__file__).parent / "templates"
CONTENTS = """\
      - file: chapters/{slug}
        sections:
          - file: exercises/{slug}
            title: Exercises
"""
AUTOMODULE = """
## {title}

```{{eval-rst}}
.. automodule:: attncourse.{slug}
   :members:
```
"""
LEDGER = """
## {title}

```{{code-cell}} python
:tags: [remove-input]

ledger("{slug}")
```
"""


def put(kind: str, root: Path, **words: str) -> list[str]:
    """Write the files of a template; a text of exercises that is there goes on."""
    written, template = [], (TEMPLATES / f"{kind}.txt").read_text("utf-8")
    for word, meant in words.items():
        template = template.replace(word, meant)
    for part in template.split("=== ")[1:]:
        name, _, text = part.partition("\n")
        path = root / name
        goes_on = kind == "exercise" and path.suffix == ".md"
        if path.exists() and not goes_on:
            raise ValueError(f"{name} is there already")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((path.read_text("utf-8") if goes_on else "") + text, "utf-8")
        written.append(name)
    return written


def chapter(slug: str, root: Path = ROOT) -> list[str]:
    """Write the files of a chapter, and name it in the table of contents and among the modules."""
    if not re.fullmatch(r"[a-z][a-z_]*", slug):
        raise ValueError(f"SLUG={slug} is no plain word, as in make chapter SLUG=relative")
    title = slug.replace("_", " ").capitalize()
    last = re.findall(r"file: exercises/(\w+)", (root / "_toc.yml").read_text("utf-8"))[-1]
    header = (root / f"solutions/{last}.md").read_text("utf-8").partition("\n\n")[0]
    written = put("chapter", root, NOTEBOOK=header, SLUG=slug, TITLE=title)
    lists = {
        "_toc.yml": (rf"file: exercises/{last}\n +title: .*\n", CONTENTS),
        "reference/api.md": (rf"attncourse\.{last}\n(?: .*\n)*```\n", AUTOMODULE),
        "reference/claims.md": (rf'ledger\("{last}"\)\n```\n', LEDGER),
    }
    for name, (after, text) in lists.items():
        added = text.format(slug=slug, title=title)
        whole = re.sub(after, rf"\g<0>{added}", (root / name).read_text("utf-8"))
        (root / name).write_text(whole, "utf-8")
    return [*written, *lists]


def exercise(place: str, root: Path = ROOT) -> list[str]:
    """Write the files of an exercise, and name it as the last one of its chapter."""
    slug, _, name = place.partition("/")
    order = root / "attncourse" / "checks" / slug / "__init__.py"
    if not name.isidentifier():
        raise ValueError(f"NAME={place} is not as in make exercise NAME=dot_product/prefix_mask")
    if not order.is_file():
        raise ValueError(f"there is no chapter {slug}: begin it with make chapter SLUG={slug}")
    written = put("exercise", root, SLUG=slug, NAME=name)
    others = order.read_text("utf-8").removesuffix(")\n")
    order.write_text(f'{others}    "{name}",\n)\n', "utf-8")
    return [*written, order.relative_to(root).as_posix()]


def main() -> None:
    """Begin what is asked for, and say what to do next."""
    kind, name = sys.argv[1:]
    try:
        written = {"chapter": chapter, "exercise": exercise}[kind](name)
    except ValueError as error:
        sys.exit(f"==> {error}")
    print(f"==> wrote {', '.join(written)}: make them yours, then say make release")


if __name__ == "__main__":
    main()
