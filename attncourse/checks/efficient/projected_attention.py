"""Exercise projected_attention: keys and values are projected along the length (Linformer)."""

import torch

from attncourse.checks.around import FLOATING, add_to
from attncourse.checks.exercise import Case, Exercise
from attncourse.dot_product import attention

exercise = Exercise(
    name="projected_attention",
    chapter="efficient",
    title="Fewer keys, each a mixture",
    kind="extend",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "e takes m keys and makes r of them. What is left is the attention you know, with r keys "
        "and r values.",
        "A product with an (r, m) matrix on the left mixes the rows of what stands on its right. "
        "Do that first: once n x m scores exist, nothing has been saved.",
        "e @ k is (..., r, d_k) and f @ v is (..., r, d_v); divide by the root of d_k, not of r",
    ),
)


@exercise.reference
def by_hand(q, k, v, e, f):
    r, m = e.shape
    keys = [sum(e[s, j] * k[..., j, :] for j in range(m)) for s in range(r)]
    values = [sum(f[s, j] * v[..., j, :] for j in range(m)) for s in range(r)]
    scores = [(q * one[..., None, :]).sum(-1) / q.shape[-1] ** 0.5 for one in keys]
    top = torch.stack(scores).detach().amax(0)
    parts = [(one - top).exp() for one in scores]
    pairs = zip(parts, values, strict=True)
    return sum((part / sum(parts))[..., None] * value[..., None, :] for part, value in pairs)


def drawn(draw, *batch, n, m, r, d_k, d_v):
    q, k, v = draw.normal(*batch, n, d_k), draw.normal(*batch, m, d_k), draw.normal(*batch, m, d_v)
    return q, k, v, draw.normal(r, m), draw.normal(r, m)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 6, 8)
    # widths for which no wrong scale of those below is another wrong one, or the right one
    sizes = {"n": n, "m": m, "r": 3, "d_k": 5, "d_v": 2}
    q, k, v, e, f = drawn(draw, 2, **sizes)
    long = drawn(draw, 8, n=n + 24, m=m + 24, r=24, d_k=5, d_v=2)
    said = f"n={n}, m={m}, r=3"
    yield Case(f"a batch of 2, {said}", (q, k, v, e, f), longer=long)
    yield Case(f"no batch, {said}", (q[0], k[0], v[0], e, f))
    heads = drawn(draw, 2, 3, n=4, m=5, r=2, d_k=3, d_v=6)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("a square e and f", drawn(draw, 2, n=5, m=5, r=5, d_k=3, d_v=4))
    yield Case("more projections than keys", drawn(draw, 2, n=4, m=3, r=6, d_k=5, d_v=2))
    yield Case("one projection", (q, k, v, e[:1], f[:1]))
    yield Case("scores 3600 times larger", (60 * q, 60 * k, v, e, f))
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1], e[:, :1], f[:, :1]))
    wide = drawn(draw, 2, n=40, m=41, r=3, d_k=4, d_v=5)
    # less than n x m numbers for one sentence
    said = "a batch of 2, n=40, m=41, r=3, where n x m is 1640"
    yield Case(said, wide, max_elements=40 * 41 - 1)


def projected(q, k, v, *, scale=None, axis=-1):
    """The right answer for keys and values that are projected already."""
    return (q @ k.mT / (q.shape[-1] ** 0.5 if scale is None else scale)).softmax(axis) @ v


@exercise.valid
def by_attention(q, k, v, e, f):
    return attention(q, e @ k, f @ v)


@exercise.valid
def queries_scaled_first(q, k, v, e, f):
    scores = (q * q.shape[-1] ** -0.5) @ (k.mT @ e.mT)
    return torch.softmax(scores, dim=-1) @ (v.mT @ f.T).mT


@exercise.valid
def by_einsum(q, k, v, e, f):
    keys, values = (torch.einsum("rj,...jd->...rd", *one) for one in ((e, k), (f, v)))
    scores = torch.einsum("...id,...rd->...ir", q, keys) / q.size(-1) ** 0.5
    return torch.einsum("...ir,...rd->...id", scores.softmax(-1), values)


@exercise.valid
def by_a_linear_map(q, k, v, e, f):
    linear = torch.nn.functional.linear
    return projected(q, linear(k.mT, e).mT, linear(v.mT, f).mT)


