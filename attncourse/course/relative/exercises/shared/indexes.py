"""The row tables that a learner's test meets: right ones and, made of the first, wrong ones."""

import torch

from judge.implementations import not_contiguous


def plain(n, reach):
    position = torch.arange(n)
    offset = position - position[:, None]
    return offset.clamp(-reach, reach) + reach


def clipped_from_zero(n, reach):
    position = torch.arange(n)
    row = position.unsqueeze(0) - position.unsqueeze(1) + reach
    return torch.where(row < 0, 0, torch.where(row > 2 * reach, 2 * reach, row))


def cell_by_cell(n, reach):
    rows = [[min(max(j - i, -reach), reach) + reach for j in range(n)] for i in range(n)]
    return torch.tensor(rows)


def windows_of_one_line(n, reach):
    line = torch.arange(1 - n, n).clip(-reach, reach) + reach
    return line.unfold(0, n, 1).flip(0)


def expanded_where_all_is_one_row(n, reach):
    if n == 1 or reach == 0:
        return torch.tensor([[reach]]).expand(n, n)
    position = torch.arange(n)
    return (position - position[:, None]).clamp(-reach, reach) + reach


RIGHT = {
    "a right index": plain,
    "a right index, clipped from 0 to 2 reach": clipped_from_zero,
    "a right index, cell by cell": cell_by_cell,
    "a right index, of windows": windows_of_one_line,
    "a right index, which is not contiguous": not_contiguous("offset.clamp(-reach, reach) + reach"),
    "a right index, slices of a larger table": (
        "torch.arange(n)",
        "torch.arange(max(n, 100))",
        "offset.clamp(-reach, reach) + reach",
        "(offset.clamp(-reach, reach) + reach)[:n, :n]",
    ),
    "a right index, one number expanded where it can be": expanded_where_all_is_one_row,
}
FIRST = "position = torch.arange(n)"
OFFSET = "position - position[:, None]"
CLIPPED = "offset.clamp(-reach, reach)"
ROWS = f"{CLIPPED} + reach"
# what each wrong index does, and the edit that makes it of the plain one
WRONG = {
    "takes query minus key": (OFFSET, "position[:, None] - position"),
    "takes the distance, without its sign": (OFFSET, f"({OFFSET}).abs()"),
    "clips the positions before it subtracts": (FIRST, f"{FIRST}.clamp(max=reach)"),
    "clips to -reach and reach after the shift": (ROWS, "(offset + reach).clamp(-reach, reach)"),
    "clips the left side at 0": (CLIPPED, "offset.clamp(0, reach)"),
    "clips the right side at 0": (CLIPPED, "offset.clamp(-reach, 0)"),
    "clips the left side only": (CLIPPED, "offset.clamp(min=-reach)"),
    "clips the right side only": (CLIPPED, "offset.clamp(max=reach)"),
    "does not clip": (CLIPPED, "offset"),
    "gives every pair the middle row": (CLIPPED, "offset * 0"),
    "doubles the offset": (CLIPPED, "(2 * offset).clamp(-reach, reach)"),
    "knows three rows, the first, the middle and the last": (CLIPPED, "reach * offset.sign()"),
    "knows three rows, as far apart as the length allows": (
        CLIPPED, "offset.sign() * min(reach, n - 1)"),
    "clips one too early": (CLIPPED, "offset.clamp(-max(reach - 1, 0), max(reach - 1, 0))"),
    "clips the positions at 8": (FIRST, f"{FIRST}.clamp(max=8)"),
    "does not shift": (ROWS, CLIPPED),
    "shifts by one too many": (ROWS, f"{ROWS} + 1"),
    "gives offset 0 the row after its own": (OFFSET, f"{OFFSET} + 1"),
    "gives offset 0 the row before its own": (OFFSET, f"{OFFSET} - 1"),
    "never uses the last row": (ROWS, "(offset + reach).clamp(0, max(2 * reach - 1, 0))"),
    "puts what is far to the right in row reach - 1": (
        ROWS, "torch.where(offset > reach, max(reach - 1, 0), offset.clamp(min=-reach) + reach)"),
    "puts all that is far in the first row": (
        ROWS, "torch.where(offset.abs() > reach, 0, offset + reach)"),
    "puts all that is far in the middle row": (
        CLIPPED, "torch.where(offset.abs() > reach, 0, offset)"),
    "wraps around beyond the reach": (ROWS, "(offset + reach) % (2 * reach + 1)"),
    "always clips at 2": (FIRST, f"reach = 2\n    {FIRST}"),
    "takes a reach of 0 for none": (FIRST, f"reach = reach or n\n    {FIRST}"),
    "raises an error for a reach of 0": (CLIPPED, f"{CLIPPED} * reach // reach"),
    "cuts the reach to the length": (FIRST, f"reach = min(reach, n - 1)\n    {FIRST}"),
    "stops at 8 positions": (FIRST, "position = torch.arange(min(n, 8))"),
    "is right in its first row only": (OFFSET, "position.expand(n, n)"),
    "is right in its first and last row only": (
        f"return {ROWS}", f"rows = {ROWS}\n    rows[1:-1] = reach\n    return rows"),
    "is right in every other row only": (
        f"return {ROWS}", f"rows = {ROWS}\n    rows[1::2] = reach\n    return rows"),
    "gives the rows in reverse": (ROWS, f"({ROWS}).flip(0)"),
    "gives each row in reverse": (ROWS, f"({ROWS}).flip(1)"),
    "is right in row n // 2 only": (ROWS, f"({ROWS})[n // 2].expand(n, n)"),
    "adds a column": (OFFSET, "torch.arange(n + 1) - position[:, None]"),
    "gives floating numbers": (ROWS, f"({ROWS}).float()"),
    "gives 32 bit integers": (ROWS, f"({ROWS}).int()"),
    "adds a batch axis": (ROWS, f"({ROWS})[None]"),
    "drops axes of length 1": (ROWS, f"({ROWS}).squeeze()"),
    "raises an error for a single token": (FIRST, f"reach *= (n - 1) // (n - 1)\n    {FIRST}"),
    "gives a single token row 0": (CLIPPED, f"{CLIPPED} - reach * (n == 1)"),
    "raises an error for a reach beyond the length": (FIRST, f"{FIRST}\n    position[reach - 1]"),
}  # fmt: skip
