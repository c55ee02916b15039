"""Exercise grid_window_mask: which pixels lie near which, the image read row by row."""

import torch
from torch.nn.functional import max_pool2d

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the pixels: compare all of them at once"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(height, width, reach, device=None):
    pixels = [(r, c) for r in range(height) for c in range(width)]
    mask = [[abs(r - s) <= reach and abs(c - e) <= reach for s, e in pixels] for r, c in pixels]
    return torch.tensor(mask, dtype=torch.bool, device=device)


@exercise.cases
def cases(draw):
    height, width = draw.sizes(2, 4, 6)
    yield Case(f"height={height}, width={width}, reach=1", (height, width, 1), longer=(12, 14, 1))
    yield Case(f"height={height}, width={width}, reach=2", (height, width, 2))
    yield Case("height=5, width=8, reach=3", (5, 8, 3))
    yield Case("height=7, width=3, reach=2", (7, 3, 2))
    yield Case(f"height={height}, width={width}, reach=0", (height, width, 0))
    yield Case(f"height={height}, width={width}, reach=9", (height, width, 9))
    yield Case("one row of 7 pixels, reach=2", (1, 7, 2))
    yield Case("one column of 7 pixels, reach=2", (7, 1, 2))
    yield Case("one pixel, reach=1", (1, 1, 1))
    yield Case("device='meta'", (height, width, 1), {"device": "meta"})


@exercise.valid
def product_of_two_bands(height, width, reach, device=None):
    bands = [
        torch.ones(size, size, device=device).triu(-reach).tril(reach) for size in (height, width)
    ]
    return torch.kron(*bands).bool()


@exercise.valid
def by_broadcasting(height, width, reach, device=None):
    row, column = (torch.arange(size, device=device) for size in (height, width))
    rows = (row[:, None] - row).abs() <= reach
    columns = (column[:, None] - column).abs() <= reach
    mask = rows[:, None, :, None] & columns[None, :, None, :]
    return mask.reshape(height * width, height * width)


@exercise.valid
def largest_neighbour(height, width, reach, device=None):
    pixels = torch.eye(height * width, device=device).reshape(-1, 1, height, width)
    return max_pool2d(pixels, 2 * reach + 1, stride=1, padding=reach).flatten(1) > 0


variants.right(exercise, "return torch.maximum(rows, columns) <= reach")
variants.wrong(exercise, {
    "8 bits do not hold the numbers of the pixels: keep torch.arange's own dtype": [
        ("device=device)", f"device=device, dtype=torch.{kind})") for kind in ("uint8", "int8")],
    "this is a band along the diagonal, which knows no rows: go by a pixel's row and column":
        "return (pixel - pixel[:, None]).abs() <= reach",
    "the end of a row meets the beginning of the next: compare the columns, too":
        "near, offset = range(-reach, reach + 1), pixel - pixel[:, None]\n"
        "return torch.stack([offset == r * width + c for r in near for c in near]).any(0)",
    "height and width are swapped: a row holds `width` pixels, so divide by that":
        "row, column = pixel // height, pixel % height",
    "the row or the column is found with the height: both need the width of a row": [
        "row, column = pixel // height, pixel % width",
        "row, column = pixel // width, pixel % height"],
    "the row is a fraction: the pixels of a row should share one whole number":
        "row, column = pixel / width, pixel % width",
    "only the columns are compared: the rows have to be near, too": "return columns <= reach",
    "a difference may be negative: bound its absolute value": (every(".abs()"), ""),
    "only the rows are compared: the columns have to be near, too": "return rows <= reach",
    "the pixels near in rows or in columns make a cross: both have to be near": ("&", "|"),
    "rows and columns are added, so the window is a diamond: compare each by itself":
        "return rows + columns <= reach",
    "the window is a circle: compare rows and columns each by itself": [
        f"return rows**2 + columns**2 <= {radius}**2" for radius in ("reach", "(reach + 0.5)")],
    "pixels exactly `reach` away are left out: they should be in the window, too": (
        every("<="), "<"),
    "reach is taken for the width of the window: it should go that far to every side": (
        every("<= reach"), "<= reach // 2"),
    "opposite edges of the image are joined: nothing should lie beyond an edge":
        "rows_near = torch.minimum(rows, height - rows) <= reach\n"
        "columns_near = torch.minimum(columns, width - columns) <= reach\n"
        "return rows_near & columns_near",
    "only what comes before is allowed: a window should reach to every side":
        "return ((rows <= reach) & (columns <= reach)).tril()",
    "these are numbers: a mask should be boolean":
        "return ((rows <= reach) & (columns <= reach)).float()",
    "the argument device is not used: make every new tensor there": (", device=device", ""),
    LOOP: "return torch.stack([torch.maximum(*one) <= reach for one in zip(rows, columns)])",
})  # fmt: skip
