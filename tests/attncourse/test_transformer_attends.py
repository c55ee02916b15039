"""Which attention works in which place: each cell of the page's table, and combinations."""

import itertools

import pytest
import torch
from torch import nn

from attncourse import device
from attncourse.dot_product import attention, padding_mask
from attncourse.efficient import flash_attention, grouped_query_attention, longformer_mask
from attncourse.linear import linear_attention
from attncourse.multi_head import join_heads, split_heads
from attncourse.positional import SinusoidalEncoding
from attncourse.relative import RelativeAttention, rope, t5_buckets
from attncourse.transformer import (
    ALiBiAttention,
    Causal,
    CausalLinearAttention,
    Decoder,
    DecoderBlock,
    Embedding,
    Encoder,
    EncoderBlock,
    GroupedAttention,
    LanguageModel,
    RotaryAttention,
    T5Attention,
    Transformer,
    WindowedAttention,
    generate,
)
from tests import ROOT
from tests.attncourse.gradients import assert_equal_with_gradients

D, HEADS, D_FF, VOCABULARY = 16, 4, 10, 9
MECHANISMS = {
    "plain": lambda: attention,
    "Shaw": lambda: RelativeAttention(D // HEADS, max_distance=2),
    "RoPE": RotaryAttention,
    "ALiBi": lambda: ALiBiAttention(HEADS),
    "T5": lambda: T5Attention(HEADS, num_buckets=8, max_distance=6),
    "linear": lambda: linear_attention,
    "windowed": lambda: WindowedAttention(5),
    "grouped": lambda: grouped_query_attention,
    "flash": lambda: flash_attention,
}
GROUPS = {"grouped": 2}
EXACT = {"rtol": 1e-12, "atol": 1e-12}
each_mechanism = pytest.mark.parametrize("name", MECHANISMS)


@pytest.fixture
def randomized(normal):
    """Sets all parameters of a module to random normal numbers."""

    def draw(module):
        module = module.to(device(), torch.float64)
        for p in module.parameters():
            p.data = normal(*p.shape) / 2
        return module

    return draw


def causal(name):
    """A causal form of a mechanism."""
    return CausalLinearAttention() if name == "linear" else Causal(MECHANISMS[name]())


def language_model(attend, groups=None):
    """Two causal blocks, each with a mechanism of its own."""
    blocks = [EncoderBlock(D, HEADS, D_FF, attend(), groups=groups) for _ in range(2)]
    table = Embedding(VOCABULARY, D, SinusoidalEncoding(D))
    return LanguageModel(table, Encoder(blocks, nn.LayerNorm(D)))


def translator(attend, cross_attend, groups=None):
    """A block of an encoder and two of a decoder, each with a mechanism of its own."""
    blocks = [
        DecoderBlock(D, HEADS, D_FF, attend(), cross_attend(), groups=groups) for _ in range(2)
    ]
    return Transformer(
        Embedding(VOCABULARY, D),
        Encoder([EncoderBlock(D, HEADS, D_FF)], nn.LayerNorm(D)),
        Embedding(VOCABULARY, D, SinusoidalEncoding(D)),
        Decoder(blocks, nn.LayerNorm(D)),
    )


def check_encoder(name, randomized, normal):
    """Check that a padded sequence gives the same as without padding."""
    block = EncoderBlock(D, HEADS, D_FF, MECHANISMS[name](), groups=GROUPS.get(name))
    block, x, lengths = randomized(block), normal(3, 6, D), [6, 4, 1]
    out = block(x, padding_mask(torch.tensor(lengths, device=device()), 6))
    for padded, alone, length in zip(out, x, lengths, strict=True):
        torch.testing.assert_close(padded[:length], block(alone[:length]))


def check_causal(name, randomized, normal):
    """Check that outputs do not depend on later tokens, padded or not."""
    block = randomized(EncoderBlock(D, HEADS, D_FF, causal(name), groups=GROUPS.get(name)))
    x = normal(2, 6, D)
    out, padded = block(x), block(x, padding_mask(torch.tensor([6, 3], device=device()), 6))
    for i in range(1, 7):
        torch.testing.assert_close(out[:, :i], block(x[:, :i]))
    torch.testing.assert_close(padded[0], out[0])
    torch.testing.assert_close(padded[1, :3], out[1, :3])


def check_cached_steps(name, randomized, normal):
    """Check that decoding in steps with a cache gives the scores of the whole text."""
    model = randomized(language_model(lambda: causal(name), GROUPS.get(name)))
    assert_cache_agrees(model, model.decode)
    if name != "grouped":
        model = randomized(translator(lambda: causal(name), lambda: attention))
        source = torch.tensor([[1, 2, 3], [4, 5, 6]], device=device())
        mask = padding_mask(torch.tensor([3, 2], device=device()), 3)
        assert_cache_agrees(
            lambda text: model(source, text, mask), lambda: model.decode(source, mask)
        )


def assert_cache_agrees(model, decode):
    """Assert that a model and its decoding give equal scores and greedy tokens."""
    text = torch.arange(16, device=device()).view(2, 8) % VOCABULARY
    decoding, scores = decode(), model(text)
    steps = [decoding.step(piece) for piece in text.split([3, 1, 1, 2, 1], dim=1)]
    torch.testing.assert_close(torch.cat(steps, dim=1), scores, **EXACT)
    tokens = text[:, :3]
    for _ in range(6):
        tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(generate(decode(), text[:, :3], 6), tokens[:, 3:])


def check_cross_attention(name, randomized, normal):
    """Check cross-attention against the mechanism on split heads."""
    attend = randomized(attend) if isinstance(attend := MECHANISMS[name](), nn.Module) else attend
    groups = GROUPS.get(name)
    block = randomized(DecoderBlock(D, HEADS, D_FF, causal(name), attend, groups=groups))
    x, memory, cross = normal(2, 5, D), normal(2, 7, D), block.cross_attention.part
    mask = padding_mask(torch.tensor([7, 3], device=device()), 7)
    k, v = (split_heads(w(memory), groups or HEADS) for w in (cross.w_k, cross.w_v))
    z = attend(split_heads(cross.w_q(x), HEADS), k, v, mask=mask[:, None])
    torch.testing.assert_close(cross(x, memory, mask), cross.w_o(join_heads(z)))
    out = block(x, memory, memory_mask=mask)
    torch.testing.assert_close(block(x, block.keys_values(memory), memory_mask=mask), out)


CHECKS = {
    "encoder": check_encoder,
    "causal": check_causal,
    "cached step": check_cached_steps,
    "cross": check_cross_attention,
}


def page_table():
    """The table in the chapter: yes or no, by mechanism and place."""
    lines = (ROOT / "chapters" / "transformer.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    (columns,) = (row[1:] for row in rows if row[0] == "mechanism")
    table = {row[0]: row[1:] for row in rows if row[0] in MECHANISMS}
    return {
        (name, column): cell
        for name, row in table.items()
        for column, cell in zip(columns, row, strict=True)
    }


def test_the_page_has_a_cell_for_each_mechanism_and_place():
    cells = {(name, check) for name in MECHANISMS for check in CHECKS}
    assert page_table().keys() == cells


@pytest.mark.parametrize("check", CHECKS)
@each_mechanism
def test_the_page_says_where_a_mechanism_works(randomized, normal, name, check):
    word = page_table()[name, check]
    assert word in ("yes", "no")
    if word == "yes":
        CHECKS[check](name, randomized, normal)
    else:
        kind = type(MECHANISMS[name]()).__name__
        with pytest.raises(ValueError, match=f"{kind} needs offsets .* of one sequence"):
            CHECKS[check](name, randomized, normal)


@pytest.mark.parametrize("name", ["plain", "Shaw", "linear", "flash"])
def test_a_text_longer_than_a_block_of_128_is_the_same_from_a_cache(randomized, name):
    model = randomized(language_model(lambda: causal(name)))
    text, decoding = torch.arange(135, device=device())[None] % VOCABULARY, model.decode()
    steps = [decoding.step(piece) for piece in text.split([126, 5, 1, 3], dim=1)]
    torch.testing.assert_close(torch.cat(steps, dim=1), model(text), **EXACT)


@each_mechanism
def test_without_a_causal_mask_nothing_is_cached(name):
    attend = MECHANISMS[name]()
    model = LanguageModel(Embedding(5, D), Encoder([EncoderBlock(D, HEADS, D_FF, attend)]))
    kind = getattr(attend, "__name__", type(attend).__name__)
    with pytest.raises(ValueError, match=rf"Causal\({kind}\)"):
        model.decode()


@each_mechanism
def test_a_causal_mechanism_is_not_for_two_sequences(normal, name):
    block = GroupedAttention(D, HEADS, causal(name)).double()
    with pytest.raises(ValueError, match="one sequence"):
        block(normal(2, 5, D), normal(2, 5, D))


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "linear"])
def test_fewer_queries_are_the_last_of_the_positions(randomized, normal, name):
    attend = causal(name).to(device(), torch.float64)
    randomized(attend)
    q, k, v = normal(2, HEADS, 6, 4), normal(2, HEADS, 6, 4), normal(2, HEADS, 6, 4)
    for n in (1, 2, 5):
        torch.testing.assert_close(attend(q[..., -n:, :], k, v), attend(q, k, v)[..., -n:, :])


