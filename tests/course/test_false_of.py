"""Each claim notices a wrong function: the tables are in `false_of`, one for each chapter."""

from importlib import import_module

import pytest

from attncourse.course.claim import claims

CHAPTERS = sorted({claim.id.partition(".")[0] for claim in claims()})
TABLES = {
    chapter: import_module(f"tests.course.false_of.{chapter}").FALSE_OF for chapter in CHAPTERS
}
# each claim with a name that the chapter's claims call, or a full path, and its replacement
WRONG_FUNCTIONS = [
    pytest.param(chapter, name, target_name, wrong_function, id=f"{chapter}.{name}-{target_name}")
    for chapter, table in TABLES.items()
    for name, patches in table.items()
    for target_name, wrong_function in (patches if isinstance(patches, list) else [patches])
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("chapter", "name", "target_name", "wrong_function"), WRONG_FUNCTIONS)
def test_a_claim_does_not_hold_of_a_wrong_function(
    chapter, name, target_name, wrong_function, monkeypatch
):
    page = import_module(f"attncourse.course.{chapter}.claims")
    target = target_name if "." in target_name else f"{page.__name__}.{target_name}"
    monkeypatch.setattr(target, wrong_function)
    assert not getattr(page, name).measure().measured.holds


def test_every_claim_about_the_package_has_a_wrong_function():
    tested_ids = {f"{chapter}.{name}" for chapter, table in TABLES.items() for name in table}
    assert {claim.id for claim in claims()} == tested_ids
