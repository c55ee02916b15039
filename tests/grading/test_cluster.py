"""Grading on a Dask cluster: as on one machine, whoever is lost, and nobody's name is sent."""

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from itertools import chain, count, repeat
from pathlib import Path

import cloudpickle
import psutil
import pytest
from distributed import Client, Future, LocalCluster
from typer.testing import CliRunner, Result

from attncourse.course import ADDRESS
from judge.course import TOLD
from judge.grading import cluster, run, sandbox
from judge.grading.cli import app
from judge.grading.grade import grade
from judge.grading.judge_pool import StoppedError
from judge.grading.report import Report
from judge.grading.submissions import Submission, handed_in
from tests import ROOT
from tests.grading import classes
from tests.grading.submissions import SOLVED, notebook_with, write_notebook
from tests.needs import lacks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason=lacks("Linux"))

NAMED = re.compile(r"\b(doe|roe|zoe|jane|rick)\b", re.IGNORECASE)
LOST = " workers are lost: what they had goes to others"
SETTINGS = {"seed": 3, "timeout": 30, "memory": 4 << 30, "partial": True}


@pytest.fixture(scope="module")
def scheduler():
    """The scheduler of a cluster of three workers, each a thread of this process."""
    with LocalCluster(
        n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    ) as local_cluster:
        yield local_cluster.scheduler


@pytest.fixture
def folder(tmp_path, all_pass) -> Path:
    """A class of three, whose answers are judged without a kernel."""
    classes.make_class(tmp_path / "class")
    return tmp_path


def graded(folder: Path, scheduler: str, *options: str) -> Result:
    command = ["grade", str(folder / "class"), "--scheduler", scheduler, *options]
    return CliRunner().invoke(app, command, catch_exceptions=False)


def files_in(folder: Path) -> list[Submission]:
    return [
        submission
        for submission in handed_in([folder / "class"])
        if isinstance(submission, Submission)
    ]


def timeless(reports: Iterator[Report]) -> dict[str, dict]:
    """The reports by file, but for the seconds."""
    data = {report.file: report.as_data() for report in reports}
    for result in chain.from_iterable(report["exercises"] for report in data.values()):
        result["seconds"] = 0
    return data


def killed(process: subprocess.Popen) -> None:
    """Lose a worker with all that it has started, as when its machine goes down."""
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    process.kill()
    process.wait()


def judges(pid: int) -> bool:
    """Whether a process has a judge at work."""
    with contextlib.suppress(psutil.Error):
        for below in psutil.Process(pid).children():
            if "judge.grading.judge_process" in below.cmdline():
                return bool(below.children())
    return False


@contextlib.contextmanager
def workers(number: int, log: Path, *options: str) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """A scheduler's address, and that many workers, which are processes."""
    settings = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with (
        LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", protocol="tcp"
        ) as local_cluster,
        log.open("w") as output,
    ):
        command = [
            sys.executable, "-m", "distributed.cli.dask_worker", local_cluster.scheduler.address,
            "--no-nanny", "--nthreads", "1", "--no-dashboard", *options,
        ]  # fmt: skip
        started = [
            subprocess.Popen(command, env=settings, cwd=log.parent, stdout=output, stderr=output)
            for _ in range(number)
        ]
        try:
            local_cluster.wait_for_workers(number)
            yield local_cluster.scheduler.address, started
        finally:
            for process in started:
                killed(process)


@pytest.mark.parametrize(
    ("kills", "solved"),
    [(1, ["prefix_mask"]), pytest.param(2, list(SOLVED), marks=pytest.mark.slow)],
)
def test_killed_workers_lose_nothing_and_reports_are_those_of_one_machine(
    kills, solved, tmp_path, grading
):
    jane, rick = (tmp_path / "class" / name for name in (classes.JANE, classes.RICK))
    for student_folder in (jane, rick):
        student_folder.mkdir(parents=True)
    for i in range(kills):
        write_notebook(jane, notebook_with({name: SOLVED[name] for name in solved}), f"{i}.ipynb")
    path = write_notebook(tmp_path, notebook_with({"prefix_mask": classes.WRONG}))
    with zipfile.ZipFile(rick / "work.zip", "w") as archive:
        archive.write(path, "mine/submission.ipynb")
        archive.writestr("broken.ipynb", "{")
        archive.writestr("empty.ipynb", "")
    files, messages = files_in(tmp_path), []

    def kill_some():
        for _ in range(kills):
            while not (busy := [process for process in started if judges(process.pid)]):
                time.sleep(0.05)
            killed(busy[0])

    # a cluster refuses the option: where it is needed, its workers find no sandbox to be safest
    without = ["--preload", "tests.grading.unsandboxed"] if grading else []
    with workers(3, tmp_path / "log", *without) as (address, started):
        killer = threading.Thread(target=kill_some)
        killer.start()
        on_cluster = timeless(cluster.grade_all(files, address, SETTINGS, messages.append))
        killer.join()
    assert sum(int(line.removesuffix(LOST)) for line in messages) == kills
    assert not NAMED.search((tmp_path / "log").read_text())
    assert on_cluster == timeless(run.grade_all(files, partial(grade_here, **SETTINGS), 1, print))
    assert len(on_cluster) == kills + 3


