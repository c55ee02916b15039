"""The seal: on each machine the right tier is proved, and inside it nothing is won or kept."""

import ctypes
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
from judge.grading import confine, sandbox
from judge.grading.sandbox import Sandbox, hidden
from tests import ROOT
from tests.grading import inside, machines
from tests.grading.machines import TIERS, python

SLOW = {"root in a container", "a user"}


def needed(machine: str) -> str:
    if why := machines.problem(machine):
        pytest.skip(why)
    return machine


def test_memory_and_number_of_processes_are_those_of_all_together(monkeypatch):
    limits = SimpleNamespace(memory=100 << 30, made=False, folder="")
    sizes = [60 << 30, 30 << 30]
    monkeypatch.setattr(sandbox, "tree", lambda pid: sizes)
    monkeypatch.setattr(sandbox, "memory_of", lambda process: process)
    assert Sandbox.exceeds(limits, 0) == ""
    sizes.append(11 << 30)
    assert Sandbox.exceeds(limits, 0) == "it takes more memory than 100 GiB"
    sizes[:] = [0] * (sandbox.PROCESSES + 1)
    assert Sandbox.exceeds(limits, 0) == f"it starts more than {sandbox.PROCESSES} processes"


def test_what_all_sockets_hold_that_can_be_open_is_less_than_the_memory_of_an_answer():
    # as Linux has it, each holds what it is set to, twice
    most = 2 * 212_992
    assert sandbox.PROCESSES * sandbox.OPEN_FILES * most < 4 << 30


@pytest.mark.sandbox
@pytest.mark.parametrize("machine", TIERS)
def test_each_machine_gets_the_tier_that_is_proved_there(machine):
    code = "from judge.grading import sandbox; print(sandbox.strongest())"
    done = python(needed(machine), "-c", code)
    assert done.stdout.startswith(f"('{TIERS[machine]}', "), (done.stdout, done.stderr)


@pytest.mark.sandbox
def test_where_no_tier_is_proved_nothing_is_graded_unless_that_is_asked_for(tmp_path):
    machine = needed("a user without namespaces")
    (tmp_path / "one.ipynb").write_text("{")
    tmp_path.chmod(0o755)
    grade = ("-m", "attncourse", "grade", str(tmp_path / "one.ipynb"))
    refused, allowed = python(machine, *grade), python(machine, *grade, "--no-sandbox")
    assert refused.returncode == 2 and "no sandbox is safe here" in refused.stderr
    assert "bubblewrap:" in refused.stderr and "own user: it needs root" in refused.stderr
    assert "not complete JSON" in allowed.stdout, allowed


@pytest.mark.sandbox
def test_the_proof_finds_all_that_can_be_done_without_a_sandbox(tmp_path):
    # the machine's own capabilities, in mounts of its own
    code = (
        "import json, subprocess, sys\n"
        "from contextlib import ExitStack\n"
        "from judge.grading import proof, sandbox\n"
        "with ExitStack() as stack:\n"
        "    inside = {'own': sys.argv[1], 'hidden': sandbox.hidden(''), 'folders': sys.argv[1:],"
        " 'needed': ['/no/such']}\n"
        "    targets = sandbox.outside(stack) | inside\n"
        "    subprocess.run([sys.executable, '-I', proof.__file__, json.dumps(targets)])\n"
    )
    who = "root" if not machines.problem("root") else "a user"
    tmp_path.chmod(0o777)
    done = python(needed(who), "-c", code, str(tmp_path))
    could = " ".join(json.loads(done.stdout))
    everyones = (
        "a world", "trace", "end another", "environment", "a socket", "abstract", "datagram",
        "shared memory", "network", "a file",
    )  # fmt: skip
    roots = ("privileges", "mount", "the process that starts it") if who == "root" else ()
    files = ("cannot read /no/such", f"read {PACKAGE / 'course'}", "write to /tmp")
    for deed in (*everyones, *roots, *files):
        assert deed in could, (deed, could)


