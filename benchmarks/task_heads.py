"""Measurements of the heads of the tagger and the translator, trained from three seeds.

    python benchmarks/task_heads.py      # results/tagger_heads and translator_heads, in minutes

The models are trained as in the chapter: seed 0 gives the page's own. A run is one line of
results/tagger_heads.csv or results/translator_heads.csv; delete lines to run them again.
"""

from collections.abc import Callable, Iterator
from functools import cache

import torch
from runs import Runs, write_page
from taggers import DROPOUT, HEADS, HIDDEN, MAX_DISTANCE, WIDTH, shaw
from torch import Tensor, nn

from attncourse.data import Vocabulary, treebank
from attncourse.data.numbers import Words, numbers
from attncourse.dot_product import attention_weights
from attncourse.multi_head import split_heads
from attncourse.relative import relative_attention
from attncourse.tasks import Tagger, Translator, WordEmbedding
from attncourse.train import LabelledBatch, accuracy, checkpoint_path, fit, seeded
from attncourse.transformer import Causal, Decoder, DecoderBlock, Embedding, Encoder, EncoderBlock

SEEDS = 3
TAGGERS = Runs(
    "tagger_heads",
    (),
    (
        "on the word after",
        "the next head, on the word after",
        "on the word after, where the tree goes further",
        "on the word above, there",
        "accuracy",
        "without this head",
        "without any other, at least",
    ),
)
# numbers with hundreds, tens and ones, so that all names have the same word order
NUMBERS = [100 * a + 10 * b + c for a in range(1, 10) for b in range(4, 10) for c in range(2, 10)]
# positions of the query, the German part written last, and of the key, the English word
QUESTIONS = {
    "after hundert, on the ones": (2, 4),
    "after und, on the tens": (4, 3),
    "before zig, on the tens": (5, 3),
}
TRANSLATORS = Runs("translator_heads", (), tuple(QUESTIONS))


def encoder(dropout: float) -> Encoder:
    """An encoder of one block with Shaw's relative positions."""
    block = EncoderBlock(WIDTH, HEADS, HIDDEN, shaw(MAX_DISTANCE), dropout=dropout)
    return Encoder([block], nn.LayerNorm(WIDTH))


def train(
    title: str,
    model: nn.Module,
    batches: Callable[[torch.Generator | None], Iterator[LabelledBatch]],
    epochs: int,
    rate: float,
    g: torch.Generator,
) -> None:
    """Train as the page does, or load the page's saved model."""
    file = kept(title, model, batches(None), epochs, rate)
    fit(model, lambda: batches(g), epochs, rate, checkpoint=file, generator=g)


@torch.no_grad()
def queries_and_keys(layer: nn.Module, run: Callable[[], Tensor]) -> tuple[Tensor, Tensor]:
    """Queries and keys of an attention layer, split into heads, during a call of its model."""
    calls = []
    hook = layer.register_forward_pre_hook(lambda _, inputs: calls.append(inputs))
    run()
    hook.remove()
    x, context = (*calls[0], calls[0][0])[:2]
    return split_heads(layer.w_q(x), HEADS), split_heads(layer.w_k(context), HEADS)


@cache
def load_treebank():
    """The treebank; exits if only the sample is there."""
    corpus = treebank()
    if corpus.sample:
        raise SystemExit(f"the results need the treebank, not {corpus}")
    return corpus


