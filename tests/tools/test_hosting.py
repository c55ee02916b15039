"""What GitHub is told: its workflows, a release, the container of Codespaces and VS Code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import attncourse
from tests import ROOT

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = re.compile(r"^([\w-]+(?: [\w-]+)*):(?!=)", re.MULTILINE)
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text("utf-8"))
    for path in sorted((ROOT / ".github/workflows").glob("*.yml"))
}
RELEASE = WORKFLOWS["release.yml"]["jobs"]
CONTAINER = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
# of the keys that the format's schema has (containers.dev), those that the container uses
KEYS = {
    "name": str,
    "image": str,
    "postCreateCommand": str,
    "waitFor": str,
    "forwardPorts": list,
    "portsAttributes": dict,
    "customizations": dict,
}


def make_targets(shell_commands: str) -> set[str]:
    """The make targets in shell commands."""
    targets_of_commands = re.findall(r"\bmake((?: [a-z][\w-]*(?![\w=-]))+)", shell_commands)
    return {target for targets in targets_of_commands for target in targets.split()}


def shell_commands(workflow: dict) -> str:
    """The shell commands of all jobs of a workflow."""
    steps = (step for job in workflow["jobs"].values() for step in job["steps"])
    return "\n".join(step.get("run", "") for step in steps)


def test_what_is_given_to_make_is_found():
    assert make_targets("sudo make test PYTHON=x\nmake zip pdf PYTHON=y") == {"test", "zip", "pdf"}
    assert make_targets("cmake it\nmake ALL=1") == set()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_makes_targets_that_there_are_and_may_write_nothing_it_need_not(name):
    targets = {target for line in TARGETS.findall(MAKEFILE) for target in line.split()}
    assert make_targets(shell_commands(WORKFLOWS[name])) <= targets
    # of the repository; the site is written with a token of its own
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


def test_the_container_is_of_the_format_and_ready_for_make_book():
    assert {key: type(value) for key, value in CONTAINER.items()} == KEYS
    # the editor opens when the command that it waits for has ended
    assert CONTAINER["waitFor"] == "postCreateCommand"
    assert make_targets(CONTAINER["postCreateCommand"]) == {"site"}
    (port,) = CONTAINER["forwardPorts"]
    assert f"PORT ?= {port}\n" in MAKEFILE and [*CONTAINER["portsAttributes"]] == [str(port)]
    python = re.fullmatch(r"mcr\.microsoft\.com/devcontainers/python:(3\.\d+)", CONTAINER["image"])
    classifier = f'"Programming Language :: Python :: {python and python[1]}"'
    assert classifier in (ROOT / "pyproject.toml").read_text("utf-8")
    settings = CONTAINER["customizations"]["vscode"]["settings"]
    interpreter = settings["python.defaultInterpreterPath"]
    assert interpreter.removeprefix("${containerWorkspaceFolder}/") in MAKEFILE
