"""Zenodo's record of a release, `.zenodo.json`, made from CITATION.cff by `make release`.

Zenodo would read CITATION.cff itself, but as software: a citation file knows no lessons. Where this
file is, Zenodo reads it alone.
"""

import json
from pathlib import Path

import yaml

from tools.urls import ROOT

CITATION, RECORD = "CITATION.cff", ".zenodo.json"


def creator(author: dict) -> dict:
    """An author of CITATION.cff, a person or a group, as Zenodo names it."""
    if "name" in author:
        return {"name": author["name"]}
    return {"name": f"{author['family-names']}, {author['given-names']}"}


def record(root: Path = ROOT) -> str:
    """The text of the record, from the course's citation."""
    citation = yaml.safe_load((root / CITATION).read_text("utf-8"))
    metadata = {
        "upload_type": "lesson",
        "title": citation["title"],
        "description": citation["abstract"],
        "creators": [creator(author) for author in citation["authors"]],
        "keywords": citation["keywords"],
        "license": citation["license"],
    }
    return json.dumps(metadata, ensure_ascii=False, indent=2) + "\n"


def write(root: Path = ROOT) -> list[Path]:
    """Write the record if it is not as the citation makes it; gives what was written."""
    path, text = root / RECORD, record(root)
    if path.exists() and path.read_text("utf-8") == text:
        return []
    path.write_text(text, "utf-8")
    return [path]
