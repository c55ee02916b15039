"""What a learner's test meets: right implementations, and wrong ones made of the first by edits."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch

from attncourse.checks.exercise import Case, Draw, Source

Edits = Sequence[tuple[str, str]]


def implementations(
    draw: Draw, name: str, kind: str, right: Mapping[str, Callable], wrong: Mapping[str, Edits]
) -> Iterator[Case]:
    """A case for each, under the name that the test calls it by.

    `right` goes by the words that say which; `wrong` by what a `kind`, such as "an attention",
    does, and holds the pieces of the first right one's text that are replaced.
    """
    plain = next(iter(right.values()))
    found = [(about, Source(function, name)) for about, function in right.items()]
    found += [(f"{kind} that {does}", edited(plain, name, edits)) for does, edits in wrong.items()]
    # in any order: a test that counts its calls learns nothing
    for place in torch.randperm(len(found), generator=draw.generator).tolist():
        about, source = found[place]
        yield Case(about, (source,), gradient=False)


def edited(function: Callable, name: str, edits: Edits) -> Source:
    """The function with pieces of its text replaced."""
    made = Source(function, name)
    for old, new in edits:
        if old not in made.source:
            raise ValueError(f"{function.__name__} has no {old!r} to replace")
        made.source = made.source.replace(old, new)
    return made
