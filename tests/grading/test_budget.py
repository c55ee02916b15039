"""No verdict goes by a clock: an answer's own work is told from delays by the machine."""

import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from attncourse.course import exercise
from judge.grading.kernel import budget
from judge.grading.kernel.budget import BUSY, WAITS, WORKS, Budget
from judge.grading.kernel.client import LostKernelError, fresh_kernel, imported
from judge.grading.kernel.server import KernelServer
from judge.grading.sandbox import tiers
from judge.grading.sandbox.usage import Used, used
from judge.verdict import judge
from tests.grading.submissions import SLUG, SOLVED
from tests.needs import lacks

IMPORT_CELLS = ["import torch\nfrom torch import Tensor"]
LOOP = "while True: pass"
# a clone that is waited for by a thread that nothing interrupts
VFORK = (
    "import ctypes, platform, time\nclone = {'x86_64': 56, 'aarch64': 220}[platform.machine()]\n"
    "if ctypes.CDLL(None).syscall(clone, 0x4000 | 17, 0, 0, 0, 0)"
)
# the work of a shell, another thread or another process counts as well
WORKING_CODE = {
    "itself": LOOP,
    "a thread": f"import threading\ndef run():\n    {LOOP}\n"
    "thread = threading.Thread(target=run)\nthread.start()\nthread.join()",
    "a process": f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', '{LOOP}'])",
    "children that nobody waits for": "import os, signal, time\n"
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True:\n"
    "    if os.fork() == 0:\n"
    "        while time.process_time() < 0.05: pass\n"
    "        os._exit(0)\n"
    "    try: os.wait()\n    except ChildProcessError: pass",
}
WAITING_CODE = {
    "a sleep": "import time\ntime.sleep(10**6)",
    "a lock": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "a thread that sleeps": "import threading, time\n"
    "thread = threading.Thread(target=time.sleep, args=(10**6,))\nthread.start()\nthread.join()",
    "a process that sleeps": "import subprocess\nsubprocess.run(['sleep', '1000000'])",
    "a child that shares its turn": f"{VFORK} == 0: time.sleep(10**6)",
    "a sibling that shares its turn": VFORK.replace("0x4000", "0xC000")
    + " == 0: time.sleep(10**6)",
    "a stop": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
}
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason=lacks("Linux"))


@pytest.fixture(scope="module")
def server(grading):
    kernel_server = KernelServer(SLUG, 4 << 30, tiers.select_tier()[0])
    yield kernel_server
    kernel_server.stop()


@pytest.fixture
def kernel(server):
    with fresh_kernel(server, IMPORT_CELLS) as new_kernel:
        yield new_kernel


@pytest.fixture
def crowd_processor():
    """Puts the main thread of a process on one processor, with four endless processes."""
    own_affinity = os.sched_getaffinity(0)
    (processor, *_) = own_affinity
    processes = []

    def crowd_process(pid: int) -> None:
        os.sched_setaffinity(pid, {processor})
        for _ in range(4):
            # each in a session of its own, which some systems give an equal share
            process = subprocess.Popen([sys.executable, "-c", LOOP], start_new_session=True)
            os.sched_setaffinity(process.pid, {processor})
            processes.append(process)

    yield crowd_process
    for process in processes:
        process.kill()
        process.wait()


def descendants(server) -> set[psutil.Process]:
    """The descendants of the process that starts kernels."""
    return set(psutil.Process(server.process.pid).children(recursive=True))


def kernel_process(server) -> psutil.Process:
    """The process of the kernel: the youngest."""
    return max(descendants(server), key=lambda process: process.create_time())


def lost_kernel_error(kernel, code: str, seconds: float) -> LostKernelError:
    with pytest.raises(LostKernelError) as caught:
        kernel.run(code, kernel.budget(seconds))
    return caught.value


@pytest.mark.parametrize("case", WORKING_CODE)
def test_what_works_without_end_is_too_slow(kernel, case, monkeypatch):
    # however busy the machine is that the tests run on
    monkeypatch.setattr(budget, "BUSY_FACTOR", 10**6)
    error = lost_kernel_error(kernel, WORKING_CODE[case], 0.5)
    assert error.status == "too slow" and "stopped after 0.5 seconds of work" in error.hint


