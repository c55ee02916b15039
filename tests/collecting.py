"""Garbage that Python must collect, and runs lines for, and a time in which it does so often."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


class Garbage:
    """Is freed only by a collection, and works when it is."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        for _ in range(200):
            pass


@contextmanager
def collecting_often(objects: int) -> Iterator[None]:
    """Collect each time that so many objects have been made."""
    before = gc.get_threshold()
    gc.set_threshold(objects)
    try:
        yield
    finally:
        gc.set_threshold(*before)
