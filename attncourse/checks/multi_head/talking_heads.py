"""Exercise talking_heads: the heads' scores are mixed before the softmax."""

import torch

from attncourse.checks.dot_product.shared.masked_softmax import softmax
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.multi_head.shared import heads as ways

exercise = Exercise(
    name="talking_heads",
    chapter="multi_head",
    title="Heads that talk to each other",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Only one line is new, between the scores and the softmax: each new matrix of scores is "
        "a sum over the old ones. The mask belongs to the new ones.",
        "The scores are (..., heads_in, n, m), the mix is (heads_in, heads_out). Sum over the "
        "axis heads_in, for each pair of query and key alike; the result is (..., heads_out, n, "
        "m). Scale by the width of a key, mix, then mask, then take the softmax.",
        'torch.einsum("...hij,hg->...gij", scores, mix) mixes',
    ),
)


@exercise.reference
def head_by_head(q, k, v, mix, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    allowed = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool) if mask is None else mask
    allowed = allowed.broadcast_to(*v.shape[:-2], q.shape[-2], k.shape[-2])
    out = []
    for g, column in enumerate(mix.T):
        mixed = sum(part * scores[..., h, :, :] for h, part in enumerate(column))
        seen = allowed[..., g, :, :]
        top = mixed.detach().masked_fill(~seen, -torch.inf).amax(-1, keepdim=True)
        parts = (mixed - top.where(top.isfinite(), 0.0)).masked_fill(~seen, -torch.inf).exp()
        total = parts.sum(-1, keepdim=True)
        out.append(parts / total.where(total > 0, 1.0) @ v[..., g, :, :])
    return torch.stack(out, dim=-3)


def drawn(draw, *batch, n, m, heads, d_h=5, d_out=2):
    """q, k and v of so many heads before and after the mix, and the mix."""
    before, after = heads
    q, k = draw.normal(*batch, before, n, d_h), draw.normal(*batch, before, m, d_h)
    return q, k, draw.normal(*batch, after, m, d_out), draw.normal(before, after)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 5, 7)
    q, k, v, mix = few = drawn(draw, 2, n=n, m=m, heads=(3, 4))
    long = {"n": n + 16, "m": m + 16, "heads": (24, 32)}
    said = f"3 heads to 4, n={n}, m={m}"
    yield Case(f"a batch of 2, {said}", few, longer=drawn(draw, 2, **long))
    yield Case(f"no batch, {said}", (q[0], k[0], v[0], mix))
    axes = drawn(draw, 2, 3, n=4, m=5, heads=(4, 2), d_h=3)
    yield Case("two leading axes, 4 heads to 2", axes)
    square = drawn(draw, 2, n=n, m=m, heads=(3, 3))
    yield Case("3 heads to 3", square)
    yield Case("one head to one", drawn(draw, 2, n=n, m=m, heads=(1, 1)))
    yield Case("scores 3600 times larger", (60 * q, 60 * k, v, mix))
    same = torch.eye(3, dtype=q.dtype)
    mask = draw.mask(2, 1, n, m)
    yield Case(f"a mask, {said}", (q, k, v, mix, mask))
    yield Case(f"a mask without a batch, {said}", (q[0], k[0], v[0], mix, mask[0]))
    yield Case("a mask without leading axes", (q, k, v, mix, mask[0, 0]))
    yield Case("a mask for each new head", (*axes, draw.mask(2, 3, 2, 4, 5)))
    yield Case("a mask, and each head mixed with itself only", (*square[:3], same, mask))
    first = torch.arange(m) == 0
    positive, plus, without = 1 + q.abs(), 1 + mix.abs(), (~first).expand(n, m)
    high = torch.where(first[:, None], 1e3, 1.0) * (1 + k.abs())
    yield Case("a masked key with a high score", (positive, high, v, plus, without))
    far = torch.where(first[:, None], 1.0, -1e10) * (1 + k.abs())
    hidden = positive, far, v, plus, without
    yield Case("a masked key, the others far below zero", hidden, gradient=False)
    nowhere = mask.clone()
    nowhere[1, 0, 0] = False
    longer = (*drawn(draw, 8, **long), draw.mask(8, 1, n + 16, m + 16))
    yield Case("a query that may attend nowhere", (q, k, v, mix, nowhere), longer=longer)
    yield Case("a mask by name", (q, k, v, mix), {"mask": mask})
    yield Case("one query and one key", (q[..., :1, :], k[..., :1, :], v[..., :1, :], mix))


