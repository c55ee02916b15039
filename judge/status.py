"""How an answer was judged, in a word."""

from enum import StrEnum


class Status(StrEnum):
    """The status of a verdict, as messages and reports have it.

    The best first: of several verdicts on an answer, the first in this order counts.
    """

    PASSED = "passed"
    WRONG = "wrong"
    TOO_SLOW = "too slow"
    CRASHED = "crashed"
    NOT_ATTEMPTED = "not attempted"
    NOT_FOUND = "not found"
    ERROR = "error"
    # by no fault of the answer's
    NOT_GRADED = "not graded"
