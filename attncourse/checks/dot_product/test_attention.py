"""Exercise test_attention: the learner's test meets right and wrong attentions, unnamed."""

import math
from functools import partial

import torch
from torch.testing import assert_close

from attncourse.checks.exercise import Case, Exercise, Source

exercise = Exercise(
    name="test_attention",
    chapter="dot_product",
    title="A test that wrong attentions fail",
    kind="test",
    difficulty=3,
    minutes=25,
    points=20,
    hints=(
        "Think of what could be wrong, then of an input on which it shows. Sizes that are all "
        "different show a swapped axis; a mask shows what is done with it; a row that may attend "
        "nowhere, scores of a thousand and float64 each show something of their own.",
        "Write attention once more, slowly, in the test. For q, k and v without a batch, with one "
        "batch axis and with two, with a mask and without, compare: shape, dtype, numbers within a "
        "small tolerance, and whether the inputs are still what they were.",
        "before = [x.clone() for x in (q, k, v)]; got = attention(q, k, v, mask); then "
        "torch.testing.assert_close(got, expected) and the same for each of q, k, v and before",
    ),
    differentiable=False,
)


def plain(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
    return weights @ v


def renormalised(q, k, v, mask=None):
    scores = torch.einsum("...id,...jd->...ij", q * q.shape[-1] ** -0.5, k)
    if mask is None:
        return torch.einsum("...ij,...jd->...id", torch.softmax(scores, dim=-1), v)
    lowest = torch.finfo(scores.dtype).min
    weights = torch.softmax(torch.where(mask, scores, lowest), dim=-1) * mask
    total = weights.sum(dim=-1, keepdim=True)
    return torch.einsum("...ij,...jd->...id", weights / torch.where(total > 0, total, 1.0), v)


def divided_last(q, k, v, mask=None):
    scores = (q / q.shape[-1] ** 0.25) @ (k / k.shape[-1] ** 0.25).transpose(-2, -1)
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e30)
    parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    out = parts @ v / parts.sum(dim=-1, keepdim=True)
    return out if mask is None else torch.where(mask.any(dim=-1, keepdim=True), out, 0.0)


RIGHT = {
    "a right attention": plain,
    "a right attention, by einsum": renormalised,
    "a right attention that divides last": divided_last,
}
SCALED = "q @ k.mT / q.shape[-1] ** 0.5"
SOFTMAX = "scores.softmax(dim=-1)"
FILL = "-torch.inf"
EMPTY_ROW = ".masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)"
MEAN = "weights @ v"
# what each wrong attention does, and the edits that make it of the plain one
WRONG = {
    "forgets to scale": [(SCALED, "q @ k.mT")],
    "divides by d_k": [(SCALED, "q @ k.mT / q.shape[-1]")],
    "scales by the width of the values": [(SCALED, "q @ k.mT / v.shape[-1] ** 0.5")],
    "scales by a fixed 8": [(SCALED, "q @ k.mT / 8")],
    "takes the softmax over the queries": [(SOFTMAX, "scores.softmax(dim=-2)")],
    "is right only without a batch": [(SOFTMAX, "scores.softmax(dim=1)")],
    "is right only with one batch axis": [(SOFTMAX, "scores.softmax(dim=2)")],
    "overflows for large scores": [(SOFTMAX, "scores.exp() / scores.exp().sum(-1, keepdim=True)")],
    "hides later keys unasked": [(SCALED, f"{SCALED} - 1e30 * torch.ones_like(q @ k.mT).triu(1)")],
    "averages the keys": [(MEAN, "weights @ k")],
    "returns the weights": [(MEAN, "weights")],
    "transposes its result": [(MEAN, "(weights @ v).mT")],
    "always returns float32": [(MEAN, "(weights @ v).float()")],
    "takes the mask the other way round": [("~mask", "mask"), ("mask.any", "mask.all")],
    "ignores the mask": [("mask is not None", "False")],
    "cannot do without a mask": [("mask is not None", "True")],
    "fills with 0": [(FILL, "0.0")],
    "fills with -10": [(FILL, "-10.0")],
    "masks after the softmax": [(FILL, "scores"), (".any(dim=-1, keepdim=True)", "")],
    "gives NaN where a query may attend nowhere": [(EMPTY_ROW, "")],
    "attends everywhere where a query may attend nowhere": [(EMPTY_ROW, ""), (FILL, "-1e30")],
    "changes its input": [(f"scores = {SCALED}", "q /= q.shape[-1] ** 0.5\n    scores = q @ k.mT")],
}


def edited(edits):
    """The plain attention with pieces of its text replaced."""
    made = Source(plain, "attention")
    for old, new in edits:
        if old not in made.source:
            raise ValueError(f"the plain attention has no {old!r} to replace")
        made.source = made.source.replace(old, new)
    return made