def test_more_queries_than_positions_are_refused(normal):
    q, k = normal(2, HEADS, 6, 4), normal(2, HEADS, 5, 4)
    for attend in (Causal(), RotaryAttention(), ALiBiAttention(HEADS), WindowedAttention(3)):
        with pytest.raises(ValueError, match=r"6 queries .* 5 positions"):
            attend(q, k, k)


def test_each_wrapper_is_its_equation_with_its_gradients(randomized, normal):
    q, k, v = qkv = [normal(2, HEADS, 5, 4).requires_grad_() for _ in range(3)]
    positions = torch.arange(5, device=device())
    window = longformer_mask(5, 3, device=device())
    assert_equal_with_gradients(WindowedAttention(3)(*qkv), attention(*qkv, window), qkv)
    rotated = attention(rope(q, positions, 100.0), rope(k, positions, 100.0), v)
    assert_equal_with_gradients(RotaryAttention(100.0)(*qkv), rotated, qkv)
    t5 = randomized(T5Attention(HEADS, 8, 6))
    biases = {ALiBiAttention(HEADS): lambda h, i, j: q.new_tensor(-abs(i - j) / 4 ** (h + 1))}
    biases[t5] = lambda h, i, j: t5.table[h, t5_buckets(5, 8, 6)[i, j]]
    for attend, bias in biases.items():
        places = itertools.product(range(HEADS), range(5), range(5))
        scores = q @ k.mT / 2 + torch.stack([bias(*place) for place in places]).view(HEADS, 5, 5)
        inputs = [*qkv, *attend.parameters()]
        assert_equal_with_gradients(attend(*qkv), scores.softmax(-1) @ v, inputs)


