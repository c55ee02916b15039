"""Exercise test_grouped_query: the learner's test meets right and wrong functions, unnamed."""

from functools import partial

import torch

from attncourse.checks.dot_product.shared.attentions import close, some_keys
from attncourse.checks.efficient.shared.grouped_queries import (
    BATCHES,
    DTYPES,
    HEADS,
    RIGHT,
    WRONG,
    examine,
    in_groups,
    inputs,
    plain,
)
from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations

exercise = Exercise(
    name="test_grouped_query",
    chapter="efficient",
    title="A test that wrong groups fail",
    kind="test",
    difficulty=3,
    minutes=40,
    points=20,
    hints=(
        "With one group, or with as many groups as heads, every way to share is the same. And with "
        "4 heads in 2 groups, a group has 2 heads, whatever rule made it so. Which numbers tell?",
        "Write it once more in the test: for head i take group i // (h // g), and attend as in the "
        "chapter on dot products. Compare shape, dtype and numbers with 6 heads in 2 and in 3 "
        "groups, without a batch, with one leading axis and with two, with a mask for each head "
        "(one row all False) and without, once with scores of a thousand, in both dtypes, and look "
        "at the inputs afterwards.",
        "group = [i // (h // g) for i in range(h)] and k[..., group, :, :] gives each head its "
        "keys, v likewise; then compare with torch.allclose, with about 1e-4 for float32 and 1e-10 "
        "for float64",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    return implementations(draw, "grouped_query_attention", "a function", RIGHT, WRONG)


@exercise.reference
def row_by_row(grouped):
    for batch, dtype, (h, g) in zip(BATCHES, DTYPES, HEADS, strict=True):
        q, k, v = inputs(*batch, heads=(h, g), dtype=dtype)
        for mask in (None, some_keys(*batch, h, 4, 5)):
            allowed = torch.ones(*batch, h, 4, 5, dtype=torch.bool) if mask is None else mask
            before = [x.clone() for x in (q, k, v, allowed)]
            got = grouped(q, k, v) if mask is None else grouped(q, k, v, mask)
            assert (got.shape, got.dtype) == ((*batch, h, 4, 2), dtype)
            assert all(map(torch.equal, (q, k, v, allowed), before))
            parts = (x.reshape(-1, *x.shape[-3:]) for x in (got, q, k, v, allowed))
            for out, query, keys, values, seen in zip(*parts, strict=True):
                for i in range(h):
                    key, value = keys[i // (h // g)], values[i // (h // g)]
                    for row, one, some in zip(out[i], query[i], seen[i], strict=True):
                        close(row, (key[some] @ one / 6**0.5).softmax(0) @ value[some])


@exercise.valid
def against_the_formula(grouped):
    examine(grouped)


@exercise.valid
def on_other_sizes(grouped):
    draw = partial(inputs, sizes=(4, 7, 5, 3), large=9000.0, seed=5)
    examine(grouped, draw=draw, heads=((9, 3), (8, 2)))


@exercise.valid
def against_one_of_its_own(grouped):
    examine(grouped, want=plain)


@exercise.valid
def by_exceptions_of_its_own(grouped):
    def agree(got, want):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
        if not (got - want).abs().max() < (1e-6 if got.dtype == torch.float64 else 1e-2):
            raise ValueError("the numbers differ")

    examine(grouped, agree=agree)


@exercise.valid
def keys_shared_before_the_call(grouped):
    # what is asked of shared keys is what the same function makes of a copy for each head
    def want(q, k, v, mask):
        h, g = q.shape[-3], k.shape[-3]
        own = grouped(q, *(x.repeat_interleave(h // g, dim=-3) for x in (k, v)), mask)
        close(own, in_groups(q, k, v, mask))
        return own

    examine(grouped, want=want)


NOTHING_REFUSED = (
    "it refuses nothing: call the function, assert what must hold, and catch none of the errors"
)


@exercise.mutant(NOTHING_REFUSED)
def nothing_is_called(grouped):
    assert callable(grouped)


@exercise.mutant(NOTHING_REFUSED)
def errors_caught(grouped):
    try:
        examine(grouped)
    except Exception:
        pass


@exercise.mutant("it compares, but nothing comes of it: assert that the numbers agree")
def nothing_asserted(grouped):
    examine(grouped, agree=lambda got, want: torch.allclose(got, want), unchanged="")


@exercise.mutant("it looks at the shape only: compare the numbers, too")
def only_the_shape(grouped):
    def agree(got, want):
        assert got.shape == want.shape

    examine(grouped, agree=agree, unchanged="")


@exercise.mutant("what it expects comes from the function itself: work it out without it")
def compared_with_itself(grouped):
    examine(grouped, want=grouped)


@exercise.mutant("there is always one group, so all heads share it: try more groups")
def always_one_group(grouped):
    examine(grouped, heads=((6, 1), (4, 1)))


@exercise.mutant("there is always a group for each head, so nothing is shared: try fewer groups")
def always_a_group_for_each_head(grouped):
    examine(grouped, heads=((6, 6), (3, 3)))


@exercise.mutant("a group always has two heads: try groups of another size, too")
def always_groups_of_two(grouped):
    examine(grouped, heads=((6, 3), (4, 2)))


@exercise.mutant("all widths are equal, so a scale from the wrong one fits: give v its own")
def values_as_wide_as_the_keys(grouped):
    examine(grouped, draw=partial(inputs, sizes=(4, 5, 6, 6)))


@exercise.mutant("there are always as many queries as keys: try fewer queries than keys")
def as_many_queries_as_keys(grouped):
    examine(grouped, draw=partial(inputs, sizes=(5, 5, 6, 2)))


@exercise.mutant("no mask is ever tried")
def no_mask_tried(grouped):
    examine(grouped, masks=(None,))


@exercise.mutant("a mask is always there: try it without one, too")
def always_a_mask(grouped):
    examine(grouped, masks=(some_keys,))


@exercise.mutant("all heads have the same mask: give each head its own")
def one_mask_for_all_heads(grouped):
    def mask(*shape):
        return some_keys(*shape[:-3], 1, *shape[-2:])

    examine(grouped, masks=(None, mask))


@exercise.mutant("no query is without a key: try a row of the mask that is all False")
def no_empty_row(grouped):
    examine(grouped, masks=(None, partial(some_keys, empty=9)))


@exercise.mutant("all scores are small: try some of a thousand, where exp overflows")
def small_scores(grouped):
    examine(grouped, draw=partial(inputs, large=1.0))


@exercise.mutant("every input has one batch axis: try none, and more than one")
def always_one_batch_axis(grouped):
    examine(grouped, batches=((2,), (3,)))


@exercise.mutant("it does not look whether the inputs are still the same after the call")
def inputs_not_looked_at(grouped):
    examine(grouped, unchanged="")


@exercise.mutant("only float64 is tried: float32 should give float32")
def only_float64(grouped):
    examine(grouped, dtypes=(torch.float64, torch.float64))


@exercise.mutant(
    "the tolerance is too small, or bits are compared: another order of the same sums is right, too"
)
def exact_equality(grouped):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert got.equal(want)

    examine(grouped, want=plain, agree=agree)


@exercise.mutant("its own heads take the groups in turn, so it refuses what is right")
def formula_interleaved(grouped):
    def in_turn(heads, groups):
        return [i % groups for i in range(heads)]

    examine(grouped, want=partial(in_groups, pick=in_turn))


@exercise.mutant("it takes True for forbidden, so it refuses what is right: True means may attend")
def formula_with_the_mask_inverted(grouped):
    examine(grouped, want=lambda q, k, v, m: in_groups(q, k, v, m if m is None else ~m))


@exercise.mutant(
    "it refuses everything, the right ones too: run it on a function you trust. The formula may be "
    "wrong, or the tolerance too small"
)
def all_refused(grouped):
    q, k, v = inputs(heads=(6, 2))
    assert grouped(q, k, v).shape == k.shape