def grade_here(file: Submission, stop: threading.Event, **settings) -> Report:
    return grade(file, stop=stop, **settings)


def test_nobody_s_name_reaches_a_worker(scheduler, folder, monkeypatch, capfd):
    sent, submit = [], Client.submit

    def submitted(client: Client, *arguments, **how) -> Future:
        future = submit(client, *arguments, **how)
        sent.append(cloudpickle.dumps((arguments, how, future.key)).decode("latin-1"))
        return future

    monkeypatch.setattr(Client, "submit", submitted)
    done = graded(folder, scheduler.address, "--out", str(folder / "grades"))
    assert done.exit_code == 1 and len(sent) == 3, done.output
    assert "Jane Doe" in (folder / "grades/gradebook.csv").read_text()
    logs = repr(scheduler.transition_log), repr(scheduler.get_events())
    assert not any(map(NAMED.search, (*sent, *logs, done.output, *capfd.readouterr())))


def test_a_class_is_gone_on_with_on_a_cluster_and_without(scheduler, folder):
    out = str(folder / "grades")
    (folder / "scheduler.json").write_text(f'{{"address": "{scheduler.address}"}}')
    graded(folder, str(folder / "scheduler.json"), "--out", out)
    book = (folder / "grades/gradebook.csv").read_text()
    done = CliRunner().invoke(app, ["grade", str(folder / "class"), "--out", out])
    assert "3 of them graded before" in done.output
    assert (folder / "grades/gradebook.csv").read_text() == book


def test_a_worker_without_a_sandbox_gets_no_file(scheduler, folder, monkeypatch):
    proofs = chain([("", "it needs root")], repeat(("own user", "")))
    monkeypatch.setattr(sandbox, "strongest", lambda: next(proofs))
    busy, send = set(), cluster.Workers.send

    def sent(self, address: str, file: Submission) -> Report | None:
        busy.add(address)
        return send(self, address, file)

    monkeypatch.setattr(cluster.Workers, "send", sent)
    done = graded(folder, scheduler.address)
    assert "1 of 3 workers are refused: no sandbox is safe there: it needs root" in done.stderr
    assert done.exit_code == 1 and len(busy) == 2
    monkeypatch.setattr(sandbox, "strongest", lambda: ("", "it needs root"))
    done = graded(folder, scheduler.address)
    assert done.exit_code == 2 and "0 of 3 files are graded" in done.stderr
    assert "3 of 3 workers are refused: no sandbox is safe there: it needs root" in done.stderr


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ({"attncourse": "9.9.9"}, "attncourse is 9.9.9 there and 0.1.0 here"),
        ({"the exercises' hash": "abc"}, "the exercises' hash is abc there and def here"),
    ],
)
def test_a_worker_with_another_course_gets_no_file(theirs, said, scheduler, folder, monkeypatch):
    def versions(told: str) -> dict[str, str]:
        own_versions = {"attncourse": "0.1.0", "the exercises' hash": "def"}
        on_worker = threading.current_thread() is not threading.main_thread()
        return own_versions | theirs if on_worker else own_versions

    monkeypatch.setattr(cluster, "versions", versions)
    done = graded(folder, scheduler.address)
    assert done.exit_code == 2 and f"3 of 3 workers are refused: {said}" in done.stderr


def test_a_worker_that_grades_another_course_says_so(monkeypatch):
    monkeypatch.setenv(TOLD, "signals.course:COURSE")
    with pytest.raises(ValueError, match=r"one course, and this one grades signals\.course:COURSE"):
        cluster.proof(ADDRESS)


