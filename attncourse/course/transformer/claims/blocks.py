"""Claims about the blocks and what is in them."""

from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cosine_similarity

from attncourse import english
from attncourse.cost import count
from attncourse.course.claim import (
    Measured,
    about,
    above,
    at_least,
    at_most,
    below,
    between,
    claim,
    exactly,
)
from attncourse.course.multi_head.claims import normal64, relative_error
from attncourse.course.transformer.claims.shared import (
    HEADS,
    NoNorm,
    NoSkip,
    gradients,
    random_module,
    relative_difference,
    stack,
    tokens,
    translator,
    writer,
    zero_heads,
)
from attncourse.dot_product import attention, causal_mask, padding_mask
from attncourse.transformer import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    GroupedAttention,
    PostNorm,
    PreNorm,
)

VASWANI = "Vaswani et al. (2017)"
XIONG = "Xiong et al. (2020)"
ROUNDING = at_most(1e-12, "rounding")
TORCH_LINEARS = {"up": "linear1", "down": "linear2"}
TORCH_ATTENTIONS = {"attention": "self_attn", "cross_attention": "multihead_attn"}


def as_torch(block: EncoderBlock, *inputs: Tensor, **masks: Tensor) -> Tensor:
    """The output of torch's own block with the parameters of this one."""
    layer_names = [name for name in (*TORCH_ATTENTIONS, "feed_forward") if hasattr(block, name)]
    weights = {}
    for i, name in enumerate(layer_names, 1):
        residual = getattr(block, name)
        weights |= {f"norm{i}.{kind}": x for kind, x in residual.norm.named_parameters()}
        for kind in ("weight", "bias"):
            if name == "feed_forward":
                linears = {
                    theirs: getattr(residual.part, ours) for ours, theirs in TORCH_LINEARS.items()
                }
                weights |= {
                    f"{theirs}.{kind}": getattr(linear, kind) for theirs, linear in linears.items()
                }
                continue
            projections = [getattr(getattr(residual.part, f"w_{x}"), kind) for x in "qkv"]
            weights[f"{TORCH_ATTENTIONS[name]}.in_proj_{kind}"] = torch.cat(projections)
            weights[f"{TORCH_ATTENTIONS[name]}.out_proj.{kind}"] = getattr(residual.part.w_o, kind)
    layer = nn.TransformerEncoderLayer if len(layer_names) == 2 else nn.TransformerDecoderLayer
    norm_first = isinstance(block.attention, PreNorm)
    d_ff, d = block.get_parameter("feed_forward.part.up.weight").shape
    with torch.device("meta"):
        theirs = layer(d, HEADS, d_ff, dropout=0.0, batch_first=True, norm_first=norm_first)
    return functional_call(theirs, weights, inputs, masks)


# tokens that may follow “today”, the promised one first
NEXT_TOKENS = (" than", ".", ",", " in")


def than_by_block(device: torch.device | None = None) -> Tensor:
    """The probability of each of these tokens after “today”, if the stream is read after a block.

    Of shape (blocks and the embedding, tokens).
    """
    prompt, _ = english.SENTENCE.split(f" {english.TARGET}")
    return english.next_probabilities_by_block(
        english.model("english", device), prompt, NEXT_TOKENS, device
    )


@claim(
    "Read the stream of a trained model after each of its four blocks: after the second, “than” "
    "has less than 0.02 of the probability, and after the third, over half.",
    source="our own measurement, by the logit lens of nostalgebraist (2020)",
)
def one_block_brings_the_word(g):
    chances = than_by_block(g.device)[:, 0].tolist()
    return Measured(
        {
            "“than”, before the third block": (chances[:3], below(0.02)),
            "after it": (chances[3:], above(0.5)),
        }
    )


@claim(
    "With the same weights, an encoder block and a decoder block give what torch's "
    "`nn.TransformerEncoderLayer` and `nn.TransformerDecoderLayer` give, and the same gradients: "
    "in pre-norm and in post-norm, with padding in the source and a causal mask in the target.",
    source=f"{VASWANI}, section 3.1; pre-norm: {XIONG}",
)
def blocks_equal_torch(g):
    x, y = normal64(g, 2, 6, 8).requires_grad_(), normal64(g, 2, 5, 8).requires_grad_()
    mask = padding_mask(torch.tensor([6, 4], device=g.device), 6)
    output_errors, gradient_errors = [], []
    hidden, future = ~mask[:, 0], ~causal_mask(5, g.device)
    for residual in (PreNorm, PostNorm):
        reads = random_module(g, lambda kind=residual: EncoderBlock(8, HEADS, 20, residual=kind))
        writes = random_module(g, lambda kind=residual: DecoderBlock(8, HEADS, 20, residual=kind))
        for weight in (*reads.parameters(), *writes.parameters()):
            weight.data += 0.1 * normal64(g, *weight.shape)
        torch_masks = {"tgt_mask": future, "memory_key_padding_mask": hidden}
        pairs = [
            (reads(x, mask), as_torch(reads, x, src_key_padding_mask=hidden), reads),
            (writes(y, x, memory_mask=mask), as_torch(writes, y, x, **torch_masks), writes),
        ]
        for ours, expected, block in pairs:
            inputs, grad_output = [x, *block.parameters()], normal64(g, *ours.shape)
            gradients = [torch.autograd.grad(out, inputs, grad_output) for out in (ours, expected)]
            output_errors.append(relative_error(ours, expected))
            # all at once: that of the keys' bias is 0
            gradient_errors.append(
                relative_error(*(torch.cat([x.flatten() for x in out]) for out in gradients))
            )
    return Measured(
        {"outputs apart by": (output_errors, ROUNDING), "gradients": (gradient_errors, ROUNDING)}
    )


