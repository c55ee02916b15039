"""What is handed in costs the grader no more than its size, and its size has bounds."""

import pytest

from judge.grading.repair import definitions, with_helpers
from judge.scan import around, forbidden_in
from tests.counting import calls

FORBIDDEN = ("torch.nn.functional.softmax",)


def row(size: int, text: str, between: str = "\n") -> str:
    return between.join(text.format(n=n, before=n - 1) for n in range(1, size))


def helped(cell: str, size: int) -> None:
    """Have an answer use all names that another cell makes."""
    with_helpers(f"x = [{row(size, 'a{n}', ', ')}]", definitions([cell]), set())


# what reads a text of that many names
READERS = {
    "a chain of names": lambda size: forbidden_in(
        f"{row(size, 'a{n} = a{before}')}\ndef f(x): return a{size - 1}", "f", FORBIDDEN
    ),
    "a chain of names, the last one first": lambda size: around(
        "\n".join(reversed(f"import a0\n{row(size, 'a{n} = a{before}')}".split("\n")))
    ),
    "one assignment of many names to many": lambda size: around(
        f"import a1\n{row(size, 'b{n}', ' = ')} = [{row(size, 'a{n}', ', ')}]"
    ),
    "a call of a call of a call": lambda size: around(f"x = f{'()' * size}"),
    "a change of a change of a change": lambda size: around(
        f"a = 1\n{'setattr(a, ' * (size // 4)}1{')' * (size // 4)}"
    ),
    "a tuple of names": lambda size: helped(f"{row(size, 'a{n}', ', ')} = range({size})", size),
    "a line of assignments": lambda size: helped(row(size, "a{n} = 0", "; "), size),
    "a chain of helpers": lambda size: helped(row(size, "a{n} = a{before}"), size),
}


@pytest.mark.parametrize("text", READERS)
def test_a_text_of_twice_the_size_takes_twice_the_work(text):
    read = READERS[text]
    # what is loaded or made once
    read(10)
    work = [calls(lambda size=size: read(size)) for size in (150, 300)]
    assert work[1] < 2.5 * work[0], work
