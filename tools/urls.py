"""Where the course lives. Buttons, set-up cells and links all ask here."""

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
# in any of git's spellings
GITHUB = re.compile(r"(?:.*[@/])?github\.com(?::\d+)?[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?")
# in .github/ISSUE_TEMPLATE; the names of its fields are those of the link's parts
ERROR_FORM = "error.yml"


def repository_url(root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> str:
    """The repository's web address: CI's environment, else git's origin, else `_config.yml`.

    An origin that is not on GitHub is passed over.
    """
    if name := environ.get("GITHUB_REPOSITORY"):
        return f"https://github.com/{name}"
    # told where to look, git does not answer for a repository around an unpacked archive
    command = ["git", f"--git-dir={root / '.git'}", "config", "--get", "remote.origin.url"]
    if shutil.which("git"):
        origin = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        if found := GITHUB.fullmatch(origin):
            return f"https://github.com/{found[1]}"
    return settings(root)["url"].rstrip("/")


def site_url(repository: str) -> str:
    """The address of the GitHub pages that a repository publishes, without a final slash."""
    owner, name = repository.rsplit("/", 2)[-2:]
    host = f"{owner.lower()}.github.io"
    return f"https://{host}" if name.lower() == host else f"https://{host}/{name}"


def colab_url(name: str, repository: str | None = None, root: Path = ROOT) -> str:
    """The address at which Colab opens a notebook of the repository: by default, this one's."""
    owner, project = (repository or repository_url(root)).rsplit("/", 2)[-2:]
    place = f"{owner}/{project}/blob/{branch(root)}/{name}"
    return f"https://colab.research.google.com/github/{place}"


def issue_url(repository: str, **fields: str) -> str:
    """Where to report an error to a repository, in a form with these fields filled in.

    Nothing, if the repository is not on GitHub, which alone has such forms.
    """
    asked = urlencode({"template": ERROR_FORM, **fields})
    return f"{repository}/issues/new?{asked}" if GITHUB.fullmatch(repository) else ""


def branch(root: Path = ROOT) -> str:
    """The branch that links point to."""
    return settings(root).get("branch", "main")


@functools.cache
def settings(root: Path) -> dict:
    """What `_config.yml` says of the repository."""
    return yaml.safe_load((root / "_config.yml").read_text("utf-8"))["repository"]
