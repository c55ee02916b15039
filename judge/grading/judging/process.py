"""The process that judges one grafted notebook after another (run as a script).

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
import traceback
from pathlib import Path
from threading import Thread

from judge.call.driver import warm_up
from judge.grading.judging.answers import Grader
from judge.grading.kernel.fork_server import CAN_FORK


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
            if CAN_FORK and os.fork():
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
    told, grader = socket.socket(fileno=asked), Grader()
    Thread(target=end_without, args=(told,), daemon=True).start()
    try:
        for line in told.makefile("rb"):
            request = json.loads(line)
            # beside the notebook lie its weights, if there are any
            os.chdir(request["folder"])
            try:
                grader.judge(Path(), request["seconds"], request["memory"])
            except Exception:
                # its last line is the reason that the report gives
                traceback.print_exc()
            os.chdir("/")
            told.sendall(b"\n")
    except KeyboardInterrupt:
        return
    finally:
        # nothing interrupts the end
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        grader.stop()


def end_without(grader: socket.socket) -> None:
    """Stop to judge, also in the middle of a notebook, once the grader is gone."""
    hangup = select.poll()
    hangup.register(grader, 0)
    hangup.poll()
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
