"""Exercise test_rnn: the learner's test meets right and wrong recurrent networks, unnamed."""

from functools import partial

import torch

from attncourse.checks.exercise import Exercise
from attncourse.checks.implementations import implementations
from attncourse.checks.recurrence.shared.rnns import (
    BATCHES,
    DTYPES,
    RIGHT,
    WRONG,
    by_hand,
    close,
    examine,
    gradients,
    inputs,
    plain,
)

exercise = Exercise(
    name="test_rnn",
    chapter="recurrence",
    title="A test that wrong networks fail",
    kind="test",
    difficulty=3,
    minutes=45,
    points=20,
    hints=(
        "A network can get every number right and still not learn. It can be right for the first "
        "few tokens only. And it can be right for one sequence, but not for several at once.",
        "Write the loop once more in the test, or take torch.nn.RNN: set its four weights, and ask "
        "it. Compare shape, dtype and all numbers for a sequence of six tokens without a batch and "
        "for one with two leading axes, in both dtypes. Then compare the gradients of x and of all "
        "four weights, and look whether the inputs are still the same.",
        "torch.autograd.grad((out * c).sum(), (x, w_ih, w_hh, b_ih, b_hh), materialize_grads=True) "
        "gives five gradients, zeros where none flows; c are random numbers. Compare each with the "
        "one of your own loop",
    ),
    differentiable=False,
)


@exercise.cases
def cases(draw):
    return implementations(draw, "rnn", "a network", RIGHT, WRONG)


@exercise.reference
def number_by_number(rnn):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        given = inputs(*batch, dtype=dtype)
        before = [x.clone() for x in given]
        got = rnn(*given)
        assert (got.shape, got.dtype) == ((*batch, 6, 4), dtype)
        assert all(map(torch.equal, given, before))
        close(got, by_hand(*before))
        pairs = zip(gradients(rnn, before), gradients(by_hand, before), strict=True)
        assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-3) for a, b in pairs)


@exercise.valid
def against_a_loop_of_its_own(rnn):
    examine(rnn)


@exercise.valid
def on_other_sizes(rnn):
    examine(rnn, batches=((3, 2, 2), ()), draw=partial(inputs, sizes=(7, 5, 2), seed=5))


