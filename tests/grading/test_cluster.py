"""Grading on a Dask cluster: the reports of one machine, whichever worker is lost, and no names."""

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
from typer.testing import Result

from attncourse.course import ADDRESS
from judge.course import TOLD
from judge.grading import batch, cluster
from judge.grading.grade import grade
from judge.grading.judging.pool import StoppedError
from judge.grading.report.results import Report
from judge.grading.sandbox import tiers
from judge.grading.submissions.files import Submission, handed_in
from tests import ROOT
from tests.grading import classes
from tests.grading.commands import call
from tests.grading.submissions import SOLVED, make_notebook, write_notebook
from tests.needs import lacks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason=lacks("Linux"))

NAME_PATTERN = re.compile(r"\b(doe|roe|zoe|jane|rick)\b", re.IGNORECASE)
LOST_MESSAGE = " workers were lost: their files go to others"
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


def run_grade(folder: Path, scheduler: str, *options: str) -> Result:
    return call("grade", folder / "class", "--scheduler", scheduler, *options)


def files_in(folder: Path) -> list[Submission]:
    return [
        submission
        for submission in handed_in([folder / "class"])
        if isinstance(submission, Submission)
    ]


def reports_without_seconds(reports: Iterator[Report]) -> dict[str, dict]:
    """The reports by file, with all seconds set to 0."""
    data = {report.file: report.as_data() for report in reports}
    for result in chain.from_iterable(report["exercises"] for report in data.values()):
        result["seconds"] = 0
    return data


def kill_process(process: subprocess.Popen) -> None:
    """Kill a worker with all processes that it has started, as when its machine goes down."""
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    process.kill()
    process.wait()


def has_busy_judge(pid: int) -> bool:
    """Whether a process has a judge at work."""
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children():
            if "judge.grading.judging.process" in child.cmdline():
                return bool(child.children())
    return False


