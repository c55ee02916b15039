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
from judge.grading.judging.cell_notes import STOPPED, CellNotes
from judge.grading.judging.walk import Allowance, StoppedWalkError, Walk
from judge.grading.kernel.budget import JUDGING, Budget, OverworkedError, at_most
from judge.grading.kernel.client import CellError, GradingKernel, LostKernelError, fresh_kernel
from judge.grading.kernel.server import KernelServer, ServerError
from judge.grading.notebook import code_cells
from judge.grading.notebook.code_cells import HandedIn
from judge.grading.notebook.pristine import answer_cells, chapters
from judge.grading.report.results import AT_WORK, BREAKS, Report
from judge.grading.report.text import plain
from judge.grading.sandbox.tiers import Tier
from judge.status import Status
from judge.verdict import Verdict, judge

OVERWORKS = "the grader needs {} to judge your result: return less"
IMPORT_NOTE = "only this cell is graded: it must import or define everything that it needs"


@dataclass(frozen=True)
class Judgement:
    """A verdict on an answer, and what the answer earns if it has not passed."""

    verdict: Verdict
    earned: Credit = NOTHING
    # whether all that ran was the answer's own text
    alone: bool = False

    @property
    def rank(self) -> tuple[bool, float, int]:
        """The order of judgements, the best first."""
        status = self.verdict.status
        return status != Status.PASSED, -self.earned.share, [*Status].index(status)