WEAKER = {
    "it sees a folder": ("--ro-bind", "{folder}/.."),
    "it may write to a folder": ("--bind", "{folder}"),
    "it sees what is hidden": ("--ro-bind", str(PACKAGE)),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("how", WEAKER)
def test_a_weaker_sandbox_is_not_proved(how, monkeypatch):
    if sandbox.strongest()[0] != sandbox.BUBBLEWRAP:
        pytest.skip(machines.problem("a user") or "bubblewrap is not proved here")
    option, path = WEAKER[how]
    targets, command, folders = sandbox.outside, sandbox.bubblewrap, []

    def outside(stack):
        found_targets = targets(stack)
        folders.append(found_targets["folders"][0])
        return found_targets

    def weaker(root, chapter):
        bound = os.path.normpath(path.format(folder=folders[0]))
        whole = command(root, chapter)
        parents = [str(one) for one in reversed(Path(bound).parents)][1:]
        opened = [part for parent in parents for part in ("--perms", "755", "--dir", parent)]
        # before the last, which closes the root
        return [*whole[:-4], *opened, option, bound, bound, *whole[-4:]]

    monkeypatch.setattr(sandbox, "outside", outside)
    monkeypatch.setattr(sandbox, "bubblewrap", weaker)
    # which would hold it all the same
    monkeypatch.setattr(Sandbox, "landlock", lambda self: None)
    assert "it can" in sandbox.fault_of(sandbox.BUBBLEWRAP)


# a user's own bubblewrap without what covers process 1, on a Linux without Landlock, or both
UNCOVERED = """
import sys
from judge.grading import sandbox
covered = sandbox.bubblewrap
def uncovered(*given):
    whole = covered(*given)
    at = whole.index("/proc/1") - 1
    return whole[:at] + whole[at + 4 :]
if "cover" in sys.argv:
    sandbox.bubblewrap = uncovered
if "Landlock" in sys.argv:
    sandbox.Sandbox.landlock = lambda self: None
print(sandbox.fault_of(sandbox.BUBBLEWRAP))
"""


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("without", "could"),
    [("cover", ""), ("Landlock", ""), ("cover Landlock", "it can enter process 1")],
)
def test_process_1_is_closed_twice_and_the_proof_tries_it(without, could):
    if not could and without == "cover" and not has_landlock():
        pytest.skip("there is no Landlock here")
    done = python(needed("a user"), "-c", UNCOVERED, *without.split())
    assert done.stdout.strip() == could, done


def has_landlock() -> bool:
    return confine.libc.syscall(confine.CREATE_RULESET, None, ctypes.c_size_t(0), 1) > 0


@pytest.mark.sandbox
def test_the_proof_and_the_grading_use_the_bubblewrap_that_is_first_on_the_path(tmp_path):
    if sandbox.strongest()[0] != sandbox.BUBBLEWRAP:
        pytest.skip(machines.problem("a user") or "bubblewrap is not proved here")
    script_file = tmp_path / "bwrap"
    code = (
        "from judge.grading import sandbox\n"
        "print(sandbox.fault_of(sandbox.BUBBLEWRAP))\n"
        "print(sandbox.Sandbox(sandbox.BUBBLEWRAP).command('true')[0])"
    )

    def lines_with(script: str) -> list[str]:
        script_file.write_text(f"#!/bin/sh\n{script}\n")
        script_file.chmod(0o755)
        path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PATH": path}, cwd=ROOT,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.splitlines()

    fails = 'echo "bwrap: Unknown option --perms" >&2; exit 1'
    assert lines_with(fails) == ["bwrap: Unknown option --perms", str(script_file)]
    assert lines_with(f'exec {sandbox.BWRAP} "$@"') == ["", str(script_file)]


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
    done = python(needed(machine), inside.__file__)
    results = json.loads(done.stdout)
    assert results["tier"] == TIERS[machine] and not results["works"], results["works"]
    assert [name for name, how in results["failed"].items() if not how] == []


def install(folder: Path) -> None:
    """Put what the wheel has there."""
    for package in sandbox.packages():
        shutil.copytree(package, folder / package.name)


