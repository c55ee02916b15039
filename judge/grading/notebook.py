"""Judges a grafted notebook: its cells in a kernel, each answer's verdict in this process.

The kernel only ever gets inputs and gives back what the learner's function made of them. The
seed, the references, the comparison and the hint stay here.
"""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import nbformat
import psutil

from judge.course import course
from judge.credit import NOTHING, Credit, credit
from judge.exercise import Exercise
from judge.grading.budget import JUDGING, Budget, OverworkedError, at_most, tree
from judge.grading.kernel import CellError, GradingKernel, LostKernelError, fresh_kernel
from judge.grading.report import AT_WORK, BREAKS, Report, plain
from judge.grading.sandbox import OWN_USER
from judge.grading.server import KernelServer, ServerError
from judge.scan import around, forbidden_in
from judge.verdict import Verdict, judge

UNPROVEN = "not proven: that it calls nothing forbidden and does not loop, since it {}"
UNSEEN = "a forbidden call or a loop might not be seen, since it {}"
NO_PART = "no part of the points: {}"
NOT_CALLED = "may not be called here"
OVERWORKS = "to judge what it returns takes the grader {}: return less"
IMPORT_NOTE = "only this cell is graded: what it needs must be imported or written in it"


class Grader:
    """Judges one notebook after another, and keeps what starts kernels from one to the next."""

    def __init__(self):
        self.server: KernelServer | None = None
        self.serves: tuple = ()

    def judge(self, folder: Path, seconds: float, memory: int) -> None:
        """Fill the report of the notebook in that folder; see `judge.grading.judge_process`."""
        try:
            GradedNotebook(self, folder, seconds, memory).judge_all()
        finally:
            # each notebook has a user of its own; in bubblewrap nothing is left of the one before
            if OWN_USER in self.serves:
                self.stop()

    def kernel_server(self, chapter: str, memory: int, tier: str) -> KernelServer:
        """What starts the kernels of a notebook: that of the one before, where it serves."""
        serves = chapter, memory, tier
        if self.server is None or self.serves != serves:
            self.stop()
            self.serves, self.server = serves, KernelServer(*serves)
        return self.server

    def stop(self) -> None:
        if self.server:
            self.server.stop()
            self.server = None


