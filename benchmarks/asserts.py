"""The exercises of dot-product attention, tested as most instructors would: by a few asserts.

benchmarks/graders.py gives the text of these functions to nbgrader and to otter-grader.
"""

import torch
import torch.nn.functional as F


def check_softmax_with_sink(softmax_with_sink):
    weights = softmax_with_sink(torch.tensor([[0.0, 0.0], [-3.0, -3.0]]))
    expected = torch.tensor([[1 / 3, 1 / 3], [0.0453, 0.0453]])
    assert torch.allclose(weights, expected, atol=1e-4)
    large = softmax_with_sink(torch.tensor([[1000.0, -1000.0]]))
    assert torch.allclose(large, torch.tensor([[1.0, 0.0]]))
    masked = softmax_with_sink(torch.zeros(2, 2), torch.tensor([[True, False], [False, False]]))
    assert torch.allclose(masked, torch.tensor([[0.5, 0.0], [0.0, 0.0]]))
    scores = torch.linspace(-2, 2, 30).reshape(2, 3, 5)
    expected = scores.exp() / (1 + scores.exp().sum(dim=-1, keepdim=True))
    assert torch.allclose(softmax_with_sink(scores), expected, atol=1e-6)


def check_distance_attention(distance_attention):
    q, k = torch.zeros(1, 4), torch.tensor([[0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]])
    v = torch.tensor([[10.0], [0.0]])
    assert torch.allclose(distance_attention(q, k, v), torch.tensor([[7.311]]), atol=1e-3)
    one = distance_attention(q, k, v, torch.tensor([[False, True]]))
    assert torch.allclose(one, torch.tensor([[0.0]]))
    none = distance_attention(q, k, v, torch.tensor([[False, False]]))
    assert torch.equal(none, torch.tensor([[0.0]]))
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, *shape, generator=g) for shape in ((3, 5), (4, 5), (4, 2)))
    expected = (-torch.cdist(q, k).square() / (2 * 5**0.5)).softmax(dim=-1) @ v
    assert torch.allclose(distance_attention(q, k, v), expected, atol=1e-5)


def check_bilinear_weights(bilinear_weights):
    q, w = torch.tensor([[1.0, 2.0]]), torch.eye(2, 3)
    k = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    expected = torch.tensor([[0.2689, 0.7311]])
    assert torch.allclose(bilinear_weights(q, k, w), expected, atol=1e-4)
    one = bilinear_weights(q, k, w, torch.tensor([[True, False]]))
    assert torch.allclose(one, torch.tensor([[1.0, 0.0]]))
    none = bilinear_weights(q, k, w, torch.tensor([[False, False]]))
    assert torch.equal(none, torch.zeros(1, 2))
    g = torch.Generator().manual_seed(0)
    q, k, w = (torch.randn(shape, generator=g) for shape in ((2, 3, 4), (2, 5, 6), (4, 6)))
    expected = torch.einsum("bnq,qk,bmk->bnm", q, w, k).softmax(dim=-1)
    assert torch.allclose(bilinear_weights(q, k, w), expected, atol=1e-5)


def check_prefix_mask(prefix_mask):
    expected = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    assert prefix_mask(4, 2).dtype == torch.bool
    assert torch.equal(prefix_mask(4, 2), expected)
    assert torch.equal(prefix_mask(5, 0), torch.ones(5, 5).tril().bool())
    assert prefix_mask(3, 3).all() and prefix_mask(3, 7).all()


def check_decoder_mask(decoder_mask):
    expected = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 0]]).bool()
    assert torch.equal(decoder_mask(torch.tensor([2]), 3)[0], expected)
    mask = decoder_mask(torch.tensor([0, 4, 2]), 4)
    assert mask.shape == (3, 4, 4) and mask.dtype == torch.bool
    assert not mask[0].any()
    assert torch.equal(mask[1], torch.ones(4, 4).tril().bool())


def check_attention_pool(attention_pool):
    x = torch.tensor([[[1.0, 0, 0, 0], [0, 1.0, 0, 0], [9.0, 9.0, 9.0, 9.0]]])
    query = torch.tensor([2.0, 0.0, 0.0, 0.0])
    expected = torch.tensor([[0.7311, 0.2689, 0.0, 0.0]])
    assert torch.allclose(attention_pool(x, query, torch.tensor([2])), expected, atol=1e-4)
    assert torch.equal(attention_pool(x, query, torch.tensor([0])), torch.zeros(1, 4))
    g = torch.Generator().manual_seed(0)
    x, query = torch.randn(2, 5, 3, generator=g), torch.randn(3, generator=g)
    pooled = attention_pool(x, query, torch.tensor([5, 3]))
    for one, words in zip(pooled, (x[0], x[1, :3]), strict=True):
        assert torch.allclose(one, (words @ query / 3**0.5).softmax(dim=0) @ words, atol=1e-5)


def check_effective_keys(effective_keys):
    weights = torch.tensor([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.7, 0.1, 0.1, 0.1]])
    expected = torch.tensor([1.0, 2.0, 2.56])
    assert torch.allclose(effective_keys(weights), expected, atol=1e-2)
    assert torch.allclose(effective_keys(torch.full((2, 3, 8), 1 / 8)), torch.full((2, 3), 8.0))
    assert torch.equal(effective_keys(torch.zeros(2, 4)), torch.zeros(2))


def check_cached_attention(cached_attention):
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 6, width, generator=g) for width in (4, 4, 3))
    whole = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(cached_attention(q, k, v), whole, atol=1e-5)
    for n in (1, 2, 5):
        assert torch.allclose(cached_attention(q[:, -n:], k, v), whole[:, -n:], atol=1e-5)


def check_test_attention(test_attention):
    def attention(q, k, v, mask=None, scale=0.5, fill=-torch.inf):
        scores = q @ k.mT / q.shape[-1] ** scale
        if mask is None:
            return scores.softmax(dim=-1) @ v
        return scores.masked_fill(~mask, fill).softmax(dim=-1).masked_fill(~mask, 0.0) @ v

    test_attention(attention)
    for wrong in (
        lambda q, k, v, mask=None: attention(q, k, v, mask, scale=0),
        lambda q, k, v, mask=None: attention(q, k, v),
        lambda q, k, v, mask=None: attention(q, k, v, mask, fill=0.0),
        lambda q, k, v, mask=None: attention(q, k, v, mask).double(),
    ):
        try:
            test_attention(wrong)
        except Exception:
            continue
        raise AssertionError("a wrong attention passes the test")


CHECKS = {
    name.removeprefix("check_"): function
    for name, function in list(globals().items())
    if name.startswith("check_")
}