@needs_linux
@pytest.mark.parametrize("case", WAITING_CODE)
def test_what_waits_by_itself_does_not_come_to_an_end(kernel, case):
    error = lost_kernel_error(kernel, WAITING_CODE[case], 0.5)
    assert error.status == "too slow" and "never ends: it waits" in error.hint


@needs_linux
def test_what_is_kept_waiting_by_the_machine_is_not_graded(
    server, kernel, crowd_processor, monkeypatch
):
    # a fifth of a processor makes four seconds late for one of work
    monkeypatch.setattr(budget, "BUSY_FACTOR", 2)
    crowd_processor(kernel_process(server).pid)
    error = lost_kernel_error(kernel, LOOP, 1)
    assert error.status == "not graded" and "too busy" in error.hint


@needs_linux
def test_a_right_answer_passes_on_a_busy_machine(server, kernel, crowd_processor):
    name = "distance_attention"
    work_before = used(kernel.pid).work
    kernel.run(SOLVED[name], kernel.budget(1))
    task = exercise(name)
    quiet_verdict = judge(task, lambda request: kernel.call(request, kernel.budget(10)), 1)
    limit = 3 * (used(kernel.pid).work - work_before)
    crowd_processor(kernel_process(server).pid)
    remaining = kernel.budget(limit)
    crowded_verdict = judge(task, lambda request: kernel.call(request, remaining), 1)
    assert quiet_verdict.status == crowded_verdict.status == "passed"


def test_what_an_answer_imports_is_loaded_before_it_is_timed(kernel):
    cell = (
        "%matplotlib inline\nimport os.path as p, wave\ndef f():\n    from xml import sax, no_such"
    )
    assert imported(cell) == ["os.path", "wave", "xml.sax", "xml.no_such"]
    kernel.load(cell)
    kernel.run("import sys; assert {'wave', 'xml.sax'} <= sys.modules.keys()", kernel.budget(5))


@pytest.mark.sandbox
@pytest.mark.parametrize("pid_expression", ["os.getppid()", "-1"])
def test_a_kernel_that_ends_what_it_came_from_costs_no_later_one(server, pid_expression):
    # outside it would end whatever is the user's
    assert server.sandbox.tier in (tiers.Tier.BUBBLEWRAP, tiers.Tier.OWN_USER)
    with fresh_kernel(server, IMPORT_CELLS) as kernel:
        code = f"import os, time\nos.kill({pid_expression}, 9)\ntime.sleep(10**6)"
        assert lost_kernel_error(kernel, code, 5).status == "crashed"
    with fresh_kernel(server, IMPORT_CELLS) as kernel:
        kernel.run("assert 1 + 1 == 2", kernel.budget(5))


SOCKETS = """
import asyncio, socket
await asyncio.sleep(0)
pairs = []
try:
    while len(pairs) < 1000:
        pairs.append(socket.socketpair())
except OSError:
    pass
assert 10 < 2 * len(pairs) < 128, len(pairs)
"""


@pytest.mark.sandbox
def test_a_process_of_an_answer_has_few_sockets_and_enough_for_what_is_awaited(kernel):
    kernel.run(SOCKETS, kernel.budget(5))


@needs_linux
def test_what_is_said_in_another_s_name_is_not_heeded(server):
    with fresh_kernel(server, IMPORT_CELLS) as kernel:
        process_before = server.process
        for line in (b"ended", b"stopped", b"started", b"1"):
            server.lines.put(line)
        assert not server.kernel_ended()
        kernel.run("assert 1 + 1 == 2", kernel.budget(5))
        for line in (b"1", b"stopped", b"started"):
            server.lines.put(line)
    with fresh_kernel(server, IMPORT_CELLS) as kernel:
        kernel.run("assert 1 + 1 == 2", kernel.budget(5))
    assert server.process == process_before


