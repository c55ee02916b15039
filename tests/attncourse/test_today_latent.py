"""Latent attention: its two forms, its cache step, and the bytes that it keeps."""

import pytest
import torch

from attncourse.cost import count
from attncourse.dot_product import attention, causal_mask
from attncourse.efficient import cache_bytes
from attncourse.relative import rope
from attncourse.today import (
    absorbed_latent_attention,
    latent_attention,
    latent_attention_step,
    latent_cache_bytes,
    state_bytes,
)
from tests.attncourse.gradients import assert_equal_with_gradients

HEADS, D, D_C, D_V, D_R = 2, 3, 5, 4, 6
LEADING_AXES = [(), (2,), (2, 1, 3)]
LENGTHS = [0, 1, 7, 8]
FORMS = [latent_attention, absorbed_latent_attention]
each_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)


@pytest.fixture
def draw(normal):
    """Draws q, latents, w_k, w_v and the rotated parts, all with gradients."""

    def inputs(n, m, leading=(), dtype=torch.float64):
        shapes = (
            (*leading, HEADS, n, D),
            (*leading, m, D_C),
            (HEADS, D_C, D),
            (HEADS, D_C, D_V),
            (*leading, HEADS, n, D_R),
            (*leading, m, D_R),
        )
        return [normal(*shape, dtype=dtype).requires_grad_() for shape in shapes]

    return inputs


def loops(q, latents, w_k, w_v, rotary, mask):
    """A head, a query and a key at a time, for one sequence."""
    heads, n, m = len(q), q.shape[1], len(latents)
    rows = []
    for h in range(heads):
        for i in range(n):
            seen = [j for j in range(m) if mask is None or mask[i, j]]
            scores = []
            for j in seen:
                score = (q[h, i] * (latents[j] @ w_k[h])).sum()
                width = q.shape[-1]
                if rotary is not None:
                    score = score + (rotary[0][h, i] * rotary[1][j]).sum()
                    width += rotary[1].shape[-1]
                scores.append((score / width**0.5).exp())
            total = sum(scores)
            row = sum(
                (s / total * (latents[j] @ w_v[h]) for s, j in zip(scores, seen, strict=True)),
                0 * (latents.sum() + q.sum() + w_k.sum() + w_v[h].sum(0)),
            )
            rows.append(row)
    return torch.stack(rows).unflatten(0, (heads, n)) if rows else q @ w_k.mT @ w_v


@each_form
@pytest.mark.parametrize("n", LENGTHS)
def test_it_equals_loops_with_their_gradients(form, n, draw):
    q, latents, w_k, w_v, *rotary = draw(n, n)
    mask = causal_mask(n, q.device)
    mask[2:3] = False
    for parts, allowed in ((None, None), (None, mask), (tuple(rotary), mask)):
        inputs = [q, latents, w_k, w_v, *(parts or ())]
        expected = loops(q, latents, w_k, w_v, parts, allowed)
        if n:
            ours = form(q, latents, w_k, w_v, parts, allowed)
            assert_equal_with_gradients(ours, expected, inputs)
        else:
            assert form(q, latents, w_k, w_v, parts, allowed).shape == (HEADS, 0, D_V)


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_the_absorbed_form_is_the_plain_one(leading, draw, g):
    for n, m in ((1, 1), (7, 7), (3, 8)):
        q, latents, w_k, w_v, *rotary = inputs = draw(n, m, leading)
        for shape in ((n, m), (HEADS, n, m), (*leading, 1, 1, m)):
            mask = (torch.rand(shape, generator=g) < 0.5).to(q.device)
            plain, absorbed = (form(q, latents, w_k, w_v, tuple(rotary), mask) for form in FORMS)
            assert_equal_with_gradients(absorbed, plain, inputs)


@each_form
def test_without_a_rotated_part_it_is_attention_to_keys_of_rank_d_c(form, draw):
    q, latents, w_k, w_v, *_ = draw(7, 8, (2,))
    k, v = latents[:, None] @ w_k, latents[:, None] @ w_v
    torch.testing.assert_close(form(q, latents, w_k, w_v), attention(q, k, v))


