"""The seal: on each machine the right tier is proved, and inside it nothing is won or kept."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from attncourse.checks import chapters
from attncourse.grading import confine, sandbox
from attncourse.grading.sandbox import PACKAGE, Sandbox, hidden
from tests import ROOT
from tests.grading import inside, machines
from tests.grading.machines import TIERS, python

SLOW = {"root in a container", "a user"}


def needed(machine: str) -> str:
    if why := machines.problem(machine):
        pytest.skip(why)
    return machine


@pytest.mark.sandbox
@pytest.mark.parametrize("machine", TIERS)
def test_each_machine_gets_the_tier_that_is_proved_there(machine):
    code = "from attncourse.grading import sandbox; print(sandbox.strongest())"
    said = python(needed(machine), "-c", code)
    assert said.stdout.startswith(f"('{TIERS[machine]}', "), (said.stdout, said.stderr)


@pytest.mark.sandbox
def test_where_no_tier_is_proved_nothing_is_graded_unless_that_is_asked_for(tmp_path):
    machine = needed("a user without namespaces")
    (tmp_path / "one.ipynb").write_text("{")
    tmp_path.chmod(0o755)
    grade = ("-m", "attncourse.grading", "grade", str(tmp_path / "one.ipynb"))
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
        "from attncourse.grading import proof, sandbox\n"
        "with ExitStack() as stack:\n"
        "    inside = {'own': sys.argv[1], 'hidden': sandbox.hidden(''), 'folders': sys.argv[1:]}\n"
        "    targets = sandbox.outside(stack) | inside\n"
        "    subprocess.run([sys.executable, '-I', proof.__file__, json.dumps(targets)])\n"
    )
    who = "root" if not machines.problem("root") else "a user"
    tmp_path.chmod(0o777)
    said = python(needed(who), "-c", code, str(tmp_path))
    could = " ".join(json.loads(said.stdout))
    everyones = ("trace", "end another", "environment", "a socket", "abstract", "network", "a file")
    roots = ("privileges", "mount") if who == "root" else ()
    for what in (*everyones, *roots, f"read {PACKAGE / 'checks'}", "write to /tmp"):
        assert what in could, (what, could)


WEAKER = {
    "it sees a folder": ("--ro-bind", "{folder}/.."),
    "it may write to a folder": ("--bind", "{folder}"),
    "it sees what is hidden": ("--ro-bind", str(PACKAGE)),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("how", WEAKER)
def test_a_weaker_sandbox_is_not_proved(how, monkeypatch):
    if sandbox.strongest()[0] != sandbox.BUBBLEWRAP:
        pytest.skip("needs bubblewrap, which does not work here")
    option, path = WEAKER[how]
    targets, command, folders = sandbox.outside, sandbox.bubblewrap, []

    def outside(stack):
        made = targets(stack)
        folders.append(made["folders"][0])
        return made

    def weaker(root, chapter):
        bound = os.path.normpath(path.format(folder=folders[0]))
        whole = command(root, chapter)
        parents = [str(one) for one in reversed(Path(bound).parents)][1:]
        opened = [part for one in parents for part in ("--perms", "755", "--dir", one)]
        # before the last, which closes the root
        return [*whole[:-4], *opened, option, bound, bound, *whole[-4:]]

    monkeypatch.setattr(sandbox, "outside", outside)
    monkeypatch.setattr(sandbox, "bubblewrap", weaker)
    assert "it can" in sandbox.fault_of(sandbox.BUBBLEWRAP)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "machine",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in TIERS if TIERS[one]],
)
def test_no_attempt_from_inside_succeeds(machine):
    said = python(needed(machine), inside.__file__)
    found = json.loads(said.stdout)
    assert found["tier"] == TIERS[machine] and found["works"], said.stderr
    assert [name for name, how in found["failed"].items() if not how] == []


INSTALLED = """
import subprocess, sys
from attncourse.grading import sandbox
one = sandbox.Sandbox(sandbox.strongest()[0], "dot_product")
print(sandbox.PACKAGE, one.tier)
for path in sys.argv[1:]:
    path = path.format(sandbox.PACKAGE)
    shown = subprocess.run(one.command("/bin/cat", path), capture_output=True, env={})
    print(path, bool(shown.stdout))
one.close()
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("machine", [one for one in TIERS if TIERS[one]])
def test_an_installed_package_and_the_checkout_beside_it_show_no_answer(machine, tmp_path):
    packages = tmp_path / "site-packages"
    shutil.copytree(PACKAGE, packages / "attncourse")
    for folder in (tmp_path, *tmp_path.parents):
        # pytest's own, which are closed to other users
        if folder.name.startswith(("test_", "popen-", "pytest-")):
            folder.chmod(0o755)
    closed = ["{}/checks/driver.py", "{}/dot_product.py", str(ROOT / "Makefile"), __file__]
    said = python(needed(machine), "-c", INSTALLED, "{}/cost.py", *closed, path=packages)
    first, seen, *others = said.stdout.splitlines()
    assert first == f"{packages / 'attncourse'} {TIERS[machine]}"
    assert seen.endswith("True") and len(others) == len(closed), said
    assert all(line.endswith("False") for line in others), others


def test_system_calls_are_refused_on_both_kinds_of_machine():
    (_, here), (_, there) = confine.MACHINES.values()
    assert here.keys() == there.keys()
    assert not set(here.values()) & set(confine.SAME.values())


@pytest.mark.parametrize("chapter", chapters())
def test_every_module_of_the_chapter_is_hidden(chapter):
    closed = {Path(one) for one in hidden(chapter)}
    found = [PACKAGE / f"{chapter}.py", PACKAGE / "kernels" / f"{chapter}.py"]
    found = [one for one in [*found, *(PACKAGE / chapter).glob("*.py")] if one.is_file()]
    assert found
    for path in found:
        assert {path, *path.parents} & closed, path


@pytest.mark.sandbox
@pytest.mark.parametrize("chapter", ["dot_product", "efficient", "relative"])
def test_in_the_sandbox_what_is_not_of_the_chapter_can_be_read(chapter):
    one = Sandbox(sandbox.strongest()[0], chapter)
    try:
        for path, code in ((PACKAGE / "cost.py", 0), (PACKAGE / f"{chapter}.py", 1)):
            assert subprocess.run(one.command("/bin/cat", str(path))).returncode == code
        assert subprocess.run(one.command("/bin/ls", str(ROOT / "tests"))).returncode
    finally:
        one.close()
