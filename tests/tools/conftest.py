"""A small course of two chapters, to make notebooks of."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import ROOT

CONTENTS = """
format: jb-book
root: index
parts:
- numbered: true
  chapters:
  - {file: chapters/first, sections: [{file: exercises/first}, {file: deeper/first}]}
  - {file: chapters/second}
"""
TASK = """---
kind: build
difficulty: 2
points: 1
---

# Twice

```{{code-cell}} python3
:tags: [answer]
def {name}(x):
    return 2 * x
```

## Hints

1. a

2. b

3. c
"""
SOURCE = "@article{one, author={Noether, Emmy}, year={1918}, url={https://example.org}}"
TEXTS, NAMES = "attncourse/course/first/exercises", ("twice", "fixed")
FILES = {
    "_toc.yml": CONTENTS,
    "index.md": "# Home\n",
    "chapters/first.md": "# The first\n\n$$a$$ (eq-one)\n",
    "chapters/second.md": "# The second\n",
    "deeper/first.md": "# The first: deeper\n",
    f"{TEXTS}/index.md": "# Exercises\n\n```{include} /how.md\n```\n\n- twice\n- fixed\n",
    "how.md": "This is said once.\n",
    **{f"{TEXTS}/{name}.md": TASK.format(name=name) for name in NAMES},
    "reference/references.bib": SOURCE,
    "package/code.py": "import math as m\nLIMIT = 1\ndef outer():\n    return outer(LIMIT, m)\n",
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """The folder of the small course, whose first chapter has two exercises."""
    card = SimpleNamespace(kind="build", difficulty=2, minutes=5, points=1, cell_metadata={})
    card.task = SimpleNamespace(start="# empty")
    cards = {name: SimpleNamespace(name=name, **vars(card)) for name in NAMES}
    monkeypatch.setattr("attncourse.course.exercises", lambda _: cards)
    monkeypatch.setattr("attncourse.course.groups", lambda _: {"": [*cards.values()]})
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/course")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "exercises").mkdir()
    shutil.copy(ROOT / "_config.yml", tmp_path)
    return tmp_path
