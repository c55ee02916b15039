"""The chapter's layers in place of a GPT's attention: causal, padded, step by step, and trained."""

import math

import pytest
import torch
import torch.nn.functional as F

from attncourse import device
from attncourse.language_model import language_model
from attncourse.today import (
    ChosenPooledAttention,
    DeltaAttention,
    GatedAttention,
    LatentAttention,
    PooledAttention,
    SelectedAttention,
    auxiliary_loss,
    replace_attention,
    state_bytes,
)

D_MODEL, HEADS, VOCABULARY = 16, 2, 11
D_H = D_MODEL // HEADS
LAYERS = {
    "gate a number": lambda: GatedAttention(D_MODEL, HEADS),
    "gate a head, sinks": lambda: GatedAttention(D_MODEL, HEADS, "head", sinks=True),
    "latent": lambda: LatentAttention(D_MODEL, HEADS, d_latent=6, d_rotary=4),
    "selected": lambda: SelectedAttention(D_MODEL, HEADS, count=3, d_index=4),
    "pooled": lambda: PooledAttention(D_MODEL, HEADS, size=3, width=2),
    "pooled, chosen": lambda: ChosenPooledAttention(D_MODEL, HEADS, 3, 2, count=1, d_index=4),
    "delta": lambda: DeltaAttention(D_MODEL, HEADS, "none", taps=1),
    "gated delta": lambda: DeltaAttention(D_MODEL, HEADS, "one"),
    "delta a channel": lambda: DeltaAttention(D_MODEL, HEADS),
}
# numbers in the state after n tokens
STATES = {
    "gate a number": lambda n: 2 * n * D_MODEL,
    "latent": lambda n: n * (6 + 4),
    "selected": lambda n: 2 * n * D_MODEL + 4 * n,
    "pooled": lambda n: 2 * D_MODEL * (min(n, 2) + 2 * (n % 3) + n // 3),
    "pooled, chosen": lambda n: (
        2 * D_MODEL * (min(n, 2) + 2 * (n % 3) + n // 3) + 4 * (2 * (n % 3) + n // 3)
    ),
    "delta": lambda n: HEADS * D_H * D_H,
    "delta a channel": lambda n: HEADS * D_H * D_H + 3 * 3 * D_MODEL,
}
LEADING_AXES = [(), (2,), (2, 1, 3)]
each_layer = pytest.mark.parametrize("name", LAYERS)


@pytest.fixture
def make(normal):
    """Makes a layer of this name with random parameters, in float64."""

    def layer(name):
        made = LAYERS[name]().to(device(), torch.float64)
        for p in made.parameters():
            p.data = normal(*p.shape) / 2
        return made

    return layer


def by_steps(layer, x):
    """The outputs of a layer's steps, and the last state."""
    state, outputs = layer.empty_state(x[..., 0, :]), []
    for token in x.unbind(-2):
        # what a fresh process would read from a file
        state = tuple(part.detach().clone() for part in state)
        state, output = layer.step(state, token)
        outputs.append(output)
    return torch.stack(outputs, -2), state


@each_layer
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("n", [1, 7, 8])
def test_step_by_step_is_the_whole(name, leading, n, make, normal):
    layer, x = make(name), normal(*leading, n, D_MODEL)
    outputs, state = by_steps(layer, x)
    torch.testing.assert_close(outputs, layer(x))
    if name in STATES:
        assert state_bytes(state) == 8 * math.prod(leading) * STATES[name](n)


@each_layer
def test_no_token_gives_none(name, make, normal):
    assert make(name)(normal(2, 0, D_MODEL)).shape == (2, 0, D_MODEL)


@each_layer
def test_the_future_has_no_gradient(name, make, normal):
    layer, x = make(name), normal(8, D_MODEL).requires_grad_()
    out = layer(x)
    for t in range(8):
        (grad,) = torch.autograd.grad(out[t].sum(), x, retain_graph=True)
        assert (grad[t + 1 :] == 0).all() and (grad[t] != 0).any()


@each_layer
def test_padding_at_the_end_or_in_front_changes_nothing(name, make, normal):
    layer, x = make(name), normal(2, 8, D_MODEL)
    lengths = torch.tensor([5, 8], device=x.device)
    mask = torch.arange(8, device=x.device) < lengths[:, None, None]
    out = layer(x, mask)
    torch.testing.assert_close(out[0, :5], layer(x[0, :5]))
    torch.testing.assert_close(out[1], layer(x[1]))
    other = x.clone()
    other[0, 5:] = 7.0
    torch.testing.assert_close(layer(other, mask)[0, :5], out[0, :5])
    in_front = x.roll(3, 1)
    out = layer(in_front[:1], mask[:1].flip(-1))
    other = in_front.clone()
    other[:, :3] = 7.0
    torch.testing.assert_close(layer(other[:1], mask[:1].flip(-1))[:, 3:], out[:, 3:])
    # nothing may be seen at all
    nothing = layer(x, torch.zeros_like(mask))
    assert nothing.isfinite().all()


@each_layer
def test_every_parameter_learns_from_the_output_or_from_the_auxiliary_loss(name, make, normal):
    layer, x = make(name).train(), normal(2, 8, D_MODEL)
    loss = layer(x).square().mean() + auxiliary_loss(layer)
    loss.backward()
    for p in layer.parameters():
        assert p.grad is not None and p.grad.isfinite().all()


@pytest.mark.parametrize("name", ["selected", "pooled, chosen"])
def test_the_indexer_learns_from_its_own_loss_alone(name, make, normal):
    layer, x = make(name).train(), normal(2, 8, D_MODEL).requires_grad_()
    out = layer(x).square().mean()
    own = {key for key, _ in layer.named_parameters() if "index" in key}
    parameters = dict(layer.named_parameters())
    grads = torch.autograd.grad(out, parameters.values(), retain_graph=True, allow_unused=True)
    of_output = {key for key, grad in zip(parameters, grads, strict=True) if grad is not None}
    assert of_output == parameters.keys() - own
    grads = torch.autograd.grad(auxiliary_loss(layer), (x, *parameters.values()), allow_unused=True)
    of_loss = {key for key, grad in zip(["x", *parameters], grads, strict=True) if grad is not None}
    assert of_loss == own
    assert auxiliary_loss(make("latent")) == 0


@each_layer
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_the_output_has_the_dtype_of_the_input(name, dtype, normal):
    layer, x = LAYERS[name]().to(device(), dtype), normal(2, 8, D_MODEL, dtype=dtype)
    assert layer(x).dtype == dtype
    outputs, _ = by_steps(layer, x)
    assert outputs.dtype == dtype


@each_layer
def test_a_gpt_writes_with_it_the_same_with_and_without_a_cache(name, make, g):
    model = language_model(VOCABULARY, D_MODEL, HEADS, depth=2).to(device(), torch.float64)
    replace_attention(model, lambda i: make(name)).eval()
    tokens = torch.randint(VOCABULARY, (2, 5), generator=g).to(device())
    decoding = model.decode()
    scores = torch.cat([decoding.step(tokens[:, :3]), decoding.step(tokens[:, 3:])], 1)
    torch.testing.assert_close(scores, model(tokens))
    decoding.select(torch.tensor([1, 1], device=tokens.device))
    torch.testing.assert_close(
        decoding.step(tokens[1:, :1].expand(2, 1))[0], decoding_of(model, tokens)
    )


def decoding_of(model, tokens):
    """The scores after the second text and once more its first token."""
    again = torch.cat([tokens[1:], tokens[1:, :1]], 1)
    return model(again)[0, -1:]


def test_a_hybrid_learns_a_text_by_heart(g):
    torch.manual_seed(0)
    model = language_model(VOCABULARY, D_MODEL, HEADS, depth=2).to(device())
    replace_attention(model, lambda i: [LAYERS["delta a channel"], LAYERS["selected"]][i]())
    model.to(device())
    tokens = torch.randint(VOCABULARY, (4, 12), generator=g).to(device())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        scores = model(tokens[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        (loss + auxiliary_loss(model)).backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


def test_bad_input_is_named_with_its_numbers():
    with pytest.raises(ValueError, match="d_model=16 is not a multiple of heads=3"):
        LatentAttention(16, 3)
    with pytest.raises(ValueError, match="gates='two': it is one of none, one, channel"):
        DeltaAttention(16, 2, "two")
    with pytest.raises(ValueError, match="taps=0"):
        DeltaAttention(16, 2, taps=0)
    with pytest.raises(ValueError, match="gates='two': it is one of element, head"):
        GatedAttention(16, 2, "two")
    layer, x = LatentAttention(16, 2), torch.zeros(1, 3, 16)
    with pytest.raises(ValueError, match=r"mask=\(1, 3\): what joined the state"):
        layer(x, torch.ones(1, 3, dtype=torch.bool), layer.cache())
