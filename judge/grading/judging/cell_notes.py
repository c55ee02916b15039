"""What a report tells of a notebook's own cells, where that may have cost an answer."""

import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from judge.grading.judging.walk import Allowance
from judge.grading.kernel.client import imported
from judge.grading.notebook.code_cells import MOST_CELLS, MOST_TEXT, HandedIn, texts
from judge.grading.notebook.pristine import chapters
from judge.grading.report.results import Report
from judge.grading.report.text import plain
from judge.grading.sandbox.tiers import Tier
from judge.quotation import quoted
from judge.status import Status

NOT_MADE = "no cell defines that name before the check when the cells run from top to bottom"
STOPS = "{}, so what it would have defined after that is missing"
RAISED = "cell {}, {}, raises {}"
NOT_RUN = "the grader didn't run this command: {}"
LEFT_OUT = "cell {}, {}, was left out when the notebook was run: {}"
ONLY_ANSWERS = "without a sandbox, only answers are run, so these cells were not: {}"
STOPPED = "the cells outside the answers took too long, so the rest of them weren't run"
TOO_MANY = (
    "only the answers were run, because a notebook may have at most {:,} code cells, with {:,} "
    "characters"
)
# of what is noted, and characters of a cell that is
MOST_NOTES, MOST_SHOWN = 20, 40
# what is found by another name than that of its package
PACKAGES = {
    "cv2": "opencv-python", "sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow",
    "yaml": "pyyaml", "bs4": "beautifulsoup4",
}  # fmt: skip


@dataclass
class CellNotes:
    """The cells that were handed in, the text of each answer, and what became of the cells."""

    handed_in: HandedIn
    answers: dict[str, str]
    allowance: Allowance

    def write_into(self, report: Report) -> None:
        """Tell of the cells, and name the packages that are missing, where that may matter."""
        notes = self.cells_not_run(report) if report.sandbox == Tier.NONE else self.cells_run()
        if any(one.status in (Status.WRONG, Status.ERROR) for one in report.exercises):
            sources = [*texts(self.handed_in.cells), *self.answers.values()]
            lacks = [PACKAGES.get(one, one) for one in missing_packages(sources)]
            report.lacks = lacks[:MOST_NOTES]
            notes += self.stopped_cells()
        report.notes = [plain(one) for one in notes][:MOST_NOTES]

    def cells_not_run(self, report: Report) -> list[str]:
        """Which of the cells that answer nothing are not the given ones: none of them is run."""
        pristine = chapters()[report.chapter].texts
        free = [one for one in self.handed_in.cells if not one.answers]
        numbers = [str(one.number) for one in free if one.source.strip() not in pristine]
        return [ONLY_ANSWERS.format(", ".join(numbers))] if numbers else []

    def cells_run(self) -> list[str]:
        """What the cells asked for and did not get, and which of them were left out."""
        notes = [NOT_RUN.format(one) for one in self.allowance.not_run]
        left_out = sorted(self.allowance.left_out.items())
        notes += [LEFT_OUT.format(n, self.begins(n), why) for n, why in left_out]
        notes += [STOPPED] * self.allowance.is_spent
        if not self.handed_in.cells:
            notes.append(TOO_MANY.format(MOST_CELLS, MOST_TEXT))
        return notes

    def stopped_cells(self) -> list[str]:
        """The cells that raise, each with what it raises."""
        raised = sorted(self.allowance.raised.items())
        # what only another answer makes is not there where it does not run
        own = [(n, why) for n, why in raised if "NameError" not in why]
        return [RAISED.format(n, self.begins(n), why) for n, why in own]

    def not_made(self) -> str:
        """Why no cell has made a name: one may have stopped before it came to that."""
        stopped = self.stopped_cells()
        return STOPS.format(stopped[-1]) if stopped else NOT_MADE

    def begins(self, number: int) -> str:
        """How the cell of that number begins."""
        cell = next(one for one in self.handed_in.cells if one.number == number)
        return quoted(cell.source, MOST_SHOWN)


def missing_packages(sources: Iterable[str]) -> Iterator[str]:
    """The packages that cells import and that are not installed here, nor written by a cell."""
    for name in dict.fromkeys(one.partition(".")[0] for text in sources for one in imported(text)):
        try:
            there = importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            there = False
        written = any(f"{name}.py" in text for text in sources)
        if name.isidentifier() and not there and not written and name != "google":
            yield name
