"""The Transformer's blocks and stacks: against torch's own, GPT-2's numbers, by property."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attncourse import device
from attncourse.dot_product import attention, padding_mask
from attncourse.positional import LearnedEncoding, SinusoidalEncoding
from attncourse.relative import RelativeAttention
from attncourse.transformer import (
    Causal,
    Decoder,
    DecoderBlock,
    Embedding,
    Encoder,
    EncoderBlock,
    FeedForward,
    GroupedAttention,
    LanguageModel,
    PostNorm,
    PreNorm,
    Transformer,
    load_gpt2,
)

NUMBERS = Path(__file__).with_name("gpt2_numbers.npz")
D, HEADS, D_FF, VOCABULARY = 12, 3, 20, 7
# torch's name for a part -> ours
PARTS = {
    "layers": "blocks",
    "self_attn": "attention.part",
    "multihead_attn": "cross_attention.part",
    "out_proj": "w_o",
    "linear1": "feed_forward.part.up",
    "linear2": "feed_forward.part.down",
    "norm1": "attention.norm",
}
IN_ENCODER = {**PARTS, "norm2": "feed_forward.norm"}
IN_DECODER = {**PARTS, "norm2": "cross_attention.norm", "norm3": "feed_forward.norm"}
each_norm = pytest.mark.parametrize("residual", [PreNorm, PostNorm])
each_activation = pytest.mark.parametrize("activation", [F.relu, F.gelu])
LEADING_AXES = [(), (2,), (2, 3), (2, 1, 3)]


@pytest.fixture
def randomized(normal):
    """Sets all parameters of a module to random normal numbers."""

    def draw(module):
        module = module.to(device(), torch.float64)
        for p in module.parameters():
            p.data = normal(*p.shape) / 3
        return module

    return draw


def to_our_names(theirs, attribute="data"):
    """The weights of a torch module, or their gradients, under our parameter names."""
    ours, parameters = {}, dict(theirs.named_parameters())
    for name, p in parameters.items():
        decoder = name.startswith("decoder.") or "norm3.weight" in parameters
        parts = IN_DECODER if decoder else IN_ENCODER
        *path, last = (parts.get(word, word) for word in name.split("."))
        x = getattr(p, attribute)
        if last.startswith("in_proj_"):
            kind = last.removeprefix("in_proj_")
            pieces = zip("qkv", x.chunk(3), strict=True)
            ours |= {".".join([*path, f"w_{letter}", kind]): piece for letter, piece in pieces}
        else:
            ours[".".join([*path, last])] = x
    return ours


def load_torch_weights(ours, theirs):
    """Load a torch module's weights into ours."""
    ours = ours.to(device(), torch.float64)
    ours.load_state_dict(to_our_names(theirs))
    return ours


def assert_equal_with_gradients(ours, theirs, out, expected, grad_output, inputs):
    """Assert equal outputs, and equal gradients of all inputs and weights."""
    torch.testing.assert_close(out, expected)
    grads = []
    for y in (out, expected):
        grads.append(torch.autograd.grad(y, inputs, grad_output, retain_graph=True))
        y.backward(grad_output)
    torch.testing.assert_close(*grads)
    gradients = {name: p.grad for name, p in ours.named_parameters()}
    torch.testing.assert_close(gradients, to_our_names(theirs, "grad"))


def torch_mask(mask, n, m):
    """Our mask for a batch of two in torch's form: True forbids, with one mask per head."""
    return None if mask is None else ~mask.expand(2, n, m).repeat_interleave(HEADS, dim=0)


