"""What was handed in: every file of a folder, those within a zip too, and what each of them is."""

import contextlib
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path, PurePosixPath

from judge.grading.notebook.pristine import weight_files
from judge.grading.notebook.submitted_cells import NotGradableError

MAX_BYTES = 20_000_000
# of one zip: files, and bytes of all of them together
MAX_ZIP_FILES = 2000
MAX_ZIP_BYTES = 400_000_000
# characters in the name of a file in a zip: no system writes a longer one
MAX_NAME = 4096
# notebooks of one student that are graded
MAX_NOTEBOOKS = 100
KINDS = {
    ".py": "a Python file", ".md": "a Markdown text", ".txt": "a text", ".html": "a web page",
    ".pdf": "a PDF", ".docx": "a Word document", ".csv": "a table", ".json": "a JSON file",
    ".png": "a picture", ".jpg": "a picture", ".jpeg": "a picture", ".rar": "a rar archive",
    ".7z": "a 7z archive", ".gz": "a gzip archive", ".tar": "a tar archive",
}  # fmt: skip
WEIGHTS = ".safetensors"
# how a notebook or a zip ends, and what a browser or a phone puts behind that
ENDING = re.compile(r"\.(ipynb|zip)(\.\w+| ?\(\d+\)){0,5}$", re.IGNORECASE)
# no space of it goes beyond its line, or blank lines would be read again from each of them
ANSWERS = re.compile(rb"^[ \t]*#[ \t]*exercise:[ \t]*\w+", re.MULTILINE)


@dataclass(frozen=True)
class Submission:
    """One file that was handed in: a file on the disk, or a member of a zip there."""

    name: str
    path: Path
    member: zipfile.ZipInfo | None = None
    # all files of its zip, by the names that they have there
    members: Mapping[str, zipfile.ZipInfo] = field(default_factory=dict, repr=False, compare=False)

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()

    @property
    def is_notebook(self) -> bool:
        return self.suffix == ".ipynb"

    def beside(self, name: str) -> "Submission | None":
        """The file of that name in the same folder, or in the same folder of the zip."""
        if self.member is None:
            path = self.path.with_name(name)
            is_file = path.is_file() and not path.is_symlink()
            return Submission(name, path) if is_file else None
        wanted = str(PurePosixPath(self.member.filename).with_name(name))
        member = self.members.get(wanted)
        return replace(self, name=name, member=member) if member else None

    def weights(self) -> "Submission | None":
        """A capstone's weights, which lie beside it under its own name or the exercise's."""
        own = ENDING.sub("", PurePosixPath(self.name).name) + WEIGHTS
        return next(filter(None, map(self.beside, [own, *sorted(weight_files())])), None)

    def handed_in(self) -> tuple[bytes, bytes]:
        """All that is graded: the notebook, and its weights, empty where there are none."""
        weights = self.weights()
        return self.read(), weights.read() if weights else b""

    def read(self, archive: zipfile.ZipFile | None = None) -> bytes:
        """What is in it; NotGradableError where it is too large or cannot be read.

        Whoever has opened its zip already hands it in.
        """
        try:
            if self.member:
                opened = contextlib.nullcontext(archive) if archive else zipfile.ZipFile(self.path)
                with opened as inside, inside.open(self.member) as file:
                    # what the zip says of its size may be wrong
                    data = file.read(MAX_BYTES + 1)
            elif not self.path.is_file():
                raise NotGradableError("there is no such file")
            else:
                with self.path.open("rb") as file:
                    data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise NotGradableError(f"it cannot be read: {error.strerror}") from None
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, EOFError) as bad:
            if isinstance(bad, NotGradableError):
                raise
            raise NotGradableError(unreadable(bad)) from None
        if len(data) > MAX_BYTES:
            raise NotGradableError(f"it has more than {MAX_BYTES:,} bytes: clear its outputs")
        if not data.strip():
            raise NotGradableError("the file is empty")
        return data


@dataclass(frozen=True)
class LeftOut:
    """A file that is no notebook: a fault where it holds answers, or ought to be one."""

    name: str
    why: str
    fault: bool


def handed_in(paths: list[Path]) -> Iterator[Submission | LeftOut]:
    """The files as given, and every file below the folders, in order, each of them once.

    A file of a single folder is named by its place there; no two names are the same.
    """
    seen, times = set(), Counter()
    for root in paths:
        for path in files_below(root) if root.is_dir() else [root]:
            if path in seen:
                continue
            seen.add(path)
            name = path.relative_to(root) if len(paths) == 1 and root.is_dir() else path
            for one in contents(path, shown(name), not root.is_dir()):
                times[one.name] += 1
                again = times[one.name]
                yield one if again == 1 else replace(one, name=f"{one.name} ({again})")


def in_turns(files: list[Submission], owner: Callable[[str], Hashable]) -> list[Submission]:
    """First one notebook of each owner, then a second one: nobody waits for another's many."""
    own: dict[Hashable, list[Submission]] = {}
    for file in files:
        own.setdefault(owner(file.name), []).append(file)
    return [one for turn in zip_longest(*own.values()) for one in turn if one]