@torch.no_grad()
def measure_tagger(seed: int) -> list[float]:
    """Weights of the head that attends most to the next word, and accuracies without heads."""
    vocabulary = Vocabulary(load_treebank())
    sizes = len(vocabulary.words) + 2, len(vocabulary.suffixes) + 2
    with seeded(seed) as g, torch.enable_grad():
        words = WordEmbedding(*sizes, WIDTH, dropout=DROPOUT)
        model = Tagger(words, encoder(DROPOUT), WIDTH, len(vocabulary.labels))
        train(
            "tagger",
            model,
            lambda g: vocabulary.batches(load_treebank().train, 32, g, 0.1),
            8,
            4e-3,
            g,
        )
    layer = model.eval().encoder.blocks[0].attention.part
    next_weights, tree_weights = [], []
    for sentence in load_treebank().test:
        batch = vocabulary.batch([sentence])
        q, k = queries_and_keys(layer, lambda batch=batch: model(*batch.inputs))
        identity, a_k = torch.eye(q.shape[-2]), layer.attend.a_k
        w = relative_attention(q, k, identity, a_k, torch.zeros(len(a_k), len(identity)))[0]
        next_weights.append(w.diagonal(1, 1, 2))
        tree_weights += [
            w[:, i, [i + 1, parent]] for i, parent in enumerate(sentence.parents) if parent > i + 1
        ]
    means = torch.cat(next_weights, 1).mean(1)
    best, runner_up = means.topk(2).indices.tolist()
    batches = [*vocabulary.batches(load_treebank().test, 64)]
    w_o, accuracies = layer.w_o.weight.data.clone(), []
    full_accuracy = accuracy(model, batches)
    for head in range(HEADS):
        layer.w_o.weight.data[:, head * WIDTH // HEADS : (head + 1) * WIDTH // HEADS] = 0
        accuracies.append(accuracy(model, batches))
        layer.w_o.weight.data.copy_(w_o)
    without = accuracies.pop(best)
    tree_means = torch.stack(tree_weights).mean(0)[best].tolist()
    return [
        means[best].item(),
        means[runner_up].item(),
        *tree_means,
        full_accuracy,
        without,
        min(accuracies),
    ]


@torch.no_grad()
def measure_translator(seed: int) -> list[float]:
    """For each question, the largest mean weight of any head."""
    train_numbers, _ = numbers(8000, 300, seed=0)
    pairs = Words(train_numbers, "english", "german")
    with seeded(seed) as g, torch.enable_grad():
        source, target = (
            word_embedding(len(vocabulary) + 3) for vocabulary in (pairs.source, pairs.target)
        )
        block = DecoderBlock(WIDTH, HEADS, HIDDEN, Causal(shaw(MAX_DISTANCE)))
        decoder = Decoder([block], nn.LayerNorm(WIDTH))
        model = Translator(source, encoder(0.0), target, decoder)
        train("translator", model, lambda g: pairs.batches(train_numbers, 32, g), 5, 4e-3, g)
    batch, layer = pairs.pairs(NUMBERS), model.eval().decoder.blocks[0].cross_attention.part
    w = attention_weights(*queries_and_keys(layer, lambda: model(*batch.inputs))).mean(0)
    return [w[:, query, key].max().item() for query, key in QUESTIONS.values()]


def word_embedding(size: int) -> Embedding:
    """A new word embedding."""
    embedding = Embedding(size, WIDTH)
    nn.init.normal_(embedding.table.weight, std=0.1)
    return embedding


def write_heads(runs: Runs, title: str, text: str) -> None:
    """Write the page of some runs."""
    rows = [
        (f"seed {seed}", *(f"{x:.3f}" for x in runs.finished()[(str(seed),)]))
        for seed in range(SEEDS)
    ]
    write_page(runs.name, "task_heads", [title, text], ("training", *runs.value_columns), rows)


def main() -> None:
    torch.set_num_threads(1)
    for seed in range(SEEDS):
        TAGGERS.run_once(measure_tagger, seed)
        TRANSLATORS.run_once(measure_translator, seed)
    write_heads(
        TAGGERS,
        "# The head of a tagger that looks most at the word after",
        "Its mean weights over the test sentences, and that of the head that comes next; the "
        "accuracy with all heads, without this one, and without the one of the others that is "
        "missed most.",
    )
    write_heads(
        TRANSLATORS,
        "# Where a translator's decoder looks",
        "Mean weights of cross-attention over the 432 numbers below 1,000 that have hundreds, tens "
        "from 40 to 90 and ones from 2 to 9; in each place, those of the head that has most there.",
    )


if __name__ == "__main__":
    main()
