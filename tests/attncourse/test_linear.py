"""Linear attention: each form against the others, against torch's matrices, and by property."""

from functools import partial

import pytest
import torch

from attncourse import device
from attncourse.cost import count
from attncourse.dot_product import attention, causal_mask, padding_mask
from attncourse.linear import (
    feature_map,
    linear_attention,
    linear_attention_chunkwise,
    linear_attention_cumsum,
    linear_attention_parallel,
    linear_attention_recurrent,
    linear_attention_state,
    linear_attention_step,
    taylor_features,
)
from attncourse.multi_head import MultiHeadAttention
from tests.attncourse.gradients import assert_equal_with_gradients


def causal(q, k, v, feature_map=feature_map):
    return linear_attention(q, k, v, causal=True, feature_map=feature_map)


def short_chunks(q, k, v, feature_map=feature_map):
    return linear_attention_chunkwise(q, k, v, feature_map=feature_map, chunk=3)


def masked(q, k, v, feature_map=feature_map):
    return linear_attention_parallel(q, k, v, feature_map=feature_map)


FORMS = {
    "masked": masked,
    "cumulative": linear_attention_cumsum,
    "recurrent": linear_attention_recurrent,
    "chunks of 3": short_chunks,
    "causal": causal,
}
FEATURE_MAPS = {
    "elu + 1": feature_map,
    "exp": torch.exp,
    "both signs": lambda x: torch.cat([x.relu(), (-x).relu()], dim=-1),
    "taylor": taylor_features,
}
LEADING_AXES = [(), (2,), (2, 3), (2, 1, 3)]
form = pytest.fixture(params=FORMS)(lambda request: FORMS[request.param])


@pytest.fixture
def inputs(normal):
    """Draws queries, keys and values of different widths that require gradients."""

    def draw(leading, n, m=None, d=4, e=3, dtype=torch.float64):
        m = n if m is None else m
        shapes = [(*leading, n, d), (*leading, m, d), (*leading, m, e)]
        return [normal(*shape, dtype=dtype).requires_grad_() for shape in shapes]

    return draw


def torch_linear_attention(q, k, v, feature_map, mask):
    """Linear attention with torch's softmax of the logarithms of the feature products."""
    scores = (feature_map(q) @ feature_map(k).mT).log().masked_fill(~mask, -torch.inf)
    return scores.softmax(-1).nan_to_num() @ v


@pytest.mark.parametrize("features", FEATURE_MAPS)
@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_every_form_equals_torch_s_softmax_of_the_logarithms_with_its_gradients(
    form, inputs, n, features
):
    q, k, v = tensors = inputs((2, 3), n)
    features = FEATURE_MAPS[features]
    if features is FEATURE_MAPS["both signs"]:
        # features that share no sign have weight 0, whose logarithm has no gradient
        q, k = q.abs() + 0.1, k.abs() + 0.1
    expected = torch_linear_attention(q, k, v, features, causal_mask(n, device()))
    assert_equal_with_gradients(form(q, k, v, feature_map=features), expected, tensors)


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("n", [1, 3, 7, 130])
def test_every_form_is_the_masked_one_with_its_gradients(form, inputs, normal, n, leading):
    tensors = inputs(leading, n)
    ours, expected = form(*tensors), masked(*tensors)
    grad_output = normal(*expected.shape)
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(
        torch.autograd.grad(ours, tensors, grad_output),
        torch.autograd.grad(expected, tensors, grad_output),
    )


@pytest.mark.parametrize("n, m", [(1, 1), (7, 7), (3, 8), (8, 3)])
@pytest.mark.parametrize("features", FEATURE_MAPS)
def test_one_state_for_all_queries_is_the_form_with_all_pairs(inputs, normal, features, n, m):
    tensors, features = inputs((2, 3), n, m), FEATURE_MAPS[features]
    ours = linear_attention(*tensors, feature_map=features)
    expected = linear_attention_parallel(*tensors, causal=False, feature_map=features)
    grad_output = normal(*expected.shape)
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(
        torch.autograd.grad(ours, tensors, grad_output),
        torch.autograd.grad(expected, tensors, grad_output),
    )


@pytest.mark.parametrize("chunk", [1, 2, 5, 7, 64])
@pytest.mark.parametrize("n", [1, 5, 7, 130])
def test_any_length_of_chunk_gives_the_same(inputs, chunk, n):
    q, k, v = inputs((2,), n)
    torch.testing.assert_close(linear_attention_chunkwise(q, k, v, chunk=chunk), masked(q, k, v))


def test_the_features_are_those_of_the_paper(normal):
    x = normal(100).requires_grad_()
    assert_equal_with_gradients(feature_map(x), torch.where(x > 0, x + 1, x.exp()), [x])
    assert (feature_map(x) > 0).all()


def test_the_products_of_the_taylor_features_are_three_terms_of_exp(normal):
    x, y = normal(5, 4).requires_grad_(), normal(7, 4).requires_grad_()
    products = x @ y.mT
    features = taylor_features(x)
    assert features.shape == (5, 1 + 4 + 16)
    expected = 1 + products + products**2 / 2
    assert_equal_with_gradients(features @ taylor_features(y).mT, expected, (x, y))


