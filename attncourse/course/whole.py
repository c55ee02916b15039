"""The parts of the whole model, the chapters that build each, and what other chapters put there.

The picture of the whole and the small one at each chapter's top are drawn from this list, in the
order in which the model computes. A link is an address below `chapters/`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Part:
    """A part of the model; `says` has the numbers of a sentence in braces.

    `built` and `instead` map addresses to words: the sections that build the part, and those that
    put something else in its place. `equation` is a label.
    """

    name: str
    says: str
    built: Mapping[str, str]
    instead: Mapping[str, str] = field(default_factory=dict)
    equation: str = ""


PARTS = {
    "tokens": Part(
        "tokens",
        "Your text is cut into {count} tokens, which are words or parts of words. Two more stand "
        "before them: the start and the decade. {token} has number {id} of a vocabulary of "
        "{vocabulary}, counted from 0.",
        built={"language_model#tokens-lie-between-words-and-characters": "byte pairs"},
    ),
    "embedding": Part(
        "embedding",
        "Row {id} of the embedding’s table is the vector of {token}: 128 numbers, of length "
        "{embedded}. No position is added to it.",
        built={
            "transformer#tied-embeddings-one-table-serves-both-ends": "the embedding and its table",
        },
    ),
    "stream": Part(
        "residual stream",
        "The vector of {token} enters block {block} with length {entering}. Attention adds a "
        "vector of length {attended}, the feed-forward network one of length {fed}, and the sum "
        "leaves with length {leaving}.",
        built={"multi_head#layers-add-to-the-residual-stream": "the residual stream"},
        equation="multi_head#eq-residual",
    ),
    "block": Part(
        "block",
        "The model has 4 blocks with the same parts and different weights. If block {block} were "
        "the last, the likeliest token after {token} would be {lens}, with probability {lens_p}.",
        built={"transformer#a-block-is-attention-and-a-feed-forward-network": "the block"},
        instead={"recurrence#gates-decide-what-to-keep": "the layers of an LSTM"},
        equation="transformer#eq-block",
    ),
    "norm": Part(
        "norm",
        "Attention reads a normalised copy of the stream (pre-norm). From each of the 128 numbers "
        "of {token} the norm subtracts their mean, {mean}; it divides by their standard "
        "deviation, {std}, then scales and shifts each column by learned numbers. The "
        "feed-forward network reads through a norm of its own.",
        built={"transformer#a-block-is-attention-and-a-feed-forward-network": "pre-norm"},
        instead={"transformer#pre-norm-or-post-norm": "post-norm"},
        equation="multi_head#eq-layer-norm",
    ),
    "qkv": Part(
        "queries, keys, values",
        "Three linear layers make them from the normalised copy, 32 numbers of each for every "
        "head. In head {head} of block {block}, the query of {token} has length {query}, its key "
        "{key} and its value {value}.",
        built={"dot_product#queries-keys-and-values": "queries, keys and values"},
        instead={
            "efficient#sharing-keys-and-values-shrinks-the-cache": "shared keys and values",
            "today#a-latent-vector-serves-all-heads": "latent vectors",
            "today#one-key-stands-for-several-tokens": "pooled keys",
        },
        equation="dot_product#eq-attention",
    ),
    "rope": Part(
        "RoPE",
        "{token} is at position {at}. RoPE turns its query and its key, two neighbouring columns "
        "at a time: the first two by {fast}°, the last two by {slow}°. The first two numbers of "
        "the query, {straight}, become {turned}.",
        built={"relative#rope-rotate-queries-and-keys": "RoPE"},
        instead={
            "positional#sinusoids-a-clock-with-many-hands": "sinusoids added to the embedding",
            "relative#a-vector-for-each-offset": "Shaw’s vectors for the offsets",
            "relative#the-family-what-is-added-to-a-score": "numbers added to the scores",
        },
        equation="relative#eq-rope",
    ),
    "scores": Part(
        "scores",
        "The score of a key is its dot product with the query of {token}, divided by √32. In head "
        "{head} of block {block}, {best} has the largest: {score}.",
        built={"dot_product#why-divide-by-the-square-root-of-the-width": "scaled dot products"},
        instead={
            "dot_product#additive-scores-take-far-more-memory-than-dot-products": "additive scores",
        },
        equation="dot_product#eq-attention",
    ),
    "mask": Part(
        "causal mask",
        "The scores of later tokens are set to −∞, so that no token sees what follows it. {token} "
        "sees {seen} of {all} tokens, itself among them.",
        built={"dot_product#causal-and-padding-masks": "the causal mask"},
        instead={
            "convolution#kernels-and-windows-two-ways-to-mix-neighbours": "a window",
            "efficient#fewer-pairs-patterns": "sparse patterns",
            "today#an-indexer-chooses-the-keys": "chosen keys",
        },
    ),
    "weights": Part(
        "weights",
        "The softmax makes weights of the scores, and they sum to 1. In head {head} of block "
        "{block}, {token} gives {best} the largest: {weight}.",
        built={"dot_product#queries-keys-and-values": "the softmax of the scores"},
        instead={
            "linear#sum-the-keys-and-values-first": "linear attention’s products of features",
            "today#each-channel-of-the-state-has-a-gate": "the delta rule with gates",
            "today#a-gate-or-a-sink-lets-a-head-say-nothing": "weights beside a sink",
            "efficient#random-features-estimate-the-exponential": "random features",
        },
        equation="dot_product#eq-softmax",
    ),
    "values": Part(
        "weighted sum",
        "The values of all tokens that {token} sees, each times its weight, are summed to 32 "
        "numbers, of length {mixed}.",
        built={"dot_product#attention-is-two-lines-of-pytorch": "the weighted sum"},
        equation="dot_product#eq-attention",
    ),
    "heads": Part(
        "heads",
        "Each block has 4 heads with weights of their own. In block {block}, {token} gives most "
        "weight to {best_0} in head 0 ({weight_0}), {best_1} in head 1 ({weight_1}), {best_2} in "
        "head 2 ({weight_2}) and {best_3} in head 3 ({weight_3}).",
        built={"multi_head#several-heads-and-one-last-matrix": "several heads"},
        instead={
            "convolution#three-heads-add-up-to-a-convolution": "a convolution’s kernel",
        },
        equation="multi_head#eq-multi-head",
    ),
    "output": Part(
        "output matrix",
        "The 32 numbers of each of the 4 heads are joined to 128. A linear layer turns them into "
        "the vector of length {attended} that attention adds to the stream of {token}.",
        built={"multi_head#several-heads-and-one-last-matrix": "the last matrix"},
        equation="multi_head#eq-multi-head",
    ),
    "feed_forward": Part(
        "feed-forward",
        "For each token alone, a linear layer makes 512 numbers of 128, GELU follows, and a second "
        "layer makes 128 again. Of the 512 of {token} in block {block}, {active} are above 0 "
        "before GELU. What is added to the stream has length {fed}.",
        built={
            "transformer#a-block-is-attention-and-a-feed-forward-network": (
                "the feed-forward network"
            ),
        },
        equation="transformer#eq-feed-forward",
    ),
    "final_norm": Part(
        "last norm",
        "After the last block, the stream of {token} has length {last}. One more norm makes it "
        "{normed}.",
        built={"transformer#a-whole-model-on-one-screen": "the last norm"},
        equation="multi_head#eq-layer-norm",
    ),
    "logits": Part(
        "logits",
        "The product with each row of the embedding’s table, which is the same table (tied), "
        "gives {vocabulary} scores. After {token}, {next} has the largest among the words: "
        "{logit}.",
        built={"transformer#tied-embeddings-one-table-serves-both-ends": "tied embeddings"},
    ),
    "next": Part(
        "next token",
        "The softmax makes probabilities of the logits: {p} for {next}, and {five} for the five "
        "likeliest together. In writing, one token is drawn, and is read in its turn.",
        built={"language_model#guess-the-next-word": "predicting the next token"},
        instead={"tasks#one-kind-of-encoder-serves-three-outputs": "labels, or another text"},
        equation="dot_product#eq-softmax",
    ),
}  # fmt: skip


def parts_of(slug: str) -> tuple[list[str], dict[str, str]]:
    """The parts that a chapter builds, and what it has instead of other parts, by part."""
    built = [name for name, part in PARTS.items() if addresses_of(part.built, slug)]
    instead = {
        name: " or ".join(found)
        for name, part in PARTS.items()
        if name not in built and (found := addresses_of(part.instead, slug))
    }
    return built, instead


def addresses_of(links: Mapping[str, str], slug: str) -> list[str]:
    """The words of the links to a chapter."""
    return [words for address, words in links.items() if address.startswith(f"{slug}#")]
