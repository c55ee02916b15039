"""Exercise merge_parts: attention to all keys from attention to two parts of them."""

import torch

from attncourse.checks.around import FLOATING, add_to
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="merge_parts",
    chapter="efficient",
    title="Two halves of one attention",
    kind="build",
    difficulty=3,
    minutes=30,
    points=20,
    hints=(
        "exp(log_sum) is what a part's softmax divided by. Undo both divisions, add up, and divide "
        "once by the sum of the two; then do it so that nothing overflows.",
        "A part's share of the result is exp(its log_sum - the log of the sum of both "
        "exponentials). torch.logaddexp is that logarithm, and does not overflow. Give the share "
        "an axis for the width. Where both parts have no key, -inf less -inf is NaN.",
        "total = torch.logaddexp(log_sum_a, log_sum_b); (log_sum_a - total).exp() is the share of "
        "a, and the total to subtract is total.where(total > -torch.inf, 0.0)",
    ),
    # where there is no key on either side, right answers have different gradients
    differentiable=False,
)


@exercise.reference
def by_hand(out_a, log_sum_a, out_b, log_sum_b):
    rows, totals = [], []
    width = out_a.shape[-1]
    parts = (out_a.reshape(-1, width), log_sum_a.reshape(-1), out_b.reshape(-1, width))
    for a, log_a, b, log_b in zip(*parts, log_sum_b.reshape(-1), strict=True):
        top = max(log_a, log_b)
        if top == -torch.inf:
            rows.append(torch.zeros_like(a))
            totals.append(top)
            continue
        share_a, share_b = (log_a - top).exp(), (log_b - top).exp()
        rows.append((share_a * a + share_b * b) / (share_a + share_b))
        totals.append(top + (share_a + share_b).log())
    return torch.stack(rows).reshape(out_a.shape), torch.stack(totals).reshape(log_sum_a.shape)


def part(draw, *batch, n, m, e):
    """Attention to m keys of their own, and the logarithm of what it divided by."""
    scores = draw.normal(*batch, n, m)
    return scores.softmax(-1) @ draw.normal(*batch, m, e), scores.logsumexp(-1)


def without_keys(out, log_sum, rows):
    out, log_sum = out.clone(), log_sum.clone()
    out[..., rows, :], log_sum[..., rows] = 0.0, -torch.inf
    return out, log_sum


@exercise.cases
def cases(draw):
    n, e = draw.sizes(2, 4, 6)
    a, b = part(draw, 2, n=n, m=3, e=e), part(draw, 2, n=n, m=9, e=e)
    long = (*part(draw, 12, n=16 * n, m=3, e=e), *part(draw, 12, n=16 * n, m=9, e=e))
    yield Case(f"a batch of 2, n={n}, e={e}", (*a, *b), longer=long)
    yield Case(f"no batch, n={n}, e={e}", tuple(x[0] for x in (*a, *b)))
    heads = part(draw, 2, 3, n=4, m=2, e=5), part(draw, 2, 3, n=4, m=6, e=5)
    yield Case("two leading axes (batch, heads)", (*heads[0], *heads[1]))
    yield Case("scores 2000 higher", (a[0], a[1] + 2000, b[0], b[1] + 2000))
    yield Case("scores 2000 lower", (a[0], a[1] - 2000, b[0], b[1] - 2000))
    yield Case("one part 3000 above the other", (a[0], a[1] + 1500, b[0], b[1] - 1500))
    yield Case("the other 3000 above", (a[0], a[1] - 1500, b[0], b[1] + 1500))
    rows = 2000.0 * (torch.arange(n) % 2)
    yield Case("rows that are 2000 apart", (a[0], a[1] + rows, b[0], b[1] + rows))
    yield Case("no key in the first part of rows 0 and 2", (*without_keys(*a, [0, 2]), *b))
    yield Case("no key in the second part of row 1", (*a, *without_keys(*b, [1])))
    neither = (*without_keys(*a, [0, 1]), *without_keys(*b, [1, 2]))
    yield Case("no key in either part of row 1", neither)
    yield Case("one query", tuple(x[:, :1] for x in (*a, *b)))


