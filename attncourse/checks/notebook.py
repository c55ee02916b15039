"""What a learner calls in a notebook: check, hint and status."""

import secrets
from collections.abc import Callable

from attncourse.checks import chapters, exercise, exercises
from attncourse.checks.verdict import Verdict, judge, local
from attncourse.devices import device

verdicts: dict[str, Verdict] = {}


def check(name: str, answer: Callable, seed: int | None = None) -> None:
    """Print whether an answer is right: one fixed line, or what is wrong and where it shows.

    The inputs are drawn anew at each call; a `seed` draws the same ones again. Raises ValueError
    for an exercise that there is not, TypeError for an answer that cannot be called.
    """
    wanted = exercise(name)
    if not callable(answer):
        raise TypeError(
            f"check({name!r}, answer): answer is a {type(answer).__name__}, not a function"
        )
    seed = secrets.randbits(32) if seed is None else seed
    verdict = judge(wanted, local(answer), seed, device().type)
    verdicts[name] = verdict
    print(report(name, verdict))


def report(name: str, verdict: Verdict) -> str:
    """The fixed line of a right answer, or the hint with its evidence below."""
    if verdict.status == "passed":
        return f"{name}: ok"
    lines = [f"{name}: {verdict.status}: {verdict.hint}", verdict.evidence]
    return "\n    ".join(line for line in lines if line)


def hint(name: str, level: int = 1) -> None:
    """Print the exercise's hint of that level: 1 the idea, 2 the shape of it, 3 nearly the line."""
    hints = exercise(name).hints
    if level not in (1, 2, 3):
        raise ValueError(f"level={level}: there are hints 1, 2 and 3")
    print(hints[level - 1])


def status(chapter: str | None = None) -> None:
    """Print what this session has solved of a chapter: by default, of those it has checked.

    The last line names the solved exercises.
    """
    done = []
    begun = [c for c in chapters() if verdicts.keys() & exercises(c).keys()] or chapters()
    for slug in [chapter] if chapter else begun:
        listed = exercises(slug)
        solved = [e for e in listed.values() if passed(e.name)]
        done += [e.name for e in solved]
        for e in listed.values():
            state = verdicts[e.name].status if e.name in verdicts else "not checked"
            print(f"  {'✓' if passed(e.name) else '·'} {e.name:<24} {e.points:>3} points  {state}")
        points, most = (sum(e.points for e in some) for some in (solved, listed.values()))
        print(f"{slug}: {len(solved)} of {len(listed)} solved, {points} of {most} points")
    if done:
        print(f"solved: {', '.join(done)}")


def passed(name: str) -> bool:
    return name in verdicts and verdicts[name].status == "passed"
