"""The recurrent networks against torch's own, by property, and with bad input."""

import pytest
import torch
from torch import nn

from attncourse import device
from attncourse.recurrence import gradient_by_distance, lstm, rnn

LEADING_AXES = [(), (2,), (2, 3), (2, 1, 3)]
# n, d, h: alone, of width 1, states wider and narrower than tokens
SIZES = [(1, 1, 1), (1, 4, 3), (2, 3, 5), (7, 5, 3), (8, 2, 6)]
TORCH_LAYERS = {"rnn": (nn.RNN, 1), "lstm": (nn.LSTM, 4)}
network = pytest.fixture(params=TORCH_LAYERS)(lambda request: request.param)


def weight_shapes(name, d, h):
    """The shapes of the weights and biases."""
    rows = TORCH_LAYERS[name][1] * h
    return (rows, d), (rows, h), (rows,), (rows,)


def run_network(name, x, weights, initial=None):
    """All states, and the last cell of an LSTM or None."""
    return (rnn(x, *weights, initial), None) if name == "rnn" else lstm(x, *weights, initial)


@pytest.fixture
def inputs(normal):
    """Draws tokens, the four weights, and the initial state; all require gradients."""

    def draw(name, leading, n, d, h):
        weights = [normal(*shape).requires_grad_() for shape in weight_shapes(name, d, h)]
        initial = [normal(*leading, h).requires_grad_() for _ in "hc"]
        x = normal(*leading, n, d).requires_grad_()
        return x, weights, tuple(initial) if name == "lstm" else initial[0]

    return draw


def run_torch(name, x, weights, initial=None):
    """States and last cell of torch's layer with these weights."""
    with torch.device("meta"):
        layer = TORCH_LAYERS[name][0](x.shape[-1], weights[1].shape[1], batch_first=True)
    weights_by_name = dict(
        zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), weights, strict=True)
    )
    # torch takes one leading axis, and gives the last state an axis for the layer
    flat = [
        tensor.reshape(1, -1, tensor.shape[-1])
        for tensor in (initial if name == "lstm" else [initial])
    ]
    state = tuple(flat) if name == "lstm" else flat[0]
    batch = x.reshape(-1, *x.shape[-2:])
    # on a GPU it would warn of weights that do not lie in one piece
    with torch.backends.cudnn.flags(enabled=False):
        out, last = torch.func.functional_call(layer.to(x.dtype), weights_by_name, (batch, state))
    cell = last[1].view(*x.shape[:-2], -1) if name == "lstm" else None
    return out.view(*x.shape[:-1], -1), cell


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_states_and_gradients_are_those_of_torch(network, inputs, normal, leading):
    for sizes in SIZES:
        x, weights, first = inputs(network, leading, *sizes)
        ours, theirs = (f(network, x, weights, first) for f in (run_network, run_torch))
        torch.testing.assert_close(ours, theirs)
        leaves = [x, *weights, *(first if network == "lstm" else [first])]
        grad_output = normal(*ours[0].shape)
        cell_grad = 0 if network == "rnn" else normal(*ours[1].shape)
        grads = [
            torch.autograd.grad(
                (out * grad_output).sum() + (0 if cell is None else (cell * cell_grad).sum()),
                leaves,
            )
            for out, cell in (ours, theirs)
        ]
        torch.testing.assert_close(*grads)


def test_without_a_first_state_it_is_zeros(network, inputs):
    x, weights, first = inputs(network, (2,), 5, 4, 3)
    zeros = tuple(map(torch.zeros_like, first)) if network == "lstm" else torch.zeros_like(first)
    torch.testing.assert_close(
        run_network(network, x, weights), run_network(network, x, weights, zeros)
    )


@pytest.mark.parametrize("split", [1, 3, 6])
def test_a_sequence_may_be_read_in_two_parts(network, inputs, split):
    x, weights, first = inputs(network, (2,), 7, 4, 3)
    full, cell = run_network(network, x, weights, first)
    first_states, cell_between = run_network(network, x[:, :split], weights, first)
    state_between = first_states[:, -1] if network == "rnn" else (first_states[:, -1], cell_between)
    last_states, last_cell = run_network(network, x[:, split:], weights, state_between)
    torch.testing.assert_close(torch.cat([first_states, last_states], 1), full)
    if network == "lstm":
        torch.testing.assert_close(last_cell, cell)


