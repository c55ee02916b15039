"""The skew, the family around relative positions, and bad input to any of them."""

import math

import pytest
import torch
import torch.nn.functional as F

from attncourse import device
from attncourse.relative import (
    RelativeAttention,
    alibi_bias,
    causal_skew,
    relative_attention,
    relative_attention_dense,
    relative_attention_gather,
    relative_attention_loops,
    relative_index,
    rope,
    sinusoidal_relative,
    skew,
    t5_buckets,
)
from tests.attncourse.gradients import assert_equal_with_gradients

LEADING_AXES = [(), (2,), (2, 3)]
LENGTHS = [1, 2, 7, 8]


@pytest.fixture
def normal(g):
    """Draws standard normal tensors on the course's device, from a fixed seed."""
    return lambda *shape: torch.randn(shape, generator=g, dtype=torch.float64).to(device())


def offsets(n):
    """j - i for every query i and key j."""
    return torch.tensor([[j - i for j in range(n)] for i in range(n)], device=device())


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_the_skew_is_the_lookup_of_each_offset(normal, leading, n):
    x = normal(*leading, n, 2 * n - 1).requires_grad_()
    index = (offsets(n) + n - 1).expand(*leading, n, n)
    assert_equal_with_gradients(skew(x), x.gather(-1, index), [x], rtol=0, atol=0)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_the_causal_skew_is_the_lookup_of_each_offset_to_the_left(normal, leading, n):
    x = normal(*leading, n, n).requires_grad_()
    index = (offsets(n) + n - 1).clamp(max=n - 1).expand(*leading, n, n)
    expected = x.gather(-1, index).tril()
    assert_equal_with_gradients(causal_skew(x), expected, [x], rtol=0, atol=0)


@pytest.mark.parametrize("n", [2, 7])
def test_the_causal_skew_is_the_skew_on_one_side_only(normal, n):
    x = normal(n, 2 * n - 1)
    torch.testing.assert_close(causal_skew(x[:, :n]), skew(x).tril())
    assert not torch.allclose(causal_skew(x[:, :n]), skew(x))


def test_the_skew_is_how_all_offsets_meet_their_queries(normal):
    q, k, v, table = normal(2, 5, 4), normal(2, 5, 4), normal(2, 5, 3), normal(9, 4)
    scores = (q @ k.mT + skew(q @ table.mT)) / 2
    expected = relative_attention_loops(q, k, v, table, None)
    torch.testing.assert_close(scores.softmax(-1) @ v, expected)


def append_offset_bias(q, k, bias):
    """q, k and a key table with an extra column, by which the table adds a bias per offset."""
    ones = torch.ones_like(q[..., :1])
    table = torch.cat([q.new_zeros(len(bias), q.shape[-1]), bias[:, None]], dim=-1)
    return torch.cat([q, ones], -1), torch.cat([k, 0 * ones], -1), table


def test_alibi_is_a_relative_table_of_one_number_a_row(normal):
    q, k, v = normal(4, 7, 3), normal(4, 7, 3), normal(4, 7, 2)
    bias = alibi_bias(4, 7, device(), dtype=torch.float64)
    theirs = F.scaled_dot_product_attention(q, k, v, bias)
    distance = torch.arange(-6, 7, device=device()).abs()
    for h, slope in enumerate([1 / 4, 1 / 16, 1 / 64, 1 / 256]):
        # the last column is divided by the root of the width, 4 with it, like the rest
        wide = append_offset_bias(q[h] * (4 / 3) ** 0.5, k[h], -slope * distance * 2)
        torch.testing.assert_close(relative_attention(*wide[:2], v[h], wide[2], None), theirs[h])


