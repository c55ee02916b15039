"""Exercise stretch_table: a learned table for another length, by linear interpolation."""

import torch
import torch.nn.functional as F

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    generic_hints={"loops": "you loop over the rows: work out the places of all rows at once"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(table, n):
    last, rows = len(table) - 1, []
    for i in range(n):
        # whole numbers: no place is rounded to the wrong side of a row
        low, rest = divmod(i * last, max(n - 1, 1))
        share = rest / max(n - 1, 1)
        rows.append((1 - share) * table[low] + share * table[min(low + 1, last)])
    return torch.stack(rows)


@exercise.cases
def cases(draw):
    max_n, d = draw.integer(5, 6), 3
    n = 2 * max_n + draw.integer(1, 2)
    table = draw.normal(max_n, d)
    longer = (draw.normal(16 * max_n, d), 16 * n)
    yield Case(f"{max_n} rows of width {d} to {n}", (table, n), longer=longer)
    yield Case(f"{n} rows of width {d} to {max_n}", (draw.normal(n, d), max_n))
    yield Case(f"{max_n} rows to {max_n + 1}", (table, max_n + 1))
    yield Case(f"{max_n} rows to {max_n - 1}", (table, max_n - 1))
    yield Case(f"{max_n} rows to as many", (table, max_n))
    yield Case(f"{max_n} rows to 2, the first and the last", (table, 2))
    yield Case(f"{max_n} rows to 1, the first", (table, 1))
    yield Case("1 row to 4", (table[:1], 4))
    yield Case("1 row to 1", (table[:1], 1))
    # sizes whose ratio is rounded to the wrong side
    yield Case("11 rows to 15", (draw.normal(11, d), 15))
    yield Case("8 rows to 26", (draw.normal(8, d), 26))
    yield Case("2 rows of width 1 to 5", (table[:2, :1], 5))


@exercise.valid
def resized(table, n):
    rows = F.interpolate(table.T[None], size=n, mode="linear", align_corners=True)
    return rows[0].T


COUNT = "torch.arange(n, dtype=table.dtype, device=table.device)"
variants.right(exercise,
    # in whole numbers
    "steps = max(n - 1, 1)\nplaces = torch.arange(n, device=table.device) * last\n"
    "low = places // steps\nshare = (places % steps)[:, None].to(table.dtype) / steps\n"
    "return (1 - share) * table[low] + share * table[high]",
    # hats around the rows; the sum of the steps
    "away = places[:, None] - torch.arange(last + 1, device=table.device)\n"
    "return (1 - away.abs()).clamp(min=0) @ table",
    "above = places[:, None] - torch.arange(last, device=table.device)\n"
    "return table[:1] + above.clamp(0, 1) @ table.diff(dim=0)",
)  # fmt: skip

NEAREST = "you repeat rows: between two rows of the table, mix the two"
variants.wrong(exercise, {
    "the last row is never reached: n rows have n - 1 steps between them":
        f"places = {COUNT} * last / n",
    "the last row comes too early: between max_n rows there are max_n - 1 steps":
        "places = torch.linspace(0, last + 1, n, dtype=table.dtype, device=table.device)"
        ".clamp(max=last)",
    "you treat the rows as if each had a width: between max_n rows there are max_n - 1 steps":
        f"places = ({COUNT} * (last + 1) / n).clamp(max=last)",
    NEAREST: ["return table[low]", "return table[places.round().long()]"],
    "the shares of the two rows are swapped: the nearer row should count more": [
        "return torch.lerp(table[high], table[low], share)",
        "high = places.ceil().long()\nreturn torch.lerp(table[high], table[low], share)"],
    "you mix the row below a place with the row before that one: take the row above instead":
        "high = (low - 1).clamp(min=0)",
    "you mix the two rows in equal parts: their shares should say how near each row is":
        "high = places.ceil().long()\nreturn (table[low] + table[high]) / 2",
    "between two rows the result follows a curve: the share should grow with the distance, in a "
    "straight line": [
        (", share)", ", share**2 * (3 - 2 * share))"),
        (", share)", ", (1 - (torch.pi * share).cos()) / 2)")],
    "where a place falls on a row, you divide 0 by 0, which is NaN: rows are 1 apart, so don't "
    "divide": [
        "high = places.ceil().long()\nshare = (places - low)[:, None] / (high - low)[:, None]",
        "high = places.ceil().long()\nshare = (places - low)[:, None] / (high - low)[:, None]\n"
        "share[0], share[-1] = 0, float(n > 1)\n"
        "return torch.lerp(table[low], table[high], share)"],
    "you cut out the first n rows: a shorter table should still run from the first row to the "
    "last": (
        "return ", "return table[:n] if n <= last else "),
    "you fill the table up with copies of its last row: stretch the whole table":
        "return table[torch.arange(n, device=table.device).clamp(max=last)]",
    "you fill the table up with zeros: stretch the whole table":
        "return F.pad(table, (0, 0, 0, max(n - len(table), 0)))[:n]",
    "you start the table again after its end: stretch the whole table":
        "return table[torch.arange(n, device=table.device) % len(table)]",
    "the shares lack an axis for the columns: each share should apply to all columns of its row": [
        "share = places - low\nreturn (1 - share) * table[low] + share * table[high]",
        "share = places - low\nreturn table[low] + (table[high] - table[low]) * share"],
    "n = 1 goes wrong, because there are 0 steps to divide by: the result should be the first "
    "row": [
        f"places = {COUNT} * (last / (n - 1))",
        f"places = {COUNT} * last / (n - 1)",
        f"places = {COUNT} * last / (n - 1)\nlow = places.long().clamp(0, last)"],
    "n = 1 gives a different row: the result should be the first row": [
        (", share)", ", share) if n > 1 else table[-1:]"),
        (", share)", ", share) if n > 1 else (table[:1] + table[-1:]) / 2"),
        (", share)", ", share) if n > 1 else table.mean(0, keepdim=True)")],
    "a table of one row comes back unchanged: the result should be n copies of that row": (
        ", share)", ", share) if last else table"),
    messages.FLOAT64:
        "places = torch.linspace(0, last, n, dtype=torch.float64, device=table.device)\n"
        "return (1 - share) * table[low] + share * table[high]",
    "you look for a row above the last one: keep the index within the table": "high = low + 1",
    "rounding puts a place just above the last row: keep the index within the table":
        f"places = {COUNT} * (last / max(n - 1, 1))\nhigh = places.ceil().long()",
})  # fmt: skip
variants.wrong(exercise, {
    "the ends move: the first row should stay first, and the last row last": (
        "corners=True", "corners=False"),
    NEAREST: ('mode="linear", align_corners=True', 'mode="nearest"'),
    "you draw a smooth curve through more than two rows: use straight lines": (
        "[None], size=n", "[None, :, None], size=(1, n)", "linear", "bicubic", "[0]", "[0, :, 0]"),
    "you stretch the width, not the length: interpolate works on the last axis, so put the length "
    "there": (
        every(".T"), ""),
    "the result has the shape (d, n): put the length first": ("rows[0].T", "rows[0]"),
    "the result still has the batch axis that interpolate needs: remove it": (
        "rows[0].T", "rows.mT"),
    "squeeze() removes every axis of size 1, and n or d may be 1: say which axis to remove": (
        "rows[0]", "rows.squeeze()"),
    "n / max_n is rounded, so a row may be missing: give interpolate the size itself": (
        "size=n", "scale_factor=n / len(table)"),
}, of=resized)  # fmt: skip