@exercise.cases
def cases(draw):
    found = [(about, Source(function, "attention")) for about, function in RIGHT.items()]
    found += [(f"an attention that {does}", edited(edits)) for does, edits in WRONG.items()]
    # in any order: a test that counts its calls learns nothing
    for place in torch.randperm(len(found), generator=draw.generator).tolist():
        about, source = found[place]
        yield Case(about, (source,), gradient=False)


BATCHES = ((), (2, 3))


def inputs(*batch, sizes=(3, 5, 4, 2), large=1000.0, dtype=torch.float64, seed=0):
    """q, k and v; the scores of the first query are large."""
    generator = torch.Generator().manual_seed(seed)
    n, m, d_k, d_v = sizes
    shapes = (n, d_k), (m, d_k), (m, d_v)
    q, k, v = (torch.randn(*batch, *s, generator=generator, dtype=dtype) for s in shapes)
    q[..., 0, :] *= large
    return q, k, v


def some_keys(*shape, empty=1):
    """A mask that leaves out one key of three, and every key in the row `empty`."""
    mask = torch.arange(math.prod(shape)).reshape(shape) % 3 != 1
    mask[..., empty : empty + 1, :] = False
    return mask


@exercise.reference
def query_by_query(attention):
    for batch in BATCHES:
        q, k, v = inputs(*batch)
        for mask in (None, some_keys(*batch, 3, 5)):
            before = [x.clone() for x in (q, k, v)]
            got = attention(q, k, v) if mask is None else attention(q, k, v, mask)
            assert (got.shape, got.dtype) == ((*batch, 3, 2), q.dtype)
            assert all(map(torch.equal, (q, k, v), before))
            allowed = torch.ones(*batch, 3, 5, dtype=torch.bool) if mask is None else mask
            parts = (x.reshape(-1, *x.shape[-2:]) for x in (got, q, k, v, allowed))
            for out, query, key, value, seen in zip(*parts, strict=True):
                for i in range(3):
                    weights = (key[seen[i]] @ query[i] / 2).softmax(0)
                    assert torch.allclose(out[i], weights @ value[seen[i]])


def formula(q, k, v, mask=None, *, scale=None, axis=-1, least=1.0):
    """Attention once more. The largest part of a row is 1, so a sum below 1 is an empty row's."""
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale is None else scale)
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    scores = scores.masked_fill(~allowed, -1e30)
    parts = (scores - scores.amax(axis, keepdim=True)).exp() * allowed
    return parts / parts.sum(axis, keepdim=True).clamp(min=least) @ v


def examine(
    attention,
    *,
    batches=BATCHES,
    draw=inputs,
    masks=(None, some_keys),
    want=formula,
    agree=assert_close,
    unchanged=True,
):
    """The right test, with the places where a bad one departs from it as arguments."""
    for batch in batches:
        for make in masks:
            q, k, v = draw(*batch)
            mask = make and make(*batch, q.shape[-2], k.shape[-2])
            before = [x.clone() for x in (q, k, v)]
            got = attention(q, k, v, mask)
            agree(got, want(*before, mask))
            assert not unchanged or all(map(torch.equal, (q, k, v), before))


@exercise.valid
def against_the_formula(attention):
    examine(attention)


@exercise.valid
def on_other_sizes(attention):
    examine(attention, draw=partial(inputs, sizes=(4, 3, 6, 7), large=9000.0, seed=5))


@exercise.valid
def by_exceptions_of_its_own(attention):
    def agree(got, want):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
        if not (got - want).abs().max() < 1e-6:
            raise ValueError("the numbers differ")

    examine(attention, agree=agree)


@exercise.valid
def by_its_properties(attention):
    for batch in BATCHES:
        q, k, v = inputs(*batch)
        kept = q.clone()
        mask = some_keys(*batch, 3, 5)
        for allowed in (None, mask):
            # the identity for values lets the weights be read off
            weights = attention(q, k, torch.eye(5, dtype=q.dtype).expand(*batch, 5, 5), allowed)
            assert torch.equal(q, kept)
            seen = torch.ones_like(mask) if allowed is None else mask
            assert not weights[~seen].any()
            assert_close(weights.sum(-1), seen.any(-1).double())
            assert_close(attention(q, k, v, allowed), weights @ v)
            # row 2 has small scores: the logarithms of its weights differ as its scores do
            scores = (q[..., 2:, :] @ k.mT)[..., 0, :] / 4**0.5
            both = seen[..., 2, :, None] & seen[..., 2, None, :]
            logs = weights[..., 2, :].log()
            ratios = logs[..., :, None] - logs[..., None, :]
            assert_close(ratios[both], (scores[..., :, None] - scores[..., None, :])[both])


@exercise.mutant("it never calls attention: a test tries it on inputs and asserts something")
def nothing_is_called(attention):
    assert callable(attention)