class Grader:
    """Judges one notebook after another, and keeps what starts kernels from one to the next."""

    def __init__(self):
        self.server: KernelServer | None = None
        self.serves: tuple = ()

    def judge(self, folder: Path, seconds: float, memory: int) -> None:
        """Fill the report of the notebook in that folder; see `judge.grading.judging.process`."""
        try:
            GradedNotebook(self, folder, seconds, memory).judge_all()
        finally:
            # each notebook has a user of its own; in bubblewrap nothing is left of the one before
            if Tier.OWN_USER in self.serves:
                self.stop()

    def kernel_server(self, chapter: str, memory: int, tier: Tier) -> KernelServer:
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
        self.cell_notes = CellNotes(self.handed_in, self.texts, self.allowance)
        self.judgements = {
            name: [Judgement(Verdict(*untouched))]
            for name, untouched in self.handed_in.untouched.items()
        }
        self.budgets: dict[str, Budget] = {}
        self.wall_seconds: dict[str, float] = {}
        # processor seconds of this process
        self.judging_seconds: dict[str, float] = {}
        self.server = self.kernel_server()

    def kernel_server(self) -> KernelServer:
        return self.grader.kernel_server(self.report.chapter, self.memory, self.report.sandbox)

    def judge_all(self) -> None:
        """Judge each answer that has no verdict, in one way after the other until it passes."""
        waiting = [one.name for one in self.report.exercises if one.status == Status.NOT_GRADED]
        # without a sandbox no cell is run but the answers: it might do whatever the grader may
        cells = self.handed_in.cells if self.report.sandbox != Tier.NONE else []
        for others in (False, True):
            with closing(Walk(self.fresh, cells, self.allowance, others)) as walk:
                for name in sorted(walk.order(waiting), key=self.is_test):
                    if not self.has_passed(name) and (not others or self.needs_others(name)):
                        self.judge(name, partial(self.in_walk, walk))
        for name in waiting:
            # where nothing is written there is no text to judge
            if not self.has_passed(name) and name not in self.handed_in.untouched:
                self.judge(name, self.from_text)
            self.note(name, min(self.judgements[name], key=lambda one: one.rank))
        self.cell_notes.write_into(self.report)
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

    def has_passed(self, name: str) -> bool:
        return any(one.verdict.status == Status.PASSED for one in self.judgements.get(name, ()))

    def needs_others(self, name: str) -> bool:
        """Whether the cells of other answers may change what became of this one."""
        if not (judgements := self.judgements.get(name)):
            return True
        ended = judgements[-1].verdict.status in (Status.WRONG, Status.ERROR)
        cells = [x for x in self.handed_in.cells if x.number not in self.allowance.left_out]
        return ended and code_cells.needs_others(cells, name)

    def judge(self, name: str, way: Callable[[str], Judgement]) -> None:
        """Judge an answer in one way: the callable is in the kernel, all else here."""
        begun = time.monotonic()
        self.write(name, Verdict(Status.NOT_GRADED, AT_WORK))
        try:
            judgement = self.within_bounds(name, way)
        except Exception:
            # what an answer does to the grader it does again; a machine's fault may be over
            self.restart_server()
            judgement = self.judge_again(name, way)
        self.wall_seconds[name] = self.wall_seconds.get(name, 0) + time.monotonic() - begun
        self.judgements.setdefault(name, []).append(judgement)
        if judgement.verdict.status == Status.PASSED:
            self.note(name, judgement)
        else:
            self.write(name, Verdict(Status.NOT_GRADED))

    def within_bounds(self, name: str, way: Callable[[str], Judgement]) -> Judgement:
        """The verdict on an answer, for which this process works no longer than it may."""
        before, begun = self.judging_seconds.get(name, 0), time.process_time()
        try:
            with at_most(max(JUDGING - before, JUDGING / 10)):
                return way(name)
        except OverworkedError as error:
            self.restart_server()
            return Judgement(Verdict(Status.ERROR, OVERWORKS.format(error)))
        finally:
            self.judging_seconds[name] = before + time.process_time() - begun

    def restart_server(self):
        """Start kernels of another process: what became of this one is not known."""
        self.grader.stop()
        self.server = self.kernel_server()

    def judge_again(self, name: str, way: Callable[[str], Judgement]) -> Judgement:
        """The verdict on an answer with which a kernel or the grader has failed before."""
        try:
            return self.within_bounds(name, way)
        except ServerError as error:
            return Judgement(Verdict(Status.NOT_GRADED, str(error)))
        except Exception as error:
            return Judgement(Verdict(Status.ERROR, BREAKS.format(type(error).__name__)))

    def in_walk(self, walk: Walk, name: str) -> Judgement:
        """The verdict on an answer where the notebook's cells have run before it."""

        def budget(kernel: GradingKernel) -> Budget:
            # it has no longer for being judged twice
            self.budgets[name] = kernel.budget(self.seconds, self.budgets.get(name))
            return self.budgets[name]

        try:
            with walk.state_of(name, budget) as state:
                if lost := state.lost:
                    judgement = Judgement(Verdict(lost.status, lost.hint))
                else:
                    judgement = self.judge_in(state.kernel, name, state.budget, state.raised)
                pristine = chapters()[self.report.chapter].texts
                texts = code_cells.texts(state.cells)
                own = [text for text in texts if text.strip() not in pristine]
                return replace(judgement, alone=own == [self.texts[name]])
        except StoppedWalkError:
            return Judgement(Verdict(Status.NOT_GRADED, STOPPED))
        except Exception:
            walk.close()
            raise

    def from_text(self, name: str) -> Judgement:
        """The verdict on an answer's text in a kernel of its own, where no other can spoil it."""
        others = self.other_texts(name)
        before = next((one for one in self.judgements.get(name, ()) if one.alone), None)
        judgement, used = (before, self.budgets[name]) if before else self.from_texts(name)
        verdict = judgement.verdict
        if others and verdict.status == Status.ERROR and "NameError" in verdict.hint:
            # the name may be one that another answer has made
            with contextlib.suppress(LostKernelError):
                judgement, _ = self.from_texts(name, others, used)
        return judgement

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
    ) -> tuple[Judgement, Budget]:
        """The verdict on an answer in a fresh kernel, in which others have run before.

        It has no longer for being judged twice: what it has used counts, and is returned.
        Raises LostKernelError where one of the others ends the kernel.
        """
        with fresh_kernel(self.server, self.given[name]) as kernel:
            for other in others or []:
                run(kernel, other, kernel.budget(self.seconds))
            budget = kernel.budget(self.seconds, used)
            try:
                raised = run(kernel, self.texts[name], budget)
            except LostKernelError as lost:
                return Judgement(Verdict(lost.status, lost.hint)), budget
            return self.judge_in(kernel, name, budget, raised), budget

    def judge_in(self, kernel: GradingKernel, name: str, budget: Budget, raised: str) -> Judgement:
        """Judge the answer in a kernel in which its cells have run and have `raised` that."""
        try:
            # each exercise has its own inputs, and the same ones whatever else there is
            verdict = judge(
                self.exercises[name],
                lambda request: kernel.call(request, budget),
                self.report.seed,
                course().forbidden(self.exercises[name]),
            )
            earned = self.earned(name, verdict, kernel)
        except LostKernelError as lost:
            return Judgement(Verdict(lost.status, lost.hint))
        return Judgement(self.explained(verdict, raised), earned)

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
            walked = self.report.sandbox != Tier.NONE and self.handed_in.cells
            return replace(verdict, evidence=self.cell_notes.not_made() if walked else IMPORT_NOTE)
        return verdict

    def note(self, name: str, judgement: Judgement) -> None:
        """Write a verdict down at once: what comes later cannot take it back."""
        result = self.results[name]
        # whoever passes only when asked again has nothing wrong
        if judgement.earned.wrong:
            result.share = judgement.earned.share
            result.remark(judgement.earned.message(result.points, result.max_points))
        self.write(name, judgement.verdict)

    def write(self, name: str, verdict: Verdict) -> None:
        result = self.results[name]
        result.status, result.seconds = verdict.status, round(self.wall_seconds.get(name, 0), 2)
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
