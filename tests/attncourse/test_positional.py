"""The mechanisms of the chapter positional: against loops, by property, with bad input."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attncourse import device
from attncourse.dot_product import attention, causal_mask
from attncourse.positional import (
    LearnedEncoding,
    MLPEncoding,
    SinusoidalEncoding,
    ancestors,
    sinusoids,
    tree_depth,
    tree_distance,
)
from tests.attncourse.gradients import assert_equal_with_gradients

LEADING_AXES = [(), (2,), (2, 3)]
ENCODINGS = {
    "sinusoids": SinusoidalEncoding,
    "learned": lambda d: LearnedEncoding(20, d),
    "mlp": lambda d: MLPEncoding(d, hidden=5),
}
DOUBLE = {"dtype": torch.float64, "device": device()}


@pytest.fixture(params=ENCODINGS.values(), ids=ENCODINGS)
def make_encoding(request):
    """Makes an encoding of a width, in float64."""
    torch.manual_seed(0)
    return lambda d: request.param(d).to(**DOUBLE)


def random_heads(n, seed, forest=False):
    """The heads (parents) of a random tree or forest, with words in random order."""
    g = torch.Generator().manual_seed(seed)
    order = torch.randperm(n, generator=g).tolist()
    heads = [-1] * n
    for i, token in enumerate(order[1:], 1):
        parent = int(torch.randint(-1 if forest else 0, i, (), generator=g))
        heads[token] = order[parent] if parent >= 0 else -1
    return heads


def path_to_root(heads, token):
    """The tokens from one up to its root, and -1."""
    path = [token]
    while heads[path[-1]] >= 0:
        path.append(heads[path[-1]])
    # one more node, above all roots
    return [*path, -1]


@pytest.mark.parametrize("n", [0, 1, 7])
@pytest.mark.parametrize("d", [1, 2, 7, 8])
def test_sinusoids_are_the_equation_written_as_loops(n, d):
    expected = torch.zeros(n, d, dtype=torch.float64)
    for t in range(n):
        for c in range(d):
            angle = t / 10000 ** (2 * (c // 2) / d)
            expected[t, c] = math.cos(angle) if c % 2 else math.sin(angle)
    torch.testing.assert_close(sinusoids(n, d, dtype=torch.float64), expected)
    torch.testing.assert_close(sinusoids(n, d), expected.float())


@pytest.mark.parametrize(("d", "last", "elsewhere"), [(8, 6283, 62832), (64, 47117, 62832)])
def test_the_last_wavelength_of_tensor2tensor_is_the_same_at_every_width(d, last, elsewhere):
    # sines first, and i / (d / 2 - 1) for 2 i / d
    i = torch.arange(d // 2, **DOUBLE)
    theirs = torch.outer(torch.arange(7, **DOUBLE), 10000 ** -(i / (d / 2 - 1)))
    theirs = torch.cat([theirs.sin(), theirs.cos()], dim=-1)
    ours = sinusoids(7, d, **DOUBLE)
    # a slow sine gives its frequency; the fastest pair is the same
    waves = [2 * math.pi / math.asin(p[1]) for p in (ours[:, d - 2], theirs[:, d // 2 - 1])]
    assert [round(wave) for wave in waves] == [last, elsewhere]
    torch.testing.assert_close(ours[:, :2], theirs[:, [0, d // 2]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_sinusoids_are_as_exact_as_their_dtype_however_far(dtype):
    far = {"start": 10**6, "device": device()}
    error = sinusoids(8, 6, dtype=dtype, **far).double() - sinusoids(
        8, 6, dtype=torch.float64, **far
    )
    assert error.abs().max() <= torch.finfo(dtype).eps


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 5), (8, 4)])
def test_an_encoding_adds_one_row_to_every_token_of_a_position(make_encoding, g, leading, n, d):
    layer = make_encoding(d)
    x = torch.randn(*leading, n, d, generator=g, dtype=torch.float64).to(device())
    copies = x.clone()
    added = layer(torch.zeros(n, d, **DOUBLE))
    torch.testing.assert_close(layer(x), x + added)
    assert torch.equal(x, copies)
    assert len(added.unique(dim=0)) == n


def test_sinusoids_and_table_add_what_they_say():
    x = torch.zeros(2, 3, 5, **DOUBLE)
    torch.testing.assert_close(SinusoidalEncoding(5)(x)[1], sinusoids(3, 5, **DOUBLE))
    table = LearnedEncoding(4, 5).to(**DOUBLE)
    expected = F.embedding(torch.arange(3, device=device()), table.table)
    assert_equal_with_gradients(table(x)[1], expected, [table.table])


def test_the_mlp_is_a_network_of_the_position(g):
    layer = MLPEncoding(3, hidden=4).to(**DOUBLE)
    network = torch.nn.Sequential(layer.hidden, torch.nn.Tanh(), layer.out)
    expected = torch.stack([network(torch.tensor([float(t)], **DOUBLE)) for t in range(7)])
    assert_equal_with_gradients(layer(torch.zeros(7, 3, **DOUBLE)), expected, [*layer.parameters()])


@pytest.mark.parametrize("start", [0, 1, 6])
def test_a_chunk_that_knows_its_start_gets_the_rows_of_the_whole(make_encoding, g, start):
    layer = make_encoding(4)
    x = torch.randn(2, 7, 4, generator=g, dtype=torch.float64).to(device())
    torch.testing.assert_close(layer(x[:, start:], start), layer(x)[:, start:])


def test_gradients_reach_tokens_and_parameters(make_encoding, g):
    layer = make_encoding(4)
    x = torch.randn(2, 3, 4, generator=g, dtype=torch.float64).to(device()).requires_grad_()
    assert torch.autograd.gradcheck(layer, x)
    layer(x).square().sum().backward()
    assert all((p.grad != 0).any() for p in layer.parameters())


@settings(max_examples=30, deadline=None)
@given(t=st.integers(-(10**4), 10**4), offset=st.integers(-999, 999), half=st.integers(1, 8))
def test_a_dot_product_of_sinusoids_is_a_sum_of_cosines_of_the_offset(t, offset, half):
    d = 2 * half
    (p,), (q,) = (sinusoids(1, d, start=s, dtype=torch.float64) for s in (t, t + offset))
    expected = sum(math.cos(offset / 10000 ** (2 * i / d)) for i in range(half))
    assert math.isclose(p @ q, expected, abs_tol=1e-9)


@pytest.mark.parametrize("causal", [False, True])
def test_only_without_positions_and_mask_does_attention_follow_a_permutation(g, causal):
    x = torch.randn(7, 4, generator=g, dtype=torch.float64)
    order = torch.randperm(7, generator=g)
    mask = causal_mask(7) if causal else None

    def gap(layer):
        return (layer(x[order]) - layer(x)[order]).abs().max().item()

    def bare(x):
        return attention(x, x, x, mask)

    assert (gap(bare) < 1e-12) != causal
    assert gap(lambda x: bare(SinusoidalEncoding(4)(x))) > 1e-3


@pytest.mark.parametrize("forest", [False, True], ids=["tree", "forest"])
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_depth_and_distance_are_those_of_the_way_walked_token_by_token(n, forest):
    for seed in range(5):
        heads = random_heads(n, seed, forest)
        paths = [path_to_root(heads, token) for token in range(n)]
        heads_tensor = torch.tensor(heads, device=device())
        assert tree_depth(heads_tensor).tolist() == [len(path) - 2 for path in paths]
        is_ancestor = [[j in paths[i] for j in range(n)] for i in range(n)]
        assert ancestors(heads_tensor).tolist() == is_ancestor
        expected = [
            [len(set(paths[i]) ^ set(paths[j])) * ((j > i) - (j < i)) for j in range(n)]
            for i in range(n)
        ]
        assert tree_distance(heads_tensor).tolist() == expected


def test_in_a_chain_depth_is_the_position_and_distance_the_offset():
    positions = torch.arange(9, device=device())
    torch.testing.assert_close(tree_depth(positions - 1), positions)
    torch.testing.assert_close(tree_distance(positions - 1), positions - positions[:, None])


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64], ids=str)
def test_trees_come_in_batches_and_keep_their_dtype(leading, dtype):
    count = math.prod(leading)
    heads = torch.tensor([random_heads(6, seed, seed % 2) for seed in range(count)], dtype=dtype)
    heads_tensor = heads.reshape(*leading, 6).to(device())
    for f in (tree_depth, tree_distance):
        expected = torch.stack([f(head) for head in heads]).reshape(*leading, *f(heads[0]).shape)
        torch.testing.assert_close(f(heads_tensor), expected.to(device()))
        assert f(heads_tensor).dtype == dtype


def test_padding_is_a_root_and_leaves_the_tree_as_it_is():
    heads = torch.tensor(random_heads(6, 0))
    padded = F.pad(heads, (0, 3), value=-1)
    torch.testing.assert_close(tree_distance(padded)[:6, :6], tree_distance(heads))
    assert tree_depth(padded)[6:].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("heads", "numbers"),
    [
        ([1, 2, 0], r"parents=\[1, 2, 0\].* token 0"),
        ([-1, 1], r"parents=\[-1, 1\].* token 1"),
        ([-1, 3, 1, 2, 0], "token 1"),
        ([[-1, 0, 1], [-1, 2, 1]], r"parents=\[-1, 2, 1\].* token 1"),
        ([-1, 3, 0], r"parents\[1\] is 3, .* 0 to 2"),
        ([[-1, 0], [-2, 0]], r"parents\[1, 0\] is -2"),
    ],
    ids=str,
)
@pytest.mark.parametrize("f", [tree_depth, tree_distance])
def test_heads_that_are_no_tree_are_refused_with_the_numbers(f, heads, numbers):
    with pytest.raises(ValueError, match=numbers):
        f(torch.tensor(heads))


@pytest.mark.parametrize(("n", "start", "last"), [(21, 0, 20), (1, 20, 20), (3, -1, 1)])
def test_a_table_that_is_too_short_is_named_with_its_rows(n, start, last):
    with pytest.raises(ValueError, match=f"{start} to {last}, .* 20"):
        LearnedEncoding(20, 4)(torch.zeros(n, 4), start)


@pytest.mark.parametrize(("n", "d"), [(-1, 4), (3, 0)])
def test_sizes_that_no_encoding_has_are_refused(n, d):
    with pytest.raises(ValueError, match=f"n={n}, d={d}"):
        sinusoids(n, d)