def test_a_state_depends_on_every_token_up_to_it_and_on_no_later_one(network, inputs):
    x, weights, first = inputs(network, (), 6, 4, 3)
    out = run_network(network, x, weights, first)[0]
    for i in range(6):
        (gradient,) = torch.autograd.grad(out[i].sum(), x, retain_graph=True)
        assert ((gradient != 0).any(-1) == (torch.arange(6, device=device()) <= i)).all()


def test_the_same_token_at_two_places_makes_two_states(network, inputs):
    x, weights, _ = inputs(network, (), 3, 4, 3)
    x = x.detach()[[0, 1, 0]]
    out = run_network(network, x, weights)[0]
    assert (out[0] - out[2]).abs().max() > 1e-3


def test_a_closed_gate_keeps_nothing_and_an_open_one_all(inputs):
    x, (w_ih, w_hh, b_ih, b_hh), (h, c) = inputs("lstm", (2,), 5, 4, 3)
    for gate, expected in ((-1e9, 0 * c), (1e9, c)):
        # the second three rows are those of the forget gate; the input gate stays closed
        bias = b_ih.detach().clone()
        bias[:3], bias[3:6] = -1e9, gate
        torch.testing.assert_close(lstm(x, w_ih, w_hh, bias, b_hh, (h, c))[1], expected)


def test_states_stay_between_minus_one_and_one(network, inputs):
    x, weights, _ = inputs(network, (2,), 20, 4, 3)
    out = run_network(network, 1e3 * x, weights)[0]
    assert out.isfinite().all() and out.abs().max() <= 1


def test_the_gradient_over_distance_is_that_of_the_jacobian(inputs, g):
    weights = [weight.cpu() for weight in inputs("rnn", (), 1, 4, 4)[1]]
    actual = gradient_by_distance(
        lambda x: rnn(x, *weights), 6, d=4, draws=3, generator=g, dtype=torch.float64
    )
    # the same draws, once more
    g.manual_seed(0)
    inputs("rnn", (), 1, 4, 4)
    expected = torch.zeros(6, dtype=torch.float64)
    for x in torch.randn(3, 6, 4, generator=g, dtype=torch.float64):
        jacobian = torch.autograd.functional.jacobian(lambda x: rnn(x, *weights)[-1], x)
        expected += torch.stack([jacobian[:, 5 - distance].norm() for distance in range(6)]) / 3
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_layer_that_passes_each_token_on_has_a_gradient_at_distance_zero_alone(n):
    actual = gradient_by_distance(lambda x: 3 * x, n, d=4)
    torch.testing.assert_close(actual, 6.0 * (torch.arange(n) == 0))


def test_a_delay_of_two_has_its_gradient_at_distance_two():
    actual = gradient_by_distance(lambda x: x.roll(2, 1), 5, d=9)
    torch.testing.assert_close(actual, torch.tensor([0.0, 0, 3, 0, 0]))


@pytest.mark.usefixtures("unchecked")
def test_no_token_and_a_first_state_of_another_shape_are_refused(network, inputs):
    x, weights, first = inputs(network, (2,), 5, 4, 3)
    with pytest.raises(ValueError, match=r"x=\(2, 0, 4\)"):
        run_network(network, x[:, :0], weights)
    wrong = x.new_zeros(3)
    with pytest.raises(ValueError, match=r"\(3,\) .* \(2, 3\)"):
        run_network(network, x, weights, wrong if network == "rnn" else (first[0], wrong))


@pytest.mark.parametrize("sizes", [(0, 4, 2), (3, 0, 2), (3, 4, 0)])
def test_a_gradient_without_a_token_is_refused(sizes):
    n, d, draws = sizes
    with pytest.raises(ValueError, match=f"n={n}, d={d} and draws={draws}"):
        gradient_by_distance(lambda x: x, n, d, draws)


def test_a_layer_that_changes_the_shape_is_refused():
    with pytest.raises(ValueError, match=r"\(32, 3, 4\) to \(32, 3, 2\)"):
        gradient_by_distance(lambda x: x[..., :2], 3, d=4)
