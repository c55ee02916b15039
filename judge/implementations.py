"""What a learner's test meets: right implementations, and wrong ones made of the first by edits."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import torch

from judge.exercise import Case, Draw, Source
from judge.reshape import reshaped
from judge.variants import Way, replaced, source_of

# what may be wrong with the rows of any result
SPOILED = {
    "has one leading axis too many": "out[None]",
    "returns the rows in reverse order": "out.flip(-2)",
    "returns each row in reverse order": "out.flip(-1)",
    "is wrong in its first row": "out + (torch.arange(out.shape[-2]) == 0)[:, None]",
    "is wrong in its last row": "out + (torch.arange(-out.shape[-2], 0) == -1)[:, None]",
    "is wrong in the first number of each row": "out + (torch.arange(out.shape[-1]) == 0)",
    "is wrong in the last number of each row": "out + (torch.arange(-out.shape[-1], 0) == -1)",
    "returns NaN in its last row": (
        "out.masked_fill((torch.arange(-out.shape[-2], 0) == -1)[:, None], torch.nan)"
    ),
    "returns no number above 0": "out.clamp(max=0)",
    "returns no number below 0": "out.clamp(min=0)",
    "drops the sign of every number": "out.abs()",
    "is too large by 0.005": "out + 0.005",
    "is too small by 0.005": "out - 0.005",
    "always returns float32": "out.float()",
    "always returns float64": "out.double()",
    "rounds float32 to 8 bits": (
        "out if out.dtype == torch.float64 else out.to(torch.float8_e5m2).float()"
    ),
}


def spoiled(returned: str) -> dict[str, tuple[str, str]]:
    """The edits that spoil the result of a function whose text returns it so."""
    return {
        does: (f"return {returned}", f"out = {returned}\n    return {made}")
        for does, made in SPOILED.items()
    }


def not_contiguous(returned: str) -> tuple[str, str]:
    """The edit after which the result of a function whose text returns it so is not contiguous."""
    return f"return {returned}", f"return ({returned}).mT.contiguous().mT"


def errors_caught(test: Callable) -> Callable:
    """The test without its errors: it refuses nothing."""

    def caught(implementation):
        with suppress(Exception):
            test(implementation)

    return caught


def implementations(
    draw: Draw,
    name: str,
    kind: str,
    right: Mapping[str, Way],
    wrong: Mapping[str, Way],
) -> Iterator[Case]:
    """A case for each, under the name that the test calls it by.

    `right` goes by the words that say which, and begins with a plain function; `wrong` by what a
    `kind`, such as "an attention", does. The others are edits of the plain one, or functions.
    """
    plain: Any = next(iter(right.values()))
    ways = {**right} | {f"{kind} that {does}": way for does, way in wrong.items()}
    found = [
        (said, source_of(way) if callable(way) else replaced(plain, *way))
        for said, way in ways.items()
    ]
    # in any order: a test that counts its calls learns nothing, nor does one that knows the texts
    places = torch.randperm(len(found), generator=draw.generator).tolist()
    chance = random.Random(draw.integer(0, 2**31 - 1))
    for place in places:
        said, text = found[place]
        yield Case(said, (Source(reshaped(text, chance), name),), gradient=False)
