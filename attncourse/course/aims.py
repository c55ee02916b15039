"""What each chapter promises: the bullets of its box *In this chapter*, each under an id.

An exercise names the ids of the aims that it tests. The texts are Markdown.
"""

from collections.abc import Iterable

AIMS = {
    "dot_product": {
        "compute-attention": "compute attention by hand, and write it in two lines of PyTorch",
        "query-and-key": (
            "say why a word's query and its key differ, and what attention was invented for"
        ),
        "scale": r"explain why the scores are divided by $\sqrt{d_k}$",
        "mask": "forbid keys with a mask, even all the keys of a query",
        "count-cost": "count the operations and the memory that attention takes",
    },
    "multi_head": {
        "build-layer": (
            "build the layer (split, attend, join, project) and check it against PyTorch's"
        ),
        "two-products": "say, from two products of its matrices, what one head can and cannot do",
        "read-map": "read a map of attention weights with due caution",
        "count-layer": "count the parameters and the operations of the layer",
        "residual-stream": "explain the residual stream",
    },
    "positional": {
        "order-unseen": "show that attention does not see order, and say which masks change this",
        "sinusoids": (
            "compute sinusoids by hand and in code, and explain what the base 10000 determines"
        ),
        "previous-word-head": (
            "build from the sinusoids a head that finds the previous word, and say why a random "
            "head does not"
        ),
        "longer-texts": (
            "say what sinusoids, a learned table and a network each do on texts longer than "
            "those in training"
        ),
        "causal-positions": "explain how a causal model knows positions without being given any",
        "tree-position": "give a word a position in the tree of its sentence",
    },
    "relative": {
        "two-tables": (
            "write attention with *{term}`relative positions <relative position>`* "
            "{cite:p}`shaw2018`, and say what each of its two tables does"
        ),
        "family": "place Transformer-XL, T5, ALiBi and RoPE in one family, and compute each",
        "rotate": (
            "rotate queries and keys with RoPE, show that only offsets count, and say what the "
            "base does"
        ),
        "three-forms": (
            "compute relative attention in dense form, by lookup and with a skew, and say what "
            "each form costs"
        ),
    },
    "convolution": {
        "equivariance": (
            "say which layers are translation-equivariant: when their inputs move, their outputs "
            "move with them"
        ),
        "measure-reach": "measure which inputs an output depends on, in one layer and in a stack",
        "window": r"restrict attention to a window without computing $n \times n$ scores",
        "convolution-by-heads": (
            "build any convolution out of attention heads, and say how many heads and what kind "
            "of positions that takes"
        ),
        "between-layers": (
            "place depthwise, lightweight and dynamic convolutions between a kernel and attention"
        ),
    },
    "recurrence": {
        "write-loops": (
            "write an RNN and an LSTM as loops, and say what each gate of an LSTM and of a GRU "
            "decides"
        ),
        "vanishing-gradients": (
            "explain why gradients vanish or explode over a long sentence, and what gates, "
            "clipping and truncation do about it"
        ),
        "compare-paths": (
            "compare recurrence and attention by path length, by the number of steps that must "
            "wait for each other, and by memory"
        ),
        "training-or-generation": (
            "say which of these differences matter in training, and which in generation"
        ),
    },
    "linear": {
        "reorder": (
            "reorder attention so that its cost grows in proportion to the length of the "
            "sequence, and not to the square of the length"
        ),
        "four-forms": (
            "write causal linear attention as a matrix, as running sums, as a recurrent network "
            "and in chunks, and say what each form costs"
        ),
        "features": "choose features, and say what goes wrong if their products are negative",
        "fixed-state": (
            "explain what a state of fixed size cannot recall, and how gates and the delta rule "
            "make room in it"
        ),
    },
    "efficient": {
        "never-all-scores": (
            "write attention that never holds all its scores at once, and say why that can be "
            "fast on a GPU"
        ),
        "shared-keys": (
            "say what limits a model that writes token by token, and how shared keys and values "
            "help"
        ),
        "choose-approximation": (
            "choose between patterns, hashing, mixtures, landmarks and random features according "
            "to what each assumes about the weights"
        ),
        "error-and-cost": "weigh the error of an approximation against its cost",
    },
    "transformer": {
        "read-gpt": "read a GPT line by line, and say what you would lose without each line",
        "build-blocks": (
            "build the blocks of an encoder and a decoder, in pre-norm and in post-norm"
        ),
        "shifted-targets": (
            "train a decoder on shifted targets, and say what it would learn without the shift"
        ),
        "generate": "generate text with caches: greedily, by sampling and by beam search",
        "count-block": (
            "count the parameters and operations of a block, and say at which length attention "
            "costs more than the rest"
        ),
        "choose-attention": "choose an attention for each place in the model",
    },
    "language_model": {
        "byte-pairs": (
            "turn any text into tokens with byte-pair encoding, and turn the tokens back into "
            "the text"
        ),
        "bits": (
            "measure a language model in bits, and say why a perplexity means little unless you "
            "know what the tokens are"
        ),
        "n-grams": "build n-gram models with back-off, and say what a network has that they lack",
        "head-role": (
            "find out what a head does, from where it looks and from what is lost without it"
        ),
        "bits-worth": (
            "say how many bits positions, heads, a longer context and the right decade are worth"
        ),
    },
    "tasks": {
        "one-encoder": (
            "label each token, label a whole text, and write a text of another length, with the "
            "same kind of encoder"
        ),
        "baselines": (
            "choose baselines, and tell a real difference from the luck of a seed or of a test set"
        ),
        "read-errors": "read a confusion matrix, and say what an exact match counts",
        "test-guess": "guess what a trained head does from its weights, and test the guess",
    },
    "today": {
        "bytes-and-limit": (
            "count the bytes of a model's cache, and say whether memory or arithmetic is the limit"
        ),
        "absorb": "attend to latent vectors without making a key, and say when that costs less",
        "choose-keys": (
            "let an indexer choose the keys of each query, and say how it learns although a choice "
            "passes no gradient"
        ),
        "pool": "pool blocks of keys into one row each, such that no query sees the future",
        "channel-gates": "take a step of the delta rule with a gate for each channel",
        "say-nothing": "let a head say nothing, by a gate on its output or by a sink",
    },
}


def bullets(texts: Iterable[str]) -> str:
    """Aims as a list in Markdown that ends as a sentence does."""
    return ";\n".join(f"- {text}" for text in texts) + "."
