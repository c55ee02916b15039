"""Relative positions: each form against the others, against torch's attention, and by property."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attncourse import device
from attncourse.cost import count
from attncourse.dot_product import attention, causal_mask
from attncourse.relative import (
    RelativeAttention,
    relative_attention,
    relative_attention_dense,
    relative_attention_gather,
    relative_attention_loops,
    relative_index,
)

FORMS = {
    "loops": relative_attention_loops,
    "dense": relative_attention_dense,
    "gather": relative_attention_gather,
    "blocks": relative_attention,
}
VECTORIZED = [form for form in FORMS if form != "loops"]
LEADING_AXES = [(), (2,), (2, 3), (2, 1, 3)]
# n, m, max_distance: alone, odd, without distance, beyond the sequence, the last queries of a cache
SIZES = [(1, 1, 0), (1, 1, 2), (7, 7, 2), (5, 5, 0), (5, 5, 4), (4, 4, 9), (3, 8, 2), (1, 6, 3)]
form = pytest.fixture(params=FORMS)(lambda request: FORMS[request.param])


@pytest.fixture
def inputs(normal):
    """Draws queries, keys, values and both tables, of different widths, requiring gradients."""

    def draw(leading, n, m, max_distance, d=4, e=3, dtype=torch.float64):
        qkv = [(*leading, n, d), (*leading, m, d), (*leading, m, e)]
        tables = [(2 * max_distance + 1, d), (2 * max_distance + 1, e)]
        return [normal(*shape, dtype=dtype).requires_grad_() for shape in qkv + tables]

    return draw


def random_mask(g, *shape):
    """A random mask; the second query, if any, may attend nowhere."""
    mask = torch.rand(shape, generator=g) < 0.5
    mask[..., 1:2, :] = False
    return mask.to(device())


def torch_relative_attention(q, k, v, a_k, a_v, mask):
    """Shaw's attention by torch: the key term as a bias, and torch's weights for the values."""
    n, m, max_distance = q.shape[-2], k.shape[-2], len(a_k) // 2
    rows = torch.tensor(
        [
            [min(max(j - i, -max_distance), max_distance) + max_distance for j in range(m)]
            for i in range(m - n, m)
        ]
    ).to(q.device)
    bias = (q[..., None, :] * a_k[rows]).sum(-1) / q.shape[-1] ** 0.5
    if mask is not None:
        bias = bias.masked_fill(~mask, -torch.inf)
    identity = torch.eye(m, dtype=q.dtype, device=q.device).expand(*k.shape[:-1], m)
    weights = F.scaled_dot_product_attention(q, k, identity, bias)
    # torch gives NaN, or zeros, where a query may attend nowhere, depending on its version
    weights = weights.nan_to_num()
    return (weights[..., None] * (v[..., None, :, :] + a_v[rows])).sum(-2)


def gradients(out, inputs, grad_output):
    return torch.autograd.grad(out, [x for x in inputs if x is not None], grad_output)


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_every_form_equals_torch_s_attention(form, inputs, g, leading):
    for sizes in SIZES:
        tensors = inputs(leading, *sizes)
        for mask in (None, random_mask(g, *leading, *sizes[:2])):
            torch.testing.assert_close(
                form(*tensors, mask), torch_relative_attention(*tensors, mask)
            )


@pytest.mark.parametrize("tables", ["both", "keys", "values"])
@pytest.mark.parametrize("name", VECTORIZED)
def test_every_form_is_the_loops_with_their_gradients(name, inputs, normal, g, tables):
    for sizes in SIZES:
        q, k, v, a_k, a_v = inputs((2, 3), *sizes)
        a_k, a_v = None if tables == "values" else a_k, None if tables == "keys" else a_v
        for mask in (None, random_mask(g, 2, 1, *sizes[:2])):
            ours = FORMS[name](q, k, v, a_k, a_v, mask)
            loops = relative_attention_loops(q, k, v, a_k, a_v, mask)
            grad_output = normal(*loops.shape)
            torch.testing.assert_close(ours, loops)
            torch.testing.assert_close(
                gradients(ours, (q, k, v, a_k, a_v), grad_output),
                gradients(loops, (q, k, v, a_k, a_v), grad_output),
            )


@pytest.mark.parametrize("n, m", [(129, 129), (200, 200), (70, 150)])
@pytest.mark.parametrize("max_distance", [0, 16, 90, 300])
def test_the_blocks_equal_the_gather_over_several_blocks(inputs, normal, g, n, m, max_distance):
    tensors = inputs((2,), n, m, max_distance)
    mask = causal_mask(m, device())[m - n :] & random_mask(g, 2, n, m)
    ours, theirs = (f(*tensors, mask) for f in (relative_attention, relative_attention_gather))
    grad_output = normal(*ours.shape)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        gradients(ours, tensors, grad_output), gradients(theirs, tensors, grad_output)
    )


@pytest.mark.parametrize("masked", [False, True], ids=["open", "masked"])
def test_the_gradients_of_the_blocks_are_those_of_small_steps(inputs, g, masked):
    tensors = inputs((2,), 3, 4, 1, d=2, e=2)
    mask = random_mask(g, 3, 4) if masked else None
    assert torch.autograd.gradcheck(lambda *x: relative_attention(*x, mask), tensors)


def test_the_gradient_of_a_gradient_is_refused_in_blocks_and_not_in_the_gather(inputs):
    for f, works in ((relative_attention_gather, True), (relative_attention, False)):
        tensors = inputs((), 3, 3, 1)
        first = torch.autograd.grad(f(*tensors).pow(2).sum(), tensors[0], create_graph=True)[0]
        if works:
            first.sum().backward()
            assert tensors[1].grad.isfinite().all()
        else:
            with pytest.raises(RuntimeError, match="once_differentiable"):
                first.sum().backward()


def test_the_index_of_ten_words_and_three_steps():
    index = relative_index(10, 3, device())
    assert index[0].tolist() == [3, 4, 5, 6, 6, 6, 6, 6, 6, 6]
    assert index[9].tolist() == [0, 0, 0, 0, 0, 0, 0, 1, 2, 3]
    assert index.dtype == torch.int64


@settings(max_examples=30, deadline=None)
@given(n=st.integers(0, 12), max_distance=st.integers(0, 15))
def test_the_index_depends_on_the_offset_and_stops_at_max_distance(n, max_distance):
    index = relative_index(n, max_distance)
    assert index.shape == (n, n)
    for i in range(n):
        for j in range(n):
            assert index[i, j] == min(2 * max_distance, max(0, j - i + max_distance))


def test_without_distance_the_tables_add_one_vector(form, inputs):
    q, k, v, a_k, a_v = inputs((2,), 5, 5, 0)
    torch.testing.assert_close(form(q, k, v, a_k, a_v), attention(q, k, v) + a_v[0])


def test_tables_of_zeros_leave_attention(form, inputs, g):
    q, k, v, a_k, a_v = inputs((2,), 5, 5, 2)
    mask = random_mask(g, 2, 5, 5)
    zeros = torch.zeros_like(a_k), torch.zeros_like(a_v)
    torch.testing.assert_close(form(q, k, v, *zeros, mask), attention(q, k, v, mask))


def test_words_beyond_max_distance_may_change_places(form, inputs):
    q, k, v, a_k, a_v = (x.detach() for x in inputs((2,), 7, 7, 2))
    order = torch.tensor([0, 1, 2, 6, 4, 3, 5], device=device())
    expected = form(q, k, v, a_k, a_v)
    changed_output = form(q, k[..., order, :], v[..., order, :], a_k, a_v)
    # for the first word all of them are more than two steps away, for the third they are not
    torch.testing.assert_close(changed_output[..., 0, :], expected[..., 0, :])
    assert not torch.allclose(changed_output[..., 2, :], expected[..., 2, :])


def test_only_the_offset_counts(form, inputs, g):
    q, k, v, a_k, a_v = (x.detach() for x in inputs((2,), 9, 9, 3))
    mask = torch.zeros(9, 9, dtype=torch.bool, device=device())
    mask[4:, 4:] = True
    changed = form(q, k, v, a_k, a_v, mask)[..., 4:, :]
    alone = form(q[..., 4:, :], k[..., 4:, :], v[..., 4:, :], a_k, a_v)
    torch.testing.assert_close(changed, alone)


@pytest.mark.parametrize("n", [1, 3])
def test_the_last_queries_are_the_last_rows_of_the_whole(form, inputs, n):
    q, k, v, a_k, a_v = inputs((2,), 7, 7, 2)
    mask = causal_mask(7, device())
    full = form(q, k, v, a_k, a_v, mask)
    last = form(q[..., -n:, :], k, v, a_k, a_v, mask[-n:])
    torch.testing.assert_close(last, full[..., -n:, :])


def test_the_heads_share_the_tables(form, inputs):
    q, k, v, a_k, a_v = inputs((3,), 5, 5, 2)
    joint = torch.autograd.grad(form(q, k, v, a_k, a_v).sum(), (a_k, a_v))
    heads = [form(q[h], k[h], v[h], a_k, a_v).sum() for h in range(3)]
    separate = [torch.autograd.grad(head, (a_k, a_v)) for head in heads]
    for table, of_heads in zip(joint, zip(*separate, strict=True), strict=True):
        torch.testing.assert_close(table, sum(of_heads))


def test_a_query_that_may_attend_nowhere_gets_zeros_and_no_gradient(form, inputs):
    q, k, v, a_k, a_v = inputs((2,), 3, 3, 1)
    mask = torch.ones(3, 3, dtype=torch.bool, device=device())
    mask[1] = False
    out = form(q, k, v, a_k, a_v, mask)
    assert (out[..., 1, :] == 0).all()
    grads = torch.autograd.grad(out.sum(), (q, k, v, a_k, a_v))
    assert all(grad.isfinite().all() for grad in grads)
    assert (grads[0][..., 1, :] == 0).all()


@pytest.mark.parametrize("shape", [(5, 5), (1, 5), (2, 1, 1, 5), (3, 5, 1), (2, 3, 5, 5)], ids=str)
def test_a_mask_broadcasts(form, inputs, g, shape):
    tensors = inputs((2, 3), 5, 5, 2)
    mask = (torch.rand(shape, generator=g) < 0.7).to(device())
    torch.testing.assert_close(form(*tensors, mask), form(*tensors, mask.expand(2, 3, 5, 5)))


@pytest.mark.usefixtures("unchecked")
def test_leading_axes_broadcast_with_their_gradients(form, normal, inputs):
    q, k, v, a_k, a_v = inputs((2, 3), 5, 5, 2)
    k, v = normal(3, 5, 4).requires_grad_(), normal(2, 1, 5, 3).requires_grad_()
    ours = form(q, k, v, a_k, a_v)
    wide = form(q, k.expand(2, 3, 5, 4), v.expand(2, 3, 5, 3), a_k, a_v)
    grad_output = normal(*wide.shape)
    torch.testing.assert_close(ours, wide)
    torch.testing.assert_close(
        gradients(ours, (q, k, v), grad_output), gradients(wide, (q, k, v), grad_output)
    )


@pytest.mark.parametrize("scale", [1, 60, 1e4])
def test_scores_may_be_large(form, inputs, scale):
    q, k, v, a_k, a_v = inputs((2,), 7, 7, 2)
    torch.testing.assert_close(
        form(scale * q, k, v, a_k, a_v), torch_relative_attention(scale * q, k, v, a_k, a_v, None)
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_the_output_has_the_dtype_of_the_input(form, inputs, dtype):
    tensors = [x.detach() for x in inputs((2,), 7, 7, 2, dtype=dtype)]
    out = form(*tensors, causal_mask(7, device()))
    assert out.dtype == dtype
    expected = form(*(x.double() for x in tensors), causal_mask(7, device()))
    torch.testing.assert_close(out.double(), expected, atol=16 * torch.finfo(dtype).eps, rtol=0)


def test_the_forms_cost_what_they_say():
    """h heads of n words, width d: n n d numbers; h n n; a few rows of it at a time."""
    h, n, d, max_distance = 8, 1024, 64, 16
    words, table = (
        torch.empty(h, n, d, device="meta"),
        torch.empty(2 * max_distance + 1, d, device="meta"),
    )
    largest = {name: count(FORMS[name], *[words] * 3, *[table] * 2).largest for name in VECTORIZED}
    assert largest["dense"] == n * n * d
    assert largest["gather"] == h * n * n
    assert largest["blocks"] <= h * n * n / 4


def test_the_layer_learns_and_counts_its_parameters(inputs):
    q, k, v, *_ = inputs((2,), 5, 5, 2, d=4, e=4)
    layer = RelativeAttention(4, 2).to(device(), torch.float64)
    assert {name: tuple(x.shape) for name, x in layer.named_parameters()} == {
        "a_k": (5, 4),
        "a_v": (5, 4),
    }
    mask = causal_mask(5, device())
    torch.testing.assert_close(
        layer(q, k, v, mask), relative_attention_loops(q, k, v, layer.a_k, layer.a_v, mask)
    )
    layer(q, k, v, mask=mask).pow(2).sum().backward()
    # under the causal mask no query meets a row to the right
    for table in layer.parameters():
        assert (table.grad[3:] == 0).all() and (table.grad[:3] != 0).all()


@pytest.mark.parametrize("keys, values", [(True, False), (False, True)])
def test_the_layer_leaves_a_table_out(inputs, keys, values):
    q, k, v, *_ = inputs((2,), 5, 5, 2, d=4, e=4)
    layer = RelativeAttention(4, 2, keys=keys, values=values).to(device(), torch.float64)
    assert [name for name, _ in layer.named_parameters()] == ["a_k" if keys else "a_v"]
    expected = relative_attention_loops(q, k, v, layer.a_k, layer.a_v)
    torch.testing.assert_close(layer(q, k, v), expected)


def test_under_autocast_the_blocks_give_what_they_give_without():
    shapes = [(2, 200, 8)] * 3 + [(7, 8)] * 2
    tensors = [torch.randn(shape) for shape in shapes]
    results = []
    for enabled in (False, True):
        leaves = [x.clone().requires_grad_() for x in tensors]
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            out = relative_attention(*leaves)
        out.sum().backward()
        results.append([out.detach(), *(x.grad for x in leaves)])
    for plain, autocast_result in zip(*results, strict=True):
        torch.testing.assert_close(plain, autocast_result)
