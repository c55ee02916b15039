"""Exercise stretch_table: a learned table for another length, by linear interpolation."""

import torch
import torch.nn.functional as F

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="stretch_table",
    chapter="positional",
    title="A longer table from a short one",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Each new row has a place in the old table, mostly between two rows: the first new row is "
        "at 0, the last at max_n - 1, and the steps between are equal.",
        "torch.linspace gives these places. The row below a place is its floor; the row above is "
        "one more, if there is one. Mix the two: the nearer a row, the more it counts. "
        "F.interpolate does the same over the last axis of three, if you tell it that the ends "
        "are to stay.",
        "F.interpolate(table.T[None], size=n, mode='linear', align_corners=True), then back to "
        "(n, d); or low + share * (high - low), where share = (place - floor)[:, None]",
    ),
)


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


def places(table, n, last=None):
    last = len(table) - 1 if last is None else last
    return torch.linspace(0, last, n, dtype=table.dtype, device=table.device)


def mixed(table, place, *, high=1, turned=False):
    """The rows on both sides of each place, mixed; arguments say where a wrong one departs."""
    low = place.floor().long().clamp(0, len(table) - 1)
    share = (place - place.floor())[:, None]
    share = 1 - share if turned else share
    return (1 - share) * table[low] + share * table[(low + high).clamp(0, len(table) - 1)]


def resized(table, n, mode="linear", **how):
    """What F.interpolate makes of the table."""
    return F.interpolate(table.T[None], size=n, mode=mode, **how)[0].T


@exercise.valid
def floor_and_share(table, n):
    return mixed(table, places(table, n))


@exercise.valid
def interpolate_with_the_ends_kept(table, n):
    return resized(table, n, align_corners=True)


@exercise.valid
def hats_around_the_rows(table, n):
    rows = torch.arange(len(table), dtype=table.dtype, device=table.device)
    weights = (1 - (places(table, n)[:, None] - rows).abs()).clamp(min=0)
    return weights @ table


@exercise.valid
def sum_of_the_steps(table, n):
    rows = torch.arange(len(table) - 1, dtype=table.dtype, device=table.device)
    done = (places(table, n)[:, None] - rows).clamp(0, 1)
    return table[:1] + done @ table.diff(dim=0)


@exercise.valid
def lerp_in_whole_numbers(table, n):
    last, steps = len(table) - 1, max(n - 1, 1)
    scaled = torch.arange(n, device=table.device) * last
    low = scaled // steps
    share = (scaled % steps)[:, None].to(table.dtype) / steps
    return torch.lerp(table[low], table[(low + 1).clamp(max=last)], share)


ENDS = "the ends move: the first row must stay the first, and the last the last"


@exercise.mutant(ENDS)
def ends_not_kept(table, n):
    return resized(table, n, align_corners=False)


@exercise.mutant("the last row is never reached: n rows have n - 1 steps between them")
def divided_by_n(table, n):
    count = torch.arange(n, dtype=table.dtype, device=table.device)
    return mixed(table, count * (len(table) - 1) / n)


@exercise.mutant("the last row comes too early: between max_n rows there are max_n - 1 steps")
def one_step_too_many(table, n):
    return mixed(table, places(table, n, len(table)).clamp(max=len(table) - 1))


@exercise.mutant("the steps are as if a row had a width: there are max_n - 1 steps between max_n")
def by_the_ratio_of_the_lengths(table, n):
    count = torch.arange(n, dtype=table.dtype, device=table.device)
    return mixed(table, (count * len(table) / n).clamp(max=len(table) - 1))


NEAREST = "rows are repeated: between two rows of the table, mix them"


@exercise.mutant(NEAREST)
def nearest_row(table, n):
    return resized(table, n, mode="nearest")


@exercise.mutant(NEAREST)
def row_below(table, n):
    return table[places(table, n).long()]


@exercise.mutant(NEAREST)
def rounded_place(table, n):
    return table[places(table, n).round().long()]


EXCHANGED = "the two rows have each other's share: the nearer a row, the more it counts"


@exercise.mutant(EXCHANGED)
def shares_exchanged_everywhere(table, n):
    return mixed(table, places(table, n), turned=True)


@exercise.mutant(EXCHANGED)
def shares_exchanged(table, n):
    place = places(table, n)
    return torch.where((place == place.floor())[:, None], mixed(table, place), mixed(
        table, place, turned=True
    ))  # fmt: skip


@exercise.mutant("the place is mixed with the row below: the other row is the one above")
def row_below_the_floor(table, n):
    return mixed(table, places(table, n), high=-1)


@exercise.mutant("every place lies in the middle between two rows: its share says how near each is")
def half_of_each(table, n):
    place = places(table, n)
    low, high = table[place.floor().long()], table[place.ceil().long()]
    return (low + high) / 2


@exercise.mutant("this is a smooth curve through more than two rows: straight lines are asked for")
def cubic(table, n):
    table = table.T[None, :, None]
    grown = F.interpolate(table, size=(1, n), mode="bicubic", align_corners=True)
    return grown[0, :, 0].T


