"""No verdict goes by a clock: what an answer does is told from what the machine does to it."""

import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from attncourse.course import exercise
from judge.grading import budget, sandbox
from judge.grading.budget import BUSY, WAITS, WORKS, Budget, Used, used
from judge.grading.kernel import LostKernelError, fresh_kernel, imported
from judge.grading.server import KernelServer
from judge.verdict import judge
from tests.grading.submissions import SLUG, SOLVED
from tests.needs import lacks

GIVEN = ["import torch\nfrom torch import Tensor"]
LOOP = "while True: pass"
# a clone that is waited for by a thread that nothing interrupts
VFORK = (
    "import ctypes, platform, time\nclone = {'x86_64': 56, 'aarch64': 220}[platform.machine()]\n"
    "if ctypes.CDLL(None).syscall(clone, 0x4000 | 17, 0, 0, 0, 0)"
)
# what a shell, another thread or another process does counts as well
WORKING = {
    "itself": LOOP,
    "a thread": f"import threading\ndef run():\n    {LOOP}\n"
    "one = threading.Thread(target=run)\none.start()\none.join()",
    "a process": f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', '{LOOP}'])",
    "children that nobody waits for": "import os, signal, time\n"
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nwhile True:\n"
    "    if os.fork() == 0:\n"
    "        while time.process_time() < 0.05: pass\n"
    "        os._exit(0)\n"
    "    try: os.wait()\n    except ChildProcessError: pass",
}
WAITING = {
    "a sleep": "import time\ntime.sleep(10**6)",
    "a lock": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "a thread that sleeps": "import threading, time\n"
    "one = threading.Thread(target=time.sleep, args=(10**6,))\none.start()\none.join()",
    "a process that sleeps": "import subprocess\nsubprocess.run(['sleep', '1000000'])",
    "a child that shares its turn": f"{VFORK} == 0: time.sleep(10**6)",
    "a sibling that shares its turn": VFORK.replace("0x4000", "0xC000")
    + " == 0: time.sleep(10**6)",
    "a stop": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
}
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason=lacks("Linux"))


@pytest.fixture(scope="module")
def server(grading):
    kernel_server = KernelServer(SLUG, 4 << 30, sandbox.strongest()[0])
    yield kernel_server
    kernel_server.stop()


@pytest.fixture
def kernel(server):
    with fresh_kernel(server, GIVEN) as fresh:
        yield fresh


@pytest.fixture
def busy():
    """Puts the main thread of a process on one processor, with four that never rest."""
    ours = os.sched_getaffinity(0)
    (processor, *_) = ours
    others = []

    def crowd(pid: int) -> None:
        os.sched_setaffinity(pid, {processor})
        for _ in range(4):
            # each in a session of its own, which some systems give an equal share
            process = subprocess.Popen([sys.executable, "-c", LOOP], start_new_session=True)
            os.sched_setaffinity(process.pid, {processor})
            others.append(process)

    yield crowd
    for process in others:
        process.kill()
        process.wait()


def below(server) -> set[psutil.Process]:
    """What the process that starts kernels has started."""
    return set(psutil.Process(server.process.pid).children(recursive=True))


def kernel_process(server) -> psutil.Process:
    """The process of the kernel: the youngest."""
    return max(below(server), key=lambda process: process.create_time())


def given_up(kernel, code: str, seconds: float) -> LostKernelError:
    with pytest.raises(LostKernelError) as lost:
        kernel.run(code, kernel.budget(seconds))
    return lost.value


@pytest.mark.parametrize("who", WORKING)
def test_what_works_without_end_is_too_slow(kernel, who, monkeypatch):
    # however busy the machine is that the tests run on
    monkeypatch.setattr(budget, "BUSY_FACTOR", 10**6)
    lost = given_up(kernel, WORKING[who], 0.5)
    assert lost.status == "too slow" and "it has worked for 0.5 seconds" in lost.hint


@needs_linux
@pytest.mark.parametrize("why", WAITING)
def test_what_waits_by_itself_does_not_come_to_an_end(kernel, why):
    lost = given_up(kernel, WAITING[why], 0.5)
    assert lost.status == "too slow" and "does not come to an end: it waits" in lost.hint


@needs_linux
def test_what_is_kept_waiting_by_the_machine_is_not_graded(server, kernel, busy, monkeypatch):
    # a fifth of a processor makes four seconds late for one of work
    monkeypatch.setattr(budget, "BUSY_FACTOR", 2)
    busy(kernel_process(server).pid)
    lost = given_up(kernel, LOOP, 1)
    assert lost.status == "not graded" and "too busy" in lost.hint


@needs_linux
def test_a_right_answer_passes_on_a_busy_machine(server, kernel, busy):
    name = "distance_attention"
    before = used(kernel.pid).work
    kernel.run(SOLVED[name], kernel.budget(1))
    bank = exercise(name)
    quiet = judge(bank, lambda request: kernel.call(request, kernel.budget(10)), 1)
    limit = 3 * (used(kernel.pid).work - before)
    busy(kernel_process(server).pid)
    left = kernel.budget(limit)
    crowded = judge(bank, lambda request: kernel.call(request, left), 1)
    assert quiet.status == crowded.status == "passed"


