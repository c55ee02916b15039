"""How a call may end."""

from enum import StrEnum, auto


class Outcome(StrEnum):
    """How a call ended: of itself, or stopped."""

    RETURNED = auto()
    RAISED = auto()
    # nothing of the exercise's name was there to be called
    MISSING = auto()
    # it ran too many lines of Python
    STEPS = auto()
    # it took too many processor seconds
    TIME = auto()
    # it called a forbidden function
    FORBIDDEN = auto()


class Stopped(BaseException):
    """Raised in a call to end it; not an Exception, so that `except Exception` lets it by."""

    def __init__(self, outcome):
        super().__init__(outcome)
        self.outcome = outcome
