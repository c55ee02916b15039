"""A machine-independent measure of work: the number of calls that Python makes."""

import sys
from collections.abc import Callable


def count_calls(work: Callable[[], object]) -> int:
    """The number of function calls, in Python and C, and of generator resumptions."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    old_profile = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(old_profile)
    return count
