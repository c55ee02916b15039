"""Grades many files on a Dask cluster: on any machines that run its workers.

A worker proves its sandbox before it gets a file, and is not told whose file it is. What a lost
worker was grading goes to another one.
"""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Event
from typing import Any

import dask.config
from distributed import CancelledError, Client, Future, KilledWorker, get_worker

from judge.course import TOLD, course
from judge.grading.batch import CannotGradeError, Reports, once_more
from judge.grading.grade import grade
from judge.grading.gradebook.resume import sources_digest
from judge.grading.judging.pool import StoppedError, end_all
from judge.grading.notebook.pristine import digest, exercise_files
from judge.grading.notebook.submitted_cells import NotGradableError
from judge.grading.report.results import Report
from judge.grading.report.text import plain
from judge.grading.sandbox import tiers
from judge.grading.sandbox.paths import packages
from judge.grading.sandbox.temporary import TemporaryFolder
from judge.grading.sandbox.tiers import Tier
from judge.grading.submissions.files import WEIGHTS, Submission

# what every file is called on a worker
NAME = "graft.ipynb"
# seconds between two looks at which workers there are, for an answer of theirs, without any of them
LOOK, ANSWER, WITHOUT = 1, 20, 300
# so many workers may be lost while they grade a file
MOST_LOST = 3
# Dask need not warn of a notebook and its weights
LARGE = {"distributed.admin.large-graph-warning-threshold": "100 MB"}


def grade_all(
    files: list[Submission], address: str, settings: dict, tell: Callable[[str], None]
) -> Reports:
    """The report on each file, as it comes. Whoever stops to ask for more ends those at work.

    `tell` gets a line when workers are refused or lost, and when files are graded once more. Raises
    CannotGradeError.
    """
    with dask.config.set(LARGE), connected(address) as client:
        workers, late = Workers(client, settings, tell), set()
        for report in workers.graded(files):
            if report.exercises and not report.graded:
                # its worker may have been too busy
                late.add(report.file)
            else:
                yield report
        if late:
            tell(once_more(len(late)))
        yield from workers.graded([one for one in files if one.name in late], alone=True)
        client.run(end_all, workers=list(workers.tiers), on_error="ignore")


def connected(address: str) -> Client:
    """A client of the cluster: by its scheduler's address, or a file that has it."""
    given: dict[str, Any] = {"scheduler_file" if Path(address).is_file() else "address": address}
    try:
        client = Client(**given, set_as_default=False, timeout=ANSWER)
    except (OSError, ValueError) as error:
        raise CannotGradeError(f"no scheduler answers at {address}: {error}") from None
    try:
        client.run_on_scheduler(versions, os.environ[TOLD])
    except Exception as error:
        client.close()
        raise CannotGradeError(f"the scheduler's machine lacks the course: {error}") from None
    return client


