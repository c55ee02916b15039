"""A pytest plugin: nbval runs the grafted notebook, and each check is judged in this process.

The kernel only ever gets inputs and gives back what the learner's function made of them. The
seed, the references, the comparison and the hint stay here.
"""

import contextlib
import os
import time
from pathlib import Path

import torch
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

from attncourse.checks import exercises
from attncourse.checks.verdict import Verdict, judge
from attncourse.devices import named_device
from attncourse.grading.kernel import CellError, GradingKernel, Trouble
from attncourse.grading.report import Report, plain

IMPORT_NOTE = "only this cell is graded: what it needs must be imported or written in it"


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".ipynb":
        return GradedNotebook.from_parent(parent, path=file_path)


class GradedNotebook(IPyNbFile):
    """A grafted notebook, the kernel that it runs in, and the report that it fills."""

    def setup(self):
        job = Path(os.environ["ATTNCOURSE_REPORT"])
        self.report_path, self.report = job, Report.read(job)
        self.report.torch = torch.__version__
        self.seconds = float(os.environ["ATTNCOURSE_TIMEOUT"])
        named_device(self.report.device)
        self.exercises = exercises(self.report.chapter)
        self.results = {one.name: one for one in self.report.exercises}
        self.troubles: dict[str, Verdict] = {}
        self.ran: dict[str, str] = {}
        self.given: list[str] = []
        self.kernel = self.start()

    def start(self, answers: dict[str, str] | None = None) -> GradingKernel:
        """A kernel in which the given cells and these answers have run."""
        cuda = self.report.device.startswith("cuda")
        memory = 0 if cuda else int(os.environ["ATTNCOURSE_MEMORY_LIMIT"])
        kernel = GradingKernel(self.report.chapter, memory, self.report.sandboxed)
        deadline = time.monotonic() + self.seconds
        try:
            for source in [*self.given, *(answers or {}).values()]:
                with contextlib.suppress(CellError):
                    kernel.run(source, deadline)
        except BaseException:
            kernel.stop()
            raise
        return kernel

    def renew(self) -> None:
        """A new kernel in place of a lost one, with every answer that did no harm."""
        self.kernel.stop()
        try:
            self.kernel = self.start(self.ran)
        except Trouble:
            # an answer that was harmless before is not now: go on without any
            self.ran.clear()
            self.kernel = self.start()

    def collect(self):
        for item in super().collect():
            tags = item.cell.metadata.get("tags", [])
            kind = AnswerCell if "answer" in tags else CheckCell if "check" in tags else GivenCell
            yield kind.from_parent(
                self,
                name=item.cell.id,
                cell_num=item.cell_num,
                cell=item.cell,
                options=item.options,
            )

    def verdict(self, kernel: GradingKernel, name: str) -> Verdict:
        deadline = time.monotonic() + self.seconds
        return judge(
            self.exercises[name],
            lambda request: kernel.call(request, deadline),
            # each exercise has its own inputs, and the same ones whatever else is in the file
            self.report.seed,
            self.report.device,
        )

    def alone(self, name: str) -> Verdict | None:
        """The verdict on one answer in a fresh kernel, where no other answer can spoil it."""
        try:
            kernel = self.start()
        except Trouble:
            return None
        try:
            deadline = time.monotonic() + self.seconds
            raised = run(kernel, self.source(name), deadline)
            return explained(self.verdict(kernel, name), raised)
        except Trouble as trouble:
            return Verdict(trouble.status, trouble.hint)
        finally:
            kernel.stop()

    def source(self, name: str) -> str:
        return next(c.source for c in self.nb.cells if c.id == f"answer-{name}")

    def note(self, name: str, verdict: Verdict, seconds: float) -> None:
        """Write a verdict down at once: what comes later cannot take it back."""
        result = self.results[name]
        result.status, result.seconds = verdict.status, round(seconds, 2)
        result.hint, result.evidence = plain(verdict.hint), plain(verdict.evidence)
        self.report.write(self.report_path)


class GradedCell(IPyNbCell):
    @property
    def exercise(self) -> str:
        return self.cell.id.split("-", 1)[1]

    def setup(self):
        # nbval marks all that follows a timeout as expected to fail: here nothing is inferred
        pass


class GivenCell(GradedCell):
    """A cell of the course's own: set-up, or an example."""

    def runtest(self):
        # the last cell only calls status()
        source = self.cell.source
        self.parent.kernel.run(source, time.monotonic() + self.parent.seconds)
        self.parent.given.append(source)


class AnswerCell(GradedCell):
    """A learner's cell: what goes wrong in it is that exercise's alone."""

    def runtest(self):
        notebook = self.parent
        if notebook.results[self.exercise].status == "not found":
            return
        try:
            raised = run(notebook.kernel, self.cell.source, time.monotonic() + notebook.seconds)
            notebook.ran[self.exercise] = self.cell.source
            if raised:
                notebook.troubles[self.exercise] = Verdict("error", f"the cell raises {raised}")
        except Trouble as trouble:
            notebook.troubles[self.exercise] = Verdict(trouble.status, trouble.hint)
            notebook.renew()


class CheckCell(GradedCell):
    """A check: the callable is in the kernel, all that decides is here."""

    def runtest(self):
        notebook, name = self.parent, self.exercise
        if notebook.results[name].status == "not found":
            return
        begun = time.monotonic()
        if not code_of(notebook.source(name)):
            return notebook.note(name, Verdict("not attempted", "its cell is empty"), 0)
        raised = notebook.troubles.get(name)
        if raised and raised.status != "error":
            verdict = raised
        else:
            try:
                verdict = explained(notebook.verdict(notebook.kernel, name), raised and raised.hint)
            except Trouble as trouble:
                verdict = Verdict(trouble.status, trouble.hint)
                notebook.ran.pop(name, None)
                notebook.renew()
        if verdict.status not in ("passed", "not attempted"):
            verdict = self.confirmed(verdict)
        notebook.note(name, verdict, time.monotonic() - begun)
        if verdict.status != "passed":
            hint = "\n".join(filter(None, (verdict.hint, verdict.evidence)))
            raise NbCellError(self.cell_num, f"{verdict.status}: {hint}", self.cell.source)

    def confirmed(self, verdict: Verdict) -> Verdict:
        """What the answer gets when it is alone, unless it leans on a name of another cell."""
        alone = self.parent.alone(self.exercise)
        if alone is None or (alone.status == "error" and "NameError" in alone.hint):
            return verdict
        return alone


def run(kernel: GradingKernel, source: str, deadline: float) -> str:
    """Run a learner's cell and return what it raised, if it did."""
    try:
        kernel.run(source, deadline)
    except CellError as error:
        return str(error)
    return ""


def code_of(source: str) -> list[str]:
    """The lines of a cell that are neither blank nor a comment."""
    lines = (line.strip() for line in source.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def explained(verdict: Verdict, raised: str | None) -> Verdict:
    """Add the reason of an error: the cell itself raised, or it leans on another cell."""
    if verdict.status == "error" and raised:
        return Verdict("error", raised, verdict.hint)
    if verdict.status == "error" and "NameError" in verdict.hint:
        return verdict._replace(evidence=IMPORT_NOTE)
    return verdict
