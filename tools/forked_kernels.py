"""Kernels that begin as copies of one process, which has imported what takes seconds."""

import multiprocessing
import os
import pickle
import sys
from pathlib import Path

from filelock import FileLock
from jupyter_client import AsyncKernelManager

COPIES = multiprocessing.get_context("forkserver")
# on macOS a copy of a process that has imported numpy may crash
if sys.platform != "darwin":
    # an optimizer imports torch's compiler at its first step
    COPIES.set_forkserver_preload(["ipykernel.kernelapp", "attncourse.figures", "torch._dynamo"])


class Copy(COPIES.Process):
    """A copy of that process, which answers as jupyter_client asks a process."""

    stdin = stdout = stderr = None

    wait = COPIES.Process.join

    def poll(self):
        return self.exitcode

    def send_signal(self, signum):
        os.kill(self.pid, signum)


def measure_once(folder: Path) -> None:
    """Let one kernel measure a claim, and all show what it has found, which is kept there."""
    from attncourse.course.claim import Claim, Finding

    folder.mkdir(exist_ok=True)
    measure = Claim.measure

    def kept(claim: Claim, seed: int = 0) -> Finding:
        path = folder / f"{claim.id}-{seed}"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                path.write_bytes(pickle.dumps(measure(claim, seed).measured))
        return Finding(claim, pickle.loads(path.read_bytes()))

    Claim.measure = kept


def begin(folder: str, words: list[str], measured: Path) -> None:
    """Be a kernel in that folder."""
    import matplotlib
    from ipykernel.kernelapp import IPKernelApp

    os.chdir(folder)
    measure_once(measured)
    # a kernel says so in its environment, which matplotlib has read by now
    matplotlib.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    # it ends with the process that it is a copy of, and that one with the build
    IPKernelApp.launch_instance([*words, f"--IPKernelApp.parent_handle={os.getppid()}"])


class CopiedKernel(AsyncKernelManager):
    """Starts and ends such a kernel."""

    async def _async_launch_kernel(self, kernel_cmd, *, cwd, measured, **_):
        # what follows `python -m ipykernel_launcher`; a busy one says that it was stopped
        words = [*kernel_cmd[3:], "--log-level=CRITICAL"]
        self.provisioner.process = Copy(target=begin, args=(cwd, words, measured))
        self.provisioner.process.start()