def test_the_output_is_a_mean_of_the_values(form, inputs):
    q, k, v = inputs((2,), 9)
    torch.testing.assert_close(form(q, k, torch.ones_like(v)), torch.ones_like(v))
    out, highest, lowest = form(q, k, v), v.cummax(-2).values, v.cummin(-2).values
    assert (out <= highest + 1e-12).all() and (out >= lowest - 1e-12).all()


def test_the_first_token_gets_its_own_value(form, inputs):
    q, k, v = inputs((2,), 5)
    torch.testing.assert_close(form(q, k, v)[..., 0, :], v[..., 0, :])


def test_the_future_has_no_gradient(form, inputs):
    q, k, v = inputs((2,), 7)
    for grad in torch.autograd.grad(form(q, k, v)[..., 3, :].sum(), (q, k, v)):
        assert (grad[..., 4:, :] == 0).all()


@pytest.mark.parametrize("is_causal", [False, True])
def test_padding_has_no_weight_and_no_gradient(inputs, g, is_causal):
    q, k, v = inputs((3,), 130)
    lengths = torch.tensor([130, 70, 1], device=device())
    mask = padding_mask(lengths, 130)
    out = linear_attention(q, k, v, causal=is_causal, mask=mask)
    expected = linear_attention_parallel(q, k, v, causal=is_causal, mask=mask)
    assert_equal_with_gradients(out, expected, (q, k, v))
    for row, n in enumerate(lengths.tolist()):
        alone = linear_attention(q[row, :n], k[row, :n], v[row, :n], causal=is_causal)
        torch.testing.assert_close(out[row, :n], alone)
    for grad in torch.autograd.grad(out.sum(), (k, v)):
        assert (grad[1, 70:] == 0).all() and (grad[2, 1:] == 0).all()


@pytest.mark.parametrize("chunk", [3, 5, 64])
def test_plain_chunks_leave_padding_out(inputs, chunk):
    q, k, v = inputs((3,), 10)
    mask = padding_mask(torch.tensor([10, 7, 0], device=device()), 10)
    torch.testing.assert_close(
        linear_attention_chunkwise(q, k, v, mask, chunk=chunk),
        linear_attention_parallel(q, k, v, mask=mask),
    )


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("f", [linear_attention, linear_attention_parallel])
def test_a_query_with_no_key_gets_zeros_and_finite_gradients(inputs, f, is_causal):
    q, k, v = inputs((2,), 5)
    mask = torch.tensor([[[False] * 5], [[False, False, True, True, True]]], device=device())
    out = f(q, k, v, causal=is_causal, mask=mask)
    assert (out[0] == 0).all()
    assert (out[1, :2] == 0).all() == is_causal
    grads = torch.autograd.grad(out.sum(), (q, k, v))
    assert all(grad.isfinite().all() for grad in grads)


def test_a_prompt_and_then_token_by_token_is_the_whole(inputs):
    q, k, v = inputs((2, 3), 9)
    full = masked(q, k, v)
    state = linear_attention_state(k[..., :5, :], v[..., :5, :])
    for t in range(5, 9):
        state, out = linear_attention_step(state, q[..., t, :], k[..., t, :], v[..., t, :])
        torch.testing.assert_close(out, full[..., t, :])
    for ours, want in zip(state, linear_attention_state(k, v), strict=True):
        torch.testing.assert_close(ours, want)


def test_the_state_has_one_size_and_is_left_as_it_was(inputs):
    q, k, v = (x.detach() for x in inputs((2,), 100))
    for n in (0, 1, 100):
        S, z = linear_attention_state(k[..., :n, :], v[..., :n, :])
        assert (S.shape, z.shape) == ((2, 4, 3), (2, 4))
    copies = S.clone(), z.clone()
    (new_S, new_z), _ = linear_attention_step((S, z), q[..., 0, :], k[..., 0, :], v[..., 0, :])
    assert torch.equal(S, copies[0]) and torch.equal(z, copies[1])
    assert not torch.equal(new_S, S) and not torch.equal(new_z, z)


def test_the_state_of_a_padded_prompt_leaves_the_padding_out(inputs):
    _, k, v = inputs((2,), 7)
    mask = padding_mask(torch.tensor([7, 3], device=device()), 7)
    S, z = linear_attention_state(k, v, mask)
    short_S, short_z = linear_attention_state(k[1, :3], v[1, :3])
    torch.testing.assert_close(S[1], short_S)
    torch.testing.assert_close(z[1], short_z)


