"""Jupyter kernels forked from one process, which has imported the slow libraries already."""

import multiprocessing
import os
import pickle
import sys
from pathlib import Path

from filelock import FileLock
from jupyter_client import AsyncKernelManager

FORK_SERVER = multiprocessing.get_context("forkserver")
# on macOS a copy of a process that has imported numpy may crash
if sys.platform != "darwin":
    # an optimizer imports torch's compiler at its first step
    FORK_SERVER.set_forkserver_preload(
        ["ipykernel.kernelapp", "attncourse.figures", "torch._dynamo"]
    )


class KernelProcess(FORK_SERVER.Process):
    """A forked process with the methods of `subprocess.Popen` that jupyter_client calls."""

    stdin = stdout = stderr = None

    wait = FORK_SERVER.Process.join

    def poll(self):
        return self.exitcode

    def send_signal(self, signum):
        os.kill(self.pid, signum)


def share_measurements(folder: Path) -> None:
    """Make `Claim.measure` compute each claim and seed once, and store the result in a folder."""
    from attncourse.course.claim import Claim, Finding

    folder.mkdir(exist_ok=True)
    measure = Claim.measure

    def measure_shared(claim: Claim, seed: int = 0) -> Finding:
        path = folder / f"{claim.id}-{seed}"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                path.write_bytes(pickle.dumps(measure(claim, seed).measured))
        return Finding(claim, pickle.loads(path.read_bytes()))

    Claim.measure = measure_shared


def run_kernel(folder: str, arguments: list[str], measurements: Path) -> None:
    """Run a kernel in a folder, with the arguments of its command line."""
    import matplotlib
    from ipykernel.kernelapp import IPKernelApp

    os.chdir(folder)
    share_measurements(measurements)
    # a kernel says so in its environment, which matplotlib has read by now
    matplotlib.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    # the kernel ends with the process that it is a copy of, and that one with the build
    IPKernelApp.launch_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])


class ForkedKernelManager(AsyncKernelManager):
    """Starts and stops a forked kernel."""

    async def _async_launch_kernel(self, kernel_cmd, *, cwd, measured, **_):
        # what follows `python -m ipykernel_launcher`; without the log level, a busy kernel reports
        # that it was stopped
        arguments = [*kernel_cmd[3:], "--log-level=CRITICAL"]
        self.provisioner.process = KernelProcess(target=run_kernel, args=(cwd, arguments, measured))
        self.provisioner.process.start()