def test_the_rotated_part_sees_offsets_alone(draw):
    q, latents, w_k, w_v, q_rotary, k_rotary = draw(7, 7)
    outputs = []
    for start in (0, 100):
        positions = torch.arange(start, start + 7, device=q.device)
        rotary = rope(q_rotary, positions), rope(k_rotary, positions)
        outputs.append(absorbed_latent_attention(q, latents, w_k, w_v, rotary))
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize("n", [1, 7, 8])
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_step_by_step_is_the_whole_under_the_causal_mask(leading, n, draw):
    q, latents, w_k, w_v, q_rotary, k_rotary = inputs = draw(n, n, leading)
    state, outputs = (latents[..., :0, :], k_rotary[..., :0, :]), []
    for i in range(n):
        rotary = q_rotary[..., i, :], k_rotary[..., i, :]
        state, output = latent_attention_step(
            state, q[..., i, :], latents[..., i, :], w_k, w_v, rotary
        )
        outputs.append(output)
    mask = causal_mask(n, q.device)
    whole = latent_attention(q, latents, w_k, w_v, (q_rotary, k_rotary), mask)
    assert_equal_with_gradients(torch.stack(outputs, -2), whole, inputs)
    assert torch.equal(state[0], latents) and torch.equal(state[1], k_rotary)


@each_form
def test_a_query_that_may_attend_nowhere_gets_zeros_and_no_gradient(form, draw):
    q, latents, w_k, w_v, *rotary = draw(3, 5)
    mask = torch.ones(3, 5, dtype=torch.bool, device=q.device)
    mask[1] = False
    out = form(q, latents, w_k, w_v, tuple(rotary), mask)
    assert (out[:, 1] == 0).all()
    (grad,) = torch.autograd.grad(out.sum(), q)
    assert grad.isfinite().all() and (grad[:, 1] == 0).all()


@each_form
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_sixteen_bits_come_near(form, dtype, draw):
    q, latents, w_k, w_v, *rotary = (x.detach() for x in draw(7, 7))
    exact = form(q, latents, w_k, w_v, tuple(rotary))
    q, latents, w_k, w_v, *rotary = (x.to(dtype) for x in (q, latents, w_k, w_v, *rotary))
    ours = form(q, latents, w_k, w_v, tuple(rotary))
    assert ours.dtype == dtype
    bound = 64 * torch.finfo(dtype).eps
    torch.testing.assert_close(ours.double(), exact, atol=bound, rtol=bound)


def test_the_absorbed_form_makes_no_key_and_no_value():
    q, latents = torch.empty(16, 1, 128, device="meta"), torch.empty(1000, 512, device="meta")
    w_k, w_v = torch.empty(2, 16, 512, 128, device="meta")
    plain, absorbed = (count(form, q, latents, w_k, w_v) for form in FORMS)
    assert plain.largest == 16 * 1000 * 128
    assert absorbed.largest == 16 * 1000
    assert plain.flops > 50 * absorbed.flops


def test_the_state_has_the_bytes_that_are_counted(draw):
    latents, keys = torch.empty(100, 512, dtype=torch.bfloat16), torch.empty(100, 64).bfloat16()
    assert latent_cache_bytes(100, 1, 512, 64, torch.bfloat16) == state_bytes((latents, keys))
    ours = latent_cache_bytes(1000, 60, 512, 64, torch.bfloat16)
    # 128 heads of keys and values, each of width 128
    assert cache_bytes(1000, 60, 128, 128, torch.bfloat16) * 9 == ours * 512


def test_bad_input_is_named_with_its_numbers(draw, unchecked):
    q, latents, w_k, w_v, *rotary = draw(3, 5)
    with pytest.raises(ValueError, match=r"w_k has d_c=5, .* d_c=4"):
        latent_attention(q, latents[:, 1:], w_k, w_v)
    with pytest.raises(ValueError, match=r"w_k has heads=1.* heads=2"):
        absorbed_latent_attention(q, latents, w_k[:1], w_v)
    with pytest.raises(ValueError, match=r"rotary\[1\] has m=4, .* m=5"):
        latent_attention(q, latents, w_k, w_v, (rotary[0], rotary[1][1:]))
