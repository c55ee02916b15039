"""Which row of the table serves a pair, right and wrong, for exercises that look rows up."""

import torch

from judge import variants


def rows(n, m, reach, device=None):
    """The right rows: clipped to the reach, then counted from 0."""
    key = torch.arange(m, device=device)
    query = torch.arange(m - n, m, device=device)
    offset = key - query[:, None]
    return offset.clamp(-reach, reach) + reach


CLIP = "row numbers leave the table: clip the offsets on both sides, to a reach of (rows - 1) / 2"
SHORT = "the reach is cut to the length: leave it, as it shifts the rows of short sequences, too"
ROUNDED = (
    "half precision rounds whole numbers above 2048, bfloat16 above 256: keep int64 on the way, too"
)
# the hint for each wrong way to number the rows, and the steps that make it
WRONG = {
    "the offset is taken the other way round: it should be key minus query":
        "offset = query[:, None] - key",
    "left and right share a row: an offset has a sign, so take no absolute value":
        "return offset.abs().clamp(max=reach) + reach",
    "it clips to -reach and reach once reach is added: clip the offset to these, or the row to 0 "
    "and 2 reach": "return (offset + reach).clamp(-reach, reach)",
    "the positions are clipped, not their difference: subtract first, then clip":
        "offset = key.clamp(max=reach) - query.clamp(max=reach)[:, None]\nreturn offset + reach",
    "all keys to the left get one row: clip the offset at -reach, not at 0": ("(-reach", "(0"),
    "all keys to the right get one row: clip the offset at reach, not at 0": (", reach)", ", 0)"),
    "keys far to the right miss the last row: give them row 2 reach, of 2 reach + 1 rows": [
        "return (offset + reach).clamp(0, max(2 * reach - 1, 0))",
        "left = offset.clamp(min=-reach) + reach\n"
        "return torch.where(offset > reach, max(reach - 1, 0), left)"],
    "offset 0 gets row reach + 1, not row reach: rows count from 0, or the queries stand one too "
    "early": "offset = key - query[:, None] + 1",
    "offset 0 gets row reach - 1, not row reach: rows count from 0, or the queries stand one too "
    "late": "offset = key - query[:, None] - 1",
    "reach is not added: add it, so that offset -reach gets row 0": [
        (") + reach", ")"), (") + reach", ") % (2 * reach + 1)")],
    "offsets beyond the reach wrap around: they should share the first or the last row instead":
        "return (offset + reach) % (2 * reach + 1)",
    "the first row is for all that is far, on either side: far to the right, take the last row":
        "return torch.where(offset.abs() > reach, 0, offset + reach)",
    "the middle row is for all that is far: beyond the reach, take the first or the last row":
        "return torch.where(offset.abs() > reach, 0, offset) + reach",
    CLIP: [
        "return offset + reach", "return offset.clamp(max=reach) + reach",
        "return offset.clamp(min=-reach) + reach"],
    SHORT: "reach = min(reach, n - 1)\nreturn offset.clamp(-reach, reach) + reach",
    "each row counts from its first key: subtract the position of the query":
        "offset = key.expand(n, m)",
}  # fmt: skip
# these differ from the right rows only where a cache holds earlier positions, or many of them
WRONG_WITH_A_CACHE = {
    SHORT: "reach = min(reach, m - 1)\nreturn offset.clamp(-reach, reach) + reach",
    "the cache is ignored: the queries are the last n of the m positions":
        "query = torch.arange(n, device=device)",
    "the cache counts with the wrong sign: the first query should stand at m - n":
        "query = torch.arange(n - m, n - m + n, device=device)",
    "the queries stand one position too late: the first should stand at m - n":
        "query = torch.arange(m - n + (m > n), m + (m > n), device=device)",
    "every query stands at the end: the first should stand at m - n, the last at m - 1":
        "offset = (key - m + 1).expand(n, m)",
    ROUNDED: [
        f"offset = (key.to(torch.{half}) - query.to(torch.{half})[:, None]).long()"
        for half in ("float16", "bfloat16")],
}  # fmt: skip
# the same as functions, to stand behind the name that an answer calls
WAYS, CACHED_WAYS = (
    {
        variants.made(rows, way): hint
        for hint, edits in table.items()
        for way in (edits if isinstance(edits, list) else [edits])
    }
    for table in (WRONG, WRONG_WITH_A_CACHE)
)
