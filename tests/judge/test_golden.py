"""Status, hint, evidence and share of the points of every answer of a dozen exercises."""

import pytest

from tests.needs import night
from tests.night import drawn_golden
from tools.verdicts import GOLDEN, compare, record

EXERCISES = [file.stem for file in sorted(GOLDEN.glob("*.json"))]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", EXERCISES)
def test_each_verdict_is_as_recorded(name, pytestconfig):
    if not pytestconfig.getoption("all") and name not in drawn_golden():
        pytest.skip(night("golden verdicts of an exercise"))
    differences = compare(GOLDEN, name)
    meant = "where this is meant, record them anew with `python -m tools.verdicts golden`"
    assert not differences, "\n".join([*differences, meant])


def test_what_is_changed_added_or_gone_is_named(tmp_path, monkeypatch):
    def answers(**labels):
        rows = {label: [[status, "", "", 0.0]] * 3 for label, status in labels.items()}
        monkeypatch.setattr("tools.verdicts.verdicts", lambda name: rows)

    answers(same="wrong", changed="wrong", gone="wrong")
    record(tmp_path, "toy")
    assert compare(tmp_path, "toy") == []
    answers(same="wrong", changed="passed", added="wrong")
    labels = {line.split("'")[1] for line in compare(tmp_path, "toy")}
    assert labels == {"changed", "added", "gone"}