@contextlib.contextmanager
def workers(number: int, log: Path, *options: str) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """The address of a scheduler, and as many worker processes as asked for."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
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
        processes = [
            subprocess.Popen(command, env=environment, cwd=log.parent, stdout=output, stderr=output)
            for _ in range(number)
        ]
        try:
            local_cluster.wait_for_workers(number)
            yield local_cluster.scheduler.address, processes
        finally:
            for process in processes:
                kill_process(process)


@pytest.mark.parametrize(
    ("kills", "solved_names"),
    [(1, ["prefix_mask"]), pytest.param(2, list(SOLVED), marks=pytest.mark.slow)],
)
def test_killed_workers_lose_nothing_and_reports_are_those_of_one_machine(
    kills, solved_names, tmp_path, grading
):
    jane, rick = (tmp_path / "class" / name for name in (classes.JANE, classes.RICK))
    for student_folder in (jane, rick):
        student_folder.mkdir(parents=True)
    for i in range(kills):
        write_notebook(
            jane, make_notebook({name: SOLVED[name] for name in solved_names}), f"{i}.ipynb"
        )
    path = write_notebook(tmp_path, make_notebook({"prefix_mask": classes.WRONG}))
    with zipfile.ZipFile(rick / "work.zip", "w") as archive:
        archive.write(path, "mine/submission.ipynb")
        archive.writestr("broken.ipynb", "{")
        archive.writestr("empty.ipynb", "")
    files, messages = files_in(tmp_path), []

    def kill_workers():
        for _ in range(kills):
            while not (
                busy_processes := [
                    process for process in worker_processes if has_busy_judge(process.pid)
                ]
            ):
                time.sleep(0.05)
            kill_process(busy_processes[0])

    # a cluster refuses the option: where it is needed, its workers find no sandbox to be safest
    preload_options = ["--preload", "tests.grading.unsandboxed"] if grading else []
    with workers(3, tmp_path / "log", *preload_options) as (address, worker_processes):
        killer = threading.Thread(target=kill_workers)
        killer.start()
        cluster_reports = reports_without_seconds(
            cluster.grade_all(files, address, SETTINGS, messages.append)
        )
        killer.join()
    assert sum(int(line.removesuffix(LOST_MESSAGE)) for line in messages) == kills
    assert not NAME_PATTERN.search((tmp_path / "log").read_text())
    assert cluster_reports == reports_without_seconds(
        batch.grade_all(files, partial(grade_here, **SETTINGS), 1, print)
    )
    assert len(cluster_reports) == kills + 3


def grade_here(file: Submission, stop: threading.Event, **settings) -> Report:
    return grade(file, stop=stop, **settings)


def test_nobody_s_name_reaches_a_worker(scheduler, folder, monkeypatch, capfd):
    pickles, submit = [], Client.submit

    def record_submission(client: Client, *arguments, **options) -> Future:
        future = submit(client, *arguments, **options)
        pickles.append(cloudpickle.dumps((arguments, options, future.key)).decode("latin-1"))
        return future

    monkeypatch.setattr(Client, "submit", record_submission)
    result = run_grade(folder, scheduler.address, "--out", str(folder / "grades"))
    assert result.exit_code == 1 and len(pickles) == 3, result.output
    assert "Jane Doe" in (folder / "grades/gradebook.csv").read_text()
    logs = repr(scheduler.transition_log), repr(scheduler.get_events())
    assert not any(map(NAME_PATTERN.search, (*pickles, *logs, result.output, *capfd.readouterr())))


def test_a_class_is_gone_on_with_on_a_cluster_and_without(scheduler, folder):
    out = str(folder / "grades")
    (folder / "scheduler.json").write_text(f'{{"address": "{scheduler.address}"}}')
    run_grade(folder, str(folder / "scheduler.json"), "--out", out)
    gradebook = (folder / "grades/gradebook.csv").read_text()
    result = call("grade", folder / "class", "--out", out)
    assert "3 of them already graded" in result.output
    assert (folder / "grades/gradebook.csv").read_text() == gradebook


def test_a_worker_without_a_sandbox_gets_no_file(scheduler, folder, monkeypatch):
    proofs = chain([(None, "it needs root")], repeat((tiers.Tier.OWN_USER, "")))
    monkeypatch.setattr(tiers, "select_tier", lambda: next(proofs))
    addresses, send = set(), cluster.Workers.send

    def record_send(self, address: str, file: Submission) -> Report | None:
        addresses.add(address)
        return send(self, address, file)

    monkeypatch.setattr(cluster.Workers, "send", record_send)
    result = run_grade(folder, scheduler.address)
    assert "1 of 3 workers are refused: no sandbox is safe there: it needs root" in result.stderr
    assert result.exit_code == 1 and len(addresses) == 2
    monkeypatch.setattr(tiers, "select_tier", lambda: (None, "it needs root"))
    result = run_grade(folder, scheduler.address)
    assert result.exit_code == 2 and "0 of 3 files are graded" in result.stderr
    assert "3 of 3 workers are refused: no sandbox is safe there: it needs root" in result.stderr


def test_a_worker_with_another_course_gets_no_file(scheduler, folder, monkeypatch):
    def versions(course_address: str) -> dict[str, str]:
        on_worker = threading.current_thread() is not threading.main_thread()
        return {"attncourse": "0.1.0", "the exercises' hash": "abc" if on_worker else "def"}

    monkeypatch.setattr(cluster, "versions", versions)
    result = run_grade(folder, scheduler.address)
    message = "3 of 3 workers are refused: the exercises' hash is abc there and def here"
    assert result.exit_code == 2 and message in result.stderr


def test_a_worker_that_grades_another_course_says_so(monkeypatch):
    monkeypatch.setenv(TOLD, "signals.course:COURSE")
    with pytest.raises(ValueError, match=r"one course, and this one grades signals\.course:COURSE"):
        cluster.proof(ADDRESS)


def test_who_stops_ends_those_at_work(scheduler, folder, monkeypatch):
    start_signal, stop_signal = threading.Semaphore(0), threading.Semaphore(0)

    def judge_endlessly(report, grafted, timeout, memory, stop):
        if classes.MARK in str(report.exercises):
            return classes.judge_by_mark(report, grafted, timeout, memory, stop)
        start_signal.release()
        while not stop.is_set():
            time.sleep(0.01)
        stop_signal.release()
        raise StoppedError

    monkeypatch.setattr("judge.grading.grade.judged", judge_endlessly)
    reports = cluster.grade_all(files_in(folder), scheduler.address, SETTINGS, print)
    next(reports)
    assert start_signal.acquire(timeout=600)
    reports.close()
    assert stop_signal.acquire(timeout=600)


def test_what_a_busy_worker_did_not_grade_is_graded_once_more(scheduler, folder, monkeypatch):
    calls = count()

    def judge_after_third(report, *arguments):
        return classes.judge_by_mark(report, *arguments) if next(calls) >= 3 else report

    monkeypatch.setattr("judge.grading.grade.judged", judge_after_third)
    reports = list(cluster.grade_all(files_in(folder), scheduler.address, SETTINGS, print))
    assert len(reports) == 3 and all(report.graded for report in reports) and next(calls) == 6


class LosingClient:
    """A client of a cluster whose workers are lost as soon as they have something to do."""

    def __init__(self):
        self.workers = {f"worker {n}": 4 for n in range(5)}
        self.sent = []

    def nthreads(self) -> dict[str, int]:
        return {name: n for name, n in self.workers.items() if name not in self.sent}

    def run(self, proof, course_address, workers, on_error):
        return {
            worker: cluster.versions(course_address) | {"sandbox": "bubblewrap", "why": ""}
            for worker in workers
        }

    def submit(self, task, *arguments, workers, pure):
        self.sent += workers
        return LostFuture()


class LostFuture:
    """The future of a task whose worker is lost: it is never done."""

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
    workers = cluster.Workers(LosingClient(), SETTINGS, messages.append)
    (report,) = workers.graded(files)
    assert report.problem == "3 workers were lost while they graded it" and not report.graded
    assert report.file == files[0].name and len(messages) == 3
    # of the five that there were, two are left: one for itself, and the last
    with pytest.raises(batch.CannotGradeError, match="there has been no worker"):
        list(workers.graded(files))


def test_alone_a_file_has_its_worker_for_itself():
    workers = cluster.Workers(LosingClient(), SETTINGS, print)
    workers.look()
    assert len([*workers.free(alone=False)]) == 20 and len([*workers.free(alone=True)]) == 5


def test_a_scheduler_without_the_course_is_said(scheduler, folder, monkeypatch):
    def raise_missing(*arguments):
        raise ModuleNotFoundError("No module named 'attncourse'")

    monkeypatch.setattr(Client, "run_on_scheduler", raise_missing)
    result = run_grade(folder, scheduler.address)
    assert result.exit_code == 2 and "lacks the course: No module named" in result.stderr


def test_a_scheduler_that_is_not_there_or_lost_is_said(folder, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER", 1)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    ) as local_cluster:
        address = local_cluster.scheduler.address
        reports = cluster.grade_all(files_in(folder), address, SETTINGS, print)
        next(reports)
    with pytest.raises(batch.CannotGradeError, match="the cluster's scheduler is lost"):
        list(reports)
    result = run_grade(folder, address)
    assert result.exit_code == 2 and f"no scheduler answers at {address}" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--no-sandbox"], "use the cluster"), (["--jobs", "2"], "as many files as it has threads")],
)
def test_what_makes_no_sense_on_a_cluster_is_refused(options, message, folder):
    result = run_grade(folder, "tcp://127.0.0.1:1", *options)
    assert result.exit_code == 2 and message in result.stderr


def test_without_dask_it_is_said_what_to_install(folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "judge.grading.cluster")
    monkeypatch.delattr("judge.grading.cluster")
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = run_grade(folder, "tcp://127.0.0.1:1")
    assert result.exit_code == 2 and 'pip install ".[grade,cluster]"' in result.stderr
