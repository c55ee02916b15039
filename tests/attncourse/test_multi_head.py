"""The mechanisms of the chapter multi_head: against torch's own, by property, with bad input."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attncourse import device
from attncourse.dot_product import attention, causal_mask, padding_mask
from attncourse.multi_head import MultiHeadAttention, join_heads, split_heads

LEADING_AXES = [(), (2,), (2, 3), (2, 1, 3)]
# n, m, d_model, heads: alone, all different, one token, one key, one head, heads of width 1
SIZES = [(1, 1, 1, 1), (7, 5, 12, 3), (1, 8, 6, 2), (8, 1, 6, 3), (7, 5, 4, 1), (5, 7, 4, 4)]


@pytest.fixture
def make_layer(normal):
    """Makes a layer with random normal parameters."""

    def make(d_model, heads, **options):
        layer = MultiHeadAttention(d_model, heads, **options).to(device(), torch.float64)
        for p in layer.parameters():
            p.data = normal(*p.shape) / d_model**0.5
        return layer

    return make


def to_torch(ours):
    """torch's module with our weights."""
    theirs = nn.MultiheadAttention(
        ours.d_model, ours.heads, bias=ours.w_q.bias is not None, batch_first=True
    ).to(ours.w_q.weight)
    projections = (ours.w_q, ours.w_k, ours.w_v)
    theirs.in_proj_weight.data = torch.cat([projection.weight.data for projection in projections])
    theirs.out_proj.weight.data = ours.w_o.weight.data
    if ours.w_q.bias is not None:
        theirs.in_proj_bias.data = torch.cat([projection.bias.data for projection in projections])
        theirs.out_proj.bias.data = ours.w_o.bias.data
    return theirs


def gradients(out, inputs, grad_output, module):
    """Gradients of the inputs and of all parameters, in the same order for ours and torch's."""
    out.backward(grad_output)
    grads = [x.grad for x in inputs]
    for x in inputs:
        x.grad = None
    if isinstance(module, nn.MultiheadAttention):
        parameters = [module.in_proj_weight, module.in_proj_bias]
        parts = [part for p in parameters if p is not None for part in p.grad.chunk(3)]
        output_projection = module.out_proj
    else:
        projections = (module.w_q, module.w_k, module.w_v)
        kinds = ("weight", "bias") if module.w_q.bias is not None else ("weight",)
        parts = [getattr(projection, kind).grad for kind in kinds for projection in projections]
        output_projection = module.w_o
    return grads + parts + [p.grad for p in output_projection.parameters()]