@exercise.mutant("it returns whether the numbers agree: a test has to raise when they do not")
def returned_not_asserted(attention):
    agreed = []
    examine(attention, agree=lambda a, b: agreed.append(a.equal(b)), unchanged=False)
    return all(agreed)


@exercise.mutant("it looks at the shape only: compare the numbers, too")
def only_the_shape(attention):
    def agree(got, want):
        assert got.shape == want.shape

    examine(attention, agree=agree, unchanged=False)


@exercise.mutant("all inputs are ones: whatever the weights, the mean is the same. Draw them")
def inputs_of_ones(attention):
    examine(attention, draw=lambda *batch: [x * 0 + 1 for x in inputs(*batch)])


@exercise.mutant(
    "all sizes are equal, so a scale from the wrong width fits: make them all different"
)
def all_sizes_equal(attention):
    examine(attention, draw=partial(inputs, sizes=(4, 4, 4, 4)))


@exercise.mutant("q, k and v are the same tensor, so mixing them up does not show: draw three")
def same_tensor_three_times(attention):
    examine(attention, draw=lambda *batch: [inputs(*batch)[1]] * 3)


@exercise.mutant("there is one key only: its weight is 1 whatever the scores are")
def a_single_key(attention):
    examine(attention, draw=partial(inputs, sizes=(3, 1, 4, 2)))


@exercise.mutant("the keys have width 1, and dividing by 1 changes nothing: no scale shows")
def width_one(attention):
    examine(attention, draw=partial(inputs, sizes=(3, 5, 1, 2)))


@exercise.mutant("the keys have width 64, where a fixed scale of 8 is right: try another width")
def width_of_the_fixed_scale(attention):
    examine(attention, draw=partial(inputs, sizes=(3, 5, 64, 2)))


@exercise.mutant("no mask is ever tried")
def no_mask_tried(attention):
    examine(attention, masks=(None,))


@exercise.mutant("a mask is always there: try it without one, too")
def always_a_mask(attention):
    examine(attention, masks=(some_keys,))


@exercise.mutant("the mask allows everything, so it may as well be ignored: forbid some keys")
def mask_of_all_true(attention):
    every = partial(torch.ones, dtype=torch.bool)
    examine(attention, masks=(None, every))


@exercise.mutant("no query is without a key: try a row of the mask that is all False")
def no_empty_row(attention):
    examine(attention, masks=(None, partial(some_keys, empty=9)))


@exercise.mutant("all scores are small: try some in the hundreds, where exp overflows")
def small_scores(attention):
    examine(attention, draw=partial(inputs, large=1.0))


@exercise.mutant("every input has a batch axis: try two matrices, too, or two leading axes")
def always_one_batch_axis(attention):
    examine(attention, batches=((2,),))


@exercise.mutant("no input has a batch: try leading axes, too")
def never_a_batch(attention):
    examine(attention, batches=((),))


@exercise.mutant("it does not look whether the inputs are still the same after the call")
def inputs_not_looked_at(attention):
    examine(attention, unchanged=False)


@exercise.mutant("the dtype of the result is not looked at: float64 should give float64")
def dtype_not_looked_at(attention):
    examine(attention, agree=partial(assert_close, check_dtype=False, rtol=1e-5, atol=1e-6))


@exercise.mutant("the tolerance is too wide: wrong numbers pass, too")
def tolerance_too_wide(attention):
    examine(attention, agree=partial(assert_close, rtol=0, atol=1.0))


@exercise.mutant(
    "it asks for equal bits: another order of the same sums is right, too. Allow rounding"
)
def exact_equality(attention):
    def agree(got, want):
        assert got.equal(want)

    examine(attention, agree=agree)


@exercise.mutant("its own formula does not divide by sqrt(d_k), so it refuses what is right")
def formula_unscaled(attention):
    examine(attention, want=partial(formula, scale=1))


@exercise.mutant("its own softmax runs over the queries, so it refuses what is right")
def formula_over_queries(attention):
    examine(attention, masks=(None,), want=partial(formula, axis=-2))


@exercise.mutant("it takes True for forbidden, so it refuses what is right: True means may attend")
def formula_with_the_mask_inverted(attention):
    def want(q, k, v, mask):
        return formula(q, k, v, None if mask is None else ~mask)

    examine(attention, want=want)


@exercise.mutant("its own formula gives NaN for a query that may attend nowhere: expect zeros")
def formula_with_nan(attention):
    def agree(got, want):
        assert_close(got, want, equal_nan=True)

    examine(attention, want=partial(formula, least=0.0), agree=agree)


@exercise.mutant("it refuses everything, the right ones too: run it on an attention you trust")
def all_refused(attention):
    q, k, v = inputs()
    assert attention(q, k, v).shape == q.shape
