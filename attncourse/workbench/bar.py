"""A bar of the parts of a training that are done, with the time that is left, on one line."""

import time
from collections.abc import Callable, Iterator

MINUTE = 60


def bar(name: str, predicted: float) -> Callable[[range], Iterator[int]]:
    """What shows the parts of a training as they pass; how many seconds it takes is predicted."""

    def track(parts: range) -> Iterator[int]:
        begin, seconds = time.perf_counter(), predicted / parts.stop
        if parts.start:
            print(f"{name} goes on where it stopped")
        for part in parts:
            show(name, part, parts.stop, seconds)
            yield part
            seconds = (time.perf_counter() - begin) / (part + 1 - parts.start)
        show(name, parts.stop, parts.stop, seconds)
        print()

    return track


def show(name: str, done: int, parts: int, seconds_a_part: float) -> None:
    """The bar, in place of the one before."""
    left = duration((parts - done) * seconds_a_part)
    line = f"{name} {'■' * done}{'□' * (parts - done)} " + (
        f"{left} left" if done < parts else "done"
    )
    print(f"\r{line:<{len(name) + parts + 20}}", end="", flush=True)


def duration(seconds: float) -> str:
    """Seconds or minutes, as one would say them."""
    if seconds < 1.5 * MINUTE:
        return f"{seconds:.0f} seconds"
    return f"{seconds / MINUTE:.0f} minutes"
