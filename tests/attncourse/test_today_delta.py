"""The delta rule with gates: its step, and the recurrent and the chunkwise form."""

import pytest
import torch
from torch.nn.functional import normalize

from attncourse.cost import count
from attncourse.linear import linear_attention_recurrent
from attncourse.today import (
    delta_attention_chunkwise,
    delta_attention_recurrent,
    delta_attention_step,
    state_bytes,
)
from tests.attncourse.gradients import assert_equal_with_gradients

D, E = 3, 4
LEADING_AXES = [(), (2,), (2, 1, 3)]
FORMS = [delta_attention_recurrent, delta_attention_chunkwise]
each_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
each_gates = pytest.mark.parametrize("gates", [1, D])


@pytest.fixture
def draw(normal):
    """Draws q, keys of norm 1, v, gates and betas between 0 and 1, all with gradients."""

    def inputs(n, leading=(), gates=D, d=D):
        q, k, v = (normal(*leading, n, width) for width in (d, d, E))
        gate, beta = normal(*leading, n, gates).sigmoid(), normal(*leading, n).sigmoid()
        return [x.detach().requires_grad_() for x in (q, normalize(k, dim=-1), v, gate, beta)]

    return inputs


def loops(q, k, v, gate, beta, mask=None):
    """One number at a time, with the matrix I - beta k k^T written out."""
    n, d = k.shape[-2:]
    S = [[v.sum() * 0 for _ in range(v.shape[-1])] for _ in range(d)]
    rows = []
    for i in range(n):
        if mask is None or mask[i]:
            alpha = [gate[..., i, r % gate.shape[-1]] for r in range(d)]
            left = [
                [float(r == c) - beta[..., i] * k[..., i, r] * k[..., i, c] for c in range(d)]
                for r in range(d)
            ]
            S = [
                [
                    sum(left[r][c] * alpha[c] * S[c][j] for c in range(d))
                    + beta[..., i] * k[..., i, r] * v[..., i, j]
                    for j in range(v.shape[-1])
                ]
                for r in range(d)
            ]
        read = [sum(q[..., i, r] * S[r][j] for r in range(d)) for j in range(v.shape[-1])]
        rows.append(torch.stack(read, -1))
    return torch.stack(rows, -2)


@each_form
@each_gates
@pytest.mark.parametrize("n", [1, 7, 8])
def test_it_equals_loops_with_their_gradients(form, gates, n, draw):
    inputs = draw(n, (2,), gates)
    assert_equal_with_gradients(form(*inputs), loops(*inputs), inputs)


@each_form
def test_a_masked_token_changes_nothing(form, draw):
    inputs = draw(7)
    kept = torch.tensor([True, True, False, True, False, True, True], device=inputs[0].device)
    expected = loops(*inputs, kept)
    assert_equal_with_gradients(form(*inputs, mask=kept[None]), expected, inputs)
    nothing = form(*inputs, mask=torch.zeros_like(kept)[None])
    assert (nothing == 0).all()


@each_gates
@pytest.mark.parametrize("chunk", [1, 3, 4, 16])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_chunkwise_is_recurrent_with_its_gradients(leading, chunk, gates, draw, g):
    for n in (1, 7, 8, 17):
        inputs = draw(n, leading, gates)
        for mask in (None, (torch.rand(*leading, 1, n, generator=g) < 0.7).to(inputs[0].device)):
            ours = delta_attention_chunkwise(*inputs, mask=mask, chunk=chunk)
            assert_equal_with_gradients(ours, delta_attention_recurrent(*inputs, mask=mask), inputs)


@each_form
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_no_token_gives_none(form, leading, draw):
    assert form(*draw(0, leading)).shape == (*leading, 0, E)


@each_gates
def test_step_by_step_is_the_whole(gates, draw):
    q, k, v, gate, beta = inputs = draw(8, (2, 3), gates)
    S, outputs = v.new_zeros(2, 3, D, E), []
    for i in range(8):
        token = (x[..., i, :] for x in (q, k, v, gate))
        S, output = delta_attention_step(S, *token, beta[..., i])
        outputs.append(output)
    assert state_bytes(S) == 2 * 3 * D * E * 8
    whole = delta_attention_chunkwise(*inputs, chunk=3)
    assert_equal_with_gradients(torch.stack(outputs, -2), whole, inputs)