def within_bounds(
    files: list[Submission], owner: Callable[[str], Hashable]
) -> tuple[list[Submission], list[LeftOut]]:
    """The notebooks that are graded, and those that are too many for one owner."""
    times: Counter[Hashable] = Counter()
    graded, left = [], []
    for file in files:
        times[owner(file.name)] += 1
        if times[owner(file.name)] > MAX_NOTEBOOKS:
            why = f"too many: only the first {MAX_NOTEBOOKS} notebooks of a student are graded"
            left.append(LeftOut(file.name, why, True))
        else:
            graded.append(file)
    return graded, left


def files_below(folder: Path) -> list[Path]:
    """Every file, but those of programs: hidden ones, and folders of caches."""
    found = []
    for here, folders, names in os.walk(folder):
        folders[:] = [n for n in folders if not n.startswith((".", "__"))]
        found += [Path(here, name) for name in names if not name.startswith(".")]
    return sorted(found)


def contents(path: Path, name: str, named: bool) -> Iterator[Submission | LeftOut]:
    """What one file holds: itself, or a zip's notebooks. A file that was named is a notebook."""
    file = Submission(name, path)
    if not named and (path.is_symlink() or not path.is_file()):
        # it would hand in what lies elsewhere, such as another student's file
        yield LeftOut(name, "a link or a device, not a file", True)
    elif zipped(file):
        yield from members(path, name)
    elif named or file.is_notebook:
        yield file
    else:
        yield other(file)


def zipped(file: Submission) -> bool:
    """Whether a file is to be opened as a zip: one that is called so, or that holds notebooks.

    Other files are zips, too, such as a Word document.
    """
    with contextlib.suppress(OSError), file.path.open("rb") as opened:
        begins = opened.read(4)
        if file.suffix == ".zip":
            return not begins.startswith(b"{")
        return begins == b"PK\x03\x04" and bool(
            ENDING.search(file.name) or zip_has_notebook(file.path)
        )
    return file.suffix == ".zip"


def zip_has_notebook(path: Path) -> bool:
    """Whether a notebook is in a zip, as far as it can be read."""
    with contextlib.suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        with zipfile.ZipFile(path) as archive:
            return any(".ipynb" in name.lower() for name in archive.namelist())
    return False


def members(path: Path, name: str) -> Iterator[Submission | LeftOut]:
    """The files in a zip. Nothing is unpacked: each is read from where it lies."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as bad:
        yield LeftOut(name, unreadable(bad), True)
        return
    with archive:
        inside = [one for one in archive.infolist() if not one.is_dir()]
        inside = [one for one in inside if not hidden(one.filename)]
        if why := unfit(inside):
            yield LeftOut(name, why, True)
            return
        # the first of a name, as the system would find it
        named = {one.filename: one for one in reversed(inside)}
        files = [Submission(f"{name}/{shown(one.filename)}", path, one, named) for one in inside]
        found = [within(one, archive) for one in files]
    if any(isinstance(one, Submission) for one in found):
        yield from found
    else:
        yield LeftOut(name, "a zip without a notebook", True)


def within(file: Submission, archive: zipfile.ZipFile) -> Submission | LeftOut:
    """What a member of a zip is."""
    if file.suffix == ".zip":
        return LeftOut(file.name, "a zip within a zip: unpack it", True)
    return file if file.is_notebook else other(file, archive)


def unfit(inside: list[zipfile.ZipInfo]) -> str:
    """Why nothing is taken out of a zip with these files; "" where it is."""
    if len(inside) > MAX_ZIP_FILES:
        return f"a zip of {len(inside):,} files, more than {MAX_ZIP_FILES:,}"
    if sum(one.file_size for one in inside) > MAX_ZIP_BYTES:
        return f"a zip that unpacks to more than {MAX_ZIP_BYTES:,} bytes"
    if (longest := max((len(one.filename) for one in inside), default=0)) > MAX_NAME:
        return f"a zip with a name of {longest:,} characters, more than {MAX_NAME:,}"
    return ""


def hidden(name: str) -> bool:
    return any(part.startswith((".", "__")) and part != ".." for part in name.split("/"))


def other(file: Submission, archive: zipfile.ZipFile | None = None) -> Submission | LeftOut:
    """What a file is that is not named as a notebook: one all the same, or if it holds answers."""
    if file.suffix == WEIGHTS:
        return LeftOut(file.name, "weights, which are graded with the notebook beside them", False)
    kind = KINDS.get(file.suffix, "no notebook")
    try:
        data = file.read(archive)
    except NotGradableError:
        data = b""
    if holds_notebook(data):
        return file
    if ANSWERS.search(data):
        return LeftOut(file.name, f"{kind} with answers in it: only notebooks are graded", True)
    return LeftOut(file.name, f"{kind}: only notebooks are graded", False)


def holds_notebook(data: bytes) -> bool:
    """Whether a file holds what a notebook does, in whatever encoding, whole or not."""
    text = data.replace(b"\0", b"")
    begins = text.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"{")
    return begins and b'"cells"' in text and b'"cell_type"' in text


def unreadable(bad: Exception) -> str:
    if isinstance(bad, RuntimeError) and "password" in str(bad):
        return "a zip with a password"
    return "a broken zip"


def shown(path: Path | str) -> str:
    """A name as text that every file and terminal takes: what is not UTF-8 is spelt out."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