@claim(
    "In an untrained encoder-decoder, without attention in the encoder no token's output depends "
    "on another token; without cross-attention, the scores do not depend on the source; and "
    "without positions, they do not depend on the order of the source. With them, they do.",
    source="our own measurement",
)
def each_path_is_needed(g):
    source, target = tokens(g, 2, 7), tokens(g, 2, 5)
    changed_source = source.clone()
    changed_source[:, 0] = (changed_source[:, 0] + 1) % 11
    make_full = partial(translator, g)
    rows = {}
    without = {
        "attention, others change by": partial(make_full, attend=zero_heads),
        "cross-attention, another source moves scores by": partial(
            make_full, cross_attend=zero_heads
        ),
        "positions, another order moves scores by": partial(make_full, positions=False),
    }
    for name, left_out in without.items():
        new_source = source.flip(1) if "order" in name else changed_source
        for word, make, expected in (
            ("without", left_out, ROUNDING),
            ("with", make_full, above(1e-3)),
        ):
            model = make()
            outputs = [model(sequence, target) for sequence in (source, new_source)]
            if "others" in name:
                outputs = [
                    model.encoder(model.source(sequence))[:, 1:]
                    for sequence in (source, new_source)
                ]
            rows[f"{word} {name}"] = relative_difference(*outputs), expected
    return Measured(rows)


@claim(
    "On a token by itself, attention is an affine map. The best affine map of two signs gives 0 "
    "for their product, but a feed-forward network with two hidden numbers gives it exactly.",
    source="our own measurement",
)
def feed_forward_multiplies(g):
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1], device=g.device).double()] * 2)
    product = signs.prod(-1, keepdim=True)
    layer = random_module(g, lambda: GroupedAttention(8, HEADS))
    a, b = normal64(g, 50, 1, 8), normal64(g, 50, 1, 8)
    bend = layer(a + b) - layer(a) - layer(b) + layer(0 * a)
    affine = torch.cat([signs, torch.ones_like(product)], dim=-1)
    best = affine @ torch.linalg.lstsq(affine, product).solution
    network = random_module(g, lambda: FeedForward(2, 2))
    network.up.weight.data = signs.new_tensor([[1, 1], [-1, -1]])
    # |a + b| - 1 is 1 where the signs agree, and -1 where they do not
    network.down.weight.data = torch.ones_like(network.down.weight)
    network.down.bias.data -= 1
    return Measured(
        {
            "attention's distance from an affine map": (bend.abs().max().item(), ROUNDING),
            "affine map misses": (relative_error(best, product), about(1, 1e-12)),
            "feed-forward misses": (relative_error(network(signs)[:, :1], product), ROUNDING),
        }
    )


@claim(
    "After 24 untrained blocks of width 64, the cosine between the first token and any other is "
    "within 0.001 of 1 if the skip connections are left out, but not with them. If the norms are "
    "left out, the gradient in the first block is more than 1000 times as large as with them.",
    source="our own measurement; Dong et al. (2021) on skips",
)
def depth_needs_skips_and_norms(g):
    x = normal64(g, 8, 16, 64)
    cosines, first_gradients = {}, {}
    for kind in (PreNorm, NoSkip, NoNorm):
        encoder = stack(g, 24, 64, kind)
        out = encoder(x)
        cosines[kind] = cosine_similarity(out[:, :1], out[:, 1:], dim=-1).min().item()
        first_gradients[kind] = gradients(g, encoder, 64)[0]
    return Measured(
        {
            "largest 1 − cosine, without skips": (1 - cosines[NoSkip], below(1e-3)),
            "with skips and norms": (1 - cosines[PreNorm], above(0.03)),
            "gradient without norms / with norms": (
                first_gradients[NoNorm] / first_gradients[PreNorm],
                above(1000),
            ),
        }
    )


