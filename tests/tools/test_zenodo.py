"""What Zenodo is told of a release."""

import json

from tests import ROOT
from tools import zenodo

CITATION = """
title: "Signals: a course"
abstract: >-
  Two
  lines.
authors:
  - name: The authors
  - {given-names: Ada, family-names: Lovelace, orcid: https://orcid.org/0000}
license: MIT
keywords: [signals, été]
"""


def test_the_record_in_the_tree_is_up_to_date():
    assert (ROOT / zenodo.RECORD).read_text("utf-8") == zenodo.record(), "run `make release`"


def test_zenodo_gets_a_lesson_with_the_facts_of_the_citation(tmp_path):
    (tmp_path / zenodo.CITATION).write_text(CITATION, "utf-8")
    assert zenodo.write(tmp_path) == [tmp_path / zenodo.RECORD]
    assert json.loads((tmp_path / zenodo.RECORD).read_text("utf-8")) == {
        "upload_type": "lesson",
        "title": "Signals: a course",
        "description": "Two lines.",
        "creators": [{"name": "The authors"}, {"name": "Lovelace, Ada"}],
        "keywords": ["signals", "été"],
        "license": "MIT",
    }
    assert zenodo.write(tmp_path) == []
