"""The bank of an exercise: every wrong answer that is known of it, one mistake or two at once."""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import starmap

from judge import messages
from judge.exercise import Exercise, JudgesItself, Mutant
from judge.say import generic_mistakes


@cache
def generic_mutants(exercise: Exercise) -> list[Mutant]:
    """The generic mistakes, made around the first valid answer; none without a reference."""
    return [] if isinstance(exercise, JudgesItself) else list(generic_mistakes.mutants(exercise))


def mutants(exercise: Exercise) -> list[Mutant]:
    """Every known mistake, the exercise's own first."""
    return exercise.own_mutants + generic_mutants(exercise)


@lru_cache(maxsize=2000)
def both(one: Mutant, other: Mutant) -> Mutant | None:
    """An answer with both, whose hint names them; None where they cannot be made at once."""
    first, second = (getattr(it.function, "made_by", None) for it in (one, other))
    if one.hint == other.hint or not first or not second or not (made := first.joined(second)):
        return None
    return Mutant(made, messages.TWO.format(one.hint, other.hint))


def pairs(mutants: Iterable[tuple[Mutant, Mutant]]) -> Iterator[Mutant]:
    """An answer for every two mistakes that can be made at once."""
    return filter(None, starmap(both, mutants))