def masks(n, m):
    """Masks by name, for a batch of two."""
    padding = padding_mask(torch.tensor([m, (m + 1) // 2]), m).to(device())
    steps = torch.ones(n, m, dtype=torch.bool, device=device()).tril()
    return {"open": None, "padding": padding, "causal": steps, "both": steps & padding}


def torch_options(residual, activation):
    """The arguments of torch's layers for a residual class and an activation."""
    options = {"norm_first": residual is PreNorm, "activation": activation}
    return {"dropout": 0.0, "batch_first": True, **options}


@each_norm
@each_activation
@pytest.mark.parametrize("kind", masks(1, 1))
@pytest.mark.parametrize("n", [1, 5])
def test_the_encoder_block_equals_torch_with_all_gradients(
    randomized, normal, residual, activation, kind, n
):
    theirs = randomized(
        nn.TransformerEncoderLayer(D, HEADS, D_FF, **torch_options(residual, activation))
    )
    # keys after a query are hidden by the mask or by the mechanism
    attend = Causal() if kind == "both" else attention
    block = EncoderBlock(D, HEADS, D_FF, attend, residual=residual, activation=activation)
    ours, x = load_torch_weights(block, theirs), normal(2, n, D).requires_grad_()
    own_mask = masks(n, n)["padding" if kind == "both" else kind]
    expected = theirs(x, src_mask=torch_mask(masks(n, n)[kind], n, n))
    assert_equal_with_gradients(ours, theirs, ours(x, own_mask), expected, normal(2, n, D), [x])


@each_norm
@each_activation
@pytest.mark.parametrize("kind", ["open", "padding"])
@pytest.mark.parametrize("memory_kind", masks(1, 1))
@pytest.mark.parametrize("sizes", [(5, 7), (1, 2)], ids=str)
def test_the_decoder_block_equals_torch_with_all_gradients(
    randomized, normal, residual, activation, kind, memory_kind, sizes
):
    n, m = sizes
    theirs = randomized(
        nn.TransformerDecoderLayer(D, HEADS, D_FF, **torch_options(residual, activation))
    )
    block = DecoderBlock(D, HEADS, D_FF, residual=residual, activation=activation)
    ours, x, memory = load_torch_weights(block, theirs), normal(2, n, D), normal(2, m, D)
    x, memory = x.requires_grad_(), memory.requires_grad_()
    own_mask, cross = masks(n, n)[kind], masks(n, m)[memory_kind]
    both_masks = masks(n, n)["both" if kind == "padding" else "causal"]
    expected = theirs(x, memory, torch_mask(both_masks, n, n), torch_mask(cross, n, m))
    assert_equal_with_gradients(
        ours, theirs, ours(x, memory, own_mask, cross), expected, normal(2, n, D), [x, memory]
    )


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@each_norm
@each_activation
@pytest.mark.parametrize("padded", [False, True], ids=["open", "padded"])
@pytest.mark.parametrize("sizes", [(5, 7), (7, 1)], ids=str)
def test_the_stacks_equal_torch_s_transformer_with_all_gradients(
    randomized, normal, residual, activation, padded, sizes
):
    n, m = sizes
    theirs = randomized(nn.Transformer(D, HEADS, 2, 2, D_FF, **torch_options(residual, activation)))
    options = {"residual": residual, "activation": activation}
    encoder = Encoder([EncoderBlock(D, HEADS, D_FF, **options) for _ in range(2)], nn.LayerNorm(D))
    decoder = Decoder([DecoderBlock(D, HEADS, D_FF, **options) for _ in range(2)], nn.LayerNorm(D))
    ours = load_torch_weights(nn.ModuleDict({"encoder": encoder, "decoder": decoder}), theirs)
    x, y = normal(2, m, D).requires_grad_(), normal(2, n, D).requires_grad_()
    own_mask, source = masks(n, n), masks(m, m)["padding"] if padded else None
    kind = "padding" if padded else "open"
    words = {"tgt_mask": ~own_mask["causal"]}
    if source is not None:
        hidden = {"tgt": own_mask["padding"], "src": source, "memory": source}
        words |= {f"{key}_key_padding_mask": ~mask.squeeze(1) for key, mask in hidden.items()}
    expected = theirs(x, y, **words)
    out = decoder(y, encoder(x, source), own_mask[kind], source)
    assert_equal_with_gradients(ours, theirs, out, expected, normal(2, n, D), [x, y])


@pytest.mark.parametrize("leading", LEADING_AXES, ids=str)
def test_each_sequence_of_a_batch_goes_alone_through_a_model(randomized, g, leading):
    model = randomized(translator())
    source = torch.randint(VOCABULARY, (*leading, 5), generator=g).to(device())
    target = torch.randint(VOCABULARY, (*leading, 4), generator=g).to(device())
    lengths = torch.randint(1, 6, leading, generator=g).to(device())
    joint = model(source, target, padding_mask(lengths, 5)).reshape(-1, 4, VOCABULARY)
    rows = zip(source.reshape(-1, 5), target.reshape(-1, 4), lengths.reshape(-1), strict=True)
    alone = torch.stack([model(x[:length], y) for x, y, length in rows])
    torch.testing.assert_close(joint, alone)


def translator(**options):
    """An encoder-decoder of two blocks each, for five tokens of source."""
    return Transformer(
        Embedding(VOCABULARY, D, SinusoidalEncoding(D)),
        Encoder([EncoderBlock(D, HEADS, D_FF, **options) for _ in range(2)], nn.LayerNorm(D)),
        Embedding(VOCABULARY, D, LearnedEncoding(9, D), scale=D**0.5),
        Decoder([DecoderBlock(D, HEADS, D_FF, **options) for _ in range(2)], nn.LayerNorm(D)),
    )


def language_model(attend=None, position=None, **options):
    """Two causal blocks."""
    blocks = [EncoderBlock(D, HEADS, D_FF, attend or Causal(), **options) for _ in range(2)]
    return LanguageModel(Embedding(VOCABULARY, D, position), Encoder(blocks, nn.LayerNorm(D)))


def tokens(g, *shape):
    return torch.randint(VOCABULARY, shape, generator=g).to(device())


def test_a_pre_norm_stream_is_the_sum_of_what_its_parts_wrote(randomized, normal):
    block, x = randomized(EncoderBlock(D, HEADS, D_FF)), normal(2, 5, D)
    first = block.attention.part(block.attention.norm(x))
    second = block.feed_forward.part(block.feed_forward.norm(x + first))
    torch.testing.assert_close(block(x), x + first + second)


def test_one_table_gets_the_gradients_of_both_ends(randomized, g):
    model, x = randomized(language_model()), tokens(g, 2, 5)
    table = model.embedding.table.weight
    (gradient,) = torch.autograd.grad(model(x).square().sum(), table)
    # the same model, whose two ends read copies of the table
    as_embedding, as_output = (table.detach().clone().requires_grad_() for _ in range(2))
    hidden = model.stack(F.embedding(x, as_embedding))
    ends = torch.autograd.grad((hidden @ as_output.mT).square().sum(), [as_embedding, as_output])
    torch.testing.assert_close(gradient, sum(ends))
    assert all(end.abs().max() > 0 for end in ends)


def test_the_scale_multiplies_the_table_and_not_the_positions(randomized, g):
    model, x = (
        randomized(Embedding(VOCABULARY, D, LearnedEncoding(9, D), scale=3.0)),
        tokens(g, 2, 4),
    )
    expected = 3 * model.table.weight[x] + model.position.table[5:9]
    torch.testing.assert_close(model(x, start=5), expected)


@each_norm
def test_dropout_is_for_training_alone(randomized, g, residual):
    model, x = randomized(translator(residual=residual, dropout=0.5)), tokens(g, 2, 5)
    assert not torch.equal(model(x, x), model(x, x))
    model.eval()
    assert torch.equal(model(x, x), model(x, x))


def test_dropout_is_where_the_paper_has_it(randomized, normal):
    # on what each part writes; within the feed-forward network it is torch's
    block, x = randomized(EncoderBlock(D, HEADS, D_FF, dropout=1.0)), normal(2, 5, D)
    assert torch.equal(block(x), x)
    inner = randomized(FeedForward(D, D_FF, dropout=1.0))
    torch.testing.assert_close(inner(x), inner.down.bias.expand(2, 5, D))
    assert not randomized(Embedding(VOCABULARY, D, dropout=1.0))(
        torch.arange(3, device=device())
    ).any()


def test_a_model_is_saved_loaded_and_copied_whole(randomized, g, tmp_path):
    model = randomized(language_model(RelativeAttention(D // HEADS, 2), LearnedEncoding(9, D)))
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other_model = randomized(
        language_model(RelativeAttention(D // HEADS, 2), LearnedEncoding(9, D))
    )
    other_model.load_state_dict(torch.load(tmp_path / "model.pt"))
    x, copied = tokens(g, 2, 5), copy.deepcopy(model)
    assert torch.equal(other_model(x), model(x)) and torch.equal(copied(x), model(x))
    model.embedding.table.weight.data.zero_()
    assert copied.embedding.table.weight.any()


def test_a_mechanism_with_weights_is_trained_with_its_model(randomized, g):
    shaw = [Causal(RelativeAttention(D // HEADS, 2)) for _ in range(2)]
    blocks = [EncoderBlock(D, HEADS, D_FF, attend) for attend in shaw]
    model = randomized(LanguageModel(Embedding(VOCABULARY, D), Encoder(blocks, nn.LayerNorm(D))))
    names = [name for name, _ in model.named_parameters() if "attend" in name]
    start = "stack.blocks.{}.attention.part.attend.attend.a_{}"
    assert names == [start.format(i, letter) for i in range(2) for letter in "kv"]
    x, copies = tokens(g, 4, 6), copy.deepcopy(model.state_dict())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(30):
        loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    assert all(not torch.equal(copies[name], model.state_dict()[name]) for name in names)


@pytest.mark.parametrize("prefix", ["", "transformer."])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gpt_2_s_weights_give_the_numbers_of_transformers(dtype, prefix):
    numbers = {name: torch.from_numpy(x) for name, x in np.load(NUMBERS).items()}
    expected = {name: numbers.pop(name) for name in ("heads", "tokens", "hidden", "scores")}
    # buffers of older versions, which are not read
    numbers |= {"h.0.attn.bias": torch.ones(8, 8), "h.0.attn.masked_bias": torch.tensor(-1e4)}
    model = load_gpt2(
        {prefix + name: x.to(dtype) for name, x in numbers.items()}, int(expected["heads"])
    )
    assert all(p.dtype == dtype for p in model.parameters())
    close = {"rtol": 1e-10, "atol": 1e-10} if dtype == torch.float64 else {}
    hidden = model.stack(model.embedding(expected["tokens"]))
    torch.testing.assert_close(hidden, expected["hidden"].to(dtype), **close)
    torch.testing.assert_close(model(expected["tokens"]), expected["scores"].to(dtype), **close)


@pytest.mark.parametrize(
    "name", ["wte.weight", "h.0.mlp.c_fc.weight", "h.1.ln_2.bias", "ln_f.bias"]
)
def test_a_weight_that_is_missing_is_named(name):
    numbers = {key: torch.from_numpy(x) for key, x in np.load(NUMBERS).items() if key != name}
    with pytest.raises(ValueError, match=f"{name} .* 31 weights"):
        load_gpt2(numbers, heads=3)


WORDS = torch.zeros(2, 5, dtype=torch.int64)


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (lambda: EncoderBlock(10, 3, 20), "d_model=10 .* heads=3"),
        (lambda: GroupedAttention(12, 4, groups=3), "heads=4 .* groups=3"),
        (lambda: language_model()(WORDS + 7), "token 7 .* 7"),
        (lambda: language_model()(WORDS - 1), "token -1 .* 7"),
        (lambda: language_model(position=LearnedEncoding(4, D))(WORDS), "0 to 4, .* 4 rows"),
        (lambda: load_gpt2({}, 3), "wte.weight .* 0 weights"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_named_with_its_numbers(call, numbers):
    with pytest.raises(ValueError, match=numbers):
        call()