def test_who_stops_ends_those_at_work(scheduler, folder, monkeypatch):
    started, stopped = threading.Semaphore(0), threading.Semaphore(0)

    def endless(report, grafted, timeout, memory, stop):
        if classes.MARK in str(report.exercises):
            return classes.judged(report, grafted, timeout, memory, stop)
        started.release()
        while not stop.is_set():
            time.sleep(0.01)
        stopped.release()
        raise StoppedError

    monkeypatch.setattr("judge.grading.grade.judged", endless)
    reports = cluster.grade_all(files_in(folder), scheduler.address, SETTINGS, print)
    next(reports)
    assert started.acquire(timeout=600)
    reports.close()
    assert stopped.acquire(timeout=600)


def test_what_a_busy_worker_did_not_grade_is_graded_once_more(scheduler, folder, monkeypatch):
    times = count()

    def busy(report, *arguments):
        return classes.judged(report, *arguments) if next(times) >= 3 else report

    monkeypatch.setattr("judge.grading.grade.judged", busy)
    reports = list(cluster.grade_all(files_in(folder), scheduler.address, SETTINGS, print))
    assert len(reports) == 3 and all(report.graded for report in reports) and next(times) == 6


class Perishing:
    """A client of a cluster whose workers are lost as soon as they have something to do."""

    def __init__(self):
        self.workers = {f"worker {n}": 4 for n in range(5)}
        self.sent = []

    def nthreads(self) -> dict[str, int]:
        return {name: n for name, n in self.workers.items() if name not in self.sent}

    def run(self, proof, told, workers, on_error):
        return {
            worker: cluster.versions(told) | {"sandbox": "bubblewrap", "why": ""}
            for worker in workers
        }

    def submit(self, task, *arguments, workers, pure):
        self.sent += workers
        return Lost()


class Lost:
    """What a worker was to give back."""

    def done(self) -> bool:
        return False

    def add_done_callback(self, call) -> None:
        pass

    def cancel(self) -> None:
        pass


def test_a_file_that_ends_its_workers_does_not_end_the_class(folder, monkeypatch):
    monkeypatch.setattr(cluster, "LOOK", 0.01)
    monkeypatch.setattr(cluster, "WITHOUT", 0.1)
    files, messages = files_in(folder)[:1], []
    workers = cluster.Workers(Perishing(), SETTINGS, messages.append)
    (report,) = workers.graded(files)
    assert report.problem == "3 workers were lost while they graded it" and not report.graded
    assert report.file == files[0].name and len(messages) == 3
    # of the five that there were, two are left: one for itself, and the last
    with pytest.raises(run.CannotGradeError, match="there has been no worker"):
        list(workers.graded(files))


def test_alone_a_file_has_its_worker_for_itself():
    workers = cluster.Workers(Perishing(), SETTINGS, print)
    workers.look()
    assert len([*workers.free(alone=False)]) == 20 and len([*workers.free(alone=True)]) == 5


def test_a_scheduler_without_the_course_is_said(scheduler, folder, monkeypatch):
    def lacking(*arguments):
        raise ModuleNotFoundError("No module named 'attncourse'")

    monkeypatch.setattr(Client, "run_on_scheduler", lacking)
    done = graded(folder, scheduler.address)
    assert done.exit_code == 2 and "lacks the course: No module named" in done.stderr


def test_a_scheduler_that_is_not_there_or_lost_is_said(folder, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER", 1)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    ) as local_cluster:
        address = local_cluster.scheduler.address
        reports = cluster.grade_all(files_in(folder), address, SETTINGS, print)
        next(reports)
    with pytest.raises(run.CannotGradeError, match="the cluster's scheduler is lost"):
        list(reports)
    done = graded(folder, address)
    assert done.exit_code == 2 and f"no scheduler answers at {address}" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--no-sandbox"], "use the cluster"), (["--jobs", "2"], "as many files as it has threads")],
)
def test_what_makes_no_sense_on_a_cluster_is_refused(options, said, folder):
    done = graded(folder, "tcp://127.0.0.1:1", *options)
    assert done.exit_code == 2 and said in done.stderr


def test_without_dask_it_is_said_what_to_install(folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "judge.grading.cluster")
    monkeypatch.delattr("judge.grading.cluster")
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = graded(folder, "tcp://127.0.0.1:1")
    assert done.exit_code == 2 and 'pip install ".[grade,cluster]"' in done.stderr
