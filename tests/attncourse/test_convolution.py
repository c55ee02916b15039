"""Windows and kernels: against torch's attention and convolution, with gradients, by property."""

import pytest
import torch
import torch.nn.functional as F

from attncourse import device
from attncourse.convolution import (
    LEAST,
    convolution_as_attention,
    convolutional_self_attention,
    dynamic_convolution,
    tap_offsets,
    tap_weights,
    window_mask,
    windowed_attention,
)
from attncourse.cost import count
from attncourse.dot_product import attention, causal_mask
from tests.attncourse.gradients import assert_equal_with_gradients

LEADING_AXES = [(), (2,), (2, 3), (2, 1, 3)]
# n, width: alone, odd, a whole block, one more, several, a window as long as the text, and longer
SIZES = [(1, 1), (1, 5), (7, 3), (32, 5), (33, 5), (70, 7), (80, 39), (9, 17), (5, 99)]


@pytest.fixture
def inputs(g):
    """Draws q, k and v that require gradients; v has another width."""

    def draw(leading, n, d=4, e=3, dtype=torch.float64):
        shapes = [(*leading, n, d), (*leading, n, d), (*leading, n, e)]
        tensors = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in shapes)
        return [x.to(device(), dtype).requires_grad_() for x in tensors]

    return draw


@pytest.fixture
def normal(g):
    """Draws standard normal tensors on the course's device, from a fixed seed."""
    return lambda *shape: torch.randn(shape, generator=g, dtype=torch.float64).to(device())


def torch_windowed_attention(q, k, v, width, causal=False):
    """torch's attention with a window mask that is built pair by pair."""
    n = q.shape[-2]
    expected, changed_output = (width - 1, 0) if causal else (width // 2, width // 2)
    mask = torch.tensor(
        [[i - expected <= j <= i + changed_output for j in range(n)] for i in range(n)]
    )
    return F.scaled_dot_product_attention(q, k, v, mask.to(q.device))


@pytest.mark.parametrize("causal", [False, True], ids=["around", "causal"])
@pytest.mark.parametrize("n, width", SIZES)
def test_windows_are_torch_s_attention_under_a_mask_with_its_gradients(inputs, n, width, causal):
    for leading in LEADING_AXES:
        tensors = inputs(leading, n)
        ours = windowed_attention(*tensors, width, causal)
        theirs = torch_windowed_attention(*tensors, width, causal)
        assert_equal_with_gradients(ours, theirs, tensors)


@pytest.mark.parametrize("width", [2, 4, 34])
def test_a_causal_window_may_be_even(inputs, width):
    tensors = inputs((2,), 40)
    torch.testing.assert_close(
        windowed_attention(*tensors, width, causal=True),
        torch_windowed_attention(*tensors, width, causal=True),
    )


def test_the_window_of_three_and_of_the_two_last():
    assert window_mask(4, 3, device=device()).int().tolist() == [
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [0, 1, 1, 1],
        [0, 0, 1, 1],
    ]
    assert window_mask(4, 2, causal=True).int().tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 1, 1, 0],
        [0, 0, 1, 1],
    ]


@pytest.mark.parametrize("n", [0, 1, 7])
def test_a_window_wider_than_the_text_is_no_window(n, inputs):
    assert window_mask(n, 2 * n + 1).all()
    assert torch.equal(window_mask(n, n + 1, causal=True), causal_mask(n))
    tensors = inputs((2,), n)
    torch.testing.assert_close(windowed_attention(*tensors, 2 * n + 1), attention(*tensors))


def test_a_window_of_one_gives_each_position_its_own_value(inputs):
    q, k, v = inputs((2,), 40)
    torch.testing.assert_close(windowed_attention(q, k, v, 1), v)


def test_no_gradient_comes_from_outside_the_window(inputs):
    q, k, v = inputs((), 50)
    windowed_attention(q, k, v, 5)[40].sum().backward()
    inside = window_mask(50, 5, device=device())[40]
    for x in (k, v):
        assert torch.equal(x.grad.ne(0).any(-1), inside)


def test_the_same_text_gives_the_same_output_wherever_it_stands(inputs):
    q, k, v = inputs((2,), 60)
    full = windowed_attention(q, k, v, 5)
    part = windowed_attention(*(x[:, 13:50] for x in (q, k, v)), 5)
    # but for the two at each end, whose windows are cut off
    torch.testing.assert_close(part[:, 2:-2], full[:, 15:48])


@pytest.mark.parametrize("scale", [1, 60, 1e4])
def test_scores_may_be_large(inputs, scale):
    q, k, v = inputs((2,), 40)
    torch.testing.assert_close(
        windowed_attention(scale * q, k, v, 7), torch_windowed_attention(scale * q, k, v, 7)
    )


