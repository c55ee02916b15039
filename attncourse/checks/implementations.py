"""What a learner's test meets: right implementations, and wrong ones made of the first by edits."""

from collections.abc import Callable, Iterator, Mapping

import torch

from attncourse.checks.exercise import Case, Draw, Source
from attncourse.checks.variants import replaced, source_of


def implementations(
    draw: Draw,
    name: str,
    kind: str,
    right: Mapping[str, Callable],
    wrong: Mapping[str, tuple[str, ...]],
) -> Iterator[Case]:
    """A case for each, under the name that the test calls it by.

    `right` goes by the words that say which; `wrong` by what a `kind`, such as "an attention",
    does, and holds the pieces of the first right one's text, each with what takes its place.
    """
    plain = next(iter(right.values()))
    found = [(said, source_of(function)) for said, function in right.items()]
    found += [(f"{kind} that {does}", replaced(plain, *edits)) for does, edits in wrong.items()]
    # in any order: a test that counts its calls learns nothing
    for place in torch.randperm(len(found), generator=draw.generator).tolist():
        said, text = found[place]
        yield Case(said, (Source(text, name),), gradient=False)