def stream_and_parts(encoder: nn.Module, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The output of a stack, and the output that each part added to the stream."""
    outputs, hooks = [], []
    for module in encoder.modules():
        if isinstance(module, GroupedAttention | FeedForward):
            hooks.append(module.register_forward_hook(lambda *args: outputs.append(args[-1])))
    out = encoder(x)
    for hook in hooks:
        hook.remove()
    return out, outputs


@claim(
    "In pre-norm, what leaves the last of 6 blocks is the embedding plus what the 12 parts wrote, "
    "up to rounding; in post-norm it is not. The pre-norm stream is larger after 24 blocks than "
    "after 6.",
    source=f"Elhage et al. (2021); {XIONG}, section 3",
)
def stream_is_a_sum(g):
    x = normal64(g, 2, 10, 64)
    errors, norms = {}, {}
    for kind in (PreNorm, PostNorm):
        out, outputs = stream_and_parts(stack(g, 6, 64, kind, norm=False), x)
        errors[kind] = relative_error(x + sum(outputs), out)
    for depth in (6, 24):
        norms[depth] = stack(g, depth, 64, norm=False)(x).norm().item()
    return Measured(
        {
            "pre-norm, sum and stream apart by": (errors[PreNorm], ROUNDING),
            "post-norm": (errors[PostNorm], above(0.1)),
            "stream after 24 blocks, against 6": (norms[24] / norms[6], above(1.2)),
        }
    )


@claim(
    r"Before training, four times as many blocks make the gradient in the last block about "
    r"$1/\sqrt 4$ as large in pre-norm, but not in post-norm. Measured on the last "
    "matrix of the feed-forward network, in 4 blocks and in 16, in the mean over 4 draws.",
    source=f"{XIONG}, theorem 1",
)
def depth_shrinks_pre_norm_gradients(g):
    sizes = {}
    for kind, depth in [(kind, depth) for kind in (PreNorm, PostNorm) for depth in (4, 16)]:
        draws = [gradients(g, stack(g, depth, 32, kind), 32)[-1] for _ in range(4)]
        sizes[kind, depth] = sum(draws)
    ratios = {kind: sizes[kind, 16] / sizes[kind, 4] for kind in (PreNorm, PostNorm)}
    return Measured(
        {
            "pre-norm, 16 blocks against 4": (ratios[PreNorm], between(0.4, 0.75)),
            "post-norm": (ratios[PostNorm], at_least(0.85)),
        }
    )


@claim(
    r"With $d_\text{ff} = 4 d_\text{model}$, the feed-forward network holds two thirds of an "
    "encoder block's parameters, up to biases and norms, and half of a decoder block's, with one "
    "head or with eight.",
    source=f"{VASWANI}, section 3",
)
def feed_forward_holds_most_parameters(g):
    shares = {EncoderBlock: [], DecoderBlock: []}
    for kind, heads in [(kind, heads) for kind in shares for heads in (1, 8)]:
        with torch.device("meta"):
            block = kind(512, heads, 2048)
        network_parameters = sum(
            parameter.numel() for parameter in block.feed_forward.part.parameters()
        )
        shares[kind].append(
            network_parameters / sum(parameter.numel() for parameter in block.parameters())
        )
    return Measured(
        {
            "encoder block": (shares[EncoderBlock], about(2 / 3, 1e-3, "two thirds")),
            "decoder block": (shares[DecoderBlock], about(1 / 2, 1e-3, "one half")),
        }
    )


def operations(n: int, d: int) -> tuple[int, int]:
    """The operations of an encoder block's attention layer, and of its feed-forward network."""
    with torch.device("meta"):
        block, x = EncoderBlock(d, HEADS, 4 * d), torch.empty(n, d)
    return count(block.attention.part, x).flops, count(block.feed_forward.part, x).flops


@claim(
    r"With $d_\text{ff} = 4 d_\text{model}$, an attention layer takes as many operations as the "
    r"feed-forward network at $n = 2 d_\text{model}$ tokens, and scores and weighted sums alone "
    r"at $n = 4 d_\text{model}$. Counted for $d_\text{model} = 64$.",
    source="our own count",
)
def attention_overtakes(g):
    d, ratio = 64, {}
    for times in (0.5, 2, 8):
        attention_flops, network_flops = operations(round(times * d), d)
        ratio[times] = attention_flops / network_flops
    x = torch.empty(4 * d, d, device="meta")
    pairs = count(attention, x, x, x).flops / operations(4 * d, d)[1]
    return Measured(
        {
            "attention layer / network, $n = d/2$": (ratio[0.5], exactly(0.625)),
            "$n = 2d$": (ratio[2], exactly(1)),
            "$n = 8d$": (ratio[8], exactly(2.5)),
            "scores and sums / network, $n = 4d$": (pairs, exactly(1)),
        }
    )


@claim(
    "The scores of a text's first tokens are those of the whole text, up to rounding, whatever "
    "follows: in a language model, and in the decoder of an encoder-decoder. Without the causal "
    "mask they are not.",
    source=f"{VASWANI}, section 3.1",
)
def prefix_is_enough(g):
    text, source = tokens(g, 2, 9), tokens(g, 2, 7)
    model = writer(g)
    open_model = writer(g, attend=attention)
    encoder_decoder = translator(g)
    return Measured(
        {
            "language model, apart by": (
                relative_difference(model(text[:, :5]), model(text)[:, :5]),
                ROUNDING,
            ),
            "encoder-decoder": (
                relative_difference(
                    encoder_decoder(source, text[:, :5]), encoder_decoder(source, text)[:, :5]
                ),
                ROUNDING,
            ),
            "without the mask": (
                relative_difference(open_model(text[:, :5]), open_model(text)[:, :5]),
                at_least(1e-3),
            ),
        }
    )