@exercise.valid
def against_torch(rnn):
    def want(x, *weights):
        layer = torch.nn.RNN(x.shape[-1], len(weights[1]), batch_first=True, dtype=x.dtype)
        names = [f"{name}_l0" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        own, flat = dict(zip(names, weights, strict=True)), x.reshape(-1, *x.shape[-2:])
        states, _ = torch.func.functional_call(layer, own, (flat,))
        return states.reshape(*x.shape[:-1], -1)

    # the weights of a new layer are drawn, and the test must leave torch as it was
    with torch.random.fork_rng(devices=[]):
        examine(rnn, want=want)


@exercise.valid
def by_exceptions_of_its_own(rnn):
    def agree(got, want):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise TypeError(f"expected {tuple(want.shape)}, got {tuple(got.shape)}")
        if not (got - want).abs().max() < (1e-6 if got.dtype == torch.float64 else 1e-3):
            raise ValueError("the numbers differ")

    examine(rnn, agree=agree)


@exercise.valid
def each_state_from_the_one_before(rnn):
    # what is asked of a state is what the state before it and its token make
    def want(x, w_ih, w_hh, b_ih, b_hh):
        states = rnn(*(each.clone() for each in (x, w_ih, w_hh, b_ih, b_hh)))
        before = torch.cat([0 * states[..., :1, :], states[..., :-1, :]], dim=-2)
        return torch.tanh(x @ w_ih.mT + before @ w_hh.mT + b_ih + b_hh)

    def want_its_gradient(*given):
        close(rnn(*(x.clone() for x in given)), want(*given).to(given[0].dtype))
        return by_hand(*given)

    examine(rnn, want=want_its_gradient)


NOTHING_REFUSED = (
    "it refuses nothing: call rnn, assert what must hold, and catch none of the errors"
)


@exercise.mutant(NOTHING_REFUSED)
def nothing_is_called(rnn):
    assert callable(rnn)


@exercise.mutant(NOTHING_REFUSED)
def errors_caught(rnn):
    try:
        examine(rnn)
    except Exception:
        pass


@exercise.mutant("it compares, but nothing comes of it: assert that the numbers agree")
def nothing_asserted(rnn):
    examine(rnn, agree=lambda got, want: torch.allclose(got, want), which=None, unchanged=False)


@exercise.mutant("what it expects comes from the network itself: work it out without it")
def compared_with_itself(rnn):
    examine(rnn, want=rnn)


@exercise.mutant("it compares the last state only: those before it may be wrong")
def only_the_last_state(rnn):
    for batch, dtype in zip(BATCHES, DTYPES, strict=True):
        given = inputs(*batch, dtype=dtype)
        before = [x.clone() for x in given]
        close(rnn(*given)[..., -1, :], by_hand(*before)[..., -1, :])
        assert all(map(torch.equal, given, before))
        ends = (lambda *xs, f=f: f(*xs)[..., -1, :] for f in (rnn, by_hand))
        for got, want in zip(*(gradients(end, before) for end in ends), strict=True):
            close(got, want)


@exercise.mutant("every sequence has one token only: what a state carries on shows with more")
def one_token_only(rnn):
    examine(rnn, draw=partial(inputs, sizes=(1, 3, 4)))


@exercise.mutant("all sequences are short: try one of six tokens or more")
def short_sequences(rnn):
    examine(rnn, draw=partial(inputs, sizes=(4, 3, 5)))


@exercise.mutant("all numbers are ones: a transposed matrix and a wrong sequence do not show")
def inputs_of_ones(rnn):
    def ones(*batch, dtype):
        return [torch.ones_like(x) / 4 for x in inputs(*batch, dtype=dtype)]

    examine(rnn, draw=ones, which=None)


@exercise.mutant("the biases are zero, so that it does not matter where they are: draw them")
def biases_of_zero(rnn):
    def without(*batch, dtype):
        *rest, b_ih, b_hh = inputs(*batch, dtype=dtype)
        return [*rest, 0 * b_ih, 0 * b_hh]

    examine(rnn, draw=without, which=None)


@exercise.mutant("no gradient is compared: right numbers are not enough to learn")
def no_gradients(rnn):
    examine(rnn, which=None)


@exercise.mutant("only the gradient of x is compared: the weights are what learns")
def gradient_of_x_only(rnn):
    examine(rnn, which=slice(1))


@exercise.mutant("with one token w_hh plays no part: its gradient may be zeros, and may be None")
def gradient_wanted_of_one_token(rnn):
    examine(rnn)
    leaves = [x.requires_grad_() for x in inputs(sizes=(1, 3, 4))]
    torch.autograd.grad(rnn(*leaves).sum(), leaves)


@exercise.mutant("gradients are compared for short sequences only: try six tokens there, too")
def gradients_of_two_tokens(rnn):
    examine(rnn, which=None)
    for batch in BATCHES:
        given = inputs(*batch, sizes=(2, 3, 4))
        for got, want in zip(gradients(rnn, given), gradients(by_hand, given), strict=True):
            close(got, want)


@exercise.mutant("every input has leading axes: try a sequence without any, too")
def always_a_leading_axis(rnn):
    examine(rnn, batches=((2,), (2, 3)))


@exercise.mutant("no input has a batch: try leading axes, too")
def never_a_batch(rnn):
    examine(rnn, batches=((), ()))


@exercise.mutant("there is one leading axis at most: try two, too")
def one_leading_axis_at_most(rnn):
    examine(rnn, batches=((), (2,)))


@exercise.mutant("one simple input shows little: try leading axes, two dtypes, and the gradients")
def one_simple_input(rnn):
    given = inputs()
    close(rnn(*given), by_hand(*inputs()))


@exercise.mutant("it does not look whether the inputs are still the same after the call")
def inputs_not_looked_at(rnn):
    examine(rnn, unchanged=False)


@exercise.mutant("only float64 is tried: float32 should give float32")
def only_float64(rnn):
    examine(rnn, dtypes=(torch.float64, torch.float64))


@exercise.mutant("the tolerance is too wide: numbers that are a little wrong pass, too")
def tolerance_too_wide(rnn):
    def agree(got, want):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert torch.allclose(got, want, rtol=0.05, atol=0.05)

    examine(rnn, agree=agree)


@exercise.mutant("bits are compared, and another order of the same sums is right, too: be tolerant")
def exact_equality(rnn):
    def agree(got, want):
        assert got.dtype == want.dtype
        assert got.equal(want)

    examine(rnn, want=plain, agree=agree)


REFUSES = (
    "it refuses what is right, too: run it on a network that you trust, such as torch.nn.RNN. Its "
    "own loop may be wrong, or the tolerance too small"
)


@exercise.mutant(REFUSES)
def loop_with_w_hh_transposed(rnn):
    examine(rnn, want=lambda x, u, w, b, c: by_hand(x, u, w.mT, b, c))


@exercise.mutant(REFUSES)
def all_refused(rnn):
    assert rnn(*inputs()).shape == (6, 3)
