"""Exercise test_rnn: the learner's test meets right and wrong recurrent networks, unnamed."""

import torch

from attncourse.course.recurrence.exercises.shared import rnns
from attncourse.course.recurrence.exercises.shared.written import states_by_hand
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations
from judge.variants import every

exercise = Exercise.read(__name__, differentiable=False)
worked = exercise.valid(variants.worked(exercise))


@exercise.cases
def cases(draw):
    return implementations(draw, "rnn", "a network", rnns.RIGHT, rnns.WRONG)


def inputs(*batch, dtype=torch.float64):
    """x, w_ih, w_hh, b_ih and b_hh, where n is 6, d 3 and h 4."""
    generator = torch.Generator().manual_seed(0)
    shapes = (*batch, 6, 3), (4, 3), (4, 4), (4,), (4,)
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]


def by_hand(x, w_ih, w_hh, b_ih, b_hh):
    return states_by_hand(x, w_ih, w_hh, b_ih + b_hh)


def by_torch(x, *weights):
    # the weights of a new layer are drawn, and the test must leave torch as it was
    with torch.random.fork_rng(devices=[]):
        layer = torch.nn.RNN(x.shape[-1], len(weights[1]), batch_first=True, dtype=x.dtype)
    names = [f"{name}_l0" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    parameters, flat = dict(zip(names, weights, strict=True)), x.reshape(-1, *x.shape[-2:])
    states, _ = torch.func.functional_call(layer, parameters, (flat,))
    return states.reshape(*x.shape[:-1], -1)


def gradients(rnn, arguments):
    """Gradients of a sum of the states, each with a weight of its own."""
    leaves = [x.clone().requires_grad_() for x in arguments]
    out = rnn(*leaves)
    output_weights = torch.arange(1, out.numel() + 1, dtype=out.dtype).cos().view_as(out)
    return torch.autograd.grad(out, leaves, output_weights, materialize_grads=True)


@exercise.reference
def number_by_number(rnn):
    for batch, dtype in ((), torch.float64), ((2, 2), torch.float32):
        arguments = inputs(*batch, dtype=dtype)
        before = [x.clone() for x in arguments]
        got = rnn(*arguments)
        assert (got.shape, got.dtype) == ((*batch, 6, 4), dtype)
        assert all(map(torch.equal, arguments, before))
        assert (got - by_hand(*before)).abs().max() < 1e-3
        pairs = zip(gradients(rnn, before), gradients(by_hand, before), strict=True)
        assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-3) for a, b in pairs)


@exercise.valid
def each_state_from_the_one_before(rnn):
    worked(rnn)
    # what is asked of a state is what the state before it and its token make
    x, w_ih, w_hh, b_ih, b_hh = inputs(2, 2)
    states = rnn(x, w_ih, w_hh, b_ih, b_hh)
    before = torch.cat([0 * states[..., :1, :], states[..., :-1, :]], dim=-2)
    want = torch.tanh(x @ w_ih.mT + before @ w_hh.mT + b_ih + b_hh)
    assert (states - want).abs().max() < 1e-6


# two axes of one size, and zeros where a gradient is None: a mistake then lets more pass
lenient = variants.edited(
    worked, "(2, 3)", "(2, 2)", "leaves, along)", "leaves, along, materialize_grads=True)"
)
CASES = "((), torch.float64), ((2, 2), torch.float32)"
SHAPES, ALONG = "(*batch, 6, 3), (4, 3), (4, 4), (4,), (4,)", "(*batch, 6, 4"
OUTPUTS = "[rnn(*inputs), expected(*before)]"
SAME = "assert all(x.equal(y) for x, y in zip(inputs, before))"
SHAPE = "assert (got.shape, got.dtype) == (want.shape, want.dtype)"
VALUES = "assert torch.allclose(got, want, rtol=1e-3, atol=1e-3)"
NO_GRADIENTS = ("in (rnn, expected)", "in ()")
variants.right(exercise,
    (CASES, "((3, 2, 2), torch.float64), ((), torch.float32)", "seed(0)", "seed(5)",
     SHAPES, "(*batch, 7, 5), (2, 5), (2, 2), (2,), (2,)", ALONG, "(*batch, 7, 2"),
    (OUTPUTS, "[rnn(*inputs), by_torch(*before)]", "in (rnn, expected)", "in (rnn, by_torch)"),
    # exceptions of its own
    (SHAPE, "if (got.shape, got.dtype) != (want.shape, want.dtype):\n"
     "                raise TypeError(got.shape, got.dtype)",
     VALUES, "if not (got - want).abs().max() < 1e-3:\n"
     "                raise ValueError('too far')"),
    of=lenient,
)  # fmt: skip

