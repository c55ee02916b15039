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
  - {file: chapters/first, sections: [{file: exercises/first}]}
  - {file: chapters/second}
"""
SOLUTIONS = """# Exercises

```{code-cell} python3
:tags: [answer]
# exercise: twice
def twice(x):
    return 2 * x
```

```{code-cell} python3
:tags: [stub]
# exercise: fixed
```

```{code-cell} python3
:tags: [answer]
# exercise: fixed
```
"""
SOURCE = "@article{one, author={Noether, Emmy}, year={1918}, url={https://example.org}}"
FILES = {
    "_toc.yml": CONTENTS,
    "index.md": "# Home\n",
    "chapters/first.md": "# The first\n\n$$a$$ (eq-one)\n",
    "chapters/second.md": "# The second\n",
    "solutions/first.md": SOLUTIONS,
    "reference/references.bib": SOURCE,
    "package/code.py": "import math as m\nLIMIT = 1\ndef outer():\n    return outer(LIMIT, m)\n",
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """The folder of the small course, whose first chapter has two exercises."""
    card = SimpleNamespace(kind="build", difficulty=2, minutes=5, points=1, facts={})
    cards = {name: SimpleNamespace(name=name, **vars(card)) for name in ("twice", "fixed")}
    monkeypatch.setattr("attncourse.checks.exercises", lambda _: cards)
    monkeypatch.setattr("attncourse.checks.groups", lambda _: {"": [*cards.values()]})
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/course")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "exercises").mkdir()
    shutil.copy(ROOT / "_config.yml", tmp_path)
    return tmp_path