def test_the_slopes_of_alibi_are_powers_of_a_half():
    assert (-alibi_bias(8, 2, device())[:, 0, 1]).tolist() == [2.0**-h for h in range(1, 9)]
    assert (-alibi_bias(16, 2, device())[:, 0, 1]).tolist() == [
        pytest.approx(2 ** (-h / 2)) for h in range(1, 17)
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_penalties_of_alibi_are_as_exact_as_their_dtype(dtype):
    bias = alibi_bias(12, 9, device(), dtype=dtype)
    slopes = torch.tensor([2 ** (-2 * h / 3) for h in range(1, 13)], dtype=torch.float64)
    expected = -slopes.to(device())[:, None, None] * offsets(9).abs()
    assert bias.dtype == dtype
    torch.testing.assert_close(bias.double(), expected, rtol=4 * torch.finfo(dtype).eps, atol=0)
    assert alibi_bias(12, 9, device()).dtype == torch.get_default_dtype()


@pytest.mark.parametrize(
    "heads, largest, elsewhere",
    [
        (2, 0.06, 0.06),
        (8, 0.5, 0.5),
        (32, 0.84, 0.84),
        (3, 0.16, 0.25),
        (6, 0.4, 0.5),
        (12, 0.63, 0.71),
        (20, 0.76, 0.84),
    ],
)
def test_slopes_elsewhere_differ_where_heads_are_no_power_of_two(heads, largest, elsewhere):
    ours = (-alibi_bias(heads, 2, device(), dtype=torch.float64)[:, 0, 1]).tolist()
    # in ALiBi's own code and in BLOOM's: of the power below, then every second one of that above
    power = 2 ** int(math.log2(heads))
    slopes_of_power, slopes_of_double = (
        [2 ** (-8 * h / n) for h in range(1, n + 1)] for n in (power, 2 * power)
    )
    theirs = slopes_of_power + slopes_of_double[::2][: heads - power]
    assert (round(max(ours), 2), round(max(theirs), 2)) == (largest, elsewhere)
    assert (ours == pytest.approx(theirs)) == (heads == power)


@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_t5_bias_is_a_relative_table_of_one_number_a_row(normal, bidirectional):
    q, k, v, bias_table = normal(9, 3), normal(9, 3), normal(9, 2), normal(8)
    buckets = t5_buckets(9, 8, 6, bidirectional, device())
    theirs = F.scaled_dot_product_attention(q, k, v, bias_table[buckets])
    by_offset = torch.cat([buckets[-1], buckets[0, 1:]])
    wide = append_offset_bias(q * (4 / 3) ** 0.5, k, 2 * bias_table[by_offset])
    torch.testing.assert_close(relative_attention(*wide[:2], v, wide[2], None), theirs)


@pytest.mark.parametrize(
    "buckets, farthest, bidirectional",
    [(32, 128, True), (32, 128, False), (16, 100, True), (4, 9, True)],
)
def test_the_buckets_of_t5_begin_where_the_powers_say(buckets, farthest, bidirectional):
    n = 2 * farthest
    actual_buckets = t5_buckets(n, buckets, farthest, bidirectional, device()).tolist()
    half = buckets // 2 if bidirectional else buckets
    window = half // 2
    for distance in range(n):
        # near (farthest / near)^(step / far) <= distance, in whole numbers
        far_buckets = half - window
        steps = [
            s
            for s in range(far_buckets)
            if window**far_buckets * farthest**s <= distance**far_buckets * window**s
        ]
        expected = distance if distance < window else window + len(steps) - 1
        assert actual_buckets[distance][0] == expected
        assert actual_buckets[0][distance] == (
            expected + half * (distance > 0) if bidirectional else 0
        )


def test_the_buckets_of_the_published_model():
    row = t5_buckets(200, device=device())[:, 0].tolist()
    starts = [row.index(bucket) for bucket in range(16)]
    assert starts == [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
    assert max(row) == 15


@pytest.mark.parametrize("n, d", [(1, 1), (4, 6), (5, 7)])
def test_the_sinusoids_of_an_offset_are_those_of_a_position(n, d):
    table = sinusoidal_relative(n, d, device())
    assert table.shape == (2 * n - 1, d)
    for offset in range(1 - n, n):
        for column in range(d):
            angle = offset / 10000 ** (column // 2 * 2 / d)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[n - 1 + offset, column].item() == pytest.approx(expected, abs=1e-6)


def test_transformer_xl_is_relative_attention_with_a_table_that_is_only_projected(normal):
    n, d = 6, 4
    q, k, v, w = normal(n, d), normal(n, d), normal(n, 3), normal(d, d)
    table = sinusoidal_relative(n, d, device()).double() @ w
    bias = torch.stack([q[i] @ table[offsets(n)[i] + n - 1].mT for i in range(n)]) / 2
    theirs = F.scaled_dot_product_attention(q, k, v, bias)
    torch.testing.assert_close(relative_attention(q, k, v, table, None), theirs)


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_rope_turns_each_pair_as_a_complex_number(normal, leading):
    x = normal(*leading, 7, 6).requires_grad_()
    positions = torch.tensor([0, 1, 2, 5, 8, 100, 4000], device=device())
    angle = positions[:, None] * torch.tensor(
        [10000 ** (-i / 3) for i in range(3)], device=device(), dtype=torch.float64
    )
    rotated = torch.view_as_complex(x.unflatten(-1, (3, 2))) * torch.polar(
        torch.ones_like(angle), angle
    )
    assert_equal_with_gradients(rope(x, positions), torch.view_as_real(rotated).flatten(-2), [x])


def test_after_rope_dot_products_depend_on_the_offset_only(normal):
    q, k, positions = (
        normal(1, 6).expand(9, 6),
        normal(1, 6).expand(9, 6),
        torch.arange(9, device=device()),
    )
    scores = rope(q, positions) @ rope(k, positions).mT
    far_scores = rope(q, positions + 1000) @ rope(k, positions + 1000).mT
    torch.testing.assert_close(far_scores, scores)
    # the general formula: query i meets key j turned by their offset alone
    for i in range(9):
        torch.testing.assert_close(scores[i], rope(k, positions - i) @ q[0])


def test_rope_takes_positions_for_each_sequence_and_keeps_lengths(normal):
    x, positions = normal(2, 3, 5, 4), torch.arange(10, device=device()).view(2, 1, 5)
    rotated = rope(x, positions)
    torch.testing.assert_close(rotated[1, 2], rope(x[1, 2], torch.arange(5, 10, device=device())))
    torch.testing.assert_close(rotated.norm(dim=-1), x.norm(dim=-1))
    assert rope(x.float(), positions).dtype == torch.float32


def test_a_scale_of_rope_divides_its_positions(normal):
    x, positions = normal(5, 6), torch.arange(5, device=device())
    torch.testing.assert_close(rope(x, 3 * positions, scale=3.0), rope(x, positions))


def test_a_base_of_rope_slows_all_pairs_but_the_first(normal):
    x, positions, base = normal(5, 6), torch.arange(5, device=device()), 10000 * 4 ** (6 / 4)
    plain, slower, interpolated = (
        rope(x, positions),
        rope(x, positions, base=base),
        rope(x, positions, scale=4.0),
    )
    torch.testing.assert_close(slower[:, :2], plain[:, :2])
    torch.testing.assert_close(slower[:, 4:], interpolated[:, 4:])
    assert not torch.allclose(slower[:, 2:4], plain[:, 2:4])


FORMS = [
    relative_attention_loops,
    relative_attention_dense,
    relative_attention_gather,
    relative_attention,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize(
    ("changed", "numbers"),
    [
        ({"q": (6, 4)}, "6 queries .* 5 positions"),
        ({"a_k": (6, 4), "a_v": None}, r"a_k=\(6, 4\)"),
        ({"a_k": (0, 4), "a_v": (0, 2)}, r"a_k=\(0, 4\)"),
        ({"a_k": None, "a_v": None}, "both None"),
    ],
    ids=str,
)
def test_sizes_that_do_not_fit_are_named(form, changed, numbers):
    shapes = {"q": (3, 4), "k": (5, 4), "v": (5, 2), "a_k": (7, 4), "a_v": (7, 2)} | changed
    arguments = {name: None if s is None else torch.zeros(s) for name, s in shapes.items()}
    with pytest.raises(ValueError, match=numbers):
        form(**arguments)


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (lambda: relative_index(3, -1), "n=3 and max_distance=-1"),
        (lambda: relative_index(-1, 2), "n=-1 and max_distance=2"),
        (lambda: RelativeAttention(4, -1), "max_distance=-1"),
        (lambda: RelativeAttention(0, 1), "d_h=0"),
        (lambda: RelativeAttention(4, 1, keys=False, values=False), "keys=False, values=False"),
        (lambda: skew(torch.zeros(3, 4)), "3 queries .* 5 offsets, not 4"),
        (lambda: sinusoidal_relative(0, 4), "n=0"),
        (lambda: sinusoidal_relative(3, 0), "d=0"),
        (lambda: t5_buckets(3, 7), "num_buckets=7 .* 2"),
        (lambda: t5_buckets(3, 2), "num_buckets=2 .* 2"),
        (lambda: t5_buckets(3, 32, 8), "max_distance=8"),
        (lambda: alibi_bias(0, 3), "heads=0"),
        (lambda: rope(torch.zeros(3, 5), torch.arange(3)), "d=5"),
        (lambda: rope(torch.zeros(3, 4), torch.arange(3), base=0.0), "base=0.0 and scale=1.0"),
        (lambda: rope(torch.zeros(3, 4), torch.arange(3), scale=-1.0), "scale=-1.0"),
    ],
)
def test_other_bad_input_is_named_with_its_numbers(call, numbers):
    with pytest.raises(ValueError, match=numbers):
        call()
