"""The decorator that compares tensors with a signature, and the one that casts them."""

import inspect

import pytest
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse.precision import upcast
from attncourse.shapes import shaped


@shaped
def weighted(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    causal: bool = False,
    place: Int[Tensor, "*#batch 1 m"] | None = None,
) -> Float[Tensor, "*batch n m"]:
    """Products of q and k."""
    scores = q @ k.mT
    return scores if mask is None else scores.masked_fill(~mask, 0)


@shaped
def image(kernel: Float[Tensor, "c_out c_in *taps"], bias: Float[Tensor, "c_out"]) -> int:
    return kernel.dim()


@shaped
def step(state: tuple[Float[Tensor, "*batch d e"], Float[Tensor, "*batch d"]] | None, x: Tensor):
    return x


class Layer(nn.Module):
    d = 4

    @shaped
    def forward(self, x: Float[Tensor, "*batch n {self.d}"]) -> Tensor:
        return x


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


def true(*shape):
    return ones(*shape, dtype=torch.bool)


Q, K, IDS = ones(3, 4), ones(5, 4), ones(2, 5, dtype=torch.int64)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: weighted(Q, ones(5, 6)), ValueError, "weighted: k has d=6, but q has d=4"),
        (lambda: weighted(k=ones(5, 6), q=Q), ValueError, "k has d=6, but q has d=4"),
        (lambda: weighted(Q, ones(5, 6)), ValueError, "q=(3, 4) is (..., n, d), k=(5, 6) is"),
        (lambda: weighted(ones(4), K), ValueError, "q=(4,) should be (..., n, d)"),
        (lambda: weighted(ones(3, 0), ones(5, 0)), ValueError, "d=0"),
        (lambda: weighted(Q.expand(2, 3, 4), K.expand(7, 5, 4)), ValueError, "k, (7,), do not"),
        (lambda: weighted(Q, K, true(2, 3, 5)), ValueError, "mask, (2,), do not broadcast to ()"),
        (lambda: weighted(Q, K, true(5, 3)), ValueError, "mask has n=5, but q has n=3"),
        (lambda: weighted(Q, K, true(5, 3)), ValueError, "mask=(5, 3) is (..., n or 1, m or 1)"),
        (lambda: weighted(Q, K, ones(3, 5)), TypeError, "mask must be boolean"),
        (lambda: weighted(Q.long(), K), TypeError, "q must be floating point, not torch.int64"),
        (lambda: weighted(Q, K, place=ones(1, 5)), TypeError, "place must be integers"),
        (lambda: weighted(Q, K, place=IDS), ValueError, "2 stands where 1 should: place=(2, 5)"),
        (lambda: weighted(Q, K, None, true(3, 5)), TypeError, "causal is a tensor, (3, 5)"),
        (lambda: weighted([1.0], K), TypeError, "q is a list"),
        (lambda: weighted(Q, None), TypeError, "k is a NoneType"),
        (lambda: image(ones(2, 3, 5), ones(3)), ValueError, "bias has c_out=3, but kernel has c_o"),
        (lambda: image(ones(2, 3), ones(2, 1)), ValueError, "bias=(2, 1) should be (c_out)"),
        (
            lambda: step((K.mT, ones(7)), ones(1)),
            ValueError,
            "state[1] has d=7, but state[0] has d=4",
        ),
        (lambda: Layer()(ones(3, 5)), ValueError, "Layer.forward: 5 stands where self.d=4 should"),
    ],
)
def test_what_does_not_fit_the_signature_is_named_with_its_numbers(call, error, words):
    with pytest.raises(error) as error_info:
        call()
    assert words in str(error_info.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: weighted(ones(3, 4), ones(5, 4), true(5)[None]),
        lambda: weighted(ones(2, 1, 3, 4), ones(7, 5, 4), true(7, 1, 5)),
        lambda: weighted(ones(0, 4), ones(5, 4), true(0, 1)),
        lambda: weighted(ones(3, 4), ones(5, 4), mask=None, causal=True),
        lambda: weighted(ones(3, 4), ones(5, 4), place=ones(1, 5, dtype=torch.uint8)),
        lambda: image(ones(2, 3), ones(2)),
        lambda: image(ones(2, 3, 5, 5), ones(2)),
        lambda: step((ones(2, 4, 3), ones(4)), ones(1)),
        lambda: step(None, "anything"),
        lambda: Layer()(ones(2, 3, 4)),
    ],
)
def test_what_fits_is_let_through(call):
    call()


def test_an_argument_that_is_missing_is_python_s_own_error():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'k'"):
        weighted(ones(3, 4))


def test_the_function_keeps_its_name_its_text_and_its_signature():
    assert (weighted.__name__, weighted.__doc__) == ("weighted", "Products of q and k.")
    assert [*inspect.signature(weighted).parameters] == ["q", "k", "mask", "causal", "place"]


def test_a_tensor_without_numbers_a_map_over_a_batch_and_a_compiled_function_work():
    q, k, mask = ones(6, 3, 4), ones(6, 5, 4), true(6, 3, 5)
    assert weighted(q.to("meta"), k.to("meta"), mask.to("meta")).shape == (6, 3, 5)
    assert torch.vmap(weighted)(q, k, mask).shape == (6, 3, 5)
    compiled = torch.compile(weighted, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(q, k, mask), weighted(q, k, mask))


@upcast
def total(q: Tensor, v: Tensor, weight: float = 1.0, mask: Tensor | None = None) -> Tensor:
    assert q.dtype == v.dtype and (mask is None or mask.dtype == torch.bool)
    return weight * (q @ v.mT).sum(-1, keepdim=True) @ v[:1]


@upcast
def state(v: Tensor) -> tuple[Tensor, Tensor]:
    return v.sum(), v.sum(-1)


@upcast
def after(old: tuple[Tensor, Tensor], v: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
    return old, v


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_sums_are_taken_in_float32_at_least_and_the_output_is_like_the_values(dtype, g):
    q, v = (torch.randn(7, 300, generator=g).to(dtype) for _ in range(2))
    wide = torch.promote_types(dtype, torch.float32)
    expected = total(q.to(wide), v.to(wide)).to(dtype)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(total(q, v=v, mask=true(7)), expected)
    assert total(q.double(), v).dtype == dtype


def test_a_state_keeps_its_digits_and_the_output_beside_it_does_not():
    v = ones(3, 4, dtype=torch.bfloat16)
    assert [x.dtype for x in state(v)] == [torch.float32] * 2
    state_after, out = after(state(v), v)
    assert [x.dtype for x in (*state_after, out)] == [torch.float32, torch.float32, torch.bfloat16]
