"""How long the calls of an answer in a notebook may work: as long as when it is graded."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import update_wrapper
from typing import Any

from judge.call import driver
from judge.call.caller import Caller
from judge.call.outcome import Outcome, Stopped

# of the processor, since a clock also counts what others do
SECONDS = 30
# an answer may catch what stops it, so it is stopped again
AGAIN = 0.5


def timed(caller: Caller, seconds: float = SECONDS) -> Caller:
    """The caller, whose calls may together take so many seconds: then they end with Outcome.TIME.

    In a thread, and where the system has no such timer, they may take any number.
    """
    left = seconds

    def call(request: dict) -> dict:
        nonlocal left
        begun = time.process_time()
        try:
            with suppress(Stopped), stopping(left):
                return caller(request)
            # beside the call itself, as where its result is read
            return driver.drive({request["name"]: stop}, request)
        finally:
            left -= time.process_time() - begun

    return update_wrapper(call, caller)


def stop(*_: Any, **__: Any) -> None:
    raise Stopped(Outcome.TIME)


@contextmanager
def stopping(seconds: float) -> Iterator[None]:
    """Raise Stopped once this process has worked for so many seconds, and then again and again."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001), AGAIN)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        # it may have come between
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
