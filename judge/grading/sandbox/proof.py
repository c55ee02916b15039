"""Tries, from inside a sandbox, all that must fail there; prints what did not (run as a script).

Its argument is JSON: the targets of `escape_targets` in `tiers.py`, all outside or masked; `own`,
the folder that it may write to; `masked`, files with answers; `required`, files that an answer
needs.
"""

import ctypes
import json
import os
import platform
import signal
import socket
import struct
import sys

MNT_DETACH, REMOUNT_BIND = 2, 32 | 4096
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
# nothing more, mounts, cgroup, names, queues, processes, network
NAMESPACES = (0, CLONE_NEWNS, 0x02000000, 0x04000000, 0x08000000, 0x20000000, 0x40000000)
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}.get(platform.machine(), -1), 435
PTRACE_ATTACH = 16
# of prctl
SET_DUMPABLE, GET_NO_NEW_PRIVS = 4, 39
CAPABILITY_VERSION = 0x20080522
libc = ctypes.CDLL(None, use_errno=True)


def has_privileges():
    """Whether it is root, has a capability, or can get more by a program that it starts."""
    # asked of the kernel: Landlock lets no file of /proc be read that could say it
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    capabilities = ctypes.create_string_buffer(24)
    if libc.capget(header, capabilities):
        return True
    effective, permitted, _, effective_high, permitted_high, _ = struct.unpack("6I", capabilities)
    capable = effective | permitted | effective_high | permitted_high
    return os.getuid() == 0 or capable != 0 or libc.prctl(GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1


def reads(path):
    if os.path.isdir(path):
        return any(succeeds(reads, os.path.join(path, name)) for name in os.listdir(path))
    with open(path, "rb") as file:
        return bool(file.read(1))


def writes(folder):
    with open(path := os.path.join(folder, "written"), "w") as file:
        wrote = bool(file.write("written"))
    os.remove(path)
    return wrote


def mounts(own, masked):
    """Whether it can mount, or uncover what is masked, also as root of a namespace of its own."""
    if (child := os.fork()) == 0:
        done = []
        for _ in range(2):
            done.append(libc.mount(b"none", os.fsencode(own), b"tmpfs", 0, None))
            done.append(libc.mount(None, b"/", None, REMOUNT_BIND, None))
            done += [libc.umount2(os.fsencode(path), MNT_DETACH) for path in masked]
            libc.unshare(CLONE_NEWUSER | CLONE_NEWNS)
        os._exit(0 in done)
    return os.waitpid(child, 0)[1] != 0


def creates_namespace():
    """Whether one system call makes it a process in a new namespace, of any kind."""
    flags = [CLONE_NEWUSER | kind for kind in NAMESPACES]
    return any([creates_process(call, one) for call in (clone, clone3) for one in flags])


def creates_process(call, flags):
    if (child := call(flags)) == 0:
        os._exit(0)
    return child > 0 and os.waitpid(child, 0)[0] == child


def clone(flags):
    return libc.syscall(CLONE, ctypes.c_ulong(flags | signal.SIGCHLD), None, None, None, None)


def clone3(flags):
    # flags, three places for numbers, the signal at the end, a stack, its size, thread storage
    asked = struct.pack("8Q", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    return libc.syscall(CLONE3, asked, ctypes.c_size_t(len(asked)))


def enters(process):
    """Whether it gets to another's open files or memory."""
    files, memory = f"/proc/{process}/fd", f"/proc/{process}/mem"
    return any(succeeds(opens, f"{files}/{one}") for one in range(3)) or succeeds(opens, memory)


def opens(path):
    with open(path, "rb"):
        return True


def connects(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        return client.connect(address) is None


def sends(address):
    """Whether it can send to a socket without a connection, by one of two that are joined."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        return one.sendto(b"sent", address) > 0


def attaches_memory(segment):
    """Whether it can read and write memory that all processes of the machine may share."""
    libc.shmat.restype = ctypes.c_ssize_t
    return libc.shmat(segment, None, 0) != -1


def traces(process):
    return libc.ptrace(PTRACE_ATTACH, process, None, None) == 0


def succeeds(attempt, *arguments):
    try:
        return attempt(*arguments)
    except OSError:
        return False


def failures(targets):
    """In words, what it can do and must not, and what it cannot do and must."""
    process = targets["process"]
    attempts = {
        "it has privileges": (has_privileges,),
        "it can mount": (mounts, targets["own"], targets["masked"]),
        "it can create a namespace": (creates_namespace,),
        # before that process is stopped and ended: then it has none to be read
        "it can read another's environment": (reads, f"/proc/{process}/environ"),
        "it can trace another process": (traces, process),
        "it can enter process 1": (enters, 1),
        "it can enter the process that starts it": (enters, os.getppid()),
        "it can end another process": (lambda: os.kill(process, signal.SIGKILL) is None,),
        "it reaches a socket": (connects, socket.AF_UNIX, targets["socket"]),
        "it reaches an abstract socket": (connects, socket.AF_UNIX, "\0" + targets["abstract"]),
        "it reaches a datagram socket": (sends, targets["datagrams"]),
        "it reaches shared memory": (attaches_memory, targets["segment"]),
        "it reaches the network": (connects, socket.AF_INET, tuple(targets["network"])),
        "it can make a socket to the host": (socket.socket, socket.AF_VSOCK, socket.SOCK_STREAM),
        "it can read a file outside": (reads, targets["file"]),
        **{f"it can write to {path}": (writes, path) for path in targets["folders"]},
        **{f"it can read {path}": (reads, path) for path in targets["masked"]},
    }
    needs = {
        "it cannot write to its folder": (writes, targets["own"]),
        **{f"it cannot read {path}": (reads, path) for path in targets["required"]},
    }
    escapes = [name for name, attempt in attempts.items() if succeeds(*attempt)]
    return escapes + [name for name, need in needs.items() if not succeeds(*need)]


def main():
    # as an answer is tried: in a copy of a process that has closed its memory
    libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)
    if os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    libc.prctl(SET_DUMPABLE, 1, 0, 0, 0)
    print(json.dumps(failures(json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
