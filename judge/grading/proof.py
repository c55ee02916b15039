"""Tries, from inside a sandbox, all that must fail there; prints what did not (run as a script).

Its argument is JSON: a folder that anyone may write to and a file in it that anyone may read, a
process, sockets, shared memory, and files with answers, all of them outside or hidden; a folder of
its own, and files that an answer needs.
"""

import ctypes
import json
import os
import platform
import signal
import socket
import struct
import sys

DETACH, REMOUNT_BIND = 2, 32 | 4096
NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
# nothing more, mounts, cgroup, names, queues, processes, network
NEW_WORLDS = (0, NEW_MOUNTS, 0x02000000, 0x04000000, 0x08000000, 0x20000000, 0x40000000)
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}.get(platform.machine(), -1), 435
ATTACH, DUMPABLE = 16, 4
libc = ctypes.CDLL(None, use_errno=True)


def privileges():
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file)
    capable = any(int(status[f"Cap{which}"], 16) for which in ("Prm", "Eff", "Amb"))
    return os.getuid() == 0 or capable or int(status["NoNewPrivs"]) != 1


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


def mounts(own, hidden):
    """Whether it can mount, or uncover what is hidden, also as the root of a world of its own."""
    if (child := os.fork()) == 0:
        done = []
        for _ in range(2):
            done.append(libc.mount(b"none", os.fsencode(own), b"tmpfs", 0, None))
            done.append(libc.mount(None, b"/", None, REMOUNT_BIND, None))
            done += [libc.umount2(os.fsencode(path), DETACH) for path in hidden]
            libc.unshare(NEW_USER | NEW_MOUNTS)
        os._exit(0 in done)
    return os.waitpid(child, 0)[1] != 0


def makes_a_world():
    """Whether one system call makes it a process with namespaces of its own, of any kind."""
    return any([in_a_world(call, NEW_USER | one) for call in (clone, clone3) for one in NEW_WORLDS])


def in_a_world(call, flags):
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


def connects(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        return one.connect(address) is None


def sends(address):
    """Whether it can send to a socket without a connection, by one of two that are joined."""
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        return one.sendto(b"sent", address) > 0


def shares(segment):
    """Whether it can read and write memory that all processes of the machine may share."""
    libc.shmat.restype = ctypes.c_ssize_t
    return libc.shmat(segment, None, 0) != -1


def attaches(process):
    return libc.ptrace(ATTACH, process, None, None) == 0


def succeeds(attempt, *given):
    try:
        return attempt(*given)
    except OSError:
        return False


def tried(targets):
    """What could be done, in words."""
    process, stream = targets["process"], socket.SOCK_STREAM
    attempts = {
        "it has privileges": (privileges,),
        "it can mount": (mounts, targets["own"], targets["hidden"]),
        "it can make a world of its own": (makes_a_world,),
        # before that process is stopped and ended: then it has none to be read
        "it can read another's environment": (reads, f"/proc/{process}/environ"),
        "it can trace another process": (attaches, process),
        "it can enter process 1": (enters, 1),
        "it can enter the process that starts it": (enters, os.getppid()),
        "it can end another process": (lambda: os.kill(process, signal.SIGKILL) is None,),
        "it reaches a socket": (connects, socket.AF_UNIX, stream, targets["socket"]),
        "it reaches an abstract socket": (
            connects,
            socket.AF_UNIX,
            stream,
            "\0" + targets["abstract"],
        ),
        "it reaches a datagram socket": (sends, targets["datagrams"]),
        "it reaches shared memory": (shares, targets["segment"]),
        "it reaches the network": (connects, socket.AF_INET, stream, tuple(targets["network"])),
        "it can make a socket to the host": (lambda: socket.socket(socket.AF_VSOCK, stream),),
        "it can read a file outside": (reads, targets["file"]),
        **{f"it can write to {path}": (writes, path) for path in targets["folders"]},
        **{f"it can read {path}": (reads, path) for path in targets["hidden"]},
    }
    needs = {
        "it cannot write to its folder": (writes, targets["own"]),
        **{f"it cannot read {path}": (reads, path) for path in targets["needed"]},
    }
    could = [what for what, attempt in attempts.items() if succeeds(*attempt)]
    return could + [what for what, attempt in needs.items() if not succeeds(*attempt)]


def main():
    # as an answer is tried: in a copy of a process that has closed its memory
    libc.prctl(DUMPABLE, 0, 0, 0, 0)
    if os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    libc.prctl(DUMPABLE, 1, 0, 0, 0)
    print(json.dumps(tried(json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
