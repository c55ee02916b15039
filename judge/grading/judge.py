"""The process that judges: it has pytest run one grafted notebook after another (run as a script).

It gets streams by the socket that is its standard input: for each two of them it makes a copy of
itself, which is a judge, and answers with its number; where a process is not to be copied, it
becomes that judge. A judge gets, for each notebook, a line of JSON at its first stream: the folder
of the notebook and of the report to fill, and what an answer may take, in processor seconds and in
bytes. It answers each with an empty line, and prints to its second stream.
"""

import gc
import json
import os
import select
import signal
import socket
from threading import Thread

import pytest

from judge.driver import warm_up
from judge.grading.bootstrap import COPIES
from judge.grading.plugin import Plugin

# nothing of the submission's folder, nor of the machine's set-up, has a say
PYTEST = (
    "-p", "nbval.plugin", "-p", "no:cacheprovider", "-p", "no:unraisableexception", "--noconftest",
    "-q", "-c", "pytest.ini", "--rootdir", ".", "graft.ipynb",
)  # fmt: skip


def main() -> None:
    """Make judges for as long as there is a grader."""
    # how a judge ended, nobody asks
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    warm_up()
    # a copy need not look through, and so copy, all that was loaded
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as grader:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        while streams := socket.recv_fds(grader, 1, 2)[1]:
            if COPIES and os.fork():
                for one in streams:
                    os.close(one)
                continue
            grader.sendall(b"%d\n" % os.getpid())
            grader.close()
            return judge(*streams)


def judge(asked: int, said: int) -> None:
    """Judge the notebooks that are asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for stream in (1, 2):
        os.dup2(said, stream)
    grader, plugin = socket.socket(fileno=asked), Plugin()
    Thread(target=end_without, args=(grader,), daemon=True).start()
    try:
        for line in grader.makefile("rb"):
            request = json.loads(line)
            os.chdir(request["folder"])
            plugin.seconds, plugin.memory = request["seconds"], request["memory"]
            if pytest.main(list(PYTEST), plugins=[plugin]) == pytest.ExitCode.INTERRUPTED:
                return
            os.chdir("/")
            grader.sendall(b"\n")
    except KeyboardInterrupt:
        return
    finally:
        # nothing interrupts the end
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        plugin.stop()


def end_without(grader: socket.socket) -> None:
    """Stop to judge, also in the middle of a notebook, once the grader is gone."""
    hangup = select.poll()
    hangup.register(grader, 0)
    hangup.poll()
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