@exercise.mutant("the first n rows are cut out: fewer rows still run from the first to the last")
def cut_when_shorter(table, n):
    return table[:n] if n <= len(table) else mixed(table, places(table, n))


@exercise.mutant("the table is filled up with its last row: stretch all of it")
def last_row_repeated(table, n):
    return table[torch.arange(n, device=table.device).clamp(max=len(table) - 1)]


@exercise.mutant("the table is filled up with zeros: stretch all of it")
def filled_up_with_zeros(table, n):
    return F.pad(table, (0, 0, 0, max(n - len(table), 0)))[:n]


@exercise.mutant("the table begins again at its end: stretch all of it")
def rows_in_a_circle(table, n):
    return table[torch.arange(n, device=table.device) % len(table)]


@exercise.mutant("the width is stretched, not the length: F.interpolate works on the last axis")
def width_stretched(table, n):
    return F.interpolate(table[None], size=n, mode="linear", align_corners=True)[0]


@exercise.mutant("the result is (d, n): the length comes first")
def axes_not_put_back(table, n):
    return resized(table, n, align_corners=True).T


@exercise.mutant("an axis is left over: F.interpolate wants a batch, the result has none")
def batch_axis_left(table, n):
    return resized(table, n, align_corners=True)[None]


@exercise.mutant("squeeze takes away every axis of size 1, and n or d may be 1: name the axis")
def squeezed(table, n):
    return F.interpolate(table.T[None], size=n, mode="linear", align_corners=True).squeeze().T


@exercise.mutant("n divided by max_n is rounded, and a row may be missing: give the size itself")
def by_a_scale_factor(table, n):
    grown = F.interpolate(
        table.T[None], scale_factor=n / len(table), mode="linear", align_corners=True
    )
    return grown[0].T


AXIS = "the shares lack an axis: each belongs to a row, and serves all of its columns"


@exercise.mutant(AXIS)
def shares_before_rows(table, n):
    place = places(table, n)
    low, share = place.long(), place - place.floor()
    return (1 - share) * table[low] + share * table[(low + 1).clamp(max=len(table) - 1)]


@exercise.mutant(AXIS)
def shares_after_rows(table, n):
    place = places(table, n)
    low, share = place.long(), place - place.floor()
    return table[low] + (table[(low + 1).clamp(max=len(table) - 1)] - table[low]) * share


ONE = "n = 1 goes wrong, since there are 0 steps to divide by: it gives the first row"


@exercise.mutant(ONE)
def divided_by_zero(table, n):
    count = torch.arange(n, dtype=table.dtype, device=table.device)
    return mixed(table, count * ((len(table) - 1) / (n - 1)))


@exercise.mutant(ONE)
def not_a_number_for_one(table, n):
    count = torch.arange(n, dtype=table.dtype, device=table.device)
    return mixed(table, count * (len(table) - 1) / (n - 1))


@exercise.mutant("n = 1 gives another row: it should give the first")
def last_row_for_one(table, n):
    return table[-1:] if n == 1 else mixed(table, places(table, n))


@exercise.mutant("n = 1 gives another row: it should give the first")
def mean_for_one(table, n):
    return table.mean(0, keepdim=True) if n == 1 else mixed(table, places(table, n))


@exercise.mutant("above the last row there is no other: keep the index within the table")
def beyond_the_last_row(table, n):
    place = places(table, n)
    low = place.long()
    share = (place - low)[:, None]
    return (1 - share) * table[low] + share * table[low + 1]


@exercise.mutant("a place is rounded to just above the last row: keep the index within the table")
def rounded_beyond_the_last_row(table, n):
    count = torch.arange(n, dtype=table.dtype, device=table.device)
    place = count * ((len(table) - 1) / max(n - 1, 1))
    share = (place - place.floor())[:, None]
    return (1 - share) * table[place.floor().long()] + share * table[place.ceil().long()]


LOOP = "it loops over the rows: work out the places of all rows at once"


@exercise.mutant(LOOP)
def loop_over_rows(table, n):
    last, rows = len(table) - 1, []
    for i in range(n):
        low, rest = divmod(i * last, max(n - 1, 1))
        rows.append(torch.lerp(table[low], table[min(low + 1, last)], rest / max(n - 1, 1)))
    return torch.stack(rows)


@exercise.mutant("no gradient reaches the table: its rows go on learning, detach nothing")
def detached(table, n):
    return mixed(table.detach(), places(table, n))


@exercise.mutant("the table changes: write into a new tensor")
def last_row_written(table, n):
    table += 1e-12
    return mixed(table, places(table, n))


@exercise.mutant("you compute in float32: stay in the dtype of the table")
def float32_inside(table, n):
    return mixed(table.float(), places(table.float(), n)).to(table.dtype)


@exercise.mutant("the result is always float32: keep the dtype of the table")
def always_float32(table, n):
    return mixed(table.float(), places(table.float(), n))


@exercise.mutant("the result is always float64: keep the dtype of the table")
def always_float64(table, n):
    return mixed(table, places(table.double(), n))


@exercise.mutant("a new tensor is made on the CPU: give it the device of the table")
def places_on_the_cpu(table, n):
    return mixed(table, torch.linspace(0, len(table) - 1, n, dtype=table.dtype))
