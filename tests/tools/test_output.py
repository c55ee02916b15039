"""From what Sphinx made to the site: only good builds, only whole files, one zip."""

import os
import zipfile

import pytest

from tools.output import ZIP, copy_changes, kept_if_good, write_zip


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read(folder):
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


def test_only_what_differs_is_written_and_what_is_gone_is_removed(tmp_path):
    site = write(tmp_path / "site", {"index.html": "same", "a/one.html": "old", "gone.html": ""})
    made = write(tmp_path / "made", {"index.html": "same", "a/one.html": "new", "b/two.css": "2"})
    os.utime(site / "index.html", (1, 1))
    copy_changes(write(made, {".buildinfo": "for Sphinx"}), site)
    assert read(site) == {"index.html": "same", "a/one.html": "new", "b/two.css": "2"}
    assert (site / "index.html").stat().st_mtime == 1


def test_a_good_build_is_kept(tmp_path):
    for text in ("first", "second"):
        with kept_if_good(tmp_path / "work", "pages") as work:
            assert read(work) == ({} if text == "first" else {"page": "first", "frame": "pages"})
            write(work, {"page": text})
    assert read(tmp_path) == {"work/page": "second", "work/frame": "pages"}


def work_and_fail(folder, text):
    with pytest.raises(ValueError), kept_if_good(folder, "pages") as work:
        write(work, {"page": text})
        raise ValueError


def test_after_a_failure_the_next_build_starts_from_the_last_good_one(tmp_path):
    work_and_fail(tmp_path / "work", "never good")
    with kept_if_good(tmp_path / "work", "pages") as work:
        assert read(work) == {}
        write(work, {"page": "good"})
    for text in ("bad", "worse"):
        work_and_fail(tmp_path / "work", text)
    with kept_if_good(tmp_path / "work", "pages") as work:
        assert read(work) == {"page": "good", "frame": "pages"}


def test_a_failure_with_other_pages_leaves_what_was_there(tmp_path):
    with kept_if_good(tmp_path / "work", "one") as work:
        write(work, {"page": "good"})
    with pytest.raises(ValueError), kept_if_good(tmp_path / "work", "one two"):
        raise ValueError
    with kept_if_good(tmp_path / "work", "one") as work:
        assert read(work) == {"page": "good", "frame": "one"}


def test_with_other_pages_nothing_is_kept(tmp_path):
    with kept_if_good(tmp_path / "work", "one two") as work:
        write(work, {"two.html": ""})
    with kept_if_good(tmp_path / "work", "one") as work:
        assert read(work) == {}


def test_the_zip_is_the_same_for_the_same_site_and_its_links_hold(tmp_path):
    link = '<a href="{}attncourse.zip" download>'
    pages = {"index.html": link.format(""), "a/one.html": link.format("../"), "a/b.css": "b"}
    for name, when in (("first", 10**9), ("second", 2 * 10**9)):
        site = write(tmp_path / name, pages)
        for path in site.rglob("*"):
            os.utime(path, (when, when))
        # the second time the zip of the first is there
        for _ in range(2):
            write_zip(site, site / ZIP, "https://someone.github.io/fork")
    assert (tmp_path / "first" / ZIP).read_bytes() == (tmp_path / "second" / ZIP).read_bytes()
    with zipfile.ZipFile(tmp_path / "first" / ZIP) as archive:
        archive.extractall(tmp_path / "there")
    there = link.format("https://someone.github.io/fork/")
    assert read(tmp_path / "there") == {
        "attncourse/index.html": there,
        "attncourse/a/one.html": there,
        "attncourse/a/b.css": "b",
    }
