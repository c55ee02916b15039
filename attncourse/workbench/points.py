"""The points of a method that was handed in.

What they are given for is said on the page `reference/workbench.md`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from attncourse.workbench.results import Front

CACHE, STATE, OPERATIONS, MOST = 5, 3, 2, 5
# bits for a point: three times the largest standard deviation over seeds that we have met
STEP = 0.02


@dataclass
class Found:
    """What was found of a method; a sentence where a check was not passed, None for no number."""

    expected: dict[str, float] = field(default_factory=dict)
    failed: str = ""
    cache_failed: str = ""
    ours: str | None = None
    state: int | None = None
    operations: int | None = None
    bits: float | None = None
    unseen_bits: float | None = None


class Part(NamedTuple):
    """Some of the points, None where they cannot be given, and why."""

    name: str
    points: int | None
    of: int
    why: str


def points_of(found: Found, front: Front | None) -> list[Part]:
    """The points of each part; `front` is the course's method to compare with, and its bits."""
    if found.failed:
        names = {
            "cache step": CACHE,
            "count": STATE + OPERATIONS,
            "expectation": MOST,
            "gain": MOST,
        }
        return [Part(name, 0, of, "a check was not passed") for name, of in names.items()]
    return [cache_step(found), count(found), expectation(found), gain(found, front)]


def cache_step(found: Found) -> Part:
    """Points for a state that suffices."""
    if found.cache_failed:
        return Part("cache step", 0, CACHE, found.cache_failed)
    if found.ours:
        return Part("cache step", 0, CACHE, f"it is one of the course's: {found.ours}")
    return Part("cache step", CACHE, CACHE, "the state is all that a fresh process needs")


def count(found: Found) -> Part:
    """Points for what is expected of the state and of the work, if it is true."""
    points, words = 0, []
    counted = {"state": (found.state, STATE), "operations": (found.operations, OPERATIONS)}
    for name, (number, most) in counted.items():
        if number is None:
            words.append(f"{name} not known without a cache step")
        elif name not in found.expected:
            words.append(f"{name} {number:,}, nothing expected")
        else:
            points += most * (found.expected[name] == number)
            words.append(f"{name} {number:,}, expected {found.expected[name]:,}")
    return Part("count", points, STATE + OPERATIONS, "; ".join(words))


def expectation(found: Found) -> Part:
    """Points for how near the expected bits are to the test's."""
    if found.bits is None:
        return Part("expectation", None, MOST, "not judged: the test's texts are not here")
    if "bits" not in found.expected:
        return Part("expectation", 0, MOST, f"bits {found.bits:.3f}, nothing expected")
    distance = abs(found.expected["bits"] - found.bits)
    points = max(0, MOST - steps(distance))
    words = f"bits {found.bits:.3f}, expected {found.expected['bits']:.3f}"
    return Part("expectation", points, MOST, words)


def gain(found: Found, front: Front | None) -> Part:
    """Points for bits below the course's front."""
    if found.cache_failed:
        return Part("gain", 0, MOST, "the state is not known without a cache step")
    if found.ours:
        return Part("gain", 0, MOST, f"it is one of the course's: {found.ours}")
    if found.bits is None:
        return Part("gain", None, MOST, "not judged: the test's texts are not here")
    if front is None:
        return Part("gain", None, MOST, "not judged: there are no stored results of each method")
    distance = front.bits - found.bits
    words = f"bits {found.bits:.3f}; the course's front is {front.name} with {front.bits:.3f}"
    return Part("gain", min(MOST, steps(max(0.0, distance))), MOST, words)


def steps(distance: float) -> int:
    """How many whole steps there are in a distance, but for rounding."""
    return int(distance / STEP + 1e-9)


def total(parts: list[Part]) -> tuple[int, int]:
    """The points, and out of how many."""
    judged = [part for part in parts if part.points is not None]
    return sum(part.points or 0 for part in judged), sum(part.of for part in judged)
