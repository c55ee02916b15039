"""The web addresses of the repository, the site, notebooks elsewhere and the form for errors."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

import yaml

ROOT = Path(__file__).parents[1]
# in each form that git accepts: https, ssh, scp
GITHUB_URL = re.compile(r"(?:.*[@/])?github\.com(?::\d+)?[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?")
# in .github/ISSUE_TEMPLATE; the ids of its fields are the parameters of the link
ERROR_FORM = "error.yml"


def repository_url(root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> str:
    """The repository's web address: CI's environment, else git's origin, else `_config.yml`.

    An origin that is not on GitHub is ignored.
    """
    if name := environ.get("GITHUB_REPOSITORY"):
        return f"https://github.com/{name}"
    # with --git-dir, git ignores a repository around an unpacked archive
    command = ["git", f"--git-dir={root / '.git'}", "config", "--get", "remote.origin.url"]
    if shutil.which("git"):
        origin = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        if match := GITHUB_URL.fullmatch(origin):
            return f"https://github.com/{match[1]}"
    return repository_settings(root)["url"].rstrip("/")


def site_url(repository: str) -> str:
    """The address of the GitHub pages that a repository publishes, without a final slash."""
    owner, name = repository.rsplit("/", 2)[-2:]
    host = f"{owner.lower()}.github.io"
    return f"https://{host}" if name.lower() == host else f"https://{host}/{name}"


def colab_url(name: str, repository: str | None = None, root: Path = ROOT) -> str:
    """The address at which Colab opens a notebook of the repository: by default, this one's."""
    file = github_file(name, "blob/", repository, root)
    return f"https://colab.research.google.com/github/{file}"


def molab_url(name: str) -> str:
    """The address at which molab opens a notebook of this repository."""
    return f"https://molab.marimo.io/github/{github_file(name, 'blob/')}"


def kaggle_url(name: str) -> str:
    """The address at which Kaggle copies a notebook of this repository into a new one."""
    source = f"https://raw.githubusercontent.com/{github_file(name)}"
    return f"https://kaggle.com/kernels/welcome?src={source}"


def github_file(name: str, view: str = "", repository: str | None = None, root: Path = ROOT) -> str:
    """The path of a file on GitHub and on sites that follow it: by default, this repository's."""
    owner, project = (repository or repository_url(root)).rsplit("/", 2)[-2:]
    return f"{owner}/{project}/{view}{branch(root)}/{name}"


def issue_url(repository: str, **fields: str) -> str:
    """The address of the form that reports an error, with these fields filled in.

    It is empty if the repository is not on GitHub.
    """
    query = urlencode({"template": ERROR_FORM, **fields})
    return f"{repository}/issues/new?{query}" if GITHUB_URL.fullmatch(repository) else ""


def branch(root: Path = ROOT) -> str:
    """The branch that links point to."""
    return repository_settings(root).get("branch", "main")


@functools.cache
def repository_settings(root: Path) -> dict:
    """The section `repository` of `_config.yml`."""
    return yaml.safe_load((root / "_config.yml").read_text("utf-8"))["repository"]