class GradedNotebook:
    """A grafted notebook, what starts its kernels, and the report that it fills."""

    def __init__(self, grader: Grader, folder: Path, seconds: float, memory: int):
        self.grader, self.seconds, self.memory = grader, seconds, memory
        self.report_path = folder / "report.json"
        self.report = Report.read(self.report_path)
        self.cells = nbformat.read(folder / "graft.ipynb", nbformat.NO_CONVERT).cells
        self.exercises = course().exercises(self.report.chapter)
        self.results = {one.name: one for one in self.report.exercises}
        self.given: list[str] = []
        self.ran: dict[str, str] = {}
        self.credits: dict[str, Credit] = {}
        self.withheld: dict[str, str] = {}
        self.server = self.kernel_server()

    def kernel_server(self) -> KernelServer:
        return self.grader.kernel_server(self.report.chapter, self.memory, self.report.sandbox)

    def judge_all(self) -> None:
        """Judge each answer where its check stands, after the given cells before that."""
        for cell in self.cells:
            tags = cell.metadata.get("tags", [])
            if "check" in tags:
                self.check(cell.id.removeprefix("check-"))
            # an answer runs when its check does
            elif cell.cell_type == "code" and "answer" not in tags:
                self.given.append(cell.source)

    def check(self, name: str) -> None:
        """Judge an answer that is not judged yet: the callable is in the kernel, all else here."""
        if self.results[name].status != "not graded":
            self.ran[name] = self.source(name)
            return
        begun = time.monotonic()
        self.note(name, Verdict("not graded", AT_WORK), 0)
        try:
            verdict = self.verdict(name)
        except OverworkedError as error:
            self.begin_anew()
            verdict = Verdict("error", OVERWORKS.format(error))
        except Exception:
            # what an answer does to the grader it does again; a machine's fault may be over
            self.begin_anew()
            verdict = self.verdict_or_fault(name)
        self.note(name, verdict, time.monotonic() - begun)

    def begin_anew(self):
        """Start kernels of another process: what became of this one is not known."""
        self.grader.stop()
        self.server = self.kernel_server()

    def verdict(self, name: str) -> Verdict:
        """The verdict on an answer in a kernel of its own, where no other answer can spoil it."""
        others = {other: source for other, source in self.ran.items() if other != name}
        with at_most(JUDGING):
            verdict, used = self.judged(name)
            if others and verdict.status == "error" and "NameError" in verdict.hint:
                # the name may be one that another answer has made
                with contextlib.suppress(LostKernelError):
                    verdict, _ = self.judged(name, others, used)
        return verdict

    def verdict_or_fault(self, name: str) -> Verdict:
        """The verdict on an answer with which a kernel or the grader has failed before."""
        try:
            return self.verdict(name)
        except ServerError as error:
            return Verdict("not graded", str(error))
        except OverworkedError as error:
            self.begin_anew()
            return Verdict("error", OVERWORKS.format(error))
        except Exception as error:
            return Verdict("error", BREAKS.format(type(error).__name__))

    def judged(
        self,
        name: str,
        others: Mapping[str, str] = MappingProxyType({}),
        used: Budget | None = None,
    ) -> tuple[Verdict, Budget]:
        """The verdict on an answer in a fresh kernel, in which others have run before.

        It has no longer for being judged twice: what it has used counts, and is returned.
        Raises LostKernelError where one of the others ends the kernel.
        """
        source = self.source(name)
        blinded = False

        def ask(request: dict) -> dict:
            nonlocal blinded
            answer = kernel.call(request, budget)
            blinded |= isinstance(answer, dict) and bool(answer.get("blinded"))
            return answer

        with fresh_kernel(self.server, self.given) as kernel:
            alive = tasks(kernel.pid)
            for other in others.values():
                run(kernel, other, kernel.budget(self.seconds))
            budget = kernel.budget(self.seconds, used)
            try:
                raised = run(kernel, source, budget)
                self.ran[name] = source
                before = self.server.started()
                kept = tasks(kernel.pid) > alive
                verdict = judge(
                    self.exercises[name],
                    ask,
                    # each exercise has its own inputs, and the same ones whatever else there is
                    self.report.seed,
                    course().forbidden(self.exercises[name]),
                )
                earned = self.earned(name, verdict, kernel)
                starts = kept or self.server.started() != before
            except LostKernelError as lost:
                return Verdict(lost.status, lost.hint), budget
        named = forbidden_in(source, name, foreign(self.exercises[name]))
        unseen = evading([source, *others.values()], starts, blinded)
        if verdict.status == "passed":
            if named:
                verdict = Verdict("wrong", f"{named} {NOT_CALLED}: write the steps yourself")
            elif unseen:
                self.results[name].remark(UNPROVEN.format(unseen))
            return verdict, budget
        self.credits[name] = earned
        self.withheld[name] = ""
        if named:
            self.withheld[name] = f"it names `{named}`, which {NOT_CALLED}"
        elif unseen:
            self.withheld[name] = UNSEEN.format(unseen)
        return explained(verdict, raised), budget

    def earned(self, name: str, verdict: Verdict, kernel: GradingKernel) -> Credit:
        """What an answer earns that has not passed, where points are given in parts."""
        if not self.report.partial or verdict.status not in ("wrong", "error"):
            return NOTHING
        budget = kernel.budget(self.seconds)
        try:
            return credit(
                self.exercises[name],
                lambda request: kernel.call(request, budget),
                self.report.seed,
                course().forbidden(self.exercises[name]),
            )
        except LostKernelError as lost:
            if lost.status == "not graded":
                raise
            return NOTHING

    def source(self, name: str) -> str:
        return next(c.source for c in self.cells if c.id == f"answer-{name}")

    def note(self, name: str, verdict: Verdict, seconds: float) -> None:
        """Write a verdict down at once: what comes later cannot take it back."""
        result = self.results[name]
        result.status, result.seconds = verdict.status, round(seconds, 2)
        result.hint, result.evidence = plain(verdict.hint), plain(verdict.evidence)
        earned = self.credits.get(name, NOTHING)
        # whoever passes only when asked again has nothing wrong
        if earned.wrong and verdict.status in ("wrong", "error"):
            if why := self.withheld[name]:
                result.remark(NO_PART.format(why))
            else:
                result.share = earned.share
                result.remark(earned.told(result.points, result.max_points))
        self.report.write(self.report_path)


def run(kernel: GradingKernel, source: str, budget: Budget) -> str:
    """Run a learner's cell and return what it raised, if it did."""
    kernel.load(source)
    try:
        kernel.run(source, budget)
    except CellError as error:
        return f"the cell raises {error}"
    return ""


def foreign(exercise: Exercise) -> tuple[str, ...]:
    """What an answer may not call, but for the course's own, which is not there to be called."""
    forbidden = course().forbidden(exercise)
    return tuple(one for one in forbidden if one.partition(".")[0] != course().package)


def tasks(pid: int) -> int:
    """How many threads the process of that number has, and all below it."""
    count = 0
    for process in tree(pid):
        # any of them may end meanwhile
        with contextlib.suppress(psutil.Error):
            count += process.num_threads()
    return count


def evading(sources: list[str], starts: bool, blinded: bool) -> str:
    """What an answer does, or names, that may hide a call or a loop from whoever watches."""
    if starts:
        return "starts a thread or a process"
    if blinded:
        return "takes away what counts torch's operations"
    way = next(filter(None, map(around, sources)), "")
    return f"uses `{way}`" if way else ""


def explained(verdict: Verdict, raised: str) -> Verdict:
    """Add the reason of an error: the cell itself raised, or it leans on another cell."""
    if verdict.status == "error" and raised:
        return Verdict("error", raised, verdict.hint)
    if verdict.status == "error" and "NameError" in verdict.hint:
        return replace(verdict, evidence=IMPORT_NOTE)
    return verdict
