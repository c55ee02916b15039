"""A JupyterLab, in an environment of its own, whose kernels reach no machine, not even this one."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from playwright.sync_api import Page

from judge.grading.sandbox.tiers import BWRAP
from tests import ROOT
from tests.browser import browser, watch  # noqa: F401
from tests.needs import lacks

PYTHON = ROOT / ".cache/jupyterlab/bin/python"
# by its path, since what calls it by its name during a test is taken for a grader
WITHOUT_NETWORK = [BWRAP or "bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent"]
# the packages of the course, in a namespace without a network
KERNEL = {
    "argv": [
        *WITHOUT_NETWORK,
        sys.executable,
        "-m",
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
    ],
    "display_name": "Python 3",
    "language": "python",
}
# no question whether it may look for news
NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}
OPTIONS = [
    "--no-browser",
    "--allow-root",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port=0",
    "--IdentityProvider.token=",
    # by sockets in files, which reach into the kernel's namespace
    "--KernelManager.transport=ipc",
    "--LabApp.expose_app_in_browser=True",
]
# a figure must not need its kernel once it is there
RUN = """async (path) => {
  const { commands, restored, shell } = window.jupyterapp;
  await restored;
  for (const one of [...shell.widgets("main")]) one.dispose();
  const panel = await commands.execute("docmanager:open", { path });
  const { context, sessionContext } = panel;
  await context.ready;
  await sessionContext.ready;
  shell.activateById(panel.id);
  await commands.execute("notebook:run-all-cells");
  await sessionContext.shutdown();
  return context.model.toJSON();
}"""


@dataclass
class Lab:
    """An open JupyterLab: its address, served folder, page, and the faults of the page."""

    address: str
    folder: Path
    page: Page
    faults: list[str]

    def run(self, notebook: NotebookNode) -> NotebookNode:
        """Open a notebook, run all its cells, and return it with outputs."""
        nbformat.write(notebook, self.folder / "notebook.ipynb")
        return nbformat.from_dict(self.page.evaluate(RUN, "notebook.ipynb"))


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content), "utf-8")


@pytest.fixture(scope="package")
def shared_lab(browser, tmp_path_factory) -> Iterator[Lab]:  # noqa: F811
    """JupyterLab, opened once, because loading it takes longer than most notebooks."""
    if not PYTHON.exists():
        pytest.skip(lacks("JupyterLab"))
    try:
        subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(lacks("bubblewrap"))
    home, folder = tmp_path_factory.mktemp("lab"), tmp_path_factory.mktemp("folder")
    folders = {
        "HOME": home,
        "JUPYTER_PATH": home / "share",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home,
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
    }
    write_json(home / "share/kernels/python3/kernel.json", KERNEL)
    settings = home / "settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    write_json(settings, NO_NEWS)
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            [PYTHON, "-m", "jupyterlab", *OPTIONS, f"--ServerApp.root_dir={folder}"],
            env=os.environ | {name: str(path) for name, path in folders.items()},
            stdout=log,
            stderr=log,
        )
    # the file that says its port is written once it listens
    while not any(path.stat().st_size for path in home.glob("jpserver-*.json")):
        assert server.poll() is None, (home / "log").read_text()
        time.sleep(0.1)
    (server_file,) = home.glob("jpserver-*.json")
    address = f"http://127.0.0.1:{json.loads(server_file.read_text())['port']}/"
    page = browser.new_page()
    # a busy machine is slow, not wrong
    page.set_default_timeout(300_000)
    faults = watch(page)
    page.goto(f"{address}lab?reset")
    page.wait_for_function("window.jupyterapp")
    yield Lab(address, folder, page, faults)
    server.terminate()
    server.wait()


@pytest.fixture
def lab(shared_lab) -> Iterator[Lab]:
    """JupyterLab; the test fails at its end if the page asked another host or logged an error."""
    yield shared_lab
    faults = [*shared_lab.faults]
    shared_lab.faults.clear()
    assert not faults, "\n".join(["", *faults])
