"""A small course of two chapters, to make notebooks of."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import ROOT

CONTENTS = """
root: index
parts:
- numbered: true
  chapters:
  - {file: chapters/first, sections: [{file: exercises/first}]}
  - {file: chapters/second, sections: [{file: exercises/second}]}
"""
FIRST = """# The first `chapter`

A sentence.

$$a$$ (eq-one)

## A section

```{code-cell} python3
---
tags: [hide-input]
mystnb:
  figure:
    caption: What the cell *draws*.
    name: fig-cell
---
draw()
```

### Deeper

## Last
"""
SOLUTIONS = """---
file_format: mystnb
kernelspec:
  display_name: Python 3
  name: python3
---

# Exercises

## Double it

```{code-cell} python3
:tags: [answer]
# exercise: twice
def twice(x):
    return 2 * x
```

## Fix it

```{code-cell} python3
:tags: [stub]
# exercise: fixed
def fixed(x):
    return x - 1
```

```{code-cell} python3
:tags: [answer]
# exercise: fixed
def fixed(x):
    return x + 1
```
"""
SOURCES = """
@article{many, author={Vaswani, A. and Shazeer, N. and Parmar, N.}, year={2017}, eprint={1706.0}}
@article{two, author={de la Cruz, Ana and M{\\"u}ller, Bo}, year={2001}, doi={10.1/x}}
@article{one, author={Noether, Emmy}, year={1918}, url={https://example.org}}
"""
FILES = {
    "_toc.yml": CONTENTS,
    "index.md": "# Home\n",
    "chapters/first.md": FIRST,
    "chapters/second.md": "# The second\n",
    "solutions/first.md": SOLUTIONS,
    "solutions/second.md": SOLUTIONS,
    "exercises/first.md": "",
    "reference/references.bib": SOURCES,
    "package/code.py": "class One:\n    @property\n    def b(self):\n        return 1\n",
    "package/sums.py": "import math\nfrom torch import Tensor, nn\n\nLIMIT = 1\n\n\n"
    "@LIMIT\ndef inner(x: Tensor):\n    return inner\n\n\n"
    "def outer():\n    return inner(math.pi, LIMIT)\n",
}


EXERCISES = {
    name: SimpleNamespace(
        name=name, kind="build", difficulty=2, minutes=5, points=1, facts={"exercise": name}
    )
    for name in ("twice", "fixed")
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """The folder of the small course, whose chapters have the same exercises."""
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/course")
    monkeypatch.setattr("attncourse.checks.exercises", lambda _: EXERCISES)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("_config.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path
