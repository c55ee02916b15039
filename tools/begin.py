"""Begin an exercise: `make exercise NAME=chapter/name`.

What it writes runs, and passes the tests; its contents are there to be replaced.
"""

import sys
from pathlib import Path

from tools.urls import ROOT

TEMPLATE = Path(__file__).with_name("exercise.txt")


def exercise(place: str, root: Path = ROOT) -> list[str]:
    """Write the files of an exercise, and name it as the last one of its chapter."""
    slug, _, name = place.partition("/")
    folder, solutions = root / "attncourse" / "checks" / slug, root / f"solutions/{slug}.md"
    module, order = folder / f"{name}.py", folder / "__init__.py"
    if not name.isidentifier():
        raise ValueError(f"NAME={place} is not as in make exercise NAME=dot_product/prefix_mask")
    if not order.is_file():
        raise ValueError(f"there is no chapter {slug}")
    if module.exists():
        raise ValueError(f"{module.relative_to(root).as_posix()} is there already")
    template = TEMPLATE.read_text("utf-8").replace("SLUG", slug).replace("NAME", name)
    card, task = template.split("=== solution\n")
    module.write_text(card, "utf-8")
    solutions.write_text(solutions.read_text("utf-8") + task, "utf-8")
    names = order.read_text("utf-8").replace("\n)", f'\n    "{name}",\n)')
    order.write_text(names, "utf-8")
    return [path.relative_to(root).as_posix() for path in (module, solutions, order)]


def main() -> None:
    """Begin the exercise that is asked for, and say what to do next."""
    try:
        written = exercise(*sys.argv[1:])
    except ValueError as error:
        sys.exit(f"==> {error}")
    print(f"==> wrote {', '.join(written)}: make them yours, then say make release")


if __name__ == "__main__":
    main()
