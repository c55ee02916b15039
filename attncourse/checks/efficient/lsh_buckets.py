"""Exercise lsh_buckets: buckets by direction, which forget the sign (Reformer)."""

import torch

from attncourse.checks.around import add_to, made_on_the_cpu
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="lsh_buckets",
    chapter="efficient",
    title="Opposites in one bucket",
    kind="debug",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "Ask the code for x and for -x. Which buckets do they get, and which buckets does no "
        "vector ever get?",
        "Each column of `rotations` is a direction, and so is its opposite: that makes b "
        "directions, numbered with the columns first and their opposites after them. A vector "
        "belongs to the direction with which its product is the largest, not the largest but for "
        "the sign.",
        "torch.cat([p, -p], dim=-1), with p = x @ rotations, has the products with all b "
        "directions, in the order of their numbers",
    ),
    differentiable=False,
)


@exercise.stub
def lsh_buckets(x, rotations):
    return (x @ rotations).abs().argmax(dim=-1)


@exercise.reference
def by_hand(x, rotations):
    d, half = rotations.shape
    found = []
    for vector in x.reshape(-1, d):
        along = [float(vector @ rotations[:, c]) for c in range(half)]
        products = along + [-one for one in along]
        found.append(products.index(max(products)))
    return torch.tensor(found, device=x.device).reshape(x.shape[:-1])


@exercise.cases
def cases(draw):
    half = draw.integer(3, 4)
    n, d = 12, half + draw.integer(2, 3)
    x, rotations = draw.normal(3, n, d), draw.normal(d, half)
    long = draw.normal(12, 8 * n, d), rotations
    said = f"n={n}, d={d}, {2 * half} buckets"
    yield Case(f"a batch of 3, {said}", (x, rotations), longer=long)
    yield Case(f"no batch, {said}", (x[0], rotations))
    yield Case("two leading axes, 8 buckets", (draw.normal(2, 3, 10, 6), draw.normal(6, 4)))
    yield Case("each vector, then its opposite", (torch.cat([x, -x], dim=1), rotations))
    yield Case("two buckets", (x, rotations[:, :1]))
    yield Case("short vectors", (1e-6 * x, rotations))
    yield Case("long vectors, 16 buckets", (1000 * x[..., :3], draw.normal(3, 8)))
    yield Case("one vector", (x[:, :1], rotations))


def directions(x, rotations):
    along = x @ rotations
    return torch.cat([along, -along], dim=-1)


def largest(x, rotations):
    """The number of the largest product but for the sign, and that product."""
    along = x @ rotations
    at = along.abs().argmax(-1)
    return at, along.gather(-1, at[..., None])[..., 0]


@exercise.valid
def all_directions(x, rotations):
    return directions(x, rotations).argmax(dim=-1)


@exercise.valid
def moved_by_half_where_negative(x, rotations):
    at, product = largest(x, rotations)
    return at + rotations.shape[-1] * (product < 0)


@exercise.valid
def opposite_rotations_first(x, rotations):
    return torch.max(x @ torch.cat([rotations, -rotations], dim=1), dim=-1).indices


@exercise.valid
def the_larger_of_two(x, rotations):
    top = (x @ rotations).max(-1)
    low = (x @ rotations).min(-1)
    return torch.where(top.values >= -low.values, top.indices, low.indices + rotations.size(1))


@exercise.valid
def of_unit_length(x, rotations):
    units = torch.nn.functional.normalize(x, dim=-1)
    return (
        torch.einsum("...d,db->...b", units, rotations.repeat(1, 2))
        .mul(
            torch.ones_like(rotations[:1])
            .mul(torch.tensor([[1.0], [-1.0]], device=x.device))
            .view(-1)
        )
        .argmax(-1)
    )


@exercise.mutant("half of the directions are gone: the opposite of each counts as well")
def columns_only(x, rotations):
    return (x @ rotations).argmax(-1)


