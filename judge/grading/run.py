"""Grades many files, some at a time, and those once more for which the machine was too busy."""

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from threading import Event

from judge.grading.report.results import Report
from judge.grading.submissions.files import Submission

Grade = Callable[[Submission, Event], Report]
Reports = Generator[Report, None, None]


class CannotGradeError(Exception):
    """No more files can be graded; its text says why."""


def grade_all(
    files: list[Submission], grade: Grade, jobs: int, tell: Callable[[str], None]
) -> Reports:
    """The report on each file, as it comes. Whoever stops to ask for more ends those at work.

    `tell` gets a line when files are graded once more.
    """
    stop = Event()
    pool = ThreadPoolExecutor(jobs)
    try:
        late = []
        waiting = submitted(pool, grade, files, stop)
        for future in as_completed(waiting):
            report = future.result()
            if report.exercises and not report.graded:
                # the machine may have been too busy
                late.append(waiting[future])
            else:
                yield report
        if late:
            tell(once_more(len(late)))
        for file in late:
            for future in as_completed(submitted(pool, grade, [file], stop)):
                yield future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def once_more(count: int) -> str:
    """The line about files in which something was not graded."""
    files = "1 file is" if count == 1 else f"{count} files are"
    return f"{files} graded once more, because the machine may have been too busy"


def submitted(
    pool: ThreadPoolExecutor, grade: Grade, files: list[Submission], stop: Event
) -> dict[Future[Report], Submission]:
    return {pool.submit(grade, file, stop): file for file in files}