def run_backward(f, *tensors):
    """Call a function and run its backward pass."""
    out = f(*(x.requires_grad_() for x in tensors))
    out.backward(torch.empty_like(out))


@pytest.mark.parametrize("n", [1024, 2048, 4096])
@pytest.mark.parametrize("width", [5, 33, 129])
def test_nothing_larger_than_the_blocks_is_made_with_gradients(n, width):
    d = 16
    tensors = [torch.empty(3, n, d, device="meta") for _ in "qkv"]
    largest = count(run_backward, lambda *x: windowed_attention(*x, width), *tensors).largest
    size = max(width // 2, LEAST)
    # the last block may be filled up; the keys of blocks overlap
    assert largest <= 3 * (n + size) * (size + width) / size * max(size, d)
    assert count(run_backward, attention, *tensors).largest == 3 * n * n


@pytest.mark.parametrize("f", [windowed_attention, convolutional_self_attention])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_the_output_has_the_dtype_of_the_input_which_stays_as_it_is(f, inputs, dtype):
    tensors, sizes = inputs((2,), 37, dtype=dtype), (5,) if f is windowed_attention else (5, 3)
    copies = [x.detach().clone() for x in tensors]
    out = f(*tensors, *sizes)
    expected = f(*(x.double() for x in tensors), *sizes)
    assert out.dtype == dtype
    torch.testing.assert_close(out.double(), expected, atol=16 * torch.finfo(dtype).eps, rtol=0)
    assert all(torch.equal(x, old) for x, old in zip(tensors, copies, strict=True))


@pytest.mark.usefixtures("unchecked")
def test_leading_axes_broadcast(normal):
    q, k, v = normal(2, 3, 40, 4), normal(3, 40, 4), normal(2, 1, 40, 5)
    torch.testing.assert_close(windowed_attention(q, k, v, 5), torch_windowed_attention(q, k, v, 5))


def torch_cross_head_attention(q, k, v, width, heads_width):
    """torch's attention over the positions of all heads, with a window over heads and positions."""
    heads, n = q.shape[-3:-1]
    positions = [(h, i) for h in range(heads) for i in range(n)]
    mask = [
        [abs(h - g) <= heads_width // 2 and abs(i - j) <= width // 2 for g, j in positions]
        for h, i in positions
    ]
    q, k, v = (x.flatten(-3, -2) for x in (q, k, v))
    z = F.scaled_dot_product_attention(q, k, v, torch.tensor(mask, device=q.device))
    return z.unflatten(-2, (heads, n))


@pytest.mark.parametrize("heads, heads_width", [(1, 1), (1, 3), (4, 1), (4, 3), (5, 5), (3, 7)])
@pytest.mark.parametrize("n, width", [(1, 3), (7, 3), (37, 5), (9, 31)])
def test_windows_over_heads_are_torch_s_attention_with_its_gradients(
    inputs, n, width, heads, heads_width
):
    tensors = inputs((2, heads), n)
    ours = convolutional_self_attention(*tensors, width, heads_width)
    theirs = torch_cross_head_attention(*tensors, width, heads_width)
    assert_equal_with_gradients(ours, theirs, tensors)


def test_a_window_of_one_head_is_attention_within_a_window(inputs):
    tensors = inputs((2, 4), 40)
    torch.testing.assert_close(
        convolutional_self_attention(*tensors, 7, 1), windowed_attention(*tensors, 7)
    )


@pytest.mark.parametrize("causal, padding", [(False, (2, 2)), (True, (4, 0))])
def test_a_dynamic_kernel_is_torch_s_depthwise_convolution_for_each_token(normal, causal, padding):
    x, w = normal(2, 7, 6).requires_grad_(), normal(6, 3, 5).requires_grad_()
    rows = []
    for i in range(7):
        kernels = (torch.einsum("bd,dht->bht", x[:, i], w)).softmax(-1)
        # two channels a head, each with the kernel of its head
        kernels = kernels.repeat_interleave(2, 1).reshape(12, 1, 5)
        around = F.pad(x.mT, padding).reshape(1, 12, 11)
        rows.append(F.conv1d(around, kernels, groups=12)[0, :, i].reshape(2, 6))
    ours = dynamic_convolution(x, w, causal)
    assert_equal_with_gradients(ours, torch.stack(rows, 1), (x, w))


def torch_replicate_convolution(x, weight):
    """torch's convolution of an input padded by replication; channels last, as ours."""
    axes = weight.dim() - 2
    x, leading = x.flatten(0, -2 - axes), x.shape[: -1 - axes]
    edges = [side for taps in reversed(weight.shape[2:]) for side in ((taps - 1) // 2, taps // 2)]
    x = F.pad(x.movedim(-1, 1), edges, mode="replicate")
    out = (F.conv1d, F.conv2d)[axes - 1](x, weight)
    return out.movedim(1, -1).unflatten(0, leading)


@pytest.mark.parametrize("leading", [(2,), (2, 3)], ids=str)
@pytest.mark.parametrize(
    "size, taps",
    [
        ((1,), (1,)), ((7,), (3,)), ((8,), (4,)), ((3,), (9,)), ((6,), (2,)),
        ((4, 5), (3, 3)), ((5, 3), (2, 3)), ((1, 1), (3, 3)), ((2, 6), (1, 5)),
    ],
)  # fmt: skip
def test_sharp_heads_are_torch_s_convolution_with_its_gradients(normal, leading, size, taps):
    x = normal(*leading, *size, 3).requires_grad_()
    weight = normal(5, 3, *taps).requires_grad_()
    ours = convolution_as_attention(weight, 60.0)(x)
    assert_equal_with_gradients(ours, torch_replicate_convolution(x, weight), (x, weight))


def test_zeros_around_the_input_make_it_the_usual_convolution(normal):
    x, weight = normal(2, 7, 3), normal(4, 3, 5)
    around = F.pad(x, (0, 0, 2, 2))
    ours = convolution_as_attention(weight, 60.0)(around)[:, 2:-2]
    torch.testing.assert_close(ours, F.conv1d(x.mT, weight, padding=2).mT)


def test_a_tap_is_one_step_and_the_first_is_on_the_left():
    assert tap_offsets((3,), device()).tolist() == [[-1], [0], [1]]
    assert tap_offsets((4,)).tolist() == [[-1], [0], [1], [2]]
    assert tap_offsets((1, 2)).tolist() == [[0, 0], [0, 1]]
    assert tap_offsets((2, 1)).tolist() == [[0, 0], [1, 0]]


def test_a_head_s_weights_fall_with_the_squared_distance_from_its_tap():
    weights = tap_weights(torch.tensor([[1.0]]), (5,), 0.3)[0]
    ratio = (weights[1, 2] / weights[1]).log()
    torch.testing.assert_close(ratio, 0.3 * torch.tensor([4.0, 1.0, 0.0, 1.0, 4.0]))


def test_without_sharpness_every_head_takes_the_mean(normal):
    x, weight = normal(2, 6, 3), normal(4, 3, 5)
    mean = x.mean(-2, keepdim=True) @ weight.sum(-1).mT
    torch.testing.assert_close(convolution_as_attention(weight, 0.0)(x), mean.expand(2, 6, 4))


def test_no_head_takes_anything_from_an_empty_sequence(normal):
    assert windowed_attention(*(normal(2, 0, 3) for _ in "qkv"), 5).shape == (2, 0, 3)
    assert convolutional_self_attention(*(normal(2, 0, 3) for _ in "qkv"), 5, 3).shape == (2, 0, 3)
    assert convolution_as_attention(normal(4, 3, 5), 1.0)(normal(2, 0, 3)).shape == (2, 0, 4)


def ones(*shape):
    return torch.ones(shape, device=device())


SQUARE = (ones(2, 5, 3),) * 3


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: window_mask(-1, 3), "n=-1"),
        (lambda: window_mask(5, 0), "width=0"),
        (lambda: window_mask(5, -3, causal=True), "width=-3"),
        (lambda: window_mask(5, 4), "width=4"),
        (lambda: windowed_attention(*SQUARE, 2), "width=2"),
        (lambda: convolutional_self_attention(*SQUARE, 3, 2), "width=2"),
        (lambda: convolutional_self_attention(*SQUARE, 4, 1), "width=4"),
        (lambda: dynamic_convolution(ones(5, 4), ones(4, 3, 3)), "d=4 .* heads=3"),
        (lambda: dynamic_convolution(ones(5, 4), ones(4, 2, 2)), "width=2"),
        (lambda: convolution_as_attention(ones(4, 3), 1.0), r"weight=\(4, 3\)"),
        (lambda: convolution_as_attention(ones(4, 3, 0), 1.0), r"weight=\(4, 3, 0\)"),
        (lambda: convolution_as_attention(ones(4, 3, 5), -1.0), "alpha=-1.0"),
        (lambda: convolution_as_attention(ones(4, 3, 5), float("inf")), "alpha=inf"),
        (
            lambda: convolution_as_attention(ones(4, 3, 5), 1.0)(ones(6, 2)),
            r"x=\(6, 2\) .* 1 axes .* 3 channels .* weight=\(4, 3, 5\)",
        ),
        (
            lambda: convolution_as_attention(ones(4, 3, 5, 5), 1.0)(ones(6, 3)),
            r"x=\(6, 3\) .* 2 axes",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_numbers(call, message):
    with pytest.raises(ValueError, match=message):
        call()
