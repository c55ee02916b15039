"""Where the course lives. Buttons, badges, set-up cells and links all ask here."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
GITHUB = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^@/\s]+@)?github\.com(?::\d+)?[:/]"
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)


def repository_url(root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> str:
    """The repository's web address: CI's environment, else git's origin, else `_config.yml`.

    An origin that is not on GitHub is passed over.
    """
    if name := environ.get("GITHUB_REPOSITORY"):
        return f"{environ.get('GITHUB_SERVER_URL', 'https://github.com').rstrip('/')}/{name}"
    return web_address(origin(root)) or settings(root)["repository"]["url"].rstrip("/")


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


def branch(root: Path = ROOT) -> str:
    """The branch that links point to."""
    return settings(root)["repository"].get("branch", "main")


def web_address(remote: str) -> str | None:
    """A GitHub remote, in any of git's spellings, as a web address; None for any other."""
    found = GITHUB.fullmatch(remote)
    return f"https://github.com/{found['owner']}/{found['name']}" if found else None


def origin(root: Path) -> str:
    """What git calls origin, or an empty string."""
    # without this, git would answer for a repository around an unpacked archive
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "config", "--get", "remote.origin.url"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""


def settings(root: Path) -> dict:
    return yaml.safe_load((root / "_config.yml").read_text())
