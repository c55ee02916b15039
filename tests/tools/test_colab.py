"""Both notebooks run, from the set-up cell on, where torch is but the course is not, and with the
reader's own copies of the functions a chapter computes what its page shows."""

import re
import shutil
import subprocess
import tomllib
import venv
from ast import literal_eval
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest
from nbclient import NotebookClient
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import attncourse
from tests import ROOT
from tests.browser import site  # noqa: F401
from tests.needs import lacks
from tools import colab
from tools.execute import notebooks, output_cache
from tools.setup_cell import LIGHT_REQUIREMENTS

CHAPTERS = sorted([*ROOT.glob("chapters/*.ipynb"), *ROOT.glob("deeper/*.ipynb")])
EXERCISES = ROOT / "exercises/dot_product.ipynb"
HEAVY = ["torch", "numpy", "matplotlib"]
SHELL = ["ipython", "ipykernel"]
# those of the kernel that has run the notebooks
VERSIONS = f"""\
from importlib import metadata
{{name: metadata.version(name) for name in {[*HEAVY, *SHELL]}}}"""
# the wheels of Colab's, if somebody has put them there
OLD_WHEELS = ROOT / ".cache/wheels"


def with_dependencies(names: list[str]) -> list[str]:
    """Packages and their installed dependencies, recursively."""
    packages = [str(canonicalize_name(name)) for name in names]
    for name in packages:
        requirements = [Requirement(text) for text in metadata.requires(name) or []]
        names_here = [
            n.name for n in requirements if not n.marker or n.marker.evaluate({"extra": ""})
        ]
        packages += {*map(canonicalize_name, names_here)} - {*packages}
    return packages


def test_the_set_up_cell_installs_all_that_the_course_needs_and_nothing_heavy():
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {requirement: Requirement(requirement).name for requirement in requirements}
    assert {requirement for requirement in requirements if names[requirement] not in HEAVY} <= {
        *LIGHT_REQUIREMENTS.values()
    }
    # what it needs beyond itself is for its use in a terminal
    light = {*with_dependencies([*names.values()])} - {*with_dependencies(HEAVY)} | {"num2words"}
    assert {
        canonicalize_name(Requirement(requirement).name)
        for requirement in LIGHT_REQUIREMENTS.values()
    } == light


def package_files(name: str) -> list:
    """The files of a package in site-packages."""
    files = metadata.distribution(name).files or []
    return [file for file in files if file.parts[0] not in ("..", "__pycache__")]


def rebuild_wheel(name: str, folder: Path) -> None:
    """Build a wheel from an installed pure-Python package."""
    file_name = f"{name.replace('-', '_')}-{metadata.version(name)}-py3-none-any.whl"
    with ZipFile(folder / file_name, "w") as wheel:
        for file in package_files(name):
            wheel.write(file.locate(), file.as_posix())


def make_environment(folder: Path, with_colab_ipython: bool) -> Path:
    """Make a folder of packages: torch, numpy, matplotlib, ipykernel, pip and what they need.

    They are links, no copies; if `old`, IPython and ipykernel are those of Colab.
    """
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    names = {*with_dependencies([*HEAVY, "ipykernel", "pip"])}
    for name in names - ({*SHELL} if with_colab_ipython else set()):
        for top in {file.parts[0] for file in package_files(name)}:
            source = Path(str(metadata.distribution(name).locate_file(top)))
            if not (packages / top).exists():
                (packages / top).symlink_to(source)
    if with_colab_ipython:
        pip = [folder / "bin/python", "-m", "pip", "install", "-q", "--find-links", OLD_WHEELS]
        if subprocess.run([*pip, *SHELL]).returncode:
            pytest.skip(lacks("the IPython of Colab"))
    return packages


def run_git(clone: Path, *words: str) -> None:
    options = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", clone, *options, *words], check=True)


@pytest.fixture
def offline(tmp_path, monkeypatch) -> None:
    """Environment in which pip and git find this checkout at the repository's address."""
    clone, wheels = tmp_path / "course", tmp_path / "wheels"
    shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".*", "_build", "__pycache__"))
    run_git(clone, "init", "-q", "-b", "main")
    run_git(clone, "add", "-A")
    run_git(clone, "commit", "-q", "-m", "as it is")
    wheels.mkdir()
    for name in with_dependencies(["hatchling", *LIGHT_REQUIREMENTS]):
        rebuild_wheel(name, wheels)
    settings = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{clone.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": nbformat.read(CHAPTERS[0], 4).metadata["attncourse"]["repository"],
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": "",
        "JUPYTER_PATH": str(tmp_path / "share/jupyter"),
    }
    for name, setting in settings.items():
        monkeypatch.setenv(name, setting)


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cell_texts(cells) -> dict[str, str]:
    """The text outputs of cells, without memory addresses.

    A claim measures the package.
    """
    texts = {
        cell.source: "".join(
            output.get("text") or output.data["text/plain"] for output in cell.outputs
        )
        for cell in cells
        if ".measure()" not in cell.source
    }
    return {source: re.sub(r"0x[0-9a-f]+", "", text) for source, text in texts.items() if text}


