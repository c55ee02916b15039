"""The course knows where it lives."""

import subprocess

import pytest

from tools import urls

REPOSITORY, OTHER_REPOSITORY = "https://github.com/someone/course", "https://github.com/other/place"


def clone(folder, remote):
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "remote", "add", "origin", remote], check=True)


@pytest.mark.parametrize(
    ("remote", "repository"),
    {
        OTHER_REPOSITORY: OTHER_REPOSITORY,
        f"{OTHER_REPOSITORY}.git": OTHER_REPOSITORY,
        "https://user:secret@github.com/other/place.git/": OTHER_REPOSITORY,
        "git@github.com:other/place.git": OTHER_REPOSITORY,
        "github.com:other/place.git": OTHER_REPOSITORY,
        "ssh://git@github.com/other/place": OTHER_REPOSITORY,
        "ssh://git@github.com:22/other/place.git": OTHER_REPOSITORY,
        # elsewhere, which leaves it to the configuration
        "https://gitlab.com/a/b.git": REPOSITORY,
        "/srv/git/github.com": REPOSITORY,
    }.items(),
)
def test_origin_is_read_in_every_spelling_and_no_repository_around_the_course(
    tmp_path, remote, repository
):
    clone(tmp_path, OTHER_REPOSITORY)
    course = tmp_path / "course"
    course.mkdir()
    (course / "_config.yml").write_text(f"repository: {{url: {REPOSITORY}}}\n")
    assert urls.repository_url(course, {}) == REPOSITORY
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
    url = urls.issue_url(REPOSITORY, section="1.1. Keys & values")
    assert url == f"{REPOSITORY}/issues/new?template=error.yml&section=1.1.+Keys+%26+values"
    assert urls.issue_url("https://gitlab.com/a/b", section="") == ""
