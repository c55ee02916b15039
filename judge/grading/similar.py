"""Which long answers are alike in more than the worked solution explains: for a human to look at.

Winnowing (Schleimer, Wilkerson and Aiken, 2003): runs of tokens, names left out, are hashed, and
the least hash of each window is an answer's fingerprint.
"""

import contextlib
import hashlib
import io
import keyword
import re
import token
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from judge.cells import without_magics
from judge.course import course
from judge.grading.pristine import chapters
from judge.grading.repair import parsed
from judge.grading.submissions import Submission
from judge.variants import source_of

# tokens of a run, and runs of a window: what is shorter than both together may be chance
RUN, WINDOW = 12, 8
# an answer is long from so many lines on that the stub has not, and so many fingerprints of its own
LINES, PRINTS = 8, 12
# two are alike where both have so large a part of the shorter one
ALIKE = 0.6
# what more students have than this, or than a fifth of them, is from a book or a lecture
USUAL = 20
CODE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SKIPPED = {
    tokenize.COMMENT, tokenize.NL, token.NEWLINE, token.INDENT, token.DEDENT, token.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Alike:
    """Two students' answers, and the part of the shorter one that both have."""

    exercise: str
    first: str
    second: str
    share: float


def alike(answers: Iterable[tuple[str, str, str]], solutions: Path) -> Iterator[Alike]:
    """The pairs to look at among (exercise, student, answer)."""
    worked = worked_solutions(solutions)
    by_exercise: dict[str, dict[str, str]] = {}
    for name, student, answer in answers:
        # what is not Python was not passed; a quotation without an end would be read for hours
        if parsed(answer):
            by_exercise.setdefault(name, {})[student] = answer
    for name, given in by_exercise.items():
        (slug,) = (slug for slug, one in chapters().items() if name in one.stubs)
        stub = chapters()[slug].stubs[name]
        long = {
            student: answer
            for student, answer in given.items()
            if lines(answer) - lines(stub) >= LINES
        }
        if len(long) < 2:
            continue
        explained = explanations(slug, name).union(*map(runs, worked.get(name, [])))
        own = {student: fingerprints(answer) - explained for student, answer in long.items()}
        yield from pairs(name, own, max(3, min(USUAL, len(given) // 5)))


def alike_weights(files: dict[str, Submission]) -> Iterator[tuple[str, str]]:
    """The pairs of students whose weights are nearly the same, of those who handed in any."""
    # torch takes seconds to load, and most classes hand in none
    from judge.weights import Sketch, tensors

    sketches = {}
    for student, file in files.items():
        # the verdict says where they cannot be read
        with contextlib.suppress(ValueError):
            sketches[student] = Sketch(tensors(file.read()))
    for (first, one), (second, other) in combinations(sorted(sketches.items()), 2):
        if one.is_in(other) or other.is_in(one):
            yield first, second


def pairs(name: str, own: dict[str, set[int]], usual: int) -> Iterator[Alike]:
    """The pairs with enough fingerprints in common, of those that few students have."""
    having: dict[int, list[str]] = {}
    for student, prints in own.items():
        for one in prints:
            having.setdefault(one, []).append(student)
    rare = {one: sorted(students) for one, students in having.items() if len(students) <= usual}
    size = Counter(student for students in rare.values() for student in students)
    common = Counter(pair for students in rare.values() for pair in combinations(students, 2))
    for (first, second), count in sorted(common.items()):
        smaller = min(size[first], size[second])
        if smaller >= PRINTS and count >= ALIKE * smaller:
            yield Alike(name, first, second, count / smaller)


def explanations(chapter: str, name: str) -> set[int]:
    """What the course itself asks and knows of an exercise: its stub, its right answers."""
    asked = course().exercises(chapter)[name]
    known = [asked.reference_answer, *asked.valid_answers]
    known += [asked.stub_answer] if asked.stub_answer else []
    texts = [chapters()[chapter].stubs[name]]
    texts += map(source_of, known)
    return set().union(*map(runs, texts))


def worked_solutions(folder: Path) -> dict[str, list[str]]:
    """The code of the worked solutions by exercise, out of a checkout's `solutions`."""
    found: dict[str, list[str]] = {}
    for page in sorted(folder.glob("*.md")):
        for cell in CODE.findall(page.read_text(encoding="utf-8")):
            if name := re.search(r"^# exercise: (\w+)", cell, re.MULTILINE):
                found.setdefault(name[1], []).append(cell)
    return found


def lines(source: str) -> int:
    """How many logical lines a text has: one that is broken for its length counts once."""
    return sum(one.type == token.NEWLINE for one in read(source))


def fingerprints(source: str) -> set[int]:
    """The least hash of each window of a text."""
    hashes = list(hashed(source))
    return {min(hashes[at : at + WINDOW]) for at in range(max(0, len(hashes) - WINDOW + 1))}


def runs(source: str) -> set[int]:
    return set(hashed(source))


def hashed(source: str) -> Iterator[int]:
    """A number for each run of tokens, the same for the same program in other names."""
    words = tokens(source)
    for at in range(len(words) - RUN + 1):
        said = "\0".join(words[at : at + RUN]).encode()
        yield int.from_bytes(hashlib.blake2b(said, digest_size=8).digest())


def tokens(source: str) -> list[str]:
    """What a text says, without its names, its comments and its layout."""
    words = []
    for one in read(source):
        if one.type in SKIPPED:
            continue
        after_dot = words[-1:] == ["."]
        name = one.type == token.NAME and not keyword.iskeyword(one.string) and not after_dot
        text = one.type == token.STRING
        words.append("name" if name else "text" if text else one.string)
    return words


def read(source: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a text, as far as it can be read."""
    with contextlib.suppress(tokenize.TokenError, SyntaxError, ValueError):
        yield from tokenize.generate_tokens(io.StringIO(without_magics(source)).readline)
