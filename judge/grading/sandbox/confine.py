"""Confines this process for good, and becomes the command given (run as a script).

Whatever it starts is confined as well: limits on what a process may take, a user of its own, no
new privileges, no files but those named (Landlock), none of the system calls that reach others
(seccomp). Its argument is JSON with `limits`; in a sandbox also with `uid`, the user to become or
null, and `landlock`, the arguments of `restrict_files` or null.
"""

import ctypes
import json
import os
import platform
import struct
import sys

# system calls with which a process could reach others; from 424 on every processor has the same
# numbers. There is no library to rely on: those for seccomp need libseccomp, which may not be there
COMMON_SYSCALLS = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsmount": 432, "fspick": 433, "pidfd_open": 434, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "memfd_secret": 447, "process_mrelease": 448,
    "open_tree_attr": 467,
}  # fmt: skip
# by processor: its number in <linux/audit.h>, and its own numbers of system calls
ARCHITECTURES = {
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
CLONE3 = 435
# the second set of numbers that an x86 has begins there
X32_SYSCALLS = 1 << 30
# CLONE_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID and _NEWNET; that of the clock is
# a flag of clone3 and unshare alone
NAMESPACE_FLAGS = 0x7E020000
AF_UNIX, SOCK_STREAM, SOCK_TYPE_MASK = 1, 1, 0xF
# of prctl
SET_NO_NEW_PRIVS, SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
# operations of a BPF program: load a word, jump if equal, if not below, if any bit is set
LOAD, JUMP_EQUAL, JUMP_GREATER_EQUAL, JUMP_SET, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# places in `struct seccomp_data`
SYSCALL, ARCHITECTURE, ARGUMENT_0, ARGUMENT_1 = 0, 4, 16, 24
ALLOW, FAIL_EPERM, FAIL_ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
RULESET_VERSION, RULE_PATH_BENEATH = 1, 1
# all rights that Landlock handles, by the version of its ABI that began to
FILE_RIGHTS = {1: 0x1FFF, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
NETWORK_RIGHTS, SCOPES = {4: 0b11}, {6: 0b11}
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1, 2, 4, 8, 1 << 14

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    """What a function of the C library returns; OSError where it has failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def set_limits(limits):
    """Cap what this process and each that it starts may take, where the system can."""
    import resource

    for name, most in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, ValueError, OSError):
            # macOS has no such limit on memory
            if sys.platform == "linux":
                raise


def change_user(uid):
    """Become that user for good, in no other group: all capabilities are gone with it."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def landlock_version():
    """The version of Landlock's ABI; negative where there is none."""
    return libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), RULESET_VERSION)


def restrict_files(read, masked, write, required):
    """By Landlock, let only files below `read` be read, but for `masked`, or below `write` written.

    What is restricted cannot look into the memory and the open files of what is not. Where there is
    no Landlock, it ends the process if that is `required`.
    """
    version = landlock_version()
    if version < 0:
        if required:
            sys.exit(f"Landlock: {os.strerror(ctypes.get_errno())}")
        return

    rules = Ruleset(version)
    for path in read:
        rules.allow_reading(path, masked)
    for path in write:
        rules.allow(path, rules.file_rights)
    rules.enforce()


class Ruleset:
    """Landlock's rules: of the rights that its version knows, none but those that are allowed."""

    def __init__(self, version):
        self.file_rights, *others = (
            sum(bits for since, bits in rights.items() if since <= version)
            for rights in (FILE_RIGHTS, NETWORK_RIGHTS, SCOPES)
        )
        attributes = struct.pack("QQQ", self.file_rights, *others)
        size = ctypes.c_size_t(len(attributes))
        self.descriptor = checked(libc.syscall(LANDLOCK_CREATE_RULESET, attributes, size, 0))

    def allow(self, path, rights):
        """Allow these rights to a file, or to all below a folder."""
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            return
        if not os.path.isdir(path):
            rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
        rule = struct.pack("=Qi", rights & self.file_rights, place)
        checked(libc.syscall(LANDLOCK_ADD_RULE, self.descriptor, RULE_PATH_BENEATH, rule, 0))
        os.close(place)

    def allow_reading(self, path, masked):
        """Allow all below a path to be read, but for what is masked."""
        below = [one for one in masked if one == path or one.startswith(path + "/")]
        if not below:
            self.allow(path, EXECUTE | READ_FILE | READ_DIR)
        elif path not in below and os.access(path, os.R_OK | os.X_OK):
            # its names may be listed, as an import does
            self.allow(path, READ_DIR)
            for entry in os.scandir(path):
                # what a link leads to has a path of its own, and may be masked
                if not entry.is_symlink():
                    self.allow_reading(entry.path, masked)

    def enforce(self):
        """Restrict this process, and whatever it starts, to these rules."""
        checked(libc.syscall(LANDLOCK_RESTRICT_SELF, self.descriptor, 0))
        os.close(self.descriptor)


def restrict_syscalls():
    """By seccomp, refuse the system calls that reach other processes, machines and the mounts."""
    if (name := platform.machine()) not in ARCHITECTURES:
        sys.exit(f"{name} isn't a processor whose system calls are known here")
    architecture, numbers = ARCHITECTURES[name]
    # each is an operation, how many steps to skip if it holds and if not, and its operand
    steps = [
        (LOAD, 0, 0, ARCHITECTURE), (JUMP_EQUAL, 1, 0, architecture), (RETURN, 0, 0, FAIL_EPERM),
        (LOAD, 0, 0, SYSCALL), (JUMP_GREATER_EQUAL, 0, 1, X32_SYSCALLS), (RETURN, 0, 0, FAIL_EPERM),
    ]  # fmt: skip
    by_argument = {numbers[name] for name in ("clone", "socket", "socketpair")}
    for number in {*numbers.values(), *COMMON_SYSCALLS.values()} - by_argument:
        steps += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL_EPERM)]
    steps += [
        # its flags lie in memory, where no filter reads; without it, the C library takes clone
        (JUMP_EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, FAIL_ENOSYS),
        # a process or a thread, but no namespace
        (JUMP_EQUAL, 0, 3, numbers["clone"]),
        (LOAD, 0, 0, ARGUMENT_0), (JUMP_SET, 0, 1, NAMESPACE_FLAGS), (RETURN, 0, 0, FAIL_EPERM),
        (LOAD, 0, 0, SYSCALL),
        # a socket to listen on, as a kernel does, is all that is left, or two that are joined: one
        # for datagrams could still send them to any address
        (JUMP_EQUAL, 2, 0, numbers["socket"]), (JUMP_EQUAL, 1, 0, numbers["socketpair"]),
        (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, ARGUMENT_0), (JUMP_EQUAL, 1, 0, AF_UNIX), (RETURN, 0, 0, FAIL_EPERM),
        (LOAD, 0, 0, ARGUMENT_1), (AND, 0, 0, SOCK_TYPE_MASK), (JUMP_EQUAL, 1, 0, SOCK_STREAM),
        (RETURN, 0, 0, FAIL_EPERM), (RETURN, 0, 0, ALLOW),
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    checked(libc.prctl(SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0))


def main():
    settings, command = json.loads(sys.argv[1]), sys.argv[2:]
    set_limits(settings["limits"])
    if "landlock" in settings:
        if settings["uid"] is not None:
            change_user(settings["uid"])
        checked(libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        if settings["landlock"]:
            restrict_files(**settings["landlock"])
        restrict_syscalls()
    try:
        os.execv(command[0], command)
    except PermissionError:
        sys.exit(f"{command[0]} isn't a program that another user may run")


if __name__ == "__main__":
    main()
