"""Each claim notices a wrong function: the tables are in `false_of`, one for each chapter."""

from importlib import import_module

import pytest

from attncourse.course.claim import claims

CHAPTERS = sorted({claim.id.partition(".")[0] for claim in claims()})
TABLES = {
    chapter: import_module(f"tests.course.false_of.{chapter}").FALSE_OF for chapter in CHAPTERS
}
# each claim with one name that the chapter's claims call, or one in full, and what is put there
WRONG = [
    pytest.param(chapter, name, replaced, wrong, id=f"{chapter}.{name}-{replaced}")
    for chapter, table in TABLES.items()
    for name, patches in table.items()
    for replaced, wrong in (patches if isinstance(patches, list) else [patches])
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("chapter", "name", "replaced", "wrong"), WRONG)
def test_a_claim_does_not_hold_of_a_wrong_function(chapter, name, replaced, wrong, monkeypatch):
    page = import_module(f"attncourse.course.{chapter}.claims")
    place = replaced if "." in replaced else f"{page.__name__}.{replaced}"
    monkeypatch.setattr(place, wrong)
    assert not getattr(page, name).measure().measured.holds


def test_every_claim_about_the_package_has_a_wrong_function():
    noticed = {f"{chapter}.{name}" for chapter, table in TABLES.items() for name in table}
    assert {claim.id for claim in claims()} == noticed
