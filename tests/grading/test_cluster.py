"""Grading on a Dask cluster: as on one machine, whoever is lost, and nobody's name is sent."""

import json
import re
import threading
import time
from pathlib import Path

import cloudpickle
import pytest
from distributed import Client, LocalCluster
from typer.testing import CliRunner, Result

from attncourse.grading import cluster, sandbox
from attncourse.grading.cli import app
from tests.grading import classes
from tests.grading.submissions import SOLVED, notebook_with, written

NAMED = re.compile(rb"\b(doe|roe|zoe|jane|rick)\b", re.IGNORECASE)


def graded(folder: Path, scheduler: str, *options: str) -> Result:
    command = ["grade", str(folder / "class"), "--scheduler", scheduler, *options]
    return CliRunner().invoke(app, command, catch_exceptions=False)


@pytest.fixture(scope="module")
def scheduler():
    """A cluster of three workers, each a thread of this process."""
    with LocalCluster(
        n_workers=3, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    ) as made:
        yield made.scheduler


def test_nobody_s_name_reaches_a_worker(scheduler, tmp_path, all_pass, monkeypatch, capfd):
    classes.make_class(tmp_path / "class")
    sent, submit = [], Client.submit

    def submitted(client, *given, **how):
        future = submit(client, *given, **how)
        sent.append(cloudpickle.dumps((given, how, future.key)))
        return future

    monkeypatch.setattr(Client, "submit", submitted)
    done = graded(tmp_path, scheduler.address, "--out", str(tmp_path / "grades"))
    assert done.exit_code == 1 and len(sent) == 3, done.output
    assert b"graft.ipynb" not in sent[0]
    assert not any(NAMED.search(one) for one in sent)
    assert "Jane Doe" in (tmp_path / "grades/gradebook.csv").read_text()
    print(repr(scheduler.transition_log), repr(scheduler.get_events()))
    assert not NAMED.search("".join(capfd.readouterr()).encode())
