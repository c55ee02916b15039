"""The parts of the whole model: every chapter has a place in it."""

from string import Formatter

from attncourse.course.whole import PARTS, addresses_of, parts_of
from tests import ROOT
from tests.test_layout import slugs


def test_every_chapter_builds_a_part_of_the_whole_model_or_stands_in_place_of_one():
    without_place = [slug for slug in slugs(ROOT) if not any(parts_of(slug))]
    assert not without_place, (
        f"{without_place}: say in attncourse/course/whole.py which part of the whole model the "
        "chapter builds, or what it has instead of one"
    )


def test_parts_name_chapters_of_the_course_alone():
    addresses = {
        address
        for part in PARTS.values()
        for address in (*part.built, *part.instead, *([part.equation] if part.equation else []))
    }
    assert {address.partition("#")[0] for address in addresses} <= {*slugs(ROOT)}
    assert all(part.built for part in PARTS.values())


def test_a_chapter_has_its_own_parts():
    # what it builds itself is not named as replaced
    assert parts_of("relative") == (["rope"], {})
    assert parts_of("recurrence") == ([], {"block": "the layers of an LSTM"})
    assert parts_of("a_chapter_of_a_fork") == ([], {})
    # a slug that begins another is another chapter
    assert addresses_of({"relative#rope": "RoPE"}, "rel") == []


def test_a_sentence_has_numbers_or_names_of_the_readers_text():
    for name, part in PARTS.items():
        assert [field for _, field, *_ in Formatter().parse(part.says) if field], name
