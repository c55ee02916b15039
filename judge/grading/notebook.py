"""Judges a grafted notebook: its cells in a kernel, each answer's verdict in this process.

The kernel only ever gets inputs and gives back what the learner's function made of them. The
seed, the references, the comparison and the hint stay here.
"""

import contextlib
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from judge.compare.credit import NOTHING, Credit, credit
from judge.course import course
from judge.exercise import Exercise
from judge.grading import code_cells
from judge.grading.budget import JUDGING, Budget, OverworkedError, at_most, tasks
from judge.grading.cell_notes import STOPPED, CellNotes
from judge.grading.code_cells import HandedIn
from judge.grading.kernel import CellError, GradingKernel, LostKernelError, fresh_kernel
from judge.grading.pristine import answer_cells, chapters
from judge.grading.reach import Reached
from judge.grading.report import AT_WORK, BREAKS, Report, plain
from judge.grading.sandbox import NONE, OWN_USER
from judge.grading.scan import around, forbidden_in
from judge.grading.server import KernelServer, ServerError
from judge.grading.walk import Allowance, StoppedWalkError, Walk
from judge.quotation import code
from judge.status import Status
from judge.verdict import Verdict, judge

UNSEEN = "a forbidden call or a loop might not be seen, since it {}"
NO_PART = "no part of the points: {}"
NOT_CALLED = "may not be called here"
OVERWORKS = "to judge what it returns takes the grader {}: return less"
IMPORT_NOTE = "only this cell is graded: what it needs must be imported or written in it"
# the best verdict counts; of two alike the first
STATUSES = (
    Status.PASSED, Status.WRONG, Status.TOO_SLOW, Status.CRASHED, Status.NOT_ATTEMPTED,
    Status.NOT_FOUND, Status.ERROR,
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """A verdict on an answer, what it earns if it has not passed, and why that is withheld."""

    verdict: Verdict
    earned: Credit = NOTHING
    withheld: str = ""
    unproven: str = ""
    # whether all that ran was the answer's own text
    alone: bool = False

    @property
    def is_final(self) -> bool:
        """Whether no verdict can be better."""
        return self.verdict.status == Status.PASSED and not self.unproven

    @property
    def rank(self) -> tuple[bool, bool, float, int]:
        """The less, the better."""
        status = self.verdict.status
        place = STATUSES.index(status) if status in STATUSES else len(STATUSES)
        share = self.earned.share * (not self.withheld)
        return status != Status.PASSED, not self.is_final, -share, place


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
    """A grafted notebook, what starts its kernels, and the report that it fills.

    Each answer is judged in the state that the cells of the notebook make. If it does not pass so,
    it is judged with the cells of other answers, where these matter, and then from its text alone:
    the best of these verdicts counts.
    """

    def __init__(self, grader: Grader, folder: Path, seconds: float, memory: int):
        self.grader, self.seconds, self.memory = grader, seconds, memory
        self.report_path = folder / "report.json"
        self.report = Report.read(self.report_path)
        grafted = nbformat.read(folder / "graft.ipynb", nbformat.NO_CONVERT)
        self.texts = {name: cell.source for name, cell in answer_cells(grafted).items()}
        self.given = given_cells(grafted.cells)
        self.handed_in = HandedIn.read(folder)
        self.exercises = course().exercises(self.report.chapter)
        self.results = {one.name: one for one in self.report.exercises}
        self.allowance = Allowance(seconds)
        self.noted = CellNotes(self.handed_in, self.texts, self.allowance)
        self.judged = {
            name: [Judged(Verdict(*untouched))]
            for name, untouched in self.handed_in.untouched.items()
        }
        self.spent: dict[str, float] = {}
        self.used: dict[str, Budget] = {}
        # processor seconds of this process
        self.worked: dict[str, float] = {}
        self.server = self.kernel_server()

    def kernel_server(self) -> KernelServer:
        return self.grader.kernel_server(self.report.chapter, self.memory, self.report.sandbox)

    def judge_all(self) -> None:
        """Judge each answer that has no verdict, in one way after the other until it passes."""
        waiting = [one.name for one in self.report.exercises if one.status == Status.NOT_GRADED]
        # without a sandbox no cell is run but the answers: it might do whatever the grader may
        cells = self.handed_in.cells if self.report.sandbox != NONE else []
        for others in (False, True):
            with closing(Walk(self.fresh, cells, self.allowance, others)) as walk:
                for name in sorted(walk.order(waiting), key=self.is_test):
                    if not self.is_decided(name) and (not others or self.needs_others(name)):
                        self.judge(name, partial(self.in_walk, walk))
        for name in waiting:
            # where nothing is written there is no text to judge
            if not self.is_decided(name) and name not in self.handed_in.untouched:
                self.judge(name, self.from_text)
            self.note(name, min(self.judged[name], key=lambda one: one.rank))
        self.noted.write_into(self.report)
        self.report.write(self.report_path)

    def fresh(self) -> contextlib.AbstractContextManager[GradingKernel]:
        """A kernel for the notebook's own cells: those that it lacks of the given ones have run."""
        own = {one.source.strip() for one in self.handed_in.cells}
        given = [text for text in self.given[""] if text.strip() not in own]
        return fresh_kernel(self.server, given)

    def is_test(self, name: str) -> bool:
        """Whether it is sent right implementations, and so is judged last.

        It may put them into memory that a cell has made for all copies of a kernel.
        """
        return self.exercises[name].is_test

    def is_decided(self, name: str) -> bool:
        return any(one.is_final for one in self.judged.get(name, ()))

    def needs_others(self, name: str) -> bool:
        """Whether the cells of other answers may change what became of this one."""
        if not (judged := self.judged.get(name)):
            return True
        ended = judged[-1].verdict.status in (Status.WRONG, Status.ERROR)
        cells = [x for x in self.handed_in.cells if x.number not in self.allowance.left_out]
        return ended and code_cells.needs_others(cells, name)

    def judge(self, name: str, way: Callable[[str], Judged]) -> None:
        """Judge an answer in one way: the callable is in the kernel, all else here."""
        begun = time.monotonic()
        self.write(name, Verdict(Status.NOT_GRADED, AT_WORK))
        try:
            judged = self.within_bounds(name, way)
        except Exception:
            # what an answer does to the grader it does again; a machine's fault may be over
            self.begin_anew()
            judged = self.judged_or_fault(name, way)
        self.spent[name] = self.spent.get(name, 0) + time.monotonic() - begun
        self.judged.setdefault(name, []).append(judged)
        if judged.is_final:
            self.note(name, judged)
        else:
            self.write(name, Verdict(Status.NOT_GRADED))

    def within_bounds(self, name: str, way: Callable[[str], Judged]) -> Judged:
        """The verdict on an answer, for which this process works no longer than it may."""
        before, begun = self.worked.get(name, 0), time.process_time()
        try:
            with at_most(max(JUDGING - before, JUDGING / 10)):
                return way(name)
        except OverworkedError as error:
            self.begin_anew()
            return Judged(Verdict(Status.ERROR, OVERWORKS.format(error)))
        finally:
            self.worked[name] = before + time.process_time() - begun

    def begin_anew(self):
        """Start kernels of another process: what became of this one is not known."""
        self.grader.stop()
        self.server = self.kernel_server()

    def judged_or_fault(self, name: str, way: Callable[[str], Judged]) -> Judged:
        """The verdict on an answer with which a kernel or the grader has failed before."""
        try:
            return self.within_bounds(name, way)
        except ServerError as error:
            return Judged(Verdict(Status.NOT_GRADED, str(error)))
        except Exception as error:
            return Judged(Verdict(Status.ERROR, BREAKS.format(type(error).__name__)))

    def in_walk(self, walk: Walk, name: str) -> Judged:
        """The verdict on an answer where the notebook's cells have run before it."""

        def budget(kernel: GradingKernel) -> Budget:
            # it has no longer for being judged twice
            self.used[name] = kernel.budget(self.seconds, self.used.get(name))
            return self.used[name]

        try:
            with walk.state_of(name, budget) as state:
                pristine = chapters()[self.report.chapter].texts
                texts = code_cells.texts(state.cells)
                own = [text for text in texts if text.strip() not in pristine]
                alone = own == [self.texts[name]]
                if state.lost:
                    return Judged(Verdict(state.lost.status, state.lost.hint), alone=alone)
                judged = self.judged_in(name, state.kernel, state.budget, own, state.raised)
                return replace(judged, alone=alone)
        except StoppedWalkError:
            return Judged(Verdict(Status.NOT_GRADED, STOPPED))
        except Exception:
            walk.close()
            raise

    def from_text(self, name: str) -> Judged:
        """The verdict on an answer's text in a kernel of its own, where no other can spoil it."""
        others = self.other_texts(name)
        before = next((one for one in self.judged.get(name, ()) if one.alone), None)
        judged, used = (before, self.used[name]) if before else self.from_texts(name)
        if others and judged.verdict.status == Status.ERROR and "NameError" in judged.verdict.hint:
            # the name may be one that another answer has made
            with contextlib.suppress(LostKernelError):
                judged, _ = self.from_texts(name, others, used)
        return judged

    def other_texts(self, name: str) -> list[str]:
        """The other answers that are written."""
        return [
            self.texts[one]
            for one, result in self.results.items()
            if one not in (name, *self.handed_in.untouched)
            and result.status not in (Status.NOT_ATTEMPTED, Status.NOT_FOUND)
        ]

    def from_texts(
        self, name: str, others: list[str] | None = None, used: Budget | None = None
    ) -> tuple[Judged, Budget]:
        """The verdict on an answer in a fresh kernel, in which others have run before.

        It has no longer for being judged twice: what it has used counts, and is returned.
        Raises LostKernelError where one of the others ends the kernel.
        """
        text, others = self.texts[name], others or []
        with fresh_kernel(self.server, self.given[name]) as kernel:
            for other in others:
                run(kernel, other, kernel.budget(self.seconds))
            budget = kernel.budget(self.seconds, used)
            try:
                raised = run(kernel, text, budget)
            except LostKernelError as lost:
                return Judged(Verdict(lost.status, lost.hint)), budget
            return self.judged_in(name, kernel, budget, [*others, text], raised), budget

    def judged_in(
        self, name: str, kernel: GradingKernel, budget: Budget, sources: list[str], raised: str
    ) -> Judged:
        """The verdict on the answer in a kernel in which these cells have run."""
        blinded = False

        def ask(request: dict) -> dict:
            nonlocal blinded
            answer = kernel.call(request, budget)
            blinded |= isinstance(answer, dict) and bool(answer.get("blinded"))
            return answer

        exercise, forbidden = self.exercises[name], course().forbidden(self.exercises[name])
        try:
            before = self.server.started()
            kept = tasks(kernel.pid) > kernel.alive
            # each exercise has its own inputs, and the same ones whatever else there is
            verdict = judge(exercise, ask, self.report.seed, forbidden)
            earned = self.earned(name, verdict, kernel)
            starts = kept or self.server.started() != before
        except LostKernelError as lost:
            return Judged(Verdict(lost.status, lost.hint))
        reached = Reached(sources, name)
        named = forbidden_in(reached, foreign(exercise))
        unseen = evading(reached, starts, blinded)
        if verdict.status == Status.PASSED and named:
            verdict = Verdict(Status.WRONG, f"{named} {NOT_CALLED}: write the steps yourself")
            return Judged(verdict)
        if verdict.status == Status.PASSED:
            return Judged(verdict, unproven=unseen)
        withheld = unseen and UNSEEN.format(unseen)
        if named:
            withheld = f"it names `{named}`, which {NOT_CALLED}"
        return Judged(self.explained(verdict, raised), earned, withheld)

    def earned(self, name: str, verdict: Verdict, kernel: GradingKernel) -> Credit:
        """What an answer earns that has not passed, where points are given in parts."""
        if not self.report.partial or verdict.status not in (Status.WRONG, Status.ERROR):
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
            if lost.status == Status.NOT_GRADED:
                raise
            return NOTHING

    def explained(self, verdict: Verdict, raised: str) -> Verdict:
        """Add the reason of an error: the cell itself raised, or it leans on another cell."""
        if verdict.status == Status.ERROR and raised:
            return Verdict(Status.ERROR, raised, verdict.hint)
        if verdict.status == Status.ERROR and "NameError" in verdict.hint:
            walked = self.report.sandbox != NONE and self.handed_in.cells
            return replace(verdict, evidence=self.noted.not_made() if walked else IMPORT_NOTE)
        return verdict

    def note(self, name: str, judged: Judged) -> None:
        """Write a verdict down at once: what comes later cannot take it back."""
        result, verdict = self.results[name], judged.verdict
        # whoever passes only when asked again has nothing wrong
        if judged.earned.wrong and verdict.status in (Status.WRONG, Status.ERROR):
            if judged.withheld:
                result.remark(NO_PART.format(judged.withheld))
            else:
                result.share = judged.earned.share
                result.remark(judged.earned.message(result.points, result.max_points))
        result.unproven = judged.unproven
        self.write(name, verdict)

    def write(self, name: str, verdict: Verdict) -> None:
        result = self.results[name]
        result.status, result.seconds = verdict.status, round(self.spent.get(name, 0), 2)
        result.hint, result.evidence = plain(verdict.hint), plain(verdict.evidence)
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


def evading(reached: Reached, starts: bool, blinded: bool) -> str:
    """What an answer does, or names, that may hide a call or a loop from whoever watches."""
    if starts:
        return "starts a thread or a process"
    if blinded:
        return "takes away what counts its lines or torch's operations"
    way = around(reached)
    return f"uses {code(way)}" if way else ""


def given_cells(cells: list[NotebookNode]) -> dict[str, list[str]]:
    """By exercise the given cells that come before its check, and under no name all of them."""
    given: dict[str, list[str]] = {"": []}
    for cell in cells:
        tags = cell.metadata.get("tags", [])
        if "check" in tags:
            given[cell.id.removeprefix("check-")] = list(given[""])
        # an answer runs when it is judged
        elif cell.cell_type == "code" and "answer" not in tags:
            given[""].append(cell.source)
    return given
