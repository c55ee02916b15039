"""Forty texts of the stored GPT and forty of the trigram, marked by readers who don't know whose.

    python benchmarks/language_samples.py > sheet.txt           # the 80 texts, mixed and numbered
    python benchmarks/language_samples.py first.txt second.txt  # what two readers made of them

A reader's file has a line for each number of the sheet: the number, and English, nearly or not.
"""

import csv
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from runs import write_page
from timing import RESULTS

from attncourse.course.language_model.claims import count_back_off
from attncourse.data.addresses import addresses
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import DECADES, Windower
from attncourse.figures.writer import SUGGESTIONS
from attncourse.language_model import load_language_model
from attncourse.stored import load_weights
from attncourse.transformer import sample

SEEDS, LENGTH, TEMPERATURE = 40, 40, 0.8
MARKS = ("English", "nearly", "not")
PATH = RESULTS / "language_samples.csv"


class Text(NamedTuple):
    """What a model wrote from a seed, after a beginning, as in a decade."""

    by: str
    seed: int
    decade: int
    begun: str
    text: str


def drawn() -> Iterator[Text]:
    """The texts as they come: none is drawn twice, and none left out."""
    windowed = Windower(stored_pairs())
    weights, held = load_weights("english")
    gpt = load_language_model(weights, held["heads"]).eval()
    trigram = count_back_off(3, addresses().train, windowed)
    for by, model in (("GPT", gpt), ("trigram", trigram)):
        for seed in range(SEEDS):
            # five steps along a ring of 24 reach every decade
            decade, begun = DECADES[5 * seed % len(DECADES)], SUGGESTIONS[seed % len(SUGGESTIONS)]
            g = torch.Generator().manual_seed(seed)
            row = windowed.prefix(decade) + windowed.pairs.encode(begun)
            start = len(row)
            with torch.no_grad():
                while len(row) < start + LENGTH:
                    scores = model(torch.tensor([row]))[:, -1, : len(windowed.pairs)]
                    row.append(int(sample(scores, g, TEMPERATURE)))
            yield Text(by, seed, decade, begun, windowed.pairs.decode(row[start:]))


def sheet(texts: list[Text]) -> list[Text]:
    """The texts in the order of the sheet, in which nobody sees whose they are."""
    return random.Random(0).sample(texts, len(texts))


def marks_of(path: Path, count: int) -> list[str]:
    """A reader's mark for each number of the sheet."""
    found = dict(line.split() for line in path.read_text("utf-8").splitlines() if line.strip())
    numbers = [str(i + 1) for i in range(count)]
    wrong = [f"{i} {found.get(i)}" for i in numbers if found.get(i) not in MARKS]
    if wrong or len(found) != count:
        raise SystemExit(f"{path} has {len(found)} marks for {count} texts; wrong: {wrong[:5]}")
    return [found[i] for i in numbers]


def write_results(texts: list[Text], readers: list[list[str]]) -> None:
    """Each text with its marks, and how many have which."""
    marked = sorted(zip(texts, *readers, strict=True), key=lambda one: one[0][:2])
    with PATH.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*Text._fields, *(f"reader {i + 1}" for i in range(len(readers)))))
        writer.writerows((*text, *marks) for text, *marks in marked)
    lines = []
    for by in ("GPT", "trigram"):
        marks = [one[1:] for one in marked if one[0].by == by]
        good = sum("not" not in of_text for of_text in marks)
        each = (Counter(of_reader) for of_reader in zip(*marks, strict=True))
        counts = (", ".join(str(found[mark]) for mark in MARKS) for found in each)
        lines.append((by, *counts, good, len(marks)))
    text = [
        "# What readers make of the texts that models write",
        f"{SEEDS} tokens each from {SEEDS} seeds, at temperature {TEMPERATURE}, after the first "
        "words that the figure offers, in all decades; each text as it was drawn. Two language "
        "models read all texts mixed, without knowing whose they are, and marked each *English*, "
        "*nearly* or *not*.",
    ]
    each_reader = (f"reader {i + 1}: {', '.join(MARKS)}" for i in range(len(readers)))
    columns = (*each_reader, "English or nearly by both")
    write_page("language_samples", "language_samples", text, ("texts by", *columns, "of"), lines)


def main() -> None:
    texts = sheet([*drawn()])
    readers = [marks_of(Path(name), len(texts)) for name in sys.argv[1:]]
    if readers:
        write_results(texts, readers)
    else:
        for i, one in enumerate(texts):
            print(f"{i + 1}. {one.begun}{one.text}".replace("\n", " / "))


if __name__ == "__main__":
    main()