@each_form
def test_orthogonal_keys_and_no_fading_recall_every_value(form, normal):
    k, v = torch.linalg.qr(normal(4, 4)).Q, normal(4, 3)
    ones = k.new_ones(4, 1)
    # the second reading: keys come once more, with nothing to correct
    twice = [torch.cat([x, x]) for x in (k, v, ones)]
    out = form(twice[0], twice[0], twice[1], twice[2], twice[2].squeeze(-1))
    torch.testing.assert_close(out, twice[1])


@each_form
def test_orthogonal_keys_write_what_plain_linear_attention_sums(form, normal):
    k, v = torch.linalg.qr(normal(4, 4)).Q.abs(), normal(4, 3)
    q = normal(4, 4).abs()
    k = torch.eye(4).to(q)
    ones = q.new_ones(4, 1)
    ours = form(q, k, v, ones, ones.squeeze(-1))
    # linear attention divides by the sum of its weights
    weights = (q @ k.mT).tril().sum(-1, keepdim=True)
    plain = linear_attention_recurrent(q, k, v, feature_map=lambda x: x)
    torch.testing.assert_close(ours, plain * weights)


@each_form
def test_the_future_has_no_gradient(form, draw):
    inputs = draw(7)
    out = form(*inputs)[3].sum()
    for x in torch.autograd.grad(out, inputs):
        assert (x[4:] == 0).all()


@each_gates
@pytest.mark.parametrize("strength", [1e-3, 1e-30, 0.0])
def test_strong_decays_do_not_overflow_in_float32(strength, gates, draw):
    q, k, v, gate, beta = (x.detach().float() for x in draw(64, (2,), gates))
    # one token in three wipes the state out
    gate[..., ::3, :] = strength
    inputs = [x.requires_grad_() for x in (q, k, v, gate, beta)]
    ours = delta_attention_chunkwise(*inputs, chunk=64)
    theirs = delta_attention_recurrent(*inputs)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    # where a gate is 0, its own gradient is that of the smallest number: 0
    some = inputs if strength else inputs[:3]
    grads = [torch.autograd.grad(out.square().sum(), some) for out in (ours, theirs)]
    torch.testing.assert_close(*grads, atol=1e-4, rtol=1e-4)


@each_form
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_sixteen_bits_are_computed_in_float32(form, dtype, draw):
    inputs = [x.detach().to(dtype) for x in draw(300, (2,))]
    ours = form(*inputs)
    assert ours.dtype == dtype
    exact = form(*(x.double() for x in inputs))
    torch.testing.assert_close(ours, exact.to(dtype), atol=0, rtol=2 * torch.finfo(dtype).eps)


def test_the_step_keeps_the_state_s_dtype(draw):
    q, k, v, gate, beta = (x.detach()[0].bfloat16() for x in draw(1))
    S, output = delta_attention_step(torch.zeros(D, E).to(v.device), q, k, v, gate, beta)
    assert (S.dtype, output.dtype) == (torch.float32, torch.bfloat16)


def test_the_chunkwise_form_grows_with_the_length_and_not_with_its_square():
    costs = []
    for n in (512, 1024, 2048):
        q, k, v, gate, beta = (
            torch.empty(n, *d, device="meta") for d in ((8,), (8,), (8,), (8,), ())
        )
        costs.append(count(delta_attention_chunkwise, q, k, v, gate, beta))
    assert [cost.largest for cost in costs] == [512 * 8, 1024 * 8, 2048 * 8]
    assert costs[2].flops == 2 * costs[1].flops == 4 * costs[0].flops


def test_bad_input_is_named_with_its_numbers(draw, unchecked):
    q, k, v, gate, beta = draw(5)
    with pytest.raises(ValueError, match="chunk=0"):
        delta_attention_chunkwise(q, k, v, gate, beta, chunk=0)
    with pytest.raises(ValueError, match=r"gate has d=2, .* d=3"):
        delta_attention_recurrent(q, k, v, gate[:, :2], beta)
    with pytest.raises(ValueError, match=r"beta has n=4, .* n=5"):
        delta_attention_chunkwise(q, k, v, gate, beta[:4])
