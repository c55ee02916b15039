"""Exercise test_linear_attention: the learner's test meets right and wrong forms, unnamed."""

from functools import partial
from itertools import chain, combinations

import torch

from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations
from attncourse.checks.linear.shared.forms import (
    BATCHES,
    DTYPES,
    LENGTHS,
    RIGHT,
    WRONG,
    as_a_matrix,
    close,
    examine,
    formula,
    inputs,
)

exercise = Exercise(
    name="test_linear_attention",
    chapter="linear",
    title="A test that wrong linear attentions fail",
    kind="test",
    difficulty=3,
    minutes=30,
    points=20,
    hints=(
        "A fast form is compared with a slow one that is plainly right: write the weights out, as "
        "a matrix, and ask on which inputs a mistake would show. Both values of causal, several "
        "leading axes, and lengths beyond a chunk each show something of their own.",
        "In the test, make the features, the matrix of their products, the lower triangle when "
        "causal, rows that sum to 1, and the product with v. Compare shape, dtype and numbers, in "
        "float32 and float64, with fewer queries than keys, with and without a batch; and look "
        "whether q, k and v are still what they were.",
        "for batch, dtype in [((), torch.float64), ((2, 2), torch.float32)]: and in it, for both "
        "values of causal, before = [x.clone() for x in (q, k, v)]; "
        "got = linear_attention(q, k, v, causal=causal); one of the asserts is "
        "torch.allclose(got, want, atol=torch.finfo(dtype).eps ** 0.5)",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    return implementations(draw, "linear_attention", "a linear attention", RIGHT, WRONG)


@exercise.reference
def query_by_query(linear_attention):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        for causal, (n, m) in LENGTHS.items():
            q, k, v = inputs(*batch, n=n, m=m, dtype=dtype)
            before = [x.clone() for x in (q, k, v)]
            got = linear_attention(q, k, v, causal=causal)
            assert all(map(torch.equal, (q, k, v), before))
            assert (got.shape, got.dtype) == ((*batch, n, 2), dtype)
            phi_q, phi_k = (torch.where(x > 0, x + 1, x.exp()) for x in before[:2])
            for i in range(n):
                seen = i + 1 if causal else m
                parts = (phi_q[..., i, None, :] * phi_k[..., :seen, :]).sum(-1, keepdim=True)
                sums = (parts * before[2][..., :seen, :]).sum(-2)
                close(got[..., i, :], sums / parts.sum(-2))


@exercise.valid
def against_the_formula(linear_attention):
    examine(linear_attention)


@exercise.valid
def on_other_sizes(linear_attention):
    examine(
        linear_attention,
        lengths={False: (7, 4), True: (33, 33)},
        draw=partial(inputs, widths=(5, 6), seed=3),
    )


@exercise.valid
def against_one_of_its_own(linear_attention):
    examine(linear_attention, want=as_a_matrix)


@exercise.valid
def by_exceptions_of_its_own(linear_attention):
    def agree(got, want):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
        if not (got - want).abs().max() < 1e-4:
            raise ValueError("the numbers differ")

    examine(linear_attention, agree=agree)


@exercise.valid
def weights_read_off_the_unit_vectors(linear_attention):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        for causal, (n, m) in LENGTHS.items():
            q, k, v = inputs(*batch, n=n, m=m, dtype=dtype)
            kept = [x.clone() for x in (q, k, v)]
            out = linear_attention(q, k, v, causal=causal)
            assert all(map(torch.equal, (q, k, v), kept))
            eye = torch.eye(m, dtype=dtype).repeat(*batch, 1, 1)
            weights = linear_attention(q, k, eye, causal=causal)
            close(out, weights @ kept[2])
            close(weights.sum(-1), torch.ones(*batch, n, dtype=dtype))
            assert not causal or weights.equal(weights.tril())
            # the last query sees every key: its weights are as its products are
            products = formula(kept[0][..., -1:, :], kept[1], eye)
            close(weights[..., -1:, :], products)
            # and the first key of every row tells how those beside it are scaled
            whole = formula(kept[0], kept[1], eye)
            close(
                weights / weights[..., :1] * (weights > 0), whole / whole[..., :1] * (weights > 0)
            )


NOTHING_REFUSED = (
    "it refuses nothing: call linear_attention, assert what must hold, and catch none of the errors"
)


@exercise.mutant(NOTHING_REFUSED)
def nothing_is_called(linear_attention):
    assert callable(linear_attention)


@exercise.mutant(NOTHING_REFUSED)
def errors_caught(linear_attention):
    try:
        examine(linear_attention)
    except Exception:
        pass


NOTHING_ASSERTED = (
    "no wrong number fails it: assert, against numbers worked out without linear_attention. What a "
    "test returns is not looked at, and a condition and a message in brackets are always true"
)


@exercise.mutant(NOTHING_ASSERTED)
def returned_not_asserted(linear_attention):
    agreed = []
    examine(linear_attention, agree=lambda a, b: agreed.append(torch.allclose(a, b)), unchanged="")
    return all(agreed)


@exercise.mutant(NOTHING_ASSERTED)
def tuple_asserted(linear_attention):
    def agree(got, want):
        outcome = torch.allclose(got, want), "the numbers differ"
        assert outcome

    examine(linear_attention, agree=agree, unchanged="")


@exercise.mutant("what it expects comes from linear_attention itself: work it out without it")
def compared_with_itself(linear_attention):
    def want(q, k, v, causal):
        return linear_attention(q, k, v, causal=causal)

    examine(linear_attention, want=want)


@exercise.mutant("it looks at shape and dtype only: compare the numbers, too")
def only_shape_and_dtype(linear_attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)

    examine(linear_attention, agree=agree)


@exercise.mutant("it asks only that the values' mean lies between them: many wrong weights pass")
def only_a_mean(linear_attention):
    def want(q, k, v, causal):
        return v.amin(-2, keepdim=True), v.amax(-2, keepdim=True), q

    def agree(got, want):
        low, high, q = want
        assert got.dtype == q.dtype and got.shape == (*q.shape[:-1], low.shape[-1])
        assert ((got >= low - 1e-6) & (got <= high + 1e-6)).all()

    examine(linear_attention, want=want, agree=agree)


@exercise.mutant("all values are ones: whatever the weights, their mean is 1. Draw the values")
def values_of_ones(linear_attention):
    def ones(*batch, **sizes):
        q, k, v = inputs(*batch, **sizes)
        return q, k, torch.ones_like(v)

    examine(linear_attention, draw=ones)


@exercise.mutant("causal is never tried")
def causal_never_tried(linear_attention):
    examine(linear_attention, lengths={False: (3, 5)})


@exercise.mutant("causal is always True: try it without, where every query sees all keys")
def causal_always(linear_attention):
    examine(linear_attention, lengths={True: (20, 20)})


@exercise.mutant(
    "only the last token of the causal form is compared, and it sees all keys anyway: compare all"
)
def only_the_last_token(linear_attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        close(got[..., -1, :], want[..., -1, :])

    examine(linear_attention, agree=agree)


@exercise.mutant("only the first token is compared: in the causal form it sees itself alone")
def only_the_first_token(linear_attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        close(got[..., 0, :], want[..., 0, :])

    examine(linear_attention, agree=agree)


@exercise.mutant("all sequences are short: what lies far back could be forgotten. Try 20 tokens")
def short_sequences(linear_attention):
    examine(linear_attention, lengths={False: (3, 5), True: (6, 6)})


@exercise.mutant("there are always as many queries as keys: without causal, try fewer")
def as_many_queries_as_keys(linear_attention):
    examine(linear_attention, lengths={False: (5, 5), True: (20, 20)})


@exercise.mutant("q and k are positive, where elu(x) + 1 is x + 1: draw negative numbers as well")
def positive_inputs(linear_attention):
    def positive(*batch, **sizes):
        q, k, v = inputs(*batch, **sizes)
        return q.abs(), k.abs(), v

    examine(linear_attention, draw=positive)


@exercise.mutant("every input has one batch axis: try two matrices, too, or two leading axes")
def always_one_batch_axis(linear_attention):
    examine(linear_attention, batches=((2,), (2,)))


@exercise.mutant("no input has two leading axes, both longer than 1: try (2, 3), and none at all")
def never_two_leading_axes(linear_attention):
    examine(linear_attention, batches=((), (2,)))


@exercise.mutant("every input has a batch: try two matrices without one, too")
def always_a_batch(linear_attention):
    examine(linear_attention, batches=((2,), (2, 3)))


@exercise.mutant("no input has a batch: try leading axes, too")
def never_a_batch(linear_attention):
    examine(linear_attention, batches=((), ()))


@exercise.mutant("only float64 is tried: float32 should give float32")
def only_float64(linear_attention):
    examine(linear_attention, dtypes=(torch.float64, torch.float64))


@exercise.mutant("only float32 is tried: float64 should give float64")
def only_float32(linear_attention):
    examine(linear_attention, dtypes=(torch.float32, torch.float32))


@exercise.mutant("the dtype of the result is not looked at: it should be that of the inputs")
def dtype_not_looked_at(linear_attention):
    examine(linear_attention, agree=lambda got, want: close(got.float(), want.float()))


@exercise.mutant("the shape of the result is not looked at: an axis of size 1 too many passes")
def shape_not_looked_at(linear_attention):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert torch.allclose(got, want, atol=1e-4)

    examine(linear_attention, agree=agree)


@exercise.mutant(
    "only what is too large fails it, not what is too small: take abs of the difference"
)
def only_too_large_refused(linear_attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert (got - want).max() < 1e-4

    examine(linear_attention, agree=agree)


@exercise.mutant("it does not look whether the inputs are still the same after the call")
def inputs_not_looked_at(linear_attention):
    examine(linear_attention, unchanged="")


@exercise.mutant(
    "what it expects is worked out after the call, of inputs that may have changed: copy them"
)
def worked_out_after_the_call(linear_attention):
    examine(linear_attention, unchanged="", copied=False)


@exercise.mutant("of the inputs, only q is looked at after the call: k and v may change")
def only_q_looked_at(linear_attention):
    examine(linear_attention, unchanged="q")


@exercise.mutant("k is not looked at after the call: it may change, as q and v may")
def k_not_looked_at(linear_attention):
    examine(linear_attention, unchanged="qv")


@exercise.mutant("of the inputs, only v is looked at after the call: q and k may change")
def only_v_looked_at(linear_attention):
    examine(linear_attention, unchanged="v")


@exercise.mutant("the tolerance is too wide: wrong numbers pass, too")
def tolerance_too_wide(linear_attention):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert torch.allclose(got, want, atol=0.05)

    examine(linear_attention, agree=agree)


def exact(linear_attention, *forms):
    """Refuses all but the very bits that one of these forms gives."""

    def agree(got, want):
        assert any(got.dtype == one.dtype and got.equal(one) for one in want)

    examine(linear_attention, want=lambda *given: [form(*given) for form in forms], agree=agree)


# which of the right ones are refused is chance
for forms in chain.from_iterable(combinations(RIGHT.values(), size) for size in (1, 2)):

    @exercise.mutant(
        "it allows too little rounding: float32 holds 7 digits, and of a sum near 0 fewer. There "
        "torch.allclose goes by atol, which is 1e-8 unless you give one"
    )
    def too_little_rounding(linear_attention, forms=forms):
        exact(linear_attention, *forms)


@exercise.mutant("its own formula does not normalise, so it refuses what is right")
def formula_not_normalised(linear_attention):
    examine(linear_attention, want=partial(formula, divide=False))


@exercise.mutant("its own formula has the feature map exp, so it refuses what is right")
def formula_of_exp(linear_attention):
    examine(linear_attention, want=partial(formula, phi=torch.exp))


@exercise.mutant("its own formula does not look at causal, so it refuses what is right")
def formula_that_is_never_causal(linear_attention):
    examine(linear_attention, want=lambda q, k, v, causal: formula(q, k, v))


ALL_REFUSED = (
    "it refuses everything, the right ones too: run it on a form you trust, and allow for rounding"
)


@exercise.mutant(ALL_REFUSED)
def all_refused(linear_attention):
    q, k, v = inputs(n=3, m=5)
    assert linear_attention(q, k, v).shape == q.shape


@exercise.mutant(ALL_REFUSED)
def exact_equality(linear_attention):
    exact(linear_attention, formula)
