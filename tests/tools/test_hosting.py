"""What GitHub is told: what its workflows may write, which tag makes a release, its forms."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import attncourse
from tests import ROOT

WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text("utf-8"))
    for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
}
RELEASE = WORKFLOWS["release.yml"]["jobs"]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_not_write_to_the_repository(name):
    # the site is written with a token of its own
    assert WORKFLOWS[name]["permissions"]["contents"] == "read"


def test_only_the_job_that_publishes_a_release_may_write_and_it_runs_nothing_of_the_repository():
    assert {name: job.get("permissions") for name, job in RELEASE.items()} == {
        "build": None,
        "publish": {"contents": "write"},
    }
    used = [
        step["uses"].partition("@")[0] for step in RELEASE["publish"]["steps"] if "uses" in step
    ]
    assert used == ["actions/download-artifact"]


@pytest.mark.parametrize("tag", ["v" + attncourse.__version__, attncourse.__version__, "v9.9"])
def test_a_tag_that_is_not_the_version_ends_the_release_and_both_are_named(tag):
    (step,) = (
        step for step in RELEASE["build"]["steps"] if step.get("name") == "the tag is the version"
    )
    # as GitHub runs it
    command = ["bash", "-e", "-c", step["run"]]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {"GITHUB_REF_NAME": tag, "PATH": path}
    result = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    is_right = tag == f"v{attncourse.__version__}"
    assert result.returncode == (0 if is_right else 1), result.stderr
    message = f"::error::the tag is {tag}, but the version is {attncourse.__version__}"
    assert is_right or result.stdout.startswith(message)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_for_an_issue_has_fields_that_github_accepts(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert {*form} == {"name", "description", "title", "body"}
    ids = [field["id"] for field in form["body"]]
    assert len({*ids}) == len(ids)
    for field in form["body"]:
        assert field["type"] in ("input", "textarea", "dropdown") and field["attributes"]["label"]
        options = field["attributes"].get("options", [])
        assert bool(options) == (field["type"] == "dropdown")
        # a bare No is a boolean
        assert all(isinstance(option, str) for option in options)