COMBINED = {
    "rotated": lambda: Causal(RotaryAttention(attend=grouped_query_attention)),
    "windowed": lambda: Causal(WindowedAttention(3, grouped_query_attention)),
    "both": lambda: Causal(WindowedAttention(3, RotaryAttention(attend=grouped_query_attention))),
}
UNGROUPED = {
    "rotated": lambda: Causal(RotaryAttention()),
    "windowed": lambda: Causal(WindowedAttention(3)),
    "both": lambda: Causal(WindowedAttention(3, RotaryAttention())),
}


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("name", COMBINED)
def test_groups_are_heads_whose_keys_and_values_repeat(randomized, name, groups):
    grouped = randomized(language_model(COMBINED[name], groups))
    ungrouped, weights = language_model(UNGROUPED[name]).double().to(device()), grouped.state_dict()
    for key, w in weights.items():
        if ".w_k." in key or ".w_v." in key:
            pieces = w.unflatten(0, (groups, -1)).repeat_interleave(HEADS // groups, dim=0)
            weights[key] = pieces.flatten(0, 1)
    ungrouped.load_state_dict(weights)
    text = torch.arange(10, device=device()).view(2, 5) % VOCABULARY
    torch.testing.assert_close(grouped(text), ungrouped(text), **EXACT)
    assert_cache_agrees(grouped, grouped.decode)
    decoding = grouped.decode()
    decoding.step(text)
    assert decoding.caches[0].k.shape == (2, groups, 5, D // HEADS)


@pytest.mark.usefixtures("unchecked")
@each_mechanism
def test_a_mechanism_that_cannot_share_keys_refuses_groups(normal, name):
    block = GroupedAttention(D, HEADS, MECHANISMS[name](), groups=2).double().to(device())
    x = normal(3, 5, D)
    if name == "grouped":
        assert block(x).shape == x.shape
    else:
        shapes = r"k, \(3, 2\), do not broadcast with \(3, 4\)|2 stands where self.heads=4"
        with pytest.raises(ValueError, match=shapes):
            block(x)


@pytest.mark.parametrize("kind", [ALiBiAttention, T5Attention])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_bias_is_for_its_number_of_heads(normal, kind, heads):
    block = GroupedAttention(D, heads, kind(HEADS)).double().to(device())
    with pytest.raises(ValueError, match=f"{heads} .* self.heads=4"):
        block(normal(2, 5, D))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Causal(linear_attention),
        lambda: Causal(RotaryAttention(attend=linear_attention)),
        lambda: Causal(CausalLinearAttention()),
        lambda: WindowedAttention(3, linear_attention),
    ],
)
def test_no_key_is_hidden_from_some_queries_of_linear_attention(make):
    with pytest.raises(ValueError, match="CausalLinearAttention"):
        make()


@pytest.mark.usefixtures("unchecked")
def test_a_mask_that_differs_between_queries_is_not_for_linear_attention(normal):
    mask = torch.ones(5, 5, dtype=torch.bool, device=device()).tril()
    for attend in (linear_attention, CausalLinearAttention()):
        block = EncoderBlock(D, HEADS, D_FF, attend).double().to(device())
        with pytest.raises(ValueError, match=r"mask=\(1, 5, 5\)"):
            block(normal(2, 5, D), mask)


@each_mechanism
def test_gradients_reach_every_weight_of_each_mechanism(randomized, name):
    model = randomized(language_model(lambda: causal(name), GROUPS.get(name)))
    model(torch.arange(12, device=device()).view(2, 6) % VOCABULARY).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
