"""The numbers of a chapter's sections, counted through its page and what goes deeper."""

from collections.abc import Iterable, Iterator

# sections that most chapters have, and that are no part of the matter
UNNUMBERED = {"Common mistakes", "Summary", "Exercises", "Sources", "What comes next"}


def section_numbers(
    headings: Iterable[tuple[int, str]], counted: int = 0
) -> Iterator[tuple[int, ...]]:
    """The number within its chapter of each heading below a page's title: its depth and words.

    `counted` sections stand on an earlier page. What is no part of the matter has no number.
    """
    count, of_matter = [counted], True
    for depth, words in headings:
        if depth == 1:
            of_matter = words not in UNNUMBERED
        if of_matter:
            count = [*count, *[0] * depth][:depth]
            count[-1] += 1
        yield tuple(count) if of_matter else ()
