"""Confines this process for good, and becomes the command given (run as a script).

Whatever it starts is confined as well: limits on what a process may take, a user of its own, no
new privileges, no files but those named (Landlock), none of the system calls that reach others
(seccomp). Its argument is JSON with `limits` and, where there is a seal, `sealed`; with `uid`, the
user to become; with `landlock`, the paths to read, those of them to leave out, those to write, and
whether it must be there.
"""

import ctypes
import json
import os
import platform
import struct
import sys

# system calls by what they reach; from 424 on the numbers are those of every machine
SAME = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsmount": 432, "fspick": 433, "pidfd_open": 434, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "memfd_secret": 447, "process_mrelease": 448,
    "open_tree_attr": 467,
}  # fmt: skip
MACHINES = {
    "x86_64": (0xC000003E, {
        "clone": 56, "socket": 41, "socketpair": 53, "connect": 42, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "move_pages": 279,
        "migrate_pages": 256, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
        "unshare": 272, "setns": 308, "open_by_handle_at": 304, "add_key": 248,
        "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298,
        "userfaultfd": 323, "memfd_create": 319, "syslog": 103, "shmget": 29, "shmat": 30,
        "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220, "msgget": 68,
        "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "mq_open": 240, "mq_unlink": 241,
    }),
    "aarch64": (0xC00000B7, {
        "clone": 220, "socket": 198, "socketpair": 199, "connect": 203, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "move_pages": 239,
        "migrate_pages": 238, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
        "unshare": 97, "setns": 268, "open_by_handle_at": 265, "add_key": 217,
        "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241,
        "userfaultfd": 282, "memfd_create": 279, "syslog": 116, "shmget": 194, "shmat": 196,
        "shmctl": 195, "semget": 190, "semop": 193, "semctl": 191, "semtimedop": 192,
        "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187, "mq_open": 180,
        "mq_unlink": 181,
    }),
}  # fmt: skip
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, AT_LEAST, ANY, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# what is refused returns EPERM; what is not there, ENOSYS
ALLOW, REFUSE, MISSING = 0x7FFF0000, 0x00050001, 0x00050026
NUMBER, MACHINE, FIRST, SECOND = 0, 4, 16, 24  # where a filter finds them
UNIX, STREAM = 1, 1
# of the flags of clone, those that make a world: mounts, cgroup, names, queues, users, processes
# and network; the clock of one is made by clone3 and unshare alone
WORLDS = 0x7E020000
CLONE3 = 435

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
# what Landlock is asked to refuse: all that it knows, by the version that began to
FILES = {1: 0x1FFF, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
NETWORK, SCOPES = {4: 0b11}, {6: 0b11}
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1, 2, 4, 8, 1 << 14

libc = ctypes.CDLL(None, use_errno=True)


def called(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def limit(limits):
    """Cap what this process and each that it starts may take, where the system can."""
    import resource

    for name, most in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, ValueError, OSError):
            # macOS has no such limit on memory
            if sys.platform == "linux":
                raise


def become(uid):
    """Be that user for good, in no other group: all capabilities are gone with it."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def restrict(read, hidden, write, must):
    """Let files below `read` be read, but for `hidden`, and those below `write` be written.

    What is restricted cannot look into the memory and the open files of what is not.
    """
    version = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 0:
        if must:
            sys.exit(f"Landlock: {os.strerror(ctypes.get_errno())}")
        return

    rules = Rules(version)
    for path in read:
        rules.show(path, hidden)
    for path in write:
        rules.allow(path, rules.every)
    rules.enforce()


class Rules:
    """A set of Landlock's rules, of those rights that this version knows."""

    def __init__(self, version):
        every, network, scopes = (
            sum(bits for since, bits in rights.items() if since <= version)
            for rights in (FILES, NETWORK, SCOPES)
        )
        asked = struct.pack("QQQ", every, network, scopes)
        self.every = every
        self.set = called(libc.syscall(CREATE_RULESET, asked, ctypes.c_size_t(len(asked)), 0))

    def allow(self, path, rights):
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            return
        if not os.path.isdir(path):
            rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
        rule = struct.pack("=Qi", rights & self.every, place)
        called(libc.syscall(ADD_RULE, self.set, 1, rule, 0))
        os.close(place)

    def show(self, path, hidden):
        """Let all below a path be read, but for what is hidden."""
        below = [one for one in hidden if one == path or one.startswith(path + "/")]
        if not below:
            self.allow(path, EXECUTE | READ_FILE | READ_DIR)
        elif path not in below and os.access(path, os.R_OK | os.X_OK):
            # its names may be listed, as an import does
            self.allow(path, READ_DIR)
            for one in os.scandir(path):
                # what a link leads to has a path of its own, and may be hidden
                if not one.is_symlink():
                    self.show(one.path, hidden)

    def enforce(self):
        """Let this process, and whatever it starts, do no more than that."""
        called(libc.syscall(RESTRICT_SELF, self.set, 0))
        os.close(self.set)


def refuse():
    """Give up the system calls that reach other processes, other machines and the mounts."""
    if (name := platform.machine()) not in MACHINES:
        sys.exit(f"{name}: not a processor whose system calls are known here")
    machine, numbers = MACHINES[name]
    steps = [
        (LOAD, 0, 0, MACHINE), (EQUAL, 1, 0, machine), (RETURN, 0, 0, REFUSE),
        # the second set of numbers that an x86 has
        (LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, 1 << 30), (RETURN, 0, 0, REFUSE),
    ]  # fmt: skip
    by_argument = {numbers[name] for name in ("clone", "socket", "socketpair")}
    for number in {*numbers.values(), *SAME.values()} - by_argument:
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]
    steps += [
        # its flags lie in memory, where no filter reads; without it, the C library takes clone
        (EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, MISSING),
        # a process or a thread, but no world of its own
        (EQUAL, 0, 3, numbers["clone"]),
        (LOAD, 0, 0, FIRST), (ANY, 0, 1, WORLDS), (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, NUMBER),
        # a socket to listen on, as a kernel does, is all that is left, or two that are joined: one
        # for datagrams could still send them to any address
        (EQUAL, 2, 0, numbers["socket"]), (EQUAL, 1, 0, numbers["socketpair"]),
        (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, FIRST), (EQUAL, 1, 0, UNIX), (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, SECOND), (AND, 0, 0, 0xF), (EQUAL, 1, 0, STREAM), (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    called(libc.prctl(SECCOMP, FILTER, program, 0, 0))


def main():
    settings, command = json.loads(sys.argv[1]), sys.argv[2:]
    limit(settings["limits"])
    if "uid" in settings:
        become(settings["uid"])
    if settings.get("sealed"):
        called(libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
        if settings["landlock"]:
            restrict(**settings["landlock"])
        refuse()
    try:
        os.execv(command[0], command)
    except PermissionError:
        sys.exit(f"{command[0]}: not a program that another user may run")


if __name__ == "__main__":
    main()