def logarithm(log_sum_a, log_sum_b):
    return torch.logaddexp(log_sum_a, log_sum_b)


def safe(total):
    return total.where(total > -torch.inf, 0.0)


def shares(log_sum_a, log_sum_b):
    total = safe(logarithm(log_sum_a, log_sum_b))
    return (log_sum_a - total).exp()[..., None], (log_sum_b - total).exp()[..., None]


def merged(out_a, log_sum_a, out_b, log_sum_b, *, share=shares, total=logarithm):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    share_a, share_b = share(log_sum_a, log_sum_b)
    return share_a * out_a + share_b * out_b, total(log_sum_a, log_sum_b)


@exercise.valid
def by_logaddexp(out_a, log_sum_a, out_b, log_sum_b):
    return merged(out_a, log_sum_a, out_b, log_sum_b)


@exercise.valid
def larger_one_taken_away(out_a, log_sum_a, out_b, log_sum_b):
    top = torch.maximum(log_sum_a, log_sum_b).clamp(min=-1e30)
    a, b = (log_sum_a - top).exp(), (log_sum_b - top).exp()
    out = (a[..., None] * out_a + b[..., None] * out_b) / (a + b).clamp(min=1e-9)[..., None]
    return out, (a + b).log() + top


@exercise.valid
def by_sigmoid(out_a, log_sum_a, out_b, log_sum_b):
    share = (log_sum_a - log_sum_b).nan_to_num(0.0).sigmoid().unsqueeze(-1)
    return torch.lerp(out_b, out_a, share), torch.logaddexp(log_sum_b, log_sum_a)


@exercise.valid
def two_parts_stacked(out_a, log_sum_a, out_b, log_sum_b):
    logs = torch.stack([log_sum_a, log_sum_b], dim=-1)
    weights = logs.softmax(-1).nan_to_num(0.0)
    out = torch.einsum("...p,...pe->...e", weights, torch.stack([out_a, out_b], dim=-2))
    return out, logs.logsumexp(-1)


@exercise.valid
def zeros_put_in_at_the_end(out_a, log_sum_a, out_b, log_sum_b):
    total = torch.logaddexp(log_sum_a, log_sum_b)
    a, b = torch.exp(log_sum_a - total), torch.exp(log_sum_b - total)
    out = a[..., None] * out_a + b[..., None] * out_b
    return torch.where(total[..., None] == -torch.inf, torch.zeros_like(out), out), total


@exercise.mutant("the parts count alike: each counts by what its softmax divided by")
def mean_of_the_outputs(*parts):
    return merged(*parts, share=lambda a, b: (0.5, 0.5))


@exercise.mutant("the outputs are added up: each is a mean, and so is the result")
def sum_of_the_outputs(*parts):
    return merged(*parts, share=lambda a, b: (1, 1))


@exercise.mutant("the shares are swapped: that of a part comes from its own log_sum")
def shares_swapped(*parts):
    return merged(*parts, share=lambda a, b: shares(b, a))


@exercise.mutant("the logarithms serve as weights: take exp, they are logarithms of sums")
def logarithms_as_weights(*parts):
    def share(a, b):
        a, b = a.clamp(min=-1e30), b.clamp(min=-1e30)
        return (a / (a + b))[..., None], (b / (a + b))[..., None]

    return merged(*parts, share=share)


@exercise.mutant("the sum is not divided: the shares of the two parts add up to 1")
def not_divided(*parts):
    def share(a, b):
        top = safe(torch.maximum(a, b))
        return (a - top).exp()[..., None], (b - top).exp()[..., None]

    return merged(*parts, share=share)


@exercise.mutant("the log sums are added: that multiplies the sums, and they should be added")
def logarithms_added(*parts):
    return merged(*parts, total=torch.add)


@exercise.mutant("the larger log sum is returned: the smaller sum belongs to the total as well")
def larger_logarithm(*parts):
    return merged(*parts, total=torch.maximum)


@exercise.mutant("this is the sum: its logarithm is asked for")
def sum_without_logarithm(*parts):
    return merged(*parts, total=lambda a, b: logarithm(a, b).exp())


