"""Exercise grid_window_mask: which pixels lie near which, the image read row by row."""

import torch
from torch.nn.functional import max_pool2d

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="grid_window_mask",
    chapter="convolution",
    title="A window in two dimensions",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "In the sequence of pixels, what lies above a pixel is a whole row away, and the first "
        "pixel of a row comes right after the last of the row above. So go back from the place in "
        "the sequence to row and column, and compare those.",
        "Pixel p stands in row p // width and column p % width. For rows as for columns, all "
        "differences are an (n, n) matrix, n = height * width. Both have to be small.",
        "(row - row[:, None]).abs() <= reach is one of the two conditions, joined by &",
    ),
    differentiable=False,
)


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


def between(*places):
    """How far apart all pixels are, by each of their places."""
    return tuple((at - at[:, None]).abs() for at in places)


def apart(height, width, device=None):
    """How far apart all pixels are, in rows and in columns."""
    pixel = torch.arange(height * width, device=device)
    return between(pixel // width, pixel % width)


@exercise.valid
def rows_and_columns(height, width, reach, device=None):
    rows, columns = apart(height, width, device)
    return (rows <= reach) & (columns <= reach)


@exercise.valid
def larger_of_both(height, width, reach, device=None):
    return torch.maximum(*apart(height, width, device)) <= reach


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
    pixels = torch.eye(height * width, device=device).view(-1, 1, height, width)
    return max_pool2d(pixels, 2 * reach + 1, stride=1, padding=reach).flatten(1) > 0


@exercise.mutant("a band along the diagonal knows no rows: a pixel's place is a row and a column")
def band_of_the_sequence(height, width, reach, device=None):
    pixel = torch.arange(height * width, device=device)
    return (pixel - pixel[:, None]).abs() <= reach


@exercise.mutant("the end of a row meets the beginning of the next: compare the columns, too")
def wrapped_at_the_end_of_a_row(height, width, reach, device=None):
    pixel = torch.arange(height * width, device=device)
    offset = pixel - pixel[:, None]
    window = range(-reach, reach + 1)
    return torch.stack([offset == row * width + col for row in window for col in window]).any(0)


@exercise.mutant("height and width are exchanged: a row holds `width` pixels, so divide by that")
def divided_by_the_height(height, width, reach, device=None):
    rows, columns = apart(width, height, device)
    return (rows <= reach) & (columns <= reach)


ONE_BY_THE_HEIGHT = "the row or the column is found with the height: both need the width of a row"


@exercise.mutant(ONE_BY_THE_HEIGHT)
def row_by_the_height(height, width, reach, device=None):
    pixel = torch.arange(height * width, device=device)
    rows, columns = between(pixel // height, pixel % width)
    return (rows <= reach) & (columns <= reach)


@exercise.mutant(ONE_BY_THE_HEIGHT)
def column_by_the_height(height, width, reach, device=None):
    pixel = torch.arange(height * width, device=device)
    rows, columns = between(pixel // width, pixel % height)
    return (rows <= reach) & (columns <= reach)


@exercise.mutant("the row is a fraction: the pixels of a row share one whole number")
def fractions_of_rows(height, width, reach, device=None):
    pixel = torch.arange(height * width, device=device)
    rows, columns = between(pixel / width, pixel % width)
    return (rows <= reach) & (columns <= reach)


@exercise.mutant("only the columns are compared: the rows have to be near, too")
def columns_only(height, width, reach, device=None):
    return apart(height, width, device)[1] <= reach


@exercise.mutant("a difference may be negative: bound its absolute value")
def signed(height, width, reach, device=None):
    pixel = torch.arange(height * width, device=device)
    rows, columns = (at - at[:, None] for at in (pixel // width, pixel % width))
    return (rows <= reach) & (columns <= reach)


@exercise.mutant("only the rows are compared: the columns have to be near, too")
def rows_only(height, width, reach, device=None):
    return apart(height, width, device)[0] <= reach


@exercise.mutant("near in rows or in columns is a cross: both have to be near")
def either_of_both(height, width, reach, device=None):
    rows, columns = apart(height, width, device)
    return (rows <= reach) | (columns <= reach)


@exercise.mutant("rows and columns are added, so the window is a diamond: compare each by itself")
def diamond(height, width, reach, device=None):
    return sum(apart(height, width, device)) <= reach


@exercise.mutant("the distance is that of a circle: compare rows and columns each by itself")
def circle(height, width, reach, device=None):
    return sum(x.square() for x in apart(height, width, device)) <= reach**2


@exercise.mutant("pixels exactly `reach` away are left out: `at most` includes them")
def strict(height, width, reach, device=None):
    rows, columns = apart(height, width, device)
    return (rows < reach) & (columns < reach)


@exercise.mutant("reach is not the width of the window: it goes that far to every side")
def reach_for_the_whole_window(height, width, reach, device=None):
    rows, columns = apart(height, width, device)
    return (rows <= reach // 2) & (columns <= reach // 2)


@exercise.mutant("opposite edges of the image are joined: nothing lies beyond an edge")
def torus(height, width, reach, device=None):
    rows, columns = apart(height, width, device)
    near = torch.minimum(rows, height - rows) <= reach
    return near & (torch.minimum(columns, width - columns) <= reach)


@exercise.mutant("only what comes before is allowed: a window reaches to every side")
def causal(height, width, reach, device=None):
    return rows_and_columns(height, width, reach, device).tril()


@exercise.mutant("a mask is boolean: these are numbers")
def of_numbers(height, width, reach, device=None):
    return rows_and_columns(height, width, reach, device).float()


@exercise.mutant("the argument device is not used: make every new tensor there")
def device_ignored(height, width, reach, device=None):
    return rows_and_columns(height, width, reach)


@exercise.mutant("it loops over the pixels: compare all of them at once")
def loop_over_pixels(height, width, reach, device=None):
    mask = torch.zeros(height * width, height, width, dtype=torch.bool, device=device)
    for pixel in range(height * width):
        row, column = divmod(pixel, width)
        rows = slice(max(0, row - reach), row + reach + 1)
        mask[pixel, rows, max(0, column - reach) : column + reach + 1] = True
    return mask.flatten(1)
