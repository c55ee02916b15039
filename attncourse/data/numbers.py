"""Numbers and their names in several languages, by the library num2words: a task of translation.

Below a million, a German name is one long word, so it is split into the parts that it is made of.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Int
from torch import Tensor

from attncourse.data.batches import NO_LABEL, PADDING, by_length, numbered, padded

START, END = 1, 2
GERMAN = re.compile(
    "millionen|million|milliarden|milliarde|tausend|hundert|zehn|zwanzig|zig|ßig|und|null|"
    "eins|eine|ein|zwei|drei|vier|fünf|sechs|sech|sieben|sieb|acht|neun|elf|zwölf"
)
WORD = re.compile(r"[^\W\d_]+")
LANGUAGES = {"english": "en", "german": "de", "french": "fr"}
# of the numbers to test with, how many English words they have
LENGTHS = {"up to 10 words": (1, 10), "11 to 14": (11, 14), "15 and more": (15, 99)}


@cache
def name(number: int, language: str) -> tuple[str, ...]:
    """The words of a number's name; a German one's parts."""
    if language not in LANGUAGES:
        raise ValueError(f"language={language!r} is none of {', '.join(LANGUAGES)}")
    try:
        from num2words import num2words
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "num2words names the numbers, and is not installed: pip install num2words"
        ) from None
    said = num2words(number, lang=LANGUAGES[language]).lower()
    return tuple((GERMAN if language == "german" else WORD).findall(said))


def draw(random: random.Random) -> int:
    """A number below 10^12; each of its groups of three digits is empty half the time."""
    groups = [random.randrange(1, 1000) * (random.random() < 0.5) for _ in range(4)]
    return sum(group * 1000**i for i, group in enumerate(groups))


def numbers(train: int, test: int, seed: int) -> tuple[list[int], dict[str, list[int]]]:
    """Numbers of at most 10 English words to train with, and others to test with, by length.

    Training has all numbers below 100, and none that is tested.
    """
    if train < 99 or test < 1:
        raise ValueError(f"train={train} must be at least 99, and test={test} at least 1")
    rng, learned = random.Random(seed), set(range(1, 100))
    tested: dict[str, set[int]] = {name: set() for name in LENGTHS}
    while len(learned) < train or min(map(len, tested.values())) < test:
        number = draw(rng)
        if not number or number in learned or any(number in found for found in tested.values()):
            continue
        words = len(name(number, "english"))
        if words <= LENGTHS["up to 10 words"][1] and len(learned) < train:
            learned.add(number)
            continue
        for length, (least, most) in LENGTHS.items():
            if least <= words <= most and len(tested[length]) < test:
                tested[length].add(number)
    return sorted(learned), {length: sorted(found) for length, found in tested.items()}


@dataclass(frozen=True)
class Pairs:
    """Names in two languages as numbers; the labels are the target, one word further."""

    source: Int[Tensor, "batch m"]
    lengths: Int[Tensor, "batch"]
    target: Int[Tensor, "batch n"]
    labels: Int[Tensor, "batch n"]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What a model reads."""
        return self.source, self.target, self.lengths


class Words:
    """Numbers for the words of two languages: 0 is padding, 1 the start, 2 the end."""

    def __init__(self, examples: Iterable[int], source: str, target: str):
        examples, self.languages = list(examples), (source, target)
        self.source, self.target = (
            numbered({word for number in examples for word in name(number, language)}, start=3)
            for language in self.languages
        )

    def pairs(self, examples: Sequence[int], device: torch.device | str | None = None) -> Pairs:
        """The names of these numbers; ValueError for a word that training did not have."""
        source, target = (
            [[number_of(word, table) for word in name(number, language)] for number in examples]
            for language, table in zip(self.languages, (self.source, self.target), strict=True)
        )
        return Pairs(
            padded(source, PADDING, device),
            torch.tensor([len(words) for words in source], device=device),
            padded([[START, *words] for words in target], PADDING, device),
            padded([[*words, END] for words in target], NO_LABEL, device),
        )

    def batches(
        self,
        examples: Sequence[int],
        size: int,
        g: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> Iterator[Pairs]:
        """All numbers once, those of like lengths together; with a generator, in random order."""
        lengths = [len(name(number, self.languages[0])) for number in examples]
        for places in by_length(lengths, size, g):
            yield self.pairs([examples[i] for i in places], device)

    def spelt(self, tokens: Sequence[int]) -> str:
        """The words of a translation, up to its end."""
        words = {i: word for word, i in self.target.items()}
        until = tokens[: list(tokens).index(END)] if END in tokens else tokens
        return " ".join(words.get(i, "?") for i in until)


def number_of(word: str, table: dict[str, int]) -> int:
    if word not in table:
        raise ValueError(f"{word!r} is not one of the {len(table)} words of training")
    return table[word]