@needs_linux
def test_nothing_of_a_kernel_is_left(server):
    with fresh_kernel(server, IMPORT_CELLS) as kernel:
        only_kernel = descendants(server)
        kernel.run("import subprocess\nsubprocess.Popen(['sleep', '10000'])", kernel.budget(5))
        kernel.run("if __import__('os').fork() == 0:\n    while True: pass", kernel.budget(5))
        started_processes = descendants(server) - only_kernel
        code = "import os; open(os.environ['HOME'] + '/../left', 'w').close()"
        kernel.run(code, kernel.budget(5))
        assert len(started_processes) == 2
    # a killed process takes a moment to be gone
    _, survivors = psutil.wait_procs(started_processes)
    assert not survivors and len(descendants(server)) == len(only_kernel) - 1
    with fresh_kernel(server, []) as kernel:
        kernel.run("import os; assert len(os.listdir('..')) == 1", kernel.budget(5))


class FakeMachine:
    """A clock and a process that advance as a test tells them to."""

    def __init__(self):
        self.time = self.work = self.delay = 0.0
        self.asleep = False

    def advance(self, seconds, work=0.0, delay=0.0, asleep=False):
        self.time += seconds
        self.work += work * seconds
        self.delay += delay * seconds
        self.asleep = asleep


RUNNING, SLEEPING = {"work": 1.0}, {"asleep": True}
CROWDED, STARVED = {"work": 0.1, "delay": 0.9}, {}


@pytest.mark.parametrize(
    ("activity", "checks", "expected_reason"),
    [
        (RUNNING, 9, ""),
        (RUNNING, 11, WORKS),
        ({"work": 2.0}, 6, WORKS),
        (SLEEPING, 9, ""),
        (SLEEPING, 11, WAITS),
        (CROWDED, 99, ""),
        (CROWDED, 101, WORKS),
        # it slept when looked at, but had stood in line
        ({"delay": 0.9, "asleep": True}, 199, ""),
        ({"delay": 0.9, "asleep": True}, 201, BUSY),
        # in line all the time, so that no delay is known yet
        (STARVED, 199, ""),
        (STARVED, 201, BUSY),
    ],
)
def test_a_budget_ends_by_what_is_done_in_it(activity, checks, expected_reason):
    machine = FakeMachine()
    time_budget = Budget(
        10, lambda: Used(machine.work, machine.delay, machine.asleep), lambda: machine.time
    )
    time_budget.begin()
    assert time_budget.spent() == ""
    reason = ""
    for _ in range(checks):
        machine.advance(1, **activity)
        reason = reason or time_budget.spent()
    assert reason == expected_reason


def test_where_a_process_has_taken_its_count_along_the_time_counts_that_something_ran():
    machine, numbers = FakeMachine(), iter(range(99))
    time_budget = Budget(
        10,
        lambda: Used(0, machine.delay, machine.asleep, frozenset([next(numbers)])),
        lambda: machine.time,
    )
    time_budget.begin()
    assert time_budget.spent() == ""
    for _ in range(20):
        # half of it in line
        machine.advance(1, delay=0.5)
        assert time_budget.spent() == ""
    machine.advance(1, delay=0.5)
    assert time_budget.spent() == WORKS


def test_whoever_looks_may_be_late_and_what_happens_between_two_waits_is_not_counted():
    machine = FakeMachine()
    time_budget = Budget(
        10, lambda: Used(machine.work, machine.delay, machine.asleep), lambda: machine.time
    )
    for _ in range(9):
        time_budget.begin()
        time_budget.spent()
        machine.advance(1000, **SLEEPING)
        assert time_budget.spent() == ""
        time_budget.begin()
        machine.advance(1000, **RUNNING)


@needs_linux
def test_work_of_ended_threads_and_processes_is_counted():
    usage_before = used(os.getpid())
    deadline = time.process_time() + 0.2

    def run():
        while time.process_time() < deadline:
            pass

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    code = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    usage_after = used(os.getpid())
    assert usage_after.work - usage_before.work > 0.4 and not usage_after.asleep