REFUSES = (
    "it refuses what is right, too: run it on a network that you trust, such as torch.nn.RNN "
    "with batch_first=True. Its own loop may be wrong, or the tolerance too small"
)
variants.wrong(exercise, {
    "it refuses nothing: call rnn, assert what must hold, and catch none of the errors": [
        (CASES, "()"), errors_caught(worked)],
    "it compares, but nothing comes of it: assert that the numbers agree": (
        *NO_GRADIENTS, every("assert "), ""),
    "what it expects comes from the network itself: compute it without the network": (
        OUTPUTS, "[rnn(*inputs), rnn(*before)]", "in (rnn, expected)", "in (rnn, rnn)",
        "(*leaves), leaves, along", "(*leaves).sum(), leaves"),
    "it compares the last state only: those before it may be wrong": (
        OUTPUTS, "[out[..., -1, :] for out in (rnn(*inputs), expected(*before))]",
        "(*leaves), leaves, along", "(*leaves)[..., -1, :], leaves, along[..., -1, :]"),
    "every sequence has one token only: take more, to see what a state carries on": (
        every("(*batch, 6,"), "(*batch, 1,"),
    "all sequences are short: try one of six tokens or more": (
        every("(*batch, 6,"), "(*batch, 4,"),
    "all numbers are the same, so a transposed matrix and a wrong sequence do not show: "
    "draw them": (
        "[torch.randn(shape, generator=generator,", "[torch.full(shape, 0.25,", *NO_GRADIENTS,
        VALUES, "assert torch.allclose(got, want)"),
    "the biases are zero, so that it does not matter where they are: draw them": (
        "before =", "inputs = [x * (x.dim() > 1) for x in inputs]\n        before =",
        *NO_GRADIENTS),
    "no gradient is compared: right numbers are not enough to learn": NO_GRADIENTS,
    "only the gradient of x is compared: the weights are what learns, so compare theirs, too": (
        "leaves, along", "leaves[:1], along"),
    "it wants a gradient of w_hh with one token, where w_hh plays no part: allow None as well as "
    "zeros": (
        "    for batch", "    shapes = (1, 3), (4, 3), (4, 4), (4,), (4,)\n"
        "    one = [torch.ones(shape, requires_grad=True) for shape in shapes]\n"
        "    torch.autograd.grad(rnn(*one).sum(), one)\n    for batch"),
    "gradients are compared for short sequences only: try six tokens there, too": (
        "for x in before]", "for x in (before[0][..., :2, :], *before[1:])]",
        "leaves, along", "leaves, along[..., :2, :]"),
    "every input has leading axes: try a sequence without any, too": (
        CASES, "((2,), torch.float64), ((2, 3), torch.float32)"),
    "no input has a batch: try leading axes, too": (CASES, CASES.replace("2, 2", "")),
    "there is one leading axis at most: try two, too": (CASES, CASES.replace("2, 2", "2,")),
    "one simple input shows little: try leading axes, two dtypes, and the gradients": (
        CASES, "[((), torch.float64)]", SAME, "", *NO_GRADIENTS),
    "it does not look whether the inputs are still the same after the call": (SAME, ""),
    "only float64 is tried: float32 should give float32": ("torch.float32", "torch.float64"),
    "only what is too large fails it, not what is too small: take abs of the difference": (
        VALUES, "assert (got - want).max() < 1e-3"),
    "the tolerance is too wide: numbers that are a little wrong pass, too": (
        "rtol=1e-3, atol=1e-3", "rtol=0.05, atol=0.05"),
    "every digit is compared, and another order of the same sums is right, too: allow a "
    "tolerance": (VALUES, "assert got.equal(want)"),
    "it views the result in another shape, which a right one that is not contiguous cannot do: "
    "compare it as it is, or reshape": (
        SAME, f"{SAME}\n        assert not outputs[0].view(-1).isnan().any()"),
    REFUSES: [("state @ w_hh.mT", "state @ w_hh"), (SHAPE, "assert not got.shape")],
}, of=lenient)  # fmt: skip
