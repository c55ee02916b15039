"""How long to wait for a process: in seconds of its own work, since a clock also counts others'.

One that does not come back either works, or waits for something of its own choice (a sleep, a
lock), or could run and is not let. Each has its own end; only the last is the machine's fault.
"""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial

from judge.grading.sandbox.usage import Used, used

# processor seconds: to start a kernel, for what an answer imports, for the answer itself, to stop
STARTUP = 60
IMPORTS = 60
EXERCISE = 30
STOP = 5
# of the judge itself, for one exercise
JUDGING = 120
# a busy machine gets this many times as long as an answer
BUSY_FACTOR = 20
# seconds between two looks, and the most that one of them counts: whoever looks may be kept waiting
LOOK = 0.2
LONGEST_LOOK = 1.0


WORKS = "works without end"
WAITS = "waits without end"
BUSY = "is kept waiting for a processor"


class Budget:
    """What is left for a process to use, over one wait for it or several."""

    def __init__(
        self,
        seconds: float,
        measure: Callable[[], Used],
        clock: Callable = time.monotonic,
        exceeds: Callable[[], str] = str,
    ):
        self.seconds, self.measure, self.clock, self.exceeds = seconds, measure, clock, exceeds
        self.worked = self.slept = self.stalled = 0.0
        self.last: tuple[float, Used] | None = None

    @classmethod
    def of(cls, pid: int, seconds: float, exceeds: Callable[[], str] = str) -> "Budget":
        return cls(seconds, partial(used, pid), exceeds=exceeds)

    def begin(self) -> None:
        """Begin to wait: what happened since the last wait is not counted."""
        self.last = None

    def spent(self) -> str:
        """WORKS, WAITS or BUSY, once it has done so for too long, or what it takes too much of."""
        now = self.clock()
        if self.last is None:
            self.last = now, self.measure()
            return ""
        then, before = self.last
        if now - then < LOOK:
            return ""
        after = self.measure()
        self.last = now, after
        passed = min(now - then, LONGEST_LOOK)
        worked, delay = max(0, after.work - before.work), max(0, after.delay - before.delay)
        if before.processes != after.processes and not after.asleep:
            # a process that nobody waits for takes the count of its work along when it ends
            worked = max(worked, passed - delay)
        self.worked += worked
        # a thread that now sleeps may have stood in line before; one in line has no delay as yet
        if after.asleep and worked + delay < passed / 2:
            self.slept += passed
        else:
            self.stalled += max(0, passed - worked)
        if why := self.exceeds():
            return why
        if self.worked > self.seconds:
            return WORKS
        if self.slept > self.seconds:
            return WAITS
        return BUSY if self.stalled > BUSY_FACTOR * self.seconds else ""


class OverworkedError(BaseException):
    """Raised in a process that works for too long itself; no `except Exception` holds it."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OverworkedError where this process needs more processor seconds; in the main thread."""

    def give_up(number, frame):
        raise OverworkedError(f"more than {seconds:g} processor seconds")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
