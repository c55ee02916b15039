"""Grades one file: grafts it, has a process of its own judge it, returns the report."""

from importlib.metadata import version
from pathlib import Path
from threading import Event

import nbformat

from judge.grading.judging.pool import StoppedError, one_judge, reason_in
from judge.grading.kernel.budget import EXERCISE, IMPORTS, STARTUP
from judge.grading.notebook.code_cells import HandedIn
from judge.grading.notebook.graft import Graft, graft
from judge.grading.notebook.pristine import chapters, digest, exercise_files
from judge.grading.notebook.submitted_cells import NotGradableError
from judge.grading.report.results import AT_WORK, BREAKS, Report, Result
from judge.grading.report.text import plain
from judge.grading.sandbox import tiers
from judge.grading.sandbox.temporary import TemporaryFolder
from judge.grading.submissions.files import Submission
from judge.quotation import exception, quoted
from judge.status import Status

AS_GIVEN = "the cell is as it was given"


def grade(
    file: Path | Submission, seed: int, timeout: float = EXERCISE, sandboxed: bool = True,
    memory: int = 4 << 30, stop: Event | None = None, partial: bool = False,
) -> Report:  # fmt: skip
    """The report on one file. Never raises for what a file holds: the report says what is wrong.

    `timeout` is in processor seconds, for each exercise; `memory` in bytes, for the learner's
    process.
    Without `sandboxed`, answers run as the grader's own user. With `partial`, an answer that has
    not passed earns points for the groups of cases that it has right. Raises StoppedError soon
    after `stop` is set.
    """
    if isinstance(file, Path):
        file = Submission(str(file), file)
    report = Report(file.name, seed=seed, partial=partial)
    try:
        if sandboxed:
            tier, why = tiers.select_tier()
            if tier is None:
                raise NotGradableError(f"no sandbox is safe here: {why}")
            report.sandbox = tier
        notebook, weights = file.handed_in()
        report.submission_sha256 = digest(notebook + weights)
        grafted = graft(notebook)
        grafted.weights = weights
        prepare(report, grafted)
        return judged(report, grafted, timeout, memory, stop or Event())
    except NotGradableError as reason:
        report.problem = plain(str(reason))
    except StoppedError:
        raise
    except Exception as error:
        # whatever it is, the other files are graded
        report.file = file.name
        report.problem = plain(f"the grader failed: {exception(type(error).__name__, str(error))}")
    return report


def prepare(report: Report, grafted: Graft) -> None:
    """Give the report a line for each exercise of the chapter, not graded where code is written."""
    report.chapter, report.torch = grafted.chapter, version("torch")
    report.pristine_sha256 = digest(exercise_files()[grafted.chapter].read_bytes())
    chapter, answers = chapters()[grafted.chapter], grafted.answers()
    for name, facts in chapter.facts.items():
        result = Result(
            name, facts["title"], facts["points"], note=plain(grafted.notes.get(name, ""))
        )
        if name not in grafted.found:
            result.status, result.hint = (
                Status.NOT_FOUND,
                f"no cell begins with `# exercise: {name}`",
            )
        elif name in grafted.too_long:
            result.status, result.hint = Status.ERROR, grafted.too_long[name]
        else:
            result.answer = answers[name]
            trained = "weights" in facts and grafted.weights
            if untouched := not trained and why_untouched(answers[name], chapter.stubs[name]):
                result.status, result.hint = Status.NOT_ATTEMPTED, untouched
        may_run = report.sandbox != tiers.Tier.NONE and name in grafted.made_elsewhere
        if result.status != Status.NOT_GRADED and may_run:
            grafted.untouched[name] = result.status, result.hint
            result.status, result.hint = Status.NOT_GRADED, ""
        report.exercises.append(result)


def why_untouched(answer: str, stub: str) -> str:
    """Why nothing was attempted in an answer cell; "" where something was."""
    code = code_of(answer)
    return "the cell is empty" if not code else AS_GIVEN if code == code_of(stub) else ""


def code_of(source: str) -> list[str]:
    """The lines of a cell that are neither blank nor a comment."""
    lines = (line.rstrip() for line in source.splitlines())
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def judged(report: Report, grafted: Graft, timeout: float, memory: int, stop: Event) -> Report:
    """The report once a judge has run the grafted notebook in a folder of its own."""
    if all(one.status != Status.NOT_GRADED for one in report.exercises):
        return report
    with TemporaryFolder() as folder:
        for facts in chapters()[grafted.chapter].facts.values():
            if grafted.weights and "weights" in facts:
                (folder / facts["weights"]).write_bytes(grafted.weights)
        return judged_in(folder, report, grafted, timeout, memory, stop)


def judged_in(
    folder: Path, report: Report, grafted: Graft, timeout: float, memory: int, stop: Event
) -> Report:
    nbformat.write(grafted.notebook, folder / "graft.ipynb")
    HandedIn(grafted.cells, grafted.untouched).write(folder)
    written = folder / "report.json"
    # the judge is not told whose it is
    name, report.file = report.file, "graft.ipynb"
    report.write(written)
    # each exercise is run twice at most, and once more for each that runs before it
    most = STARTUP + len(report.exercises) ** 2 * (STARTUP + IMPORTS + timeout)
    request = {"folder": str(folder), "seconds": timeout, "memory": memory}
    at_work, said, broken = True, "", set()
    # an answer that ends its judge costs no other
    while at_work:
        with one_judge() as judge:
            said = judge.asked(request, most, stop)
        report = Report.read(written)
        at_work = [one for one in report.exercises if one.hint == AT_WORK]
        for one in at_work:
            one.hint = ""
            if one.name in broken:
                one.status, one.hint = Status.ERROR, plain(BREAKS.format(quoted(reason_in(said))))
            broken.add(one.name)
        report.write(written)
    report.file = name
    if any(one.status == Status.NOT_GRADED and not one.hint for one in report.exercises):
        report.problem = plain(f"the grader failed: {quoted(reason_in(said))}")
    return report
