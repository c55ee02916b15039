"""Colab's packages: the list that Colab publishes, and when the notebooks last ran with them.

The weekly job fetches the list, installs what it names, and runs the notebooks; the test that runs
them records it, and the head of a page says it. Without a record, the page says nothing.
"""

import json
import re
import sys
from datetime import date
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parents[1]
# in the form of pip's freeze, or a wheel's address
PIN = re.compile(r"([\w-]+)(?:==| @ https://\S*/\w+-)(\d[\w.]*)")
LIST, RECORD = Path(".cache", "colab.txt"), Path(".cache", "colab.json")


def versions(names: list[str], root: Path = ROOT) -> dict[str, str]:
    """The versions that Colab has of some packages; a KeyError names one that it does not list."""
    lines = map(PIN.match, unquote((root / LIST).read_text("utf-8")).splitlines())
    listed = dict(line.groups() for line in lines if line)
    return {name: listed[name] for name in names}


def record(ran_with: dict[str, str], root: Path = ROOT) -> None:
    """Record that the notebooks ran today with these versions."""
    text = json.dumps({"date": date.today().isoformat(), "versions": ran_with})
    (root / RECORD).write_text(text, "utf-8")


def last_run(root: Path) -> dict:
    """The date and the versions that are recorded; nothing where no run is."""
    path = root / RECORD
    if not path.is_file():
        return {}
    run = json.loads(path.read_text("utf-8"))
    day = date.fromisoformat(run["date"])
    return run | {"date": f"{day.day} {day:%B %Y}"}


if __name__ == "__main__":
    print(*(f"{name}=={version}" for name, version in versions(sys.argv[1:]).items()))