class Workers:
    """The workers of a cluster, and what each of them grades."""

    def __init__(self, client: Client, settings: dict, tell: Callable[[str], None]):
        # what its methods give can also be awaited, so their types say little
        self.client: Any = client
        self.settings, self.tell = settings, tell
        # of all that there are; the sandboxes of those that may grade
        self.threads: dict[str, int] = {}
        self.tiers: dict[str, Tier] = {}
        self.at_work: dict[Future, tuple[str, Submission]] = {}
        self.ended: Queue[Future] = Queue()
        self.losses: Counter[str] = Counter()
        self.looked, self.useful = 0.0, time.monotonic()

    def graded(self, files: Iterable[Submission], alone: bool = False) -> Iterator[Report]:
        """The reports on files, as they come; alone, each has its worker for itself."""
        waiting = deque(files)
        while waiting or self.at_work:
            self.look()
            for address in self.free(alone):
                if waiting and (report := self.send(address, waiting.popleft())):
                    yield report
            try:
                future = self.ended.get(timeout=LOOK)
            except Empty:
                continue
            # it may have been given up before
            if future in self.at_work:
                _, file = self.at_work.pop(future)
                if report := self.report(future, file):
                    yield report
                else:
                    waiting.appendleft(file)

    def free(self, alone: bool) -> Iterator[str]:
        """The workers that may grade, each as often as it can take a file."""
        busy = Counter(address for address, _ in self.at_work.values())
        for address in self.tiers:
            yield from [address] * ((1 if alone else self.threads[address]) - busy[address])

    def look(self) -> None:
        """Have new workers prove themselves, and give up what lost ones were grading."""
        if time.monotonic() - self.looked < LOOK:
            return
        try:
            there = self.client.nthreads()
            new = list(there.keys() - self.threads.keys())
            ask = (proof, os.environ[TOLD])
            proofs = self.client.run(*ask, workers=new, on_error="return") if new else {}
        except OSError as error:
            raise CannotGradeError(f"the cluster's scheduler is lost: {error}") from None
        lost = self.threads.keys() - there.keys()
        for address in lost:
            self.tiers.pop(address, None)
        for future, (address, _) in self.at_work.items():
            if address in lost:
                self.ended.put(future)
        if lost:
            self.tell(f"{len(lost)} workers were lost: their files go to others")
        self.threads, self.looked = there, time.monotonic()
        self.admit(proofs)
        if self.tiers:
            self.useful = self.looked
        elif self.looked - self.useful > WITHOUT:
            raise CannotGradeError(f"there has been no worker for {WITHOUT} seconds")

    def admit(self, proofs: dict[str, dict | Exception]) -> None:
        """Let those workers grade that are fit to; CannotGradeError where none is."""
        faults = []
        for address, said in proofs.items():
            if isinstance(said, OSError):
                # not reached: it is lost, or asked again
                del self.threads[address]
            elif isinstance(said, Exception):
                faults.append(f"{type(said).__name__}: {said}")
            elif fault := fault_in(said):
                faults.append(fault)
            else:
                self.tiers[address] = said["sandbox"]
        if faults:
            why = "; ".join(sorted(set(faults)))
            refusal = f"{len(faults)} of {len(self.threads)} workers are refused: {why}"
            if not self.tiers:
                raise CannotGradeError(refusal)
            self.tell(refusal)

    def send(self, address: str, file: Submission) -> Report | None:
        """Send a file to a worker, without its name; the report where it cannot be read."""
        try:
            sent = (*file.handed_in(), self.settings)
        except NotGradableError as reason:
            return self.not_graded(file, str(reason), self.tiers[address])
        future = self.client.submit(graded_there, *sent, workers=[address], pure=False)
        self.at_work[future] = address, file
        future.add_done_callback(self.ended.put)
        return None

    def report(self, future: Future, file: Submission) -> Report | None:
        """The report on a file, under its own name again; None where its worker was lost."""
        try:
            if future.done():
                report = Report.of(future.result(timeout=ANSWER))
                report.file = file.name
                return report
        except (CancelledError, KilledWorker, OSError):
            pass
        except Exception as error:
            return self.not_graded(file, f"the grader failed: {type(error).__name__}: {error}")
        future.cancel()
        self.losses[file.name] += 1
        if self.losses[file.name] == MOST_LOST:
            return self.not_graded(file, f"{MOST_LOST} workers were lost while they graded it")
        return None

    def not_graded(self, file: Submission, why: str, tier: Tier = Tier.NONE) -> Report:
        asked = {name: self.settings[name] for name in ("seed", "partial")}
        return Report(file.name, sandbox=tier, problem=plain(why), **asked)


def fault_in(said: dict) -> str:
    """Why a worker that says this may not grade."""
    for what, here in versions(os.environ[TOLD]).items():
        if said[what] != here:
            return f"{what} is {said[what]} there and {here} here"
    return "" if said["sandbox"] else f"no sandbox is safe there: {said['why']}"


def versions(told: str) -> dict[str, str]:
    """What verdicts on that course depend on, and must be the same here and on each worker."""
    if (before := os.environ.setdefault(TOLD, told)) != told:
        raise ValueError(f"a worker grades one course, and this one grades {before}")
    notebooks = b"".join(path.read_bytes() for path in exercise_files().values())
    return {
        course().package: course().version,
        "the exercises' hash": digest(notebooks)[:12],
        "the hash of the course's and the judge's modules": sources_digest(packages())[:12],
    }


def proof(told: str) -> dict:
    """What a worker says of itself before it gets a file."""
    here = versions(told)
    tier, why = tiers.select_tier()
    return here | {"sandbox": tier, "why": why}


def graded_there(notebook: bytes, weights: bytes, settings: dict) -> str:
    """The report on a file as JSON, made by a worker."""
    with TemporaryFolder() as folder:
        file = folder / NAME
        file.write_bytes(notebook)
        if weights:
            file.with_suffix(WEIGHTS).write_bytes(weights)
        try:
            return grade(Submission(NAME, file), stop=Cancelled(), **settings).as_text()
        except StoppedError:
            return ""


class Cancelled(Event):
    """Is set when nobody waits any longer for the task that makes it."""

    def __init__(self):
        super().__init__()
        self.worker = get_worker()
        self.key = self.worker.get_current_task()

    def is_set(self) -> bool:
        task = self.worker.state.tasks.get(self.key)
        return task is None or task.state == "cancelled"