@exercise.valid
def by_its_formula(q, k, v, e, f):
    scores = q @ (e @ k).mT / q.shape[-1] ** 0.5
    parts = (scores - scores.amax(-1, keepdim=True)).exp()
    return parts @ (f @ v) / parts.sum(-1, keepdim=True)


@exercise.mutant("e and f have changed places: e is for the keys, f for the values")
def swapped(q, k, v, e, f):
    return projected(q, f @ k, e @ v)


@exercise.mutant("e projects the values as well: they have f")
def one_projection_for_both(q, k, v, e, f):
    return projected(q, e @ k, e @ v)


@exercise.mutant("f projects the keys as well: they have e")
def the_other_for_both(q, k, v, e, f):
    return projected(q, f @ k, f @ v)


@exercise.mutant("nothing is projected: e and f make r keys and values of m")
def plain_attention(q, k, v, e, f):
    return projected(q, k, v) + 0 * (e.sum() + f.sum())


@exercise.mutant("the values are not projected: f makes r of them, one for each of the r keys")
def values_as_they_are(q, k, v, e, f):
    return projected(q, e @ k, v) + 0 * f.sum()


TOO_LARGE = (
    "n x m numbers are made on the way: make the r keys first, and the r values by themselves"
)


@exercise.mutant(TOO_LARGE)
def scores_projected(q, k, v, e, f):
    scores = (q @ k.mT) @ e.mT / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ (f @ v)


@exercise.mutant(TOO_LARGE)
def weights_spread_over_the_keys(q, k, v, e, f):
    weights = (q @ (e @ k).mT / q.shape[-1] ** 0.5).softmax(-1)
    return (weights @ f) @ v


@exercise.mutant("the softmax comes before the projection: it runs over the r projected keys")
def softmax_first(q, k, v, e, f):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ e.mT @ (f @ v)


@exercise.mutant("a softmax makes means of the projections: e and f are used as they are")
def rows_of_weights(q, k, v, e, f):
    return projected(q, e.softmax(-1) @ k, f.softmax(-1) @ v)


@exercise.mutant("the projections are divided by m: e and f are used as they are")
def means_over_the_length(q, k, v, e, f):
    return projected(q, e @ k / k.shape[-2], f @ v / k.shape[-2])


@exercise.mutant("e and f stand on the wrong side or are turned: (r, m) times (m, d) is (r, d)")
def transposed(q, k, v, e, f):
    return projected(q, e.mT @ k, f.mT @ v)


@exercise.mutant("the scores are not scaled: divide by sqrt(d_k)")
def unscaled(q, k, v, e, f):
    return projected(q, e @ k, f @ v, scale=1)


@exercise.mutant("the scores are divided by d_k: divide once, by its square root")
def scaled_by_d_k(q, k, v, e, f):
    return projected(q, e @ k, f @ v, scale=q.shape[-1])


@exercise.mutant("the scale comes from the number of projections: it is the root of the width d_k")
def scaled_by_r(q, k, v, e, f):
    return projected(q, e @ k, f @ v, scale=len(e) ** 0.5)


@exercise.mutant("the softmax runs over the queries: each row, over the r keys, must sum to one")
def softmax_over_queries(q, k, v, e, f):
    return projected(q, e @ k, f @ v, axis=-2)


@exercise.mutant(
    "exp of the scores is too large or too small: take the largest of a row away first"
)
def unstable(q, k, v, e, f):
    parts = (q @ (e @ k).mT / q.shape[-1] ** 0.5).exp()
    return parts / parts.sum(-1, keepdim=True) @ (f @ v)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, v, e, f):
    batch, _, _ = k.shape
    return projected(q, torch.bmm(e.expand(batch, -1, -1), k), f @ v)


@exercise.mutant("it loops: a product with the whole of e makes all r keys at once")
def loop_over_projections(q, k, v, e, f):
    keys = torch.stack([(row[:, None] * k).sum(-2) for row in e], dim=-2)
    return projected(q, keys, f @ v)


@exercise.mutant("no gradient reaches e and f: they are learned, so nothing may be detached")
def projections_detached(q, k, v, e, f):
    return projected(q, e.detach() @ k, f.detach() @ v)


@exercise.mutant("the input changes: scale a copy, not q itself")
def scaled_in_place(q, k, v, e, f):
    q /= q.shape[-1] ** 0.5
    return projected(q, e @ k, f @ v, scale=1)


add_to(exercise, by_attention, *FLOATING)
