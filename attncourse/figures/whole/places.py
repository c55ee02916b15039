"""Where the rows and the columns of the picture are; the script is told the same numbers."""

from itertools import accumulate

# what the picture has room for: tokens, with the start and the decade; likeliest next tokens
COLUMNS, NEXT = 10, 5
GUTTER, STEP = 100, 34
WIDE = GUTTER + COLUMNS * STEP
# the rows of the opened block, from the top, with their heights
ROWS = {
    "feed_forward": 36,
    "norm_2": 32,
    "output": 34,
    "heads": 34,
    "values": 40,
    "weights": 46,
    "mask": 32,
    "scores": 32,
    "rope": 34,
    "qkv": 34,
    "norm": 32,
    "block": 34,
}
ROW_TOPS = dict(zip(ROWS, accumulate(ROWS.values(), initial=0), strict=False))
CLOSED, INSIDE = 34, sum(ROWS.values())
BAR_HIGH = ROWS["weights"] - 8
# above the blocks; the bars of the probabilities are so wide
NEXT_HIGH, NEXT_WIDE = 25, 120
LOGITS_TOP = NEXT * NEXT_HIGH
FINAL_TOP = LOGITS_TOP + 32
BLOCKS_TOP = FINAL_TOP + 32
# below them
STREAM_HIGH, EMBEDDING_HIGH, TOKENS_HIGH = 32, 36, 80


def column_left(i: int) -> int:
    """The left edge of a column."""
    return GUTTER + STEP * i


def column_line(i: int) -> int:
    """Where the line of a column's stream is."""
    return column_left(i) + 4


def column_middle(i: int) -> int:
    """Where the shapes of a column are centred, beside its line."""
    return column_left(i) + 20


def block_top(i: int, opened: int, blocks: int) -> int:
    """The upper edge of a block, of which one is opened; block 0 is the lowest."""
    return BLOCKS_TOP + CLOSED * (blocks - 1 - i) + (INSIDE - CLOSED) * (i < opened)