def test_the_state_forgets_the_order(inputs):
    _, k, v = inputs((2,), 7)
    rotated = linear_attention_state(k.flip(-2), v.flip(-2))
    for ours, want in zip(rotated, linear_attention_state(k, v), strict=True):
        torch.testing.assert_close(ours, want)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_the_output_has_the_dtype_of_the_values(form, inputs, dtype):
    tensors = [x.detach() for x in inputs((2,), 70, dtype=dtype)]
    out = form(*tensors)
    assert out.dtype == dtype
    expected = masked(*(x.double() for x in tensors))
    torch.testing.assert_close(out.double(), expected, atol=8 * torch.finfo(dtype).eps, rtol=0)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_32768_tokens_lose_no_digits(inputs, dtype, is_causal):
    q, k, v = (x.detach() for x in inputs((), 2**15, dtype=dtype))
    # a mean that is far from 0, as a sum that stops growing would miss it
    v = v + 3
    out = linear_attention(q, k, v, causal=is_causal)
    expected = linear_attention(q.double(), k.double(), v.double(), causal=is_causal)
    off = 1.001 * 2**-8 if dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(out.double(), expected, atol=0, rtol=off)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_autocast_lowers_no_sum_and_no_gradient(form, inputs, dtype):
    tensors = inputs((2,), 130, dtype=dtype)
    expected, (S, z) = form(*tensors), linear_attention_state(*tensors[1:])
    with torch.autocast(device().type, dtype=torch.bfloat16):
        ours, state = form(*tensors), linear_attention_state(*tensors[1:])
    assert all(map(torch.equal, (ours, *state), (expected, S, z)))
    assert (ours.dtype, S.dtype, z.dtype) == (dtype, torch.float32, torch.float32)
    grads = (torch.autograd.grad(out.float().pow(2).sum(), tensors) for out in (ours, expected))
    assert all(map(torch.equal, *grads))


def test_a_backward_pass_under_autocast_is_one_without_it(inputs):
    tensors = inputs((2,), 130, dtype=torch.float32)
    out = causal(*tensors)
    expected = torch.autograd.grad(out.sum(), tensors, retain_graph=True)
    with torch.autocast(device().type, dtype=torch.bfloat16):
        grads = torch.autograd.grad(out.sum(), tensors)
    torch.testing.assert_close(grads, expected)


def test_features_that_are_all_zero_give_zeros(form, inputs):
    q, k, v = inputs((2,), 5)
    out = form(q, k, v, feature_map=lambda x: 0 * x)
    assert (out == 0).all()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(out.sum(), (q, k, v)))


def test_the_parameters_of_a_feature_map_learn(inputs, normal):
    q, k, v = inputs((2,), 130)
    w = normal(4, 5).requires_grad_()
    grads = [
        torch.autograd.grad(f(q, k, v, feature_map=lambda x: (x @ w).exp()).pow(2).sum(), w)
        for f in (causal, masked)
    ]
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("is_causal", [False, True])
def test_an_empty_sequence_gives_an_empty_one(form, inputs, is_causal):
    tensors = inputs((2,), 0)
    assert form(*tensors).shape == (2, 0, 3)
    assert linear_attention(*tensors, causal=is_causal).shape == (2, 0, 3)


def test_no_keys_at_all_give_zeros(inputs):
    assert (linear_attention(*inputs((2,), 3, 0)) == 0).all()


@pytest.mark.usefixtures("unchecked")
def test_leading_axes_broadcast(form, inputs, normal):
    q, _, _ = inputs((2, 3), 7)
    k, v = normal(3, 7, 4), normal(2, 1, 7, 3)
    torch.testing.assert_close(form(q, k, v), form(q, k.expand(2, 3, 7, 4), v.expand(2, 3, 7, 3)))


def test_the_forms_hold_what_they_say():
    """n tokens of h heads: n x n pairs, n states, or tensors no larger than the tokens'."""
    h, n, d = 2, 256, 64
    tokens = [torch.empty(h, n, d, device="meta")] * 3
    largest = {name: count(f, *tokens).largest for name, f in FORMS.items()}
    assert largest["masked"] == h * n * n
    assert largest["cumulative"] == h * n * d * d
    assert largest["recurrent"] == largest["causal"] == h * n * d
    assert count(linear_attention, *tokens).largest == h * n * d


@pytest.mark.usefixtures("unchecked")
def test_a_layer_takes_it_in_place_of_attention(normal):
    x = normal(2, 5, 12, dtype=torch.float32)
    layer = MultiHeadAttention(12, 3, attend=linear_attention).to(device())
    assert layer(x).shape == (2, 5, 12)


@pytest.mark.parametrize(
    ("f", "sizes", "numbers"),
    [
        (linear_attention_parallel, (3, 4), "3 and 4"),
        (causal, (5, 4), "5 and 4"),
        (partial(linear_attention_chunkwise, chunk=0), (5, 5), "chunk=0"),
    ],
)
def test_sizes_that_cannot_be_are_refused(f, sizes, numbers, inputs):
    with pytest.raises(ValueError, match=numbers):
        f(*inputs((), *sizes))


def test_softmax_attention_is_another_function(inputs):
    q, k, v = inputs((), 7)
    assert not torch.allclose(linear_attention(q, k, v), attention(q, k, v))
