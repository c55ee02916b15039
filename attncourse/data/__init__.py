"""Data sets from pinned packages, each with a small sample of our own for use offline.

A treebank with a label for each word, short texts rated for sentiment, numbers named in two
languages, and two centuries of English.
"""

from attncourse.data.addresses import Address, Addresses, addresses, excerpts
from attncourse.data.archives import Archive, CorruptArchiveError, UnavailableError, fetch
from attncourse.data.batches import NO_LABEL, PADDING, UNKNOWN, pad_rows
from attncourse.data.byte_pairs import BytePairs, learn_pairs, merge, stored_pairs
from attncourse.data.sentiment import ratings
from attncourse.data.treebanks import Batch, Sentence, Treebank, Vocabulary, treebank
from attncourse.data.windows import WindowBatch, Windower

__all__ = [
    "NO_LABEL",
    "PADDING",
    "UNKNOWN",
    "Address",
    "Addresses",
    "Archive",
    "Batch",
    "BytePairs",
    "CorruptArchiveError",
    "Sentence",
    "Treebank",
    "UnavailableError",
    "Vocabulary",
    "WindowBatch",
    "Windower",
    "addresses",
    "excerpts",
    "fetch",
    "learn_pairs",
    "merge",
    "pad_rows",
    "ratings",
    "stored_pairs",
    "treebank",
]
