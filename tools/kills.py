"""Which test kills which mutant: `make kills`, weekly in CI on a sample.

A mutant is a source file with one small change, made by an operator of mutmut. All tests that
reach the changed statement run on it, because the first that fails says nothing of the others.
What is in `_build/kills` is not made again; after a change it is of no use: remove it.

Two things are not seen. A test that starts a process may kill more than is recorded, so it never
counts as one that could go. And the lines of a cached method are those of its first caller.
"""

import ast
import csv
import difflib
import gc
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date
from functools import cache
from importlib import import_module
from itertools import accumulate, chain, count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
import typer
from coverage import Coverage

sys.path.append(str(Path(__file__).parents[1] / ".cache" / "mutmut"))

import libcst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

ROOT = Path.cwd()
BUILD = ROOT / "_build" / "kills"
PACKAGES = ("attncourse", "judge")
# the patterns of an area's sources, and of its tests
AREAS = {
    "mechanisms": (
        # all folders but course and figures
        ("attncourse/[!_]*.py", "attncourse/[!cf]*/*.py"),
        ("tests/attncourse/test_*.py",),
    ),
    "claims": (
        (
            "attncourse/course/claim.py",
            "attncourse/course/*/claims.py",
            "attncourse/course/*/claims/*.py",
        ),
        ("tests/course/test_claims*.py", "tests/course/test_false_of.py"),
    ),
    # all folders but grading
    "judge": (("judge/*.py", "judge/[!g]*/*.py"), ("tests/judge/test_*.py",)),
}
NOT_MUTATED = m.Annotation() | m.Decorator() | m.Import() | m.ImportFrom()
NOT_MUTATED |= m.Assign(targets=[m.AssignTarget(m.Name("__all__"))])
# what takes seconds to import and knows no mutant, for the processes that are forked
PRELOADED = ("torch", "einops", "beartype", "nbformat", "matplotlib.pyplot")
ENVIRONMENT = {"ATTNCOURSE_SEED": "0", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
# without what takes time and decides nothing
PYTEST = ("-q", "--tb=no", "--assert=plain", "-pno:cacheprovider", "-pno:unraisableexception")
STARTS_PROCESS = {"subprocess.Popen", "os.fork", "os.posix_spawn"}
FORK = multiprocessing.get_context("fork")
app = typer.Typer(add_completion=False, help=__doc__)


class Mutant(NamedTuple):
    """A file with one change."""

    id: str
    file: str
    line: int
    operator: str
    code: str

    def diff(self) -> str:
        """The lines that are changed, as they were and as they are."""
        old, new = (ROOT / self.file).read_text("utf-8").splitlines(), self.code.splitlines()
        return "\n".join([*difflib.unified_diff(old, new, lineterm="", n=0)][3:])


class Mutations(libcst.CSTVisitor):
    """The changes that can be made in a module: line, operator, node, and its replacement."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.line, self.found = 0, []

    def on_visit(self, node: libcst.CSTNode) -> bool:
        # an operator such as `is` has no position of its own
        if position := self.get_metadata(PositionProvider, node, None):
            self.line = position.start.line
        if m.matches(node, NOT_MUTATED):
            return False
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                name = operator.__name__.removeprefix("operator_")
                self.found += [(self.line, name, node, new) for new in operator(node)]
        return True


def mutants(sources: list[str], seed: int) -> Iterator[Mutant]:
    """All mutants, drawn by turns from the pairs of a file and an operator."""
    changes, turns = [], defaultdict(count)
    for file in sources:
        wrapper = MetadataWrapper(libcst.parse_module((ROOT / file).read_text("utf-8")))
        wrapper.visit(mutations := Mutations())
        changes += [(file, wrapper.module, i, *change) for i, change in enumerate(mutations.found)]
    random.Random(seed).shuffle(changes)
    changes.sort(key=lambda change: next(turns[change[0], change[4]]))
    for file, module, i, line, operator, old, new in changes:
        code = module.deep_replace(old, new).code
        yield Mutant(f"{file}:{line}:{operator}:{i}", file, line, operator, code)


def files(patterns: tuple[str, ...]) -> list[str]:
    """The files of the patterns, relative to the root."""
    paths = chain.from_iterable(map(ROOT.glob, patterns))
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


class Outcomes:
    """Pytest plugin: runs these tests alone, each for a limited time, and writes what came of it.

    The last line of a test holds. Its first says "timeout", should the test never end. Seconds are
    the processor's, because a machine may be busy with other work.
    """

    def __init__(self, path: Path, limits: dict[str, float] | None = None) -> None:
        self.path, self.limits, self.outcome, self.start = path, limits, "", 0.0
        signal.signal(signal.SIGVTALRM, self.time_out)

    def time_out(self, *_) -> None:
        self.outcome = "timeout"
        pytest.fail("takes many times as long as without the mutant")

    def write(self, test: str, outcome: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            print(json.dumps([test, [outcome, time.process_time() - self.start]]), file=file)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        if self.limits is not None:
            items[:] = [item for item in items if item.nodeid in self.limits]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.outcome, self.start = "survived", time.process_time()
        self.write(item.nodeid, "timeout")
        limit = self.limits[item.nodeid] if self.limits else 0
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        result = yield
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self.write(item.nodeid, self.outcome)
        return result

    def pytest_runtest_logreport(self, report):
        if report.failed and self.outcome != "timeout":
            self.outcome = "killed"
        elif report.skipped:
            self.outcome = "skipped"


def read_outcomes(path: Path) -> dict[str, list]:
    """The outcome of each test and its seconds."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return dict(map(json.loads, lines))


class Contexts:
    """Pytest plugin: records the lines that each test reaches; those of all tests are of none."""

    def __init__(self) -> None:
        packages = [f"{ROOT / package}/*" for package in PACKAGES]
        self.coverage = Coverage(data_file=None, config_file=False, include=packages)
        self.test, self.starts_process = "", set()
        sys.addaudithook(self.audit)

    def audit(self, event: str, args: tuple) -> None:
        if event in STARTS_PROCESS:
            self.starts_process.add(self.test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        clear_caches()
        self.test = item.nodeid
        self.coverage.switch_context(self.test)
        result = yield
        self.test = ""
        self.coverage.switch_context(self.test)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope != "function":
            self.coverage.switch_context("")
        try:
            return (yield)
        finally:
            self.coverage.switch_context(self.test)

    def lines(self) -> dict[str, dict[str, list[int]]]:
        """The lines by test and file; those of imports and shared fixtures by the name ''."""
        lines = defaultdict(lambda: defaultdict(list))
        data = self.coverage.get_data()
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    lines[test][Path(file).relative_to(ROOT).as_posix()].append(line)
        return lines


def clear_caches() -> None:
    """Forget what cached functions have returned, so that the next test reaches their lines."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] in (*PACKAGES, "tests"):
            for value in [*vars(module).values()]:
                if hasattr(type(value), "cache_clear"):
                    value.cache_clear()


def fork(tree: Path, function: Callable, *args, limit: int = 3600) -> int | None:
    """The exit status of a function in a process of its own, in a folder, for so many seconds."""

    def call() -> None:
        os.setpgrp()
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        os.environ["PYTHONPATH"] = str(tree)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        function(*args)

    process = FORK.Process(target=call)
    process.start()
    # one that sleeps takes none of the processor's time
    process.join(10 * limit)
    if process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    return process.exitcode


def record(test_file: str, path: Path) -> None:
    """Write what each test of a file reaches, if it passes, and the outcomes of the others."""
    contexts, outcomes = Contexts(), path.with_suffix(".outcomes")
    outcomes.unlink(missing_ok=True)
    contexts.coverage.start()
    pytest.main([*PYTEST, test_file], plugins=[Outcomes(outcomes), contexts])
    contexts.coverage.stop()
    lines, tests, others = contexts.lines(), {}, {}
    for test, (outcome, seconds) in read_outcomes(outcomes).items():
        if outcome == "survived":
            process = test in contexts.starts_process
            tests[test] = {"seconds": seconds, "process": process, "lines": lines[test]}
        else:
            others[test] = outcome
    outcomes.write_text(json.dumps({"shared": lines[""], "tests": tests, "others": others}))
    outcomes.rename(path)


def recorded(area: str, workers: int = 0) -> list[dict]:
    """What the tests of an area reach, by file; workers record what is not recorded yet."""
    folder = BUILD / "coverage"
    folder.mkdir(parents=True, exist_ok=True)
    paths = {file: folder / f"{file.replace('/', '+')}.json" for file in files(AREAS[area][1])}
    with ProcessPoolExecutor(workers or 1, FORK) as pool:
        for file, path in paths.items():
            if workers and not path.exists():
                pool.submit(fork, ROOT, record, file, path)
    return [json.loads(path.read_text("utf-8")) for path in paths.values()]


def statement(source: str, line: int) -> tuple[set[int], bool]:
    """The lines of the statement at a line, and whether a call runs them and not an import.

    Those of a function's signature are its body, and those of a condition are above its body.
    """
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt))
    # the walk is breadth-first, so what is further inside comes later
    *outer, node = (node for node in nodes if node.lineno <= line <= (node.end_lineno or 0))
    first, last = node.lineno, node.end_lineno or 0
    body = getattr(node, "body", None)
    if isinstance(node, ast.FunctionDef):
        return {*range(node.body[0].lineno, last + 1)}, True
    if body:
        last = max(first, body[0].lineno - 1)
    return {*range(first, last + 1)}, any(isinstance(other, ast.FunctionDef) for other in outer)


def reaching(mutant: Mutant, test_files: list[dict]) -> dict[str, float]:
    """The tests that reach a mutant, and their seconds; the quickest come first."""
    lines, called = statement((ROOT / mutant.file).read_text("utf-8"), mutant.line)
    seconds = {}
    for recorded_file in test_files:
        tests = recorded_file["tests"]
        reached = {
            test: {*record["lines"].get(mutant.file, ())} & lines for test, record in tests.items()
        }
        everywhere = {*recorded_file["shared"].get(mutant.file, ())} & lines
        # whichever test was the first to import a module, all tests have it
        everywhere |= set() if called else set().union(*reached.values())
        seconds |= {test: tests[test]["seconds"] for test in tests if everywhere or reached[test]}
    return dict(sorted(seconds.items(), key=lambda item: item[1]))


@cache
def own_tree(folder: str) -> Path:
    """A copy of the checkout for this process."""
    unused = shutil.ignore_patterns(".*", "_build", "__pycache__")
    return Path(shutil.copytree(ROOT, Path(folder, str(os.getpid())), ignore=unused))


def run_tests(seconds: dict[str, float], outcomes: Path) -> None:
    """Write what comes of these tests."""
    limits = {test: 5 + 5 * recorded for test, recorded in seconds.items()}
    test_files = dict.fromkeys(test.partition("::")[0] for test in seconds)
    pytest.main([*PYTEST, *test_files], plugins=[Outcomes(outcomes, limits)])


def try_mutant(folder: str, mutant: Mutant, seconds: dict[str, float], budget: int) -> dict:
    """What comes of each test on a mutant; those beyond a budget of seconds are left out."""
    spent = accumulate(seconds.values())
    tests = {
        test: seconds[test] for test, total in zip(seconds, spent, strict=True) if total <= budget
    }
    tree = own_tree(folder)
    path, outcomes = tree / mutant.file, tree / "outcomes"
    original, start = path.read_text("utf-8"), time.monotonic()
    outcomes.unlink(missing_ok=True)
    path.write_text(mutant.code, "utf-8")
    status = fork(tree, run_tests, tests, outcomes, limit=5 * budget) if tests else 0
    path.write_text(original, "utf-8")
    ended = read_outcomes(outcomes)
    # a test that is not even collected fails, unless there was no time for it
    missing = ("left out" if status else "killed", 0)
    found = {test: ended.get(test, missing)[0] for test in tests}
    left_out = {test: "left out" for test in seconds if test not in tests}
    return {
        "id": mutant.id,
        "file": mutant.file,
        "diff": mutant.diff(),
        "seconds": round(time.monotonic() - start, 1),
        "tests": found | left_out,
    }


def rows(area: str) -> list[dict]:
    """The mutants of an area that were tried: what each is, and the outcome of each test."""
    path = BUILD / f"{area}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def having(row: dict, *outcomes: str) -> set[str]:
    """The tests that had one of these outcomes on a mutant."""
    return {test for test, outcome in row["tests"].items() if outcome in outcomes}


def killers(row: dict) -> set[str]:
    """The tests that kill a mutant."""
    return having(row, "killed", "timeout")


@app.command()
def run(area: str, sample: int = 100, seed: int = 0, workers: int = 1, budget: int = 60) -> None:
    """Try a sample of an area's mutants, each on tests that take `budget` seconds together."""
    os.environ.update(ENVIRONMENT)
    if area == "claims":
        # of what they must notice a push draws some
        os.environ["PYTEST_ADDOPTS"] = "--all"
    sys.dont_write_bytecode = True
    for module in PRELOADED:
        import_module(module)
    gc.freeze()
    test_files = recorded(area, workers)
    tried, others = (sum(len(file[kind]) for file in test_files) for kind in ("tests", "others"))
    print(f"{tried} tests; not tried are {others}, such as those that are skipped here")
    path = BUILD / f"{area}.jsonl"
    path.touch()
    done = {row["id"] for row in rows(area)}
    todo = [
        mutant
        for mutant in islice(mutants(files(AREAS[area][0]), seed), sample)
        if mutant.id not in done
    ]
    with TemporaryDirectory() as folder, ProcessPoolExecutor(workers, FORK) as pool:
        jobs = [
            pool.submit(try_mutant, folder, mutant, reaching(mutant, test_files), budget)
            for mutant in todo
        ]
        for job in as_completed(jobs):
            row = job.result()
            with path.open("a", encoding="utf-8") as file:
                print(json.dumps(row), file=file)
            tests = f"{len(killers(row)):4} of {len(row['tests']):4} tests"
            print(f"{row['seconds']:6} s  {tests}  {row['id']}", flush=True)


@app.command()
def table(area: str) -> None:
    """Print how many mutants of each file are killed, and those that live."""
    tried = rows(area)
    made = Counter(row["file"] for row in tried)
    killed = Counter(row["file"] for row in tried if killers(row))
    for file in sorted(made):
        print(f"{killed[file]:4} of {made[file]:4} killed  {file}")
    print(f"{killed.total():4} of {made.total():4} killed")
    for row in tried:
        if not killers(row):
            print(f"\n{row['id']} lives, reached by {len(row['tests'])} tests\n{row['diff']}")


@app.command()
def greedy(area: str, candidates: Path | None = None) -> None:
    """Print the tests that could go, because every mutant that they kill has another killer.

    Asked are the tests that a file names, in its order, else the slowest first; a name without
    parameters stands for all.
    """
    tests = {test: each for file in recorded(area) for test, each in file["tests"].items()}
    slowest = sorted(tests, key=lambda test: -tests[test]["seconds"])
    names = candidates.read_text("utf-8").splitlines() if candidates else slowest
    # whether a test that was left out would kill is not known
    needed = [killers(row) or having(row, "left out") for row in rows(area)]
    for name in names:
        for test in (test for test in tests if test == name or test.startswith(f"{name}[")):
            kills = [others for others in needed if test in others]
            if not tests[test]["process"] and all(len(others) > 1 for others in kills):
                for others in kills:
                    others.remove(test)
                print(f"{tests[test]['seconds']:6.2f} s  {test}")


@app.command()
def summary() -> None:
    """Write how many mutants of each area are killed, for the page on tests.

    An area that was not tried again keeps what it had.
    """
    path = ROOT / "reference" / "kills.csv"
    earlier = {row[0]: row for row in csv.reader(path.read_text("utf-8").splitlines())}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["area", "mutants", "killed", "share", "date"])
        for area in AREAS:
            if (BUILD / f"{area}.jsonl").exists():
                tried = rows(area)
                killed = sum(bool(killers(row)) for row in tried)
                share = f"{killed / len(tried):.0%}"
                writer.writerow([area, len(tried), killed, share, date.today()])
            elif area in earlier:
                writer.writerow(earlier[area])


if __name__ == "__main__":
    app()
