"""Runs the cells of a notebook in their order, so that each answer finds what it found there.

One kernel runs the cells that answer nothing, as far as the next answer. What belongs to an answer,
up to its last check, runs in a copy of that kernel, and so do its calls: nothing of it reaches a
later cell. A cell that raises is passed over, as in a notebook; one that ends the kernel, or does
not come to its end, is left out when the others are run again.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import pairwise

from judge.grading.kernel.budget import LOOK, Budget
from judge.grading.kernel.client import CellError, GradingKernel, LostKernelError
from judge.grading.notebook.code_cells import CodeCell, Span, between, span

Fresh = Callable[[], AbstractContextManager[GradingKernel]]

# what all cells that answer nothing may take together, in times of what an answer may
SHARE = 2
# so often are cells run again, where one has ended the kernel
RESTARTS = 10


class StoppedWalkError(Exception):
    """No more cells are run: what they may take together has been taken."""


class LeftOutError(Exception):
    """A cell has ended the kernel, and is left out from now on."""


@dataclass
class Allowance:
    """What is left for the cells of a notebook that answer nothing, and what became of them."""

    seconds: float
    left: float = field(init=False)
    restarts: int = RESTARTS
    left_out: dict[int, str] = field(default_factory=dict)
    raised: dict[int, str] = field(default_factory=dict)
    not_run: dict[str, None] = field(default_factory=dict)

    def __post_init__(self):
        self.left = SHARE * self.seconds

    def run(self, kernel: GradingKernel, cell: CodeCell) -> None:
        """Run a cell that answers nothing, unless it is left out.

        Raises LeftOutError where it ends the kernel, StoppedWalkError where nothing is left.
        """
        if cell.number in self.left_out:
            return
        begun, budget = time.monotonic(), kernel.budget(min(self.seconds, self.left))
        try:
            self.note(kernel.run(cell.source, budget))
            self.raised.pop(cell.number, None)
        except CellError as error:
            self.raised[cell.number] = str(error)
        except LostKernelError as lost:
            self.left_out[cell.number] = lost.hint
            self.restarts -= 1
            raise LeftOutError from None
        finally:
            # a short one is over before it is looked at
            passed = min(time.monotonic() - begun, LOOK)
            self.left -= max(budget.worked + budget.slept, passed)
            if self.is_spent:
                raise StoppedWalkError from None

    @property
    def is_spent(self) -> bool:
        return self.left <= 0 or not self.restarts

    def note(self, commands: list[str]) -> None:
        """Note the commands of a cell that were not run."""
        self.not_run |= dict.fromkeys(commands)


@dataclass
class State:
    """A kernel in which the name of an exercise stands for its answer, and how that came about.

    `lost` says how one of the answer's cells has ended the kernel.
    """

    kernel: GradingKernel
    budget: Budget
    cells: list[CodeCell]
    raised: str = ""
    lost: LostKernelError | None = None


class Walk:
    """A kernel that goes through the cells; with `others` it runs those of other answers, too."""

    def __init__(
        self, fresh: Fresh, cells: list[CodeCell], allowance: Allowance, others: bool = False
    ):
        self.fresh, self.cells, self.allowance, self.others = fresh, cells, allowance, others
        self.own, self.kernel, self.place = ExitStack(), None, 0

    def close(self) -> None:
        self.own.close()
        self.kernel = None

    def order(self, names: list[str]) -> list[str]:
        """Those of the answers that the cells have to do with, as they come there."""
        spans = {name: one for name in names if (one := span(self.cells, name))}
        return sorted(spans, key=lambda name: spans[name].begin)

    @contextlib.contextmanager
    def state_of(self, name: str, budget: Callable[[GradingKernel], Budget]) -> Iterator[State]:
        """The state in which an answer was checked last; else that in which it was defined last.

        Its own cells take of the `budget` of the kernel. Raises StoppedWalkError where the way to
        it is too long.
        """
        where = span(self.cells, name)
        assert where, name
        with ExitStack() as copies:
            state = None
            while state is None:
                copies.close()
                with contextlib.suppress(LeftOutError):
                    kernel = copies.enter_context(self.copy_at(where.begin))
                    cells = (one for _, one in self.between(0, where.begin))
                    before = [one for one in cells if one.number not in self.allowance.left_out]
                    state = self.run(State(kernel, budget(kernel), before), where, name)
            yield state

    def run(self, state: State, where: Span, name: str) -> State:
        """Run the cells of an answer, until it has been checked."""
        try:
            for begin, end in pairwise((where.begin, where.checked, where.end, where.last)):
                for _, cell in self.between(begin, end, name):
                    state.cells.append(cell)
                    if name in cell.answers:
                        self.run_own(state, cell)
                    else:
                        self.allowance.run(state.kernel, cell)
                if state.kernel.take(name, state.budget):
                    break
        except LostKernelError as lost:
            state.lost = lost
        return state

    def run_own(self, state: State, cell: CodeCell) -> None:
        """Run a cell of the answer itself."""
        state.kernel.load(cell.source)
        try:
            self.allowance.note(state.kernel.run(cell.source, state.budget))
        except CellError as error:
            state.raised = f"the cell raises {error}"

    def between(self, begin: int, end: int, name: str = "") -> Iterator[tuple[int, CodeCell]]:
        return between(self.cells, begin, end, name, self.others)

    @contextlib.contextmanager
    def copy_at(self, place: int) -> Iterator[GradingKernel]:
        """A copy of the kernel as it is when the cells before that place have run."""
        if self.allowance.is_spent:
            self.close()
            raise StoppedWalkError
        if self.kernel is None or self.kernel.spoiled or self.place > place:
            self.close()
            self.kernel, self.place = self.own.enter_context(self.fresh()), 0
        for at, cell in self.between(self.place, place):
            self.place = at
            try:
                self.allowance.run(self.kernel, cell)
            except LeftOutError:
                self.close()
                raise
        self.place = place
        with ExitStack() as copies:
            budget = self.kernel.budget(self.allowance.seconds)
            try:
                copy = copies.enter_context(self.kernel.copied(budget))
            except LostKernelError:
                self.close()
                # as where a cell has left a lock, for which each copy waits
                self.allowance.left -= budget.worked + budget.slept
                self.allowance.restarts -= 1
                raise StoppedWalkError from None
            yield copy
