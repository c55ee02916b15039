"""Real data out of pinned packages, and small samples of our own for when there is no network.

A label for each word of a treebank, a label for each short text, numbers named in two languages,
and two centuries of English.
"""

from attncourse.data.addresses import Address, Addresses, addresses, excerpts
from attncourse.data.archives import Archive, CorruptArchiveError, UnavailableError, fetch
from attncourse.data.batches import NO_LABEL, PADDING, UNKNOWN, padded
from attncourse.data.byte_pairs import BytePairs, learn_pairs, merge, stored_pairs
from attncourse.data.sentiment import ratings
from attncourse.data.treebanks import Batch, Sentence, Treebank, Vocabulary, treebank
from attncourse.data.windows import Windowed, Windows

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
    "Windowed",
    "Windows",
    "addresses",
    "excerpts",
    "fetch",
    "learn_pairs",
    "merge",
    "padded",
    "ratings",
    "stored_pairs",
    "treebank",
]
