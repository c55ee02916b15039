"""The course knows where it lives."""

import subprocess

import pytest

from tools import urls

HERE, OTHER = "https://github.com/someone/course", "https://github.com/other/place"


def clone(folder, remote):
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "remote", "add", "origin", remote], check=True)


@pytest.mark.parametrize(
    ("remote", "repository"),
    {
        OTHER: OTHER,
        f"{OTHER}.git": OTHER,
        "https://user:secret@github.com/other/place.git/": OTHER,
        "git@github.com:other/place.git": OTHER,
        "github.com:other/place.git": OTHER,
        "ssh://git@github.com/other/place": OTHER,
        "ssh://git@github.com:22/other/place.git": OTHER,
        # elsewhere, which leaves it to the configuration
        "https://gitlab.com/a/b.git": HERE,
        "/srv/git/github.com": HERE,
    }.items(),
)
def test_origin_is_read_in_every_spelling_and_no_repository_around_the_course(
    tmp_path, remote, repository
):
    clone(tmp_path, OTHER)
    course = tmp_path / "course"
    course.mkdir()
    (course / "_config.yml").write_text(f"repository: {{url: {HERE}}}\n")
    assert urls.repository_url(course, {}) == HERE
    clone(course, remote)
    assert urls.repository_url(course, {}) == repository


@pytest.mark.parametrize(
    ("repository", "site"),
    [
        ("https://github.com/Some/Course", "https://some.github.io/Course"),
        ("https://github.com/some/some.github.io", "https://some.github.io"),
    ],
)
def test_the_site_lives_on_the_pages_of_the_repository(repository, site):
    assert urls.site_url(repository) == site


def test_an_error_is_reported_where_there_is_a_form_for_it():
    url = urls.issue_url(HERE, section="1.1. Keys & values")
    assert url == f"{HERE}/issues/new?template=error.yml&section=1.1.+Keys+%26+values"
    assert urls.issue_url("https://gitlab.com/a/b", section="") == ""