def mixed(scores, mix):
    return torch.einsum("...hij,hg->...gij", scores, mix)


def attend(q, k, v, mix, mask=None, *, mixing=mixed, scale=None, way=softmax):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale is None else scale)
    return way(mixing(scores, mix), mask) @ v


@exercise.valid
def heads_moved_to_the_end(q, k, v, mix, mask=None):
    return attend(
        q, k, v, mix, mask, mixing=lambda s, mix: (s.movedim(-3, -1) @ mix).movedim(-1, -3)
    )


@exercise.valid
def a_product_over_flat_pairs(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        return (mix.mT @ scores.flatten(-2)).unflatten(-1, scores.shape[-2:])

    return attend(q, k, v, mix, mask, mixing=mixing)


@exercise.valid
def by_broadcasting(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        return (scores.unsqueeze(-3) * mix[:, :, None, None]).sum(-4)

    return attend(q, k, v, mix, mask, mixing=mixing)


@exercise.valid
def all_in_one_einsum(q, k, v, mix, mask=None):
    scores = torch.einsum("...hic,...hjc,hg->...gij", q, k, mix) / q.shape[-1] ** 0.5
    return torch.einsum("...gij,...gjc->...gic", softmax(scores, mask), v)


@exercise.valid
def the_mix_is_scaled(q, k, v, mix, mask=None):
    return attend(q, k, v, mix * q.size(-1) ** -0.5, mask, scale=1)


ways.add_softmaxes(
    exercise, lambda way, q, k, v, mix, mask=None: attend(q, k, v, mix, mask, way=way)
)


@exercise.mutant("the heads are not mixed: each new score is a sum over the heads")
def not_mixed(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask, mixing=lambda scores, mix: scores)


@exercise.mutant("the mix is turned round: its rows are the heads before, its columns those after")
def mix_transposed(q, k, v, mix, mask=None):
    return attend(q, k, v, mix.mT, mask)


@exercise.mutant("the weights, or the outputs, are mixed: mix the scores, before the softmax")
def weights_mixed(q, k, v, mix, mask=None):
    def way(scores, mask):
        return mixed(softmax(scores, mask), mix)

    return attend(q, k, v, mix, mask, mixing=lambda scores, mix: scores, way=way)


EARLY = "the mask comes before the mix, which carries it on to other heads: mix, and then mask"


@exercise.mutant(EARLY)
def masked_before_the_mix(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        return mixed(scores if mask is None else scores.masked_fill(~mask, -torch.inf), mix)

    return attend(q, k, v, mix, mixing=mixing)


@exercise.mutant(EARLY)
def masked_before_the_mix_with_a_large_number(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        return mixed(scores if mask is None else scores.masked_fill(~mask, -1e9), mix)

    return attend(q, k, v, mix, mixing=mixing)


@exercise.mutant(EARLY)
def masked_before_the_mix_and_zeroed(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        return mixed(scores if mask is None else scores.masked_fill(~mask, -1e9), mix)

    def way(scores, mask):
        return scores.softmax(-1) if mask is None else scores.softmax(-1).masked_fill(~mask, 0.0)

    return attend(q, k, v, mix, mask, mixing=mixing, way=way)


@exercise.mutant(EARLY)
def masked_before_and_after_the_mix(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        return mixed(scores if mask is None else scores.masked_fill(~mask, -torch.inf), mix)

    return attend(q, k, v, mix, mask, mixing=mixing)


@exercise.mutant("the mask has its axis for heads already: it fits the new scores as it is")
def mask_with_one_more_axis(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask if mask is None else mask.unsqueeze(-3))


@exercise.mutant("the softmax runs over the heads: each head has a softmax over the keys")
def softmax_over_the_heads(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask, way=lambda scores, mask: softmax(scores, mask, axis=-3))


@exercise.mutant("the mixed scores are added to the old ones: they take their place")
def added_to_the_scores(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask, mixing=lambda scores, mix: scores + mixed(scores, mix))


SOFT = "the mix goes through a softmax: it is used as it is"


@exercise.mutant(SOFT)
def mix_through_a_softmax(q, k, v, mix, mask=None):
    return attend(q, k, v, mix.softmax(0), mask)


@exercise.mutant(SOFT)
def mix_through_a_softmax_over_its_rows(q, k, v, mix, mask=None):
    return attend(q, k, v, mix.softmax(-1), mask)


@exercise.mutant("the mixed scores are divided by the heads: a sum is asked for, not a mean")
def mean_over_the_heads(q, k, v, mix, mask=None):
    return attend(q, k, v, mix / len(mix), mask)


@exercise.mutant("all new heads get the same scores: each has a column of the mix of its own")
def summed_over_both_axes(q, k, v, mix, mask=None):
    return attend(q, k, v, mix.sum(1, keepdim=True).expand_as(mix), mask)


@exercise.mutant("the sum runs over the queries: it runs over the heads, three from the end")
def queries_mixed(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        return torch.einsum("...hij,ig->...hgj", scores, mix)

    return attend(q, k, v, mix, mask, mixing=mixing)


@exercise.mutant("the axes of the mixed scores are swapped: the heads come before the queries")
def heads_left_at_the_end(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        return (scores.movedim(-3, -1) @ mix).transpose(-3, -1)

    return attend(q, k, v, mix, mask, mixing=mixing)


@exercise.mutant("the values are mixed as well: only the scores are")
def values_mixed(q, k, v, mix, mask=None):
    return attend(q, k, torch.einsum("...gjc,hg->...hjc", v, mix), mix, mask)


@exercise.mutant("the queries are mixed, and meet keys of other heads: mix their scores")
def queries_and_keys_mixed_apart(q, k, v, mix, mask=None):
    q, k = (torch.einsum("...hic,hg->...gic", x, mix) for x in (q, k))
    return attend(q, k, v, mix, mask, mixing=lambda scores, mix: scores)


@exercise.mutant("the scores are not scaled: divide by sqrt(d_k)")
def unscaled(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask, scale=1)


@exercise.mutant("the scores are divided by d_k, not by its square root")
def scaled_by_d_k(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask, scale=q.shape[-1])


@exercise.mutant("scale by the width of a key: it is taken from the values")
def scaled_by_the_values(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask, scale=v.shape[-1] ** 0.5)


@exercise.mutant("scale by the width of a key: it is taken from the number of heads")
def scaled_by_the_heads(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask, scale=len(mix) ** 0.5)


@exercise.mutant("it needs one batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask, mixing=lambda s, mix: torch.einsum("bhij,hg->bgij", s, mix))


@exercise.mutant("it loops over the heads: one product mixes all of them")
def loop_over_heads(q, k, v, mix, mask=None):
    def mixing(scores, mix):
        out = []
        for column in mix.T:
            out.append((scores * column[:, None, None]).sum(-3))
        return torch.stack(out, dim=-3)

    return attend(q, k, v, mix, mask, mixing=mixing)


@exercise.mutant("no gradient reaches the mix: nothing may be detached")
def mix_detached(q, k, v, mix, mask=None):
    return attend(q, k, v, mix.detach(), mask)


@exercise.mutant("the input changes: scale a copy, not q itself")
def scaled_in_place(q, k, v, mix, mask=None):
    q /= q.shape[-1] ** 0.5
    return attend(q, k, v, mix, mask, scale=1)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(q, k, v, mix, mask=None):
    return attend(q.float(), k.float(), v.float(), mix.float(), mask)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(q, k, v, mix, mask=None):
    return attend(q, k, v, mix, mask) + torch.zeros(v.shape[-1], dtype=q.dtype, device="cpu")
