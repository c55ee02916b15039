"""How an answer was judged, in a word."""

from enum import StrEnum


class Status(StrEnum):
    """The status of a verdict, as messages and reports have it; only PASSED earns all points."""

    PASSED = "passed"
    WRONG = "wrong"
    ERROR = "error"
    TOO_SLOW = "too slow"
    NOT_ATTEMPTED = "not attempted"
    CRASHED = "crashed"
    NOT_FOUND = "not found"
    # by no fault of the answer's
    NOT_GRADED = "not graded"
