"""Garbage with a finalizer that runs Python code, and a context with frequent collections."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


class Garbage:
    """A reference cycle whose finalizer executes some lines."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        for _ in range(200):
            pass


@contextmanager
def frequent_collections(objects: int) -> Iterator[None]:
    """A context in which garbage is collected after every `objects` allocations."""
    thresholds = gc.get_threshold()
    gc.set_threshold(objects)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
