"""Byte-pair encoding: frequent words become one token, others several.

Source: Sennrich et al. (2016), section 3.2; on bytes: Radford et al. (2019), section 2.2.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from math import inf
from pathlib import Path

PAIRS_FILE = Path(__file__).with_name("byte_pairs.txt")
BYTES = 256
# letters, digits or punctuation, with the space before them; then the remaining white space
PIECE = re.compile(r" ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")

Pair = tuple[int, int]


def merge(tokens: Iterable[int], pair: Pair, new: int) -> list[int]:
    """The tokens, with `new` where the pair stood; of pairs that overlap, the first is merged."""
    merged: list[int] = []
    for token in tokens:
        if merged and (merged[-1], token) == pair:
            merged[-1] = new
        else:
            merged.append(token)
    return merged


def learn_pairs(text: str, vocabulary: int) -> list[Pair]:
    """The pairs to merge, up to a vocabulary of this size: each time the commonest of the text.

    Of pairs that are equally common, the one with the smaller first token is merged, then the one
    with the smaller second.
    """
    if vocabulary < BYTES:
        raise ValueError(f"vocabulary={vocabulary}: the bytes alone are {BYTES}")
    times = Counter(PIECE.findall(text))
    pieces = {piece: list(piece.encode()) for piece in times}
    pairs: list[Pair] = []
    for new in range(BYTES, vocabulary):
        counts: Counter[Pair] = Counter()
        for piece, tokens in pieces.items():
            for pair in pairwise(tokens):
                counts[pair] += times[piece]
        if not counts:
            raise ValueError(
                f"vocabulary={vocabulary}: after {new} tokens nothing is left to merge"
            )
        pairs.append(min(counts, key=lambda pair: (-counts[pair], pair)))
        pieces = {piece: merge(tokens, pairs[-1], new) for piece, tokens in pieces.items()}
    return pairs


class BytePairs:
    """A byte-pair tokenizer: tokens 0 to 255 are bytes, each later one a pair of earlier tokens.

    A piece of text begins as its bytes; its pair that was learned earliest is merged, until it has
    none.
    """

    def __init__(self, pairs: Sequence[Pair]):
        self.merges = {pair: new for new, pair in enumerate(pairs, BYTES)}
        self.bytes = [bytes([byte]) for byte in range(BYTES)]
        for first, second in pairs:
            self.bytes.append(self.bytes[first] + self.bytes[second])
        self.piece_tokens = cache(self.piece_tokens)

    def __len__(self) -> int:
        return len(self.bytes)

    def merge_steps(self, piece: str) -> Iterator[list[int]]:
        """The tokens of a piece, such as a word, as bytes and after each merge."""
        tokens = list(piece.encode())
        yield tokens
        while len(tokens) > 1:
            pair = min(pairwise(tokens), key=lambda pair: self.merges.get(pair, inf))
            if pair not in self.merges:
                break
            tokens = merge(tokens, pair, self.merges[pair])
            yield tokens

    def piece_tokens(self, piece: str) -> list[int]:
        """The tokens of a piece, a match of `PIECE`."""
        *_, tokens = self.merge_steps(piece)
        return tokens

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        return [token for piece in PIECE.findall(text) for token in self.piece_tokens(piece)]

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of these tokens; invalid UTF-8 becomes U+FFFD."""
        return b"".join(self.bytes[token] for token in tokens).decode(errors="replace")


def stored_pairs() -> BytePairs:
    """The tokenizer of the 1,792 pairs learned from the training addresses: 2,048 tokens."""
    lines = PAIRS_FILE.read_text("utf-8").splitlines()
    return BytePairs([(int(first), int(second)) for first, second in map(str.split, lines)])
