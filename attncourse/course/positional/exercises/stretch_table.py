"""Exercise stretch_table: a learned table for another length, by linear interpolation."""

import torch
import torch.nn.functional as F

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    generic_hints={"loops": "it loops over the rows: work out the places of all rows at once"},
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

NEAREST = "rows are repeated: between two rows of the table, mix the two"
variants.wrong(exercise, {
    "the last row is never reached: n rows have n - 1 steps between them":
        f"places = {COUNT} * last / n",
    "the last row comes too early: between max_n rows there are max_n - 1 steps":
        "places = torch.linspace(0, last + 1, n, dtype=table.dtype, device=table.device)"
        ".clamp(max=last)",
    "the steps treat rows as having a width: between max_n rows there should be max_n - 1 steps":
        f"places = ({COUNT} * (last + 1) / n).clamp(max=last)",
    NEAREST: ["return table[low]", "return table[places.round().long()]"],
    "the two rows have each other's share: the nearer a row, the more it should count": [
        "return torch.lerp(table[high], table[low], share)",
        "high = places.ceil().long()\nreturn torch.lerp(table[high], table[low], share)"],
    "each place mixes the row below with the one before that: take the row above instead":
        "high = (low - 1).clamp(min=0)",
    "you put every place halfway between two rows: its share should say how near each is":
        "high = places.ceil().long()\nreturn (table[low] + table[high]) / 2",
    "between two rows it follows a curve: the share should grow with the distance, in a straight "
    "line": [
        (", share)", ", share**2 * (3 - 2 * share))"),
        (", share)", ", (1 - (torch.pi * share).cos()) / 2)")],
    "at a row of the table the two rows are one, and 0 / 0 is NaN: rows are 1 apart, so don't "
    "divide": [
        "high = places.ceil().long()\nshare = (places - low)[:, None] / (high - low)[:, None]",
        "high = places.ceil().long()\nshare = (places - low)[:, None] / (high - low)[:, None]\n"
        "share[0], share[-1] = 0, float(n > 1)\n"
        "return torch.lerp(table[low], table[high], share)"],
    "the first n rows are cut out: fewer rows should still run from the first to the last": (
        "return ", "return table[:n] if n <= last else "),
    "the table is filled up with its last row: stretch all of it":
        "return table[torch.arange(n, device=table.device).clamp(max=last)]",
    "the table is filled up with zeros: stretch all of it":
        "return F.pad(table, (0, 0, 0, max(n - len(table), 0)))[:n]",
    "the table repeats after its end: stretch all of it":
        "return table[torch.arange(n, device=table.device) % len(table)]",
    "the shares lack an axis: each belongs to a row, and should serve all of its columns": [
        "share = places - low\nreturn (1 - share) * table[low] + share * table[high]",
        "share = places - low\nreturn table[low] + (table[high] - table[low]) * share"],
    "n = 1 goes wrong, since there are 0 steps to divide by: it should give the first row": [
        f"places = {COUNT} * (last / (n - 1))",
        f"places = {COUNT} * last / (n - 1)",
        f"places = {COUNT} * last / (n - 1)\nlow = places.long().clamp(0, last)"],
    "n = 1 gives another row: it should give the first": [
        (", share)", ", share) if n > 1 else table[-1:]"),
        (", share)", ", share) if n > 1 else (table[:1] + table[-1:]) / 2"),
        (", share)", ", share) if n > 1 else table.mean(0, keepdim=True)")],
    "a table of one row comes back as it is: it should give n rows, all alike": (
        ", share)", ", share) if last else table"),
    messages.FLOAT64:
        "places = torch.linspace(0, last, n, dtype=torch.float64, device=table.device)\n"
        "return (1 - share) * table[low] + share * table[high]",
    "above the last row there is no other: keep the index within the table": "high = low + 1",
    "a place is rounded to just above the last row: keep the index within the table":
        f"places = {COUNT} * (last / max(n - 1, 1))\nhigh = places.ceil().long()",
})  # fmt: skip
variants.wrong(exercise, {
    "the ends move: the first row must stay the first, and the last the last": (
        "corners=True", "corners=False"),
    NEAREST: ('mode="linear", align_corners=True', 'mode="nearest"'),
    "this is a smooth curve through more than two rows: use straight lines": (
        "[None], size=n", "[None, :, None], size=(1, n)", "linear", "bicubic", "[0]", "[0, :, 0]"),
    "the width is stretched, not the length: put the length last, where interpolate works": (
        every(".T"), ""),
    "the result is (d, n): put the length first": ("rows[0].T", "rows[0]"),
    "an axis is left over: interpolate needs a batch, but the result should have none": (
        "rows[0].T", "rows.mT"),
    "squeeze removes every axis of size 1, and n or d may be 1: name the axis": (
        "rows[0]", "rows.squeeze()"),
    "n divided by max_n is rounded, and a row may be missing: give the size itself": (
        "size=n", "scale_factor=n / len(table)"),
}, of=resized)  # fmt: skip
