"""Work as a number that is the same on every machine: how many calls Python makes."""

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, of C's and Python's, and generators resumed."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