@exercise.mutant("the maximum is taken away and not put back: add it to the logarithm again")
def maximum_not_put_back(*parts):
    return merged(*parts, total=lambda a, b: logarithm(a, b) - safe(torch.maximum(a, b)))


UNSTABLE = "exp of a log sum overflows or vanishes: take the larger of the two away first"


def exponentials(a, b):
    a, b = a.exp(), b.exp()
    return (a / (a + b))[..., None], (b / (a + b))[..., None]


def exponentials_and_no_nan(a, b):
    return [x.nan_to_num(0.0) for x in exponentials(a, b)]


def exponentials_and_no_zero(a, b):
    a, b = a.exp(), b.exp()
    total = (a + b).where(a + b > 0, 1.0)
    return (a / total)[..., None], (b / total)[..., None]


def log_of_exponentials(a, b):
    return (a.exp() + b.exp()).log()


def with_both(share, total):
    def answered(*parts):
        return merged(*parts, share=share, total=total)

    answered.__name__ = f"{share.__name__}_{total.__name__}"
    return answered


for one in (exponentials, exponentials_and_no_nan, exponentials_and_no_zero):
    for total in (logarithm, log_of_exponentials):
        exercise.mutant(UNSTABLE)(with_both(one, total))
exercise.mutant(UNSTABLE)(with_both(shares, log_of_exponentials))


@exercise.mutant(UNSTABLE)
def first_taken_away(*parts):
    return merged(*parts, total=lambda a, b: a + (b - a).exp().log1p())


ONE_MAXIMUM = "one maximum is taken away from all rows: each row has its own"


def less_one_maximum(out_a, log_sum_a, out_b, log_sum_b, share):
    top = safe(torch.maximum(log_sum_a, log_sum_b).max())
    a, b = log_sum_a - top, log_sum_b - top
    total = log_of_exponentials(a, b) + top
    return merged(out_a, a, out_b, b, share=share, total=lambda a, b: total)


@exercise.mutant(ONE_MAXIMUM)
def one_maximum_for_all(*parts):
    return less_one_maximum(*parts, exponentials)


@exercise.mutant(ONE_MAXIMUM)
def one_maximum_and_no_zero(*parts):
    return less_one_maximum(*parts, exponentials_and_no_zero)


EMPTY = "without a key on either side it gives NaN: it should give zeros and -inf"


def shares_or_nan(a, b):
    total = logarithm(a, b)
    return (a - total).exp()[..., None], (b - total).exp()[..., None]


def logarithm_or_nan(a, b):
    top = torch.maximum(a, b)
    return top + log_of_exponentials(a - top, b - top)


exercise.mutant(EMPTY)(with_both(shares_or_nan, logarithm))
exercise.mutant(EMPTY)(with_both(shares_or_nan, logarithm_or_nan))
exercise.mutant(EMPTY)(with_both(shares, logarithm_or_nan))


@exercise.mutant("without a key on either side log_sum is a number: it should be -inf")
def finite_without_keys(*parts):
    return merged(*parts, total=lambda a, b: logarithm(a, b).nan_to_num(neginf=0.0))


@exercise.mutant("a share has no axis for the width: give it one of size 1, the last")
def share_without_an_axis(*parts):
    return merged(*parts, share=lambda a, b: [x[..., 0] for x in shares(a, b)])


@exercise.mutant("the results have changed places: the output comes first")
def exchanged(*parts):
    return merged(*parts)[::-1]


@exercise.mutant("only the output comes back: the next part will need the log sum")
def output_only(*parts):
    return merged(*parts)[0]


@exercise.mutant("it loops over rows or sentences: the formula holds for all of them at once")
def loop_over_rows(*parts):
    rows = zip(*(x.unbind(len(parts[1].shape) - 1) for x in parts), strict=True)
    outs, totals = zip(*(merged(*row) for row in rows), strict=True)
    return torch.stack(outs, dim=-2), torch.stack(totals, dim=-1)


@exercise.mutant("an input changes: multiply into a new tensor")
def weighed_in_place(out_a, log_sum_a, out_b, log_sum_b):
    a, b = shares(log_sum_a, log_sum_b)
    out_a *= a
    return out_a + b * out_b, logarithm(log_sum_a, log_sum_b)


add_to(exercise, merged, *FLOATING)