def page_cells(notebook: Path) -> list:
    """The cells of the page of a notebook, with their outputs."""
    text = notebooks(ROOT)[notebook.with_suffix(".md")]
    return code_cells(output_cache(ROOT).merge_match_into_notebook(text)[1])


# nbval runs the exercises with the IPython that is here; one that is to be solved raises no error.
# Where Colab's is not, all chapters run with this one
@pytest.mark.slow
@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("old", "paths"),
    [
        pytest.param(False, CHAPTERS[:1], id="here"),
        pytest.param(True, [CHAPTERS[0], EXERCISES], id="as on Colab"),
        pytest.param(OLD_WHEELS.is_dir(), [*CHAPTERS, EXERCISES], id="all"),
    ],
)
def test_a_fresh_environment_runs_the_notebooks_and_keeps_its_versions(
    old, paths, offline, tmp_path
):
    if not old:
        # what follows a release is not what its notebooks install
        run_git(tmp_path / "course", "tag", f"v{attncourse.__version__}")
        run_git(tmp_path / "course", "rm", "-q", "attncourse/dot_product.py")
        run_git(tmp_path / "course", "commit", "-q", "-m", "later")
    packages = make_environment(tmp_path / "fresh", old)
    packages_before = {path.name for path in packages.glob("*.dist-info")}
    install = ["ipykernel", "install", "--name", "fresh", "--prefix", tmp_path]
    subprocess.run([tmp_path / "fresh/bin/python", "-m", *install], check=True)
    # one kernel for all, which imports torch once, and which each finds as new
    whole_notebook, cells = nbformat.v4.new_notebook(), {}
    for path in paths:
        cells[path] = [
            cell
            for cell in code_cells(nbformat.read(path, 4))
            # the first shows its claims' boxes; what they measure is the package
            if path == CHAPTERS[0] or ".measure()" not in cell.source
        ]
        whole_notebook.cells += [nbformat.v4.new_code_cell("%reset -f"), *cells[path]]
    whole_notebook.cells.append(nbformat.v4.new_code_cell(VERSIONS))
    (tmp_path / "empty").mkdir()
    resources = {"metadata": {"path": str(tmp_path / "empty")}}
    NotebookClient(whole_notebook, kernel_name="fresh", timeout=600, resources=resources).execute()
    assert packages_before < {path.name for path in packages.glob("*.dist-info")}
    for path in {*paths} - {EXERCISES}:
        page = page_cells(path)
        page_cells_compared = [cell for cell in page if ".measure()" not in cell.source]
        # the functions that the page includes are cells, too
        assert len(cells[path]) > len(page_cells_compared) and cell_texts(
            cells[path]
        ) == cell_texts(page), path
    versions = literal_eval(whole_notebook.cells[-1].outputs[0].data["text/plain"])
    ran_with = {name: Version(version).public for name, version in versions.items()}
    # the weekly job has fetched the list
    if (ROOT / colab.LIST).is_file() and paths == [*CHAPTERS, EXERCISES]:
        assert ran_with == colab.versions([*HEAVY, *SHELL])
        colab.record(ran_with)


COLAB_LIST = """\
# what Colab has
ipython==7.34.0
ipython-genutils==0.2.0
numpy==2.1.3
torch @ https://wheels.example.org/cpu/torch-2.11.0%2Bcpu-cp313-cp313-linux_x86_64.whl
torchao==0.10.0
"""


def test_the_versions_of_colab_are_read_from_its_list(tmp_path):
    (tmp_path / colab.LIST).parent.mkdir()
    (tmp_path / colab.LIST).write_text(COLAB_LIST)
    versions = {"torch": "2.11.0", "ipython": "7.34.0"}
    assert colab.versions(["torch", "ipython"], tmp_path) == versions
    with pytest.raises(KeyError, match="matplotlib"):
        colab.versions(["matplotlib"], tmp_path)


def test_a_run_is_said_with_its_day_and_nothing_is_said_where_none_is_recorded(tmp_path):
    (tmp_path / colab.RECORD).parent.mkdir()
    assert colab.last_run(tmp_path) == {}
    colab.record({"torch": "2.11.0"}, tmp_path)
    run = colab.last_run(tmp_path)
    assert run["versions"] == {"torch": "2.11.0"}
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+ 20\d\d", run["date"])
