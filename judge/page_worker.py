"""What the worker of a page calls: an answer's text is run, and checked as its notebook would."""

import io
import json
import linecache
import secrets
import traceback
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from judge.call.torch_internals import shown_plainly
from judge.cell_syntax import LONGEST, with_plain_spaces
from judge.compare.run import Trial
from judge.course import Course, OneLineError
from judge.notebook import SEEDS, Session, beginning
from judge.status import Status
from judge.verdict import UNDEFINED

TOO_LONG = "your answer has {:,} characters: it may have at most {:,}"
# characters that are kept of what an answer's cell prints
MAX_PRINTED = 20_000
FILE = "<answer to {}>"


class CellError(Exception):
    """Raised for a cell that does not run to its end, with its line where there is one."""

    def __init__(self, text: str, line: int | None = None):
        super().__init__(text if line is None else f"line {line}: {text}")
        self.line = line


class Beginning(io.StringIO):
    """Keeps the beginning of what is written, however much that is."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, MAX_PRINTED - self.tell())])
        return len(text)


class Page:
    """The exercises of a page, and what was checked of them."""

    def __init__(self, course: Course):
        self.course, self.session = course, Session(course)
        # of the checks that are prepared, by exercise
        self.seeds: dict[str, int] = {}

    def prepare(self, name: str) -> None:
        """Draw the inputs of an exercise's next check, and do on them what is right.

        That is half of what a check takes, and can be done while an answer is being written.
        """
        self.seeds[name] = secrets.randbelow(SEEDS)
        trial = Trial.of(self.course.exercise(name), self.seeds[name])
        # what is wrong is looked at with a second seed, too
        for one in (trial, trial.at_next_seed):
            for place in range(len(one.probes)):
                one.expected(place)

    def check(self, name: str, source: str, seed: int | None = None) -> str:
        """Run an answer's cell in a fresh namespace and check what it defines; JSON.

        `status` and `said` are the notebook's, with the `line` of the cell where the answer fails.
        `notes` are what was read otherwise than it was written, `printed` is what the cell printed,
        and `failed` the call that failed, as names and values.
        """
        seed = self.seeds.pop(name, None) if seed is None else seed
        source, notes = with_plain_spaces(source)
        printed, said = Beginning(), io.StringIO()
        result: dict[str, Any] = {"notes": notes, "line": None, "failed": []}
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                answer = self.answer(name, source)
            with redirect_stdout(said):
                self.session.check(name, answer, seed)
        except (CellError, OneLineError) as error:
            result["status"] = Status.ERROR
            result["line"] = getattr(error, "line", None)
            print(f"{name}: {Status.ERROR}: {error}", file=said)
        else:
            result |= self.verdict(name)
        return json.dumps(
            result | {"said": said.getvalue().rstrip(), "printed": beginning(printed.getvalue())}
        )

    def answer(self, name: str, source: str) -> Any:
        """What the cell defines under that name; CellError where it does not run, or has none."""
        task = self.course.exercise(name).task
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(task.imports if task else "", namespace)
        run(source, FILE.format(name), namespace)
        if name not in namespace:
            raise CellError(UNDEFINED.format(name))
        return namespace[name]

    def verdict(self, name: str) -> dict[str, Any]:
        """How the answer was judged, and on which call it failed, if it did."""
        verdict = self.session.verdicts[name]
        if (failing := verdict.failing) is None:
            return {"status": verdict.status}
        line, _ = (failing.got.error or {}).get("line") or (None, None)
        with shown_plainly():
            rows = [(label, repr(value)) for label, value in self.session.failed(name).rows()]
        # what differs first: an input may be long
        rows.sort(key=lambda row: not row[0].startswith(("expected", "got")))
        return {"status": verdict.status, "line": line, "failed": rows}


def run(source: str, file: str, namespace: dict[str, Any]) -> None:
    """Run a cell in a namespace; CellError with the line where it stops."""
    if len(source) > LONGEST:
        raise CellError(TOO_LONG.format(len(source), LONGEST))
    # from where a message quotes the line on which a call fails
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    try:
        exec(compile(source, file, "exec"), namespace)
    except SyntaxError as error:
        raise CellError(f"{type(error).__name__}: {error.msg}", error.lineno) from error
    except BaseException as error:
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == file
        ]  # fmt: skip
        text = beginning(f"{type(error).__name__}: {error}".rstrip(": "))
        raise CellError(text, lines[-1] if lines else None) from error