def masks(g, n, m):
    """Boolean masks by name, for a batch of two."""
    lengths = torch.tensor([m, (m + 1) // 2])
    random = torch.rand(2, n, m, generator=g) < 0.5
    random[..., 0] = True
    return {
        "open": None,
        "one for all": random[0],
        "one for each": random,
        "padding": padding_mask(lengths, m),
        "causal": torch.ones(n, m).bool().tril(),
        "causal and padding": torch.ones(n, m).bool().tril() & padding_mask(lengths, m),
    }


@pytest.mark.parametrize("bias", [True, False], ids=["biases", "no biases"])
@pytest.mark.parametrize("cross", [False, True], ids=["self", "cross"])
@pytest.mark.parametrize("kind", masks(torch.Generator(), 1, 1))
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_layer_equals_torch_with_the_gradients_of_inputs_and_weights(
    make_layer, normal, g, sizes, kind, cross, bias
):
    n, m, d_model, heads = sizes
    ours = make_layer(d_model, heads, bias=bias)
    theirs = to_torch(ours)
    inputs = [normal(2, n, d_model).requires_grad_()]
    if cross:
        inputs.append(normal(2, m, d_model).requires_grad_())
    mask = masks(g, n, m if cross else n)[kind]
    x, y = inputs[0], inputs[-1]
    # torch's mask is True where it is forbidden, and has one matrix for each (batch, head)
    theirs_mask = None
    if mask is not None:
        mask = mask.to(device())
        theirs_mask = ~mask.expand(2, n, y.shape[1]).repeat_interleave(heads, dim=0)
    grad_output = normal(2, n, d_model)
    out = ours(*inputs, mask=mask)
    expected, _ = theirs(x, y, y, attn_mask=theirs_mask)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(
        gradients(out, inputs, grad_output, ours), gradients(expected, inputs, grad_output, theirs)
    )


@pytest.mark.parametrize("heads", [1, 2, 3, 6])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_head_i_has_the_ith_piece_of_each_row(normal, leading, heads):
    x = normal(*leading, 5, 6)
    pieces = split_heads(x, heads)
    width = 6 // heads
    assert pieces.shape == (*leading, heads, 5, width)
    for i in range(heads):
        assert torch.equal(pieces[..., i, :, :], x[..., i * width : (i + 1) * width])
    assert torch.equal(join_heads(pieces), x)


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_the_layer_is_its_heads_one_after_the_other(make_layer, normal, leading, heads):
    ours, x, y = make_layer(6, heads), normal(*leading, 5, 6), normal(*leading, 7, 6)
    q, k, v = ours.w_q(x), ours.w_k(y), ours.w_v(y)
    width = 6 // heads
    pieces = [slice(i * width, (i + 1) * width) for i in range(heads)]
    parts = [attention(q[..., piece], k[..., piece], v[..., piece]) for piece in pieces]
    torch.testing.assert_close(ours(x, y), ours.w_o(torch.cat(parts, dim=-1)))


@pytest.mark.parametrize("shape", [(5, 5), (1, 5), (3, 5, 5), (3, 1, 5), (1, 5, 5)], ids=str)
def test_a_mask_of_the_batch_does_not_line_up_with_the_heads(make_layer, normal, g, shape):
    # as many heads as sequences: a missing axis would not be noticed by the shapes
    ours, x = make_layer(6, 3), normal(3, 5, 6)
    mask = torch.rand(shape, generator=g).to(device()) < 0.6
    masks = mask.expand(3, 5, 5)
    expected = torch.stack([ours(x[i], mask=masks[i]) for i in range(3)])
    torch.testing.assert_close(ours(x, mask=mask), expected)


def test_a_token_that_may_attend_nowhere_gets_the_last_bias_alone(make_layer, normal):
    ours, x = make_layer(6, 3), normal(2, 5, 6).requires_grad_()
    mask = torch.ones(5, 5, dtype=torch.bool, device=device())
    mask[1] = False
    out = ours(x, mask=mask)
    torch.testing.assert_close(out[:, 1], ours.w_o.bias.expand(2, 6))
    (grad,) = torch.autograd.grad(out.sum(), x)
    assert grad.isfinite().all()


@pytest.mark.parametrize("weights", [True, False], ids=["weights asked for", "not asked for"])
def test_torch_gives_nan_to_such_a_token_where_it_is_asked_for_weights(normal, weights):
    theirs, x = nn.MultiheadAttention(6, 3, batch_first=True).to(device()), normal(2, 5, 6)
    forbidden = torch.zeros(5, 5, dtype=torch.bool, device=device())
    forbidden[1] = True
    out, _ = theirs.double()(x, x, x, attn_mask=forbidden, need_weights=weights)
    assert bool(out[:, 1].isnan().all()) == weights and out[:, 2].isfinite().all()


def test_the_mechanism_of_the_heads_is_an_argument(make_layer, normal):
    ours, x, mask = make_layer(6, 3), normal(2, 5, 6), causal_mask(5, device())
    theirs = make_layer(6, 3, attend=F.scaled_dot_product_attention)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(theirs(x, mask=mask), ours(x, mask=mask))
    ours.attend = lambda q, k, v, mask: v
    torch.testing.assert_close(ours(x), ours.w_o(ours.w_v(x)))


def test_a_mechanism_with_parameters_is_trained_with_the_layer():
    class Tempered(nn.Module):
        def __init__(self):
            super().__init__()
            self.sharpness = nn.Parameter(torch.ones(()))

        def forward(self, q, k, v, mask=None):
            return attention(self.sharpness * q, k, v, mask)

    names = dict(MultiHeadAttention(6, 3, attend=Tempered()).named_parameters())
    assert "attend.sharpness" in names


def test_reordered_tokens_give_reordered_outputs(make_layer, normal, g):
    ours, x = make_layer(6, 3), normal(2, 7, 6)
    order = torch.randperm(7, generator=g).to(device())
    torch.testing.assert_close(ours(x[:, order]), ours(x)[:, order])


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (lambda: MultiHeadAttention(10, 3), "d_model=10 .* heads=3"),
        (lambda: MultiHeadAttention(0, 1), "d_model=0 .* heads=1"),
        (lambda: MultiHeadAttention(10, 0), "heads=0"),
        (lambda: split_heads(torch.zeros(5, 10), 3), "d=10 .* heads=3"),
        (lambda: split_heads(torch.zeros(5, 10), -2), "heads=-2"),
    ],
)
def test_what_does_not_fit_is_named_with_its_numbers(call, numbers):
    with pytest.raises(ValueError, match=numbers):
        call()