def test_what_an_answer_imports_is_loaded_before_it_is_timed(kernel):
    cell = (
        "%matplotlib inline\nimport os.path as p, wave\ndef f():\n    from xml import sax, no_such"
    )
    assert imported(cell) == ["os.path", "wave", "xml.sax", "xml.no_such"]
    kernel.load(cell)
    kernel.run("import sys; assert {'wave', 'xml.sax'} <= sys.modules.keys()", kernel.budget(5))


@pytest.mark.sandbox
@pytest.mark.parametrize("whom", ["os.getppid()", "-1"])
def test_a_kernel_that_ends_what_it_came_from_costs_no_later_one(server, whom):
    # outside it would end whatever is the user's
    assert server.sandbox.tier in (sandbox.BUBBLEWRAP, sandbox.OWN_USER)
    with fresh_kernel(server, GIVEN) as kernel:
        code = f"import os, time\nos.kill({whom}, 9)\ntime.sleep(10**6)"
        assert given_up(kernel, code, 5).status == "crashed"
    with fresh_kernel(server, GIVEN) as kernel:
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
    with fresh_kernel(server, GIVEN) as kernel:
        before = server.process
        for line in (b"ended", b"stopped", b"started", b"1"):
            server.lines.put(line)
        assert not server.kernel_ended()
        kernel.run("assert 1 + 1 == 2", kernel.budget(5))
        for line in (b"1", b"stopped", b"started"):
            server.lines.put(line)
    with fresh_kernel(server, GIVEN) as kernel:
        kernel.run("assert 1 + 1 == 2", kernel.budget(5))
    assert server.process == before


@needs_linux
def test_nothing_of_a_kernel_is_left(server):
    with fresh_kernel(server, GIVEN) as kernel:
        only_kernel = below(server)
        kernel.run("import subprocess\nsubprocess.Popen(['sleep', '10000'])", kernel.budget(5))
        kernel.run("if __import__('os').fork() == 0:\n    while True: pass", kernel.budget(5))
        started = below(server) - only_kernel
        code = "import os; open(os.environ['HOME'] + '/../left', 'w').close()"
        kernel.run(code, kernel.budget(5))
        assert len(started) == 2
    # who is killed takes a moment to be gone
    _, left = psutil.wait_procs(started)
    assert not left and len(below(server)) == len(only_kernel) - 1
    with fresh_kernel(server, []) as kernel:
        kernel.run("import os; assert len(os.listdir('..')) == 1", kernel.budget(5))


class Machine:
    """A clock and a process, of which a test says what they do."""

    def __init__(self):
        self.time = self.work = self.delay = 0.0
        self.asleep = False

    def goes(self, seconds, work=0.0, delay=0.0, asleep=False):
        self.time += seconds
        self.work += work * seconds
        self.delay += delay * seconds
        self.asleep = asleep


RUNNING, SLEEPING = {"work": 1.0}, {"asleep": True}
CROWDED, STARVED = {"work": 0.1, "delay": 0.9}, {}


@pytest.mark.parametrize(
    ("does", "looks", "why"),
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
def test_a_budget_ends_by_what_is_done_in_it(does, looks, why):
    machine = Machine()
    spent = Budget(
        10, lambda: Used(machine.work, machine.delay, machine.asleep), lambda: machine.time
    )
    spent.begin()
    assert spent.spent() == ""
    reason = ""
    for _ in range(looks):
        machine.goes(1, **does)
        reason = reason or spent.spent()
    assert reason == why


def test_where_a_process_has_taken_its_count_along_the_time_counts_that_something_ran():
    machine, numbers = Machine(), iter(range(99))
    spent = Budget(
        10,
        lambda: Used(0, machine.delay, machine.asleep, frozenset([next(numbers)])),
        lambda: machine.time,
    )
    spent.begin()
    assert spent.spent() == ""
    for _ in range(20):
        # half of it in line
        machine.goes(1, delay=0.5)
        assert spent.spent() == ""
    machine.goes(1, delay=0.5)
    assert spent.spent() == WORKS


def test_whoever_looks_may_be_late_and_what_happens_between_two_waits_is_not_counted():
    machine = Machine()
    spent = Budget(
        10, lambda: Used(machine.work, machine.delay, machine.asleep), lambda: machine.time
    )
    for _ in range(9):
        spent.begin()
        spent.spent()
        machine.goes(1000, **SLEEPING)
        assert spent.spent() == ""
        spent.begin()
        machine.goes(1000, **RUNNING)


@needs_linux
def test_work_of_ended_threads_and_processes_is_counted():
    before = used(os.getpid())
    until = time.process_time() + 0.2

    def run():
        while time.process_time() < until:
            pass

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    code = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    after = used(os.getpid())
    assert after.work - before.work > 0.4 and not after.asleep
