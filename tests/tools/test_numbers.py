"""Sections of a chapter's matter are counted, and those that every chapter has are not."""

from tools.numbers import section_numbers


def test_what_is_no_part_of_the_matter_has_no_number():
    headings = [(1, "Masks"), (2, "Causal"), (1, "Summary"), (2, "In short"), (1, "Cost")]
    assert [*section_numbers(headings, counted=3)] == [(4,), (4, 1), (), (), (5,)]
