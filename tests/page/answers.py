"""Answers to an exercise, right and wrong, as a reader types them."""

from attncourse.course import exercise
from judge.exercise_text import with_first_line

NAME = "softmax_with_sink"
TASK = exercise(NAME).task
STUB = TASK.start
RIGHT = with_first_line(NAME, TASK.code("answer"))


def changed(old: str, new: str) -> str:
    """The right answer with a piece of its text replaced."""
    assert RIGHT.count(old) == 1, old
    return RIGHT.replace(old, new)


UPSIDE_DOWN = changed("~mask", "mask")
UPSIDE_DOWN_HINT = "the mask is upside down: True means that the query may attend to the key"
# what it is told, and the line that is marked, by its text
FAULTY = {
    STUB: ("not attempted: the line `raise NotImplementedError` is still there", ""),
    UPSIDE_DOWN: (f"wrong: {UPSIDE_DOWN_HINT}", ""),
    "": ("error: `softmax_with_sink` isn't defined: the cell of your answer should define it", ""),
    changed("is not None:", "is not None"): ("SyntaxError: expected ':'", "is not None"),
    changed("    weights", "\tweights"): ("TabError: inconsistent use of tabs", "\tweights"),
    changed("with_sink.softmax", "unknown.softmax"): ("name 'unknown' is not defined", "unknown"),
    f"{RIGHT}\n1 / 0": ("ZeroDivisionError: division by zero", "1 / 0"),
    f"{RIGHT}\nexit()": ("SystemExit", "exit()"),
    f"def again():\n    again()\n\nagain()\n{RIGHT}": ("maximum recursion depth", "    again()"),
    changed("return weights[..., :-1]", "pass"): (
        "wrong: your code returns None: is the return",
        "",
    ),
    f"{RIGHT}{' ' * 100_000}": ("characters: it may have at most 100,000", ""),
    f"{'(' * 300}{')' * 300}": ("too many nested parentheses", "(("),
}
# right, and the note, if there is one
ODD_BUT_RIGHT = {
    RIGHT: "",
    f"print('a' * 10**6)\n{RIGHT}": "",
    f"def check(*args): raise ValueError\n{RIGHT}": "",
    RIGHT.replace("    ", "\t"): "",
    changed("    weights", "\u00a0   weights"): "non-breaking spaces were read as ordinary spaces",
    f"assert '\u00a0\u00ad' == chr(160) + chr(173)\n{RIGHT}": "",
    changed("return", "ret\u2060urn"): "invisible characters were left out",
}
