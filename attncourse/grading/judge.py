"""The process that judges: it has pytest run one grafted notebook after another (run as a script).

It is reached by the socket that is its standard input. For each notebook it gets a line of JSON:
the folder of the notebook and of the report to fill, and what an answer may take, in processor
seconds and in bytes. It answers each with an empty line.
"""

import json
import os
import socket

import pytest

from attncourse.grading.plugin import Plugin

# nothing of the submission's folder, nor of the machine's set-up, has a say
PYTEST = (
    "-p", "nbval.plugin", "-p", "no:cacheprovider", "-p", "no:unraisableexception", "--noconftest",
    "-q", "-c", "pytest.ini", "--rootdir", ".", "graft.ipynb",
)  # fmt: skip


def main() -> None:
    grader = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    plugin = Plugin()
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
        plugin.stop()


if __name__ == "__main__":
    main()