@exercise.mutant("the columns are gone: only their opposites count")
def opposites_only(x, rotations):
    return (-x @ rotations).argmax(-1)


@exercise.mutant("the halves have changed places: the columns come first, then their opposites")
def halves_swapped(x, rotations):
    return (-directions(x, rotations)).argmax(-1)


@exercise.mutant("a column and its opposite are b / 2 apart, not next to each other")
def opposites_next_to_each_other(x, rotations):
    at, product = largest(x, rotations)
    return 2 * at + (product < 0)


@exercise.mutant("the opposites come in reverse: that of column c is bucket b / 2 + c")
def opposites_in_reverse(x, rotations):
    along = x @ rotations
    return torch.cat([along, -along.flip(-1)], dim=-1).argmax(-1)


@exercise.mutant("the opposites begin at the wrong number: there are b / 2 columns, not d")
def moved_by_the_width(x, rotations):
    at, product = largest(x, rotations)
    return at + x.shape[-1] * (product < 0)


SIGN = "the sign of another number is asked: it is the largest product whose sign counts"


@exercise.mutant(SIGN)
def sign_of_the_sum(x, rotations):
    at, _ = largest(x, rotations)
    return at + rotations.shape[-1] * ((x @ rotations).sum(-1) < 0)


@exercise.mutant("the sign is kept in the number: buckets are numbered from 0 to b - 1")
def negative_buckets(x, rotations):
    at, product = largest(x, rotations)
    return at * product.sign().long()


@exercise.mutant(
    "all signs make one code: the bucket is the one direction with the largest product"
)
def code_of_signs(x, rotations):
    along = x @ rotations
    powers = 2 ** torch.arange(along.shape[-1], device=x.device)
    return ((along > 0) * powers).sum(-1)


@exercise.mutant("the columns are used as they are: do not divide them by their lengths")
def columns_of_unit_length(x, rotations):
    return all_directions(x, torch.nn.functional.normalize(rotations, dim=0))


BESIDE = "the opposites are on the wrong axis: put them beside the columns, on the last"


@exercise.mutant(BESIDE)
def stacked_as_tokens(x, rotations):
    along = x @ rotations
    return torch.cat([along, -along], dim=-2).argmax(-1)


@exercise.mutant(BESIDE)
def stacked_as_sentences(x, rotations):
    along = x @ rotations
    return torch.cat([along, -along]).argmax(-1)


@exercise.mutant("argmax runs over the tokens: each token picks one of the directions")
def argmax_over_the_tokens(x, rotations):
    return directions(x, rotations).argmax(-2)


@exercise.mutant("argmax runs over all numbers at once: say dim=-1")
def argmax_of_everything(x, rotations):
    return directions(x, rotations).argmax()


@exercise.mutant("these are the products: return the number of the largest")
def products(x, rotations):
    return directions(x, rotations).amax(-1)


@exercise.mutant("a bucket is an integer: argmax gives int64, leave it at that")
def as_floats(x, rotations):
    return all_directions(x, rotations).to(x.dtype)


FRONT = "axes are counted from the front, so other leading axes fail: count from the end, dim=-1"


@exercise.mutant(FRONT)
def axes_counted_from_the_front(x, rotations):
    along = x @ rotations
    return torch.cat([along, -along], dim=2).argmax(2)


@exercise.mutant(FRONT)
def axes_of_one_matrix(x, rotations):
    along = x @ rotations
    return torch.cat([along, -along], dim=1).argmax(1)


@exercise.mutant("it loops over the tokens: one product serves them all")
def loop_over_the_tokens(x, rotations):
    rows = [all_directions(one, rotations) for one in x.unbind(-2)]
    return torch.stack(rows, dim=-1)


@exercise.mutant("the input changes: divide a copy, not x itself")
def normalised_in_place(x, rotations):
    x /= x.norm(dim=-1, keepdim=True)
    return all_directions(x, rotations)


add_to(exercise, all_directions, made_on_the_cpu)
