"""Real data out of pinned packages, and small samples of our own for when there is no network.

A label for each word of a treebank, a label for each short text, numbers named in two languages,
and two centuries of English.
"""

from attncourse.data.addresses import Address, Addresses, addresses
from attncourse.data.archives import Archive, CorruptArchiveError, UnavailableError, fetch
from attncourse.data.batches import NO_LABEL, PADDING, UNKNOWN, padded
from attncourse.data.sentiment import ratings
from attncourse.data.treebanks import Batch, Sentence, Treebank, Vocabulary, treebank

__all__ = [
    "NO_LABEL",
    "PADDING",
    "UNKNOWN",
    "Address",
    "Addresses",
    "Archive",
    "Batch",
    "CorruptArchiveError",
    "Sentence",
    "Treebank",
    "UnavailableError",
    "Vocabulary",
    "addresses",
    "fetch",
    "padded",
    "ratings",
    "treebank",
]
