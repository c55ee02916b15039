"""Grades many files, some at a time, and those once more for which the machine was too busy."""

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from threading import Event

from judge.grading.report import Report
from judge.grading.submissions import Submission

Grade = Callable[[Submission, Event], Report]
Reports = Generator[Report, None, None]


class CannotGradeError(Exception):
    """No more files can be graded; its text says why."""


def grade_all(files: list[Submission], grade: Grade, jobs: int) -> Reports:
    """The report on each file, as it comes. Whoever stops to ask for more ends those at work."""
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
        for file in late:
            for future in as_completed(submitted(pool, grade, [file], stop)):
                yield future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def submitted(
    pool: ThreadPoolExecutor, grade: Grade, files: list[Submission], stop: Event
) -> dict[Future[Report], Submission]:
    return {pool.submit(grade, file, stop): file for file in files}
