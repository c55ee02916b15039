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
    """A text that a model wrote from a seed, after a beginning, as in a decade."""

    by: str
    seed: int
    decade: int
    begun: str
    text: str


def generate_texts() -> Iterator[Text]:
    """Generate the texts: none is drawn twice, and none is left out."""
    windower = Windower(stored_pairs())
    weights, metadata = load_weights("english")
    gpt = load_language_model(weights, metadata["heads"]).eval()
    trigram = count_back_off(3, addresses().train, windower)
    for name, model in (("GPT", gpt), ("trigram", trigram)):
        for seed in range(SEEDS):
            # five steps along a ring of 24 reach every decade
            decade, prompt = DECADES[5 * seed % len(DECADES)], SUGGESTIONS[seed % len(SUGGESTIONS)]
            g = torch.Generator().manual_seed(seed)
            row = windower.prefix(decade) + windower.pairs.encode(prompt)
            start = len(row)
            with torch.no_grad():
                while len(row) < start + LENGTH:
                    scores = model(torch.tensor([row]))[:, -1, : len(windower.pairs)]
                    row.append(int(sample(scores, g, TEMPERATURE)))
            yield Text(name, seed, decade, prompt, windower.pairs.decode(row[start:]))


def shuffle(texts: list[Text]) -> list[Text]:
    """Shuffle the texts for the readers, who do not see which model wrote them."""
    return random.Random(0).sample(texts, len(texts))


def marks_of(path: Path, count: int) -> list[str]:
    """A reader's mark for each number of the sheet."""
    marks = dict(line.split() for line in path.read_text("utf-8").splitlines() if line.strip())
    numbers = [str(i + 1) for i in range(count)]
    faults = [f"{i} {marks.get(i)}" for i in numbers if marks.get(i) not in MARKS]
    if faults or len(marks) != count:
        raise SystemExit(f"{path} has {len(marks)} marks for {count} texts; wrong: {faults[:5]}")
    return [marks[i] for i in numbers]


def write_results(texts: list[Text], marks_by_reader: list[list[str]]) -> None:
    """Write each text with its marks, and the number of texts with each mark."""
    marked_texts = sorted(zip(texts, *marks_by_reader, strict=True), key=lambda row: row[0][:2])
    with PATH.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*Text._fields, *(f"reader {i + 1}" for i in range(len(marks_by_reader)))))
        writer.writerows((*text, *marks) for text, *marks in marked_texts)
    lines = []
    for model in ("GPT", "trigram"):
        marks = [row[1:] for row in marked_texts if row[0].by == model]
        for i, reader_marks in enumerate(zip(*marks, strict=True), 1):
            counts = Counter(reader_marks)
            lines.append((model, f"reader {i}", *(counts[mark] for mark in MARKS)))
        agreed = Counter(text_marks[0] for text_marks in marks if len({*text_marks}) == 1)
        lines.append((model, "both", *(agreed[mark] for mark in MARKS)))
    text = [
        "# What readers make of the texts that models write",
        f"{SEEDS} tokens each from {SEEDS} seeds, at temperature {TEMPERATURE}, after the first "
        "words that the figure offers, in all decades; each text as it was drawn. Two language "
        "models read all texts mixed, without knowing whose they are, and marked each *English*, "
        "*nearly* or *not*.",
    ]
    columns = ("texts by", "marked by", *MARKS)
    write_page("language_samples", "language_samples", text, columns, lines)


def main() -> None:
    texts = shuffle([*generate_texts()])
    marks_by_reader = [marks_of(Path(name), len(texts)) for name in sys.argv[1:]]
    if marks_by_reader:
        write_results(texts, marks_by_reader)
    else:
        for i, text in enumerate(texts):
            print(f"{i + 1}. {text.begun}{text.text}".replace("\n", " / "))


if __name__ == "__main__":
    main()
