"""The course knows where it lives."""

import subprocess

import pytest

from tools import urls

HERE = "https://github.com/someone/course"


@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/someone/course",
        "https://github.com/someone/course.git",
        "https://user:secret@github.com/someone/course.git/",
        "git@github.com:someone/course.git",
        "ssh://git@github.com/someone/course",
        "ssh://git@github.com:22/someone/course.git",
    ],
)
def test_origin_is_read_in_every_spelling(course, remote):
    subprocess.run(["git", "init", "-q", course], check=True)
    subprocess.run(["git", "-C", course, "remote", "add", "origin", remote], check=True)
    (course / "_config.yml").write_text("repository: {url: https://github.com/other/place}")
    assert urls.repository_url(course, {}) == HERE


@pytest.mark.parametrize("remote", ["https://gitlab.com/a/b.git", "/srv/git/github.com", "", None])
def test_an_origin_elsewhere_leaves_it_to_the_configuration(course, remote):
    if remote is not None:
        subprocess.run(["git", "init", "-q", course], check=True)
    if remote:
        subprocess.run(["git", "-C", course, "remote", "add", "origin", remote], check=True)
    assert urls.repository_url(course, {}) == HERE


def test_a_repository_around_the_course_is_not_asked(course):
    subprocess.run(["git", "init", "-q", course], check=True)
    command = ["git", "-C", course, "remote", "add", "origin", "https://github.com/other/place"]
    subprocess.run(command, check=True)
    inner = course / "unpacked"
    inner.mkdir()
    (inner / "_config.yml").write_text((course / "_config.yml").read_text())
    assert urls.repository_url(inner, {}) == HERE


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({"GITHUB_REPOSITORY": "a/b"}, "https://github.com/a/b"),
        (
            {"GITHUB_REPOSITORY": "a/b", "GITHUB_SERVER_URL": "https://git.example.org/"},
            "https://git.example.org/a/b",
        ),
    ],
)
def test_the_environment_of_ci_comes_first(course, environ, wanted):
    assert urls.repository_url(course, environ) == wanted


@pytest.mark.parametrize(
    ("repository", "site"),
    [
        ("https://github.com/Some/Course", "https://some.github.io/Course"),
        ("https://github.com/some/some.github.io", "https://some.github.io"),
    ],
)
def test_the_site_lives_on_the_pages_of_the_repository(repository, site):
    assert urls.site_url(repository) == site
