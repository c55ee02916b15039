"""What a query may see, in words and as a row of cells, and numbers with their units.

view.js has the same functions.
"""

from decimal import ROUND_HALF_UP, Context
from operator import itemgetter

from attncourse.figures.distances import power_of_ten
from attncourse.method_costs import Layer, Seen

# cells in a row, each for the same share of the text
CELLS = 32
# of bfloat16
ELEMENT_BYTES = 2


def seen_text(count: int, layer: Layer, n: int) -> str:
    """What a query after n tokens may see in so many layers of a kind."""
    layers = f"{count} layer{'s' * (count != 1)}: "
    if not layer.attends:
        return f"{layers}a state of {layer.state:,} numbers, which remembers {n:,} tokens"
    return layers + ", and ".join(entries_text(seen, n) for seen in layer.attends)


def entries_text(seen: Seen, n: int) -> str:
    """Entries of one kind after n tokens, in words."""
    entries, most = n // seen.pool, seen.by_last(n)
    if seen.pool == 1 and most < n:
        return f"{most:,} chosen of {n:,} tokens" if seen.chosen else f"the last {most:,} tokens"
    if seen.pool == 1:
        return f"all {n:,} tokens"
    chosen = f"{most:,} chosen of " if most < entries else ""
    return f"{chosen}{entries:,} pooled key{'s' * (entries != 1)}, each of {seen.pool} tokens"


def cells_of(layer: Layer, n: int) -> list[tuple[str, float]]:
    """For each cell of the row, how its tokens are seen, and what share of them."""
    if not layer.attends:
        return [("state", 1)] * CELLS
    rows = [[(kind_of(seen), share(seen, n, i)) for i in range(CELLS)] for seen in layer.attends]
    # where two kinds share a cell, the later one is drawn if it has as much of it
    return [max(reversed(cells), key=itemgetter(1)) for cells in zip(*rows, strict=True)]


def kind_of(seen: Seen) -> str:
    """The look of a cell: its tokens themselves, or a mean of them."""
    return "keys" if seen.pool == 1 else "pooled"


def share(seen: Seen, n: int, cell: int) -> float:
    """The share of a cell's tokens that is seen: the last first, or here and there."""
    entries = n // seen.pool
    before = CELLS - 1 - cell
    filled = CELLS * seen.by_last(n) / entries
    # chosen ones may be anywhere: they are drawn in every fourth cell, and then in its neighbours
    left = filled * 4 / CELLS - (before + 2) % 4 if seen.chosen else filled - before
    return min(max(left, 0), 1)


def three_digits(x: float) -> float:
    """The number in three digits; ties away from zero, as JavaScript rounds them."""
    return float(Context(prec=3, rounding=ROUND_HALF_UP).create_decimal(x))


def digits(x: float) -> str:
    """A number in three digits, without zeros at the end."""
    return f"{three_digits(x):g}"


def format_bytes(x: float) -> str:
    """Bytes, in the unit that leaves less than 1000."""
    units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while x >= 999.5 and len(units) > 1:
        x /= 1024
        units.pop(0)
    return f"{digits(x)} {units[0]}"


def format_count(x: float) -> str:
    """A count in three digits, with a power of ten if it is large."""
    if x < 1e5:
        return f"{x:,}"
    mantissa, exponent = f"{three_digits(x):.2e}".split("e")
    return f"{mantissa} · {power_of_ten(int(exponent))}"


def format_time(x: float) -> str:
    """Seconds, in the unit that leaves at least 1."""
    units = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
    unit = next((unit for unit, size in units.items() if x >= size), "ns")
    return f"{digits(x / units[unit])} {unit}"