INSTALLED = """
import subprocess, sys
from judge.course import course
from judge.grading import sandbox
one = sandbox.Sandbox(sandbox.strongest()[0], "dot_product")
print(course().folder, one.tier)
for path in sys.argv[1:]:
    path = path.format(course().folder)
    shown = subprocess.run(one.command("/bin/cat", path), capture_output=True, env={})
    print(path, bool(shown.stdout))
one.close()
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("machine", [tier for tier in TIERS if TIERS[tier]])
def test_an_installed_package_and_the_checkout_beside_it_show_no_answer(machine, tmp_path):
    packages = tmp_path / "site-packages"
    install(packages)
    machines.opened_to_others(tmp_path)
    closed = ["{}/course/capstone.py", "{}/dot_product.py", str(ROOT / "Makefile"), __file__]
    done = python(needed(machine), "-c", INSTALLED, "{}/cost.py", *closed, path=packages)
    first, readable, *unreadable = done.stdout.splitlines()
    assert first == f"{packages / 'attncourse'} {TIERS[machine]}"
    assert readable.endswith("True") and len(unreadable) == len(closed), done
    assert all(line.endswith("False") for line in unreadable), unreadable


@pytest.mark.sandbox
@pytest.mark.parametrize("machine", [tier for tier in TIERS if TIERS[tier]])
def test_a_second_copy_of_the_course_on_the_path_shows_nothing(machine, tmp_path):
    places = [tmp_path / "checkout", tmp_path / "site-packages", tmp_path / "another checkout"]
    for place in places:
        # as little as is read of a copy
        shutil.copytree(PACKAGE / "course", place / "attncourse/course")
        (place / "library.py").write_text("here = True")
    machines.opened_to_others(tmp_path)
    closed = [str(place / "attncourse/course/capstone.py") for place in places]
    closed += [str(place / "library.py") for place in places if place.name != "site-packages"]
    path = Path(os.pathsep.join(map(str, [ROOT, *places])))
    done = python(
        needed(machine), "-c", INSTALLED, str(places[1] / "library.py"), *closed, path=path
    )
    first, readable, *unreadable = done.stdout.splitlines()
    assert first == f"{PACKAGE} {TIERS[machine]}"
    assert readable.endswith("True") and len(unreadable) == len(closed), done
    assert all(line.endswith("False") for line in unreadable), unreadable


@pytest.mark.sandbox
def test_what_a_link_leads_to_is_not_shown_by_it_where_it_is_hidden(tmp_path):
    machine = needed("root in a container")
    packages = tmp_path / "lib/site-packages"
    install(packages)
    # as a virtual environment has it
    (tmp_path / "lib64").symlink_to("lib")
    machines.opened_to_others(tmp_path)
    path = Path(os.pathsep.join([str(packages), str(tmp_path)]))
    closed = [str(tmp_path / "lib64/site-packages/attncourse/course/capstone.py")]
    done = python(machine, "-c", INSTALLED, "{}/cost.py", *closed, path=path)
    first, readable, unreadable = done.stdout.splitlines()
    assert first == f"{packages / 'attncourse'} {sandbox.OWN_USER}", done
    assert readable.endswith("True") and unreadable.endswith("False"), done


@pytest.mark.sandbox
def test_a_path_that_is_relative_means_the_same_in_the_sandbox(tmp_path):
    here = tmp_path / "here"
    install(here)
    (tmp_path / "there").mkdir()
    (tmp_path / "there/library.py").write_text("")
    code = (
        "import subprocess, sys\n"
        "from judge.grading import sandbox\n"
        "one = sandbox.Sandbox(sandbox.strongest()[0], 'dot_product')\n"
        "code = 'import attncourse, library; print(attncourse.__version__)'\n"
        "inside = one.command(sys.executable, '-c', code)\n"
        "subprocess.run(inside, env=one.environment, check=True)\n"
        "one.close()"
    )
    machines.opened_to_others(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": "here:there"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{attncourse.__version__}\n", done


def test_no_module_in_the_home_of_a_learner_runs_when_python_begins(tmp_path):
    open_sandbox = Sandbox(sandbox.NONE)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    modules = tmp_path / ".local/lib" / version / "site-packages"
    modules.mkdir(parents=True)
    (modules / "usercustomize.py").write_text("print('it ran')")
    try:
        # in a virtual environment Python itself looks there for nothing
        outside = [sys._base_executable, "-c", "print('it began')"]
        for variables, printed in (
            ({}, "it ran\nit began\n"),
            (open_sandbox.environment, "it began\n"),
        ):
            home = {"HOME": str(tmp_path)}
            assert subprocess.check_output(outside, env=variables | home, text=True) == printed
    finally:
        open_sandbox.close()


def test_system_calls_are_refused_on_both_kinds_of_machine():
    (_, here), (_, there) = confine.MACHINES.values()
    assert here.keys() == there.keys()
    assert not set(here.values()) & set(confine.SAME.values())


@pytest.mark.parametrize("chapter", chapters())
def test_every_module_of_the_chapter_is_hidden(chapter):
    closed = {Path(module) for module in hidden(chapter)}
    modules = [PACKAGE / f"{chapter}.py", PACKAGE / "kernels" / f"{chapter}.py"]
    modules = [
        module for module in [*modules, *(PACKAGE / chapter).glob("*.py")] if module.is_file()
    ]
    assert modules
    for path in modules:
        assert {path, *path.parents} & closed, path


@pytest.mark.sandbox
@pytest.mark.parametrize("chapter", ["dot_product", "efficient", "relative"])
def test_in_the_sandbox_what_is_not_of_the_chapter_can_be_read(chapter):
    closed_sandbox = Sandbox(sandbox.strongest()[0], chapter)
    try:
        for path, code in ((PACKAGE / "cost.py", 0), (PACKAGE / f"{chapter}.py", 1)):
            assert subprocess.run(closed_sandbox.command("/bin/cat", str(path))).returncode == code
        assert subprocess.run(closed_sandbox.command("/bin/ls", str(ROOT / "tests"))).returncode
    finally:
        closed_sandbox.close()
