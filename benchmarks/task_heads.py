"""What the heads of the tagger and the translator do, in three trainings that differ by seed.

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
# hundreds, tens and ones, so that every word has its place in both languages
SHAPE = [100 * a + 10 * b + c for a in range(1, 10) for b in range(4, 10) for c in range(2, 10)]
# the query is the part that was written last; the key is the English word
QUESTIONS = {
    "after hundert, on the ones": (2, 4),
    "after und, on the tens": (4, 3),
    "before zig, on the tens": (5, 3),
}
TRANSLATORS = Runs("translator_heads", (), tuple(QUESTIONS))


def encoder(dropout: float) -> Encoder:
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
    """Train as the page does, or load the checkpoint of the page if there is one."""
    file = checkpoint_path(title, model, batches(None), epochs, rate)
    fit(model, lambda: batches(g), epochs, rate, checkpoint=file, generator=g)


@torch.no_grad()
def queries_and_keys(layer: nn.Module, run: Callable[[], Tensor]) -> tuple[Tensor, Tensor]:
    """The queries and the keys of an attention layer in a call."""
    call_args = []
    hook = layer.register_forward_pre_hook(lambda _, args: call_args.append(args))
    run()
    hook.remove()
    x, context = (*call_args[0], call_args[0][0])[:2]
    return split_heads(layer.w_q(x), HEADS), split_heads(layer.w_k(context), HEADS)


@cache
def bank():
    data = treebank()
    if data.sample:
        raise SystemExit(f"the results need the treebank, not {data}")
    return data


@torch.no_grad()
def measure_tagger(seed: int) -> list[float]:
    """Measure the head that looks most at the next word, and the tagger without it."""
    vocabulary = Vocabulary(bank())
    sizes = len(vocabulary.words) + 2, len(vocabulary.suffixes) + 2
    with seeded(seed) as g, torch.enable_grad():
        words = WordEmbedding(*sizes, WIDTH, dropout=DROPOUT)
        model = Tagger(words, encoder(DROPOUT), WIDTH, len(vocabulary.labels))
        train("tagger", model, lambda g: vocabulary.batches(bank().train, 32, g, 0.1), 8, 4e-3, g)
    layer = model.eval().encoder.blocks[0].attention.part
    weights_on_next, apart_weights = [], []
    for example in bank().test:
        batch = vocabulary.batch([example])
        q, k = queries_and_keys(layer, lambda batch=batch: model(*batch.inputs))
        ones, a_k = torch.eye(q.shape[-2]), layer.attend.a_k
        w = relative_attention(q, k, ones, a_k, torch.zeros(len(a_k), len(ones)))[0]
        weights_on_next.append(w.diagonal(1, 1, 2))
        apart_weights += [
            w[:, i, [i + 1, above]] for i, above in enumerate(example.parents) if above > i + 1
        ]
    means = torch.cat(weights_on_next, 1).mean(1)
    best, second = means.topk(2).indices.tolist()
    test_batches = [*vocabulary.batches(bank().test, 64)]
    w_o, ablated = layer.w_o.weight.data.clone(), []
    full_accuracy = accuracy(model, test_batches)
    for head in range(HEADS):
        layer.w_o.weight.data[:, head * WIDTH // HEADS : (head + 1) * WIDTH // HEADS] = 0
        ablated.append(accuracy(model, test_batches))
        layer.w_o.weight.data.copy_(w_o)
    without_best = ablated.pop(best)
    apart_means = torch.stack(apart_weights).mean(0)[best].tolist()
    return [
        means[best].item(),
        means[second].item(),
        *apart_means,
        full_accuracy,
        without_best,
        min(ablated),
    ]


@torch.no_grad()
def measure_translator(seed: int) -> list[float]:
    """The mean weight of the head that has most of it, for each of the questions."""
    training_numbers, _ = numbers(8000, 300, seed=0)
    pairs = Words(training_numbers, "english", "german")
    with seeded(seed) as g, torch.enable_grad():
        source, target = (make_embedding(len(ids) + 3) for ids in (pairs.source, pairs.target))
        block = DecoderBlock(WIDTH, HEADS, HIDDEN, Causal(shaw(MAX_DISTANCE)))
        writes = Decoder([block], nn.LayerNorm(WIDTH))
        model = Translator(source, encoder(0.0), target, writes)
        train("translator", model, lambda g: pairs.batches(training_numbers, 32, g), 5, 4e-3, g)
    batch, layer = pairs.batch(SHAPE), model.eval().decoder.blocks[0].cross_attention.part
    w = attention_weights(*queries_and_keys(layer, lambda: model(*batch.inputs))).mean(0)
    return [w[:, query, key].max().item() for query, key in QUESTIONS.values()]


def make_embedding(size: int) -> Embedding:
    embedding = Embedding(size, WIDTH)
    nn.init.normal_(embedding.table.weight, std=0.1)
    return embedding


def write(runs: Runs, title: str, text: str) -> None:
    lines = [
        (f"seed {seed}", *(f"{x:.3f}" for x in runs.finished()[(str(seed),)]))
        for seed in range(SEEDS)
    ]
    write_page(runs.name, "task_heads", [title, text], ("training", *runs.value_columns), lines)


def main() -> None:
    torch.set_num_threads(1)
    for seed in range(SEEDS):
        TAGGERS.run_once(measure_tagger, seed)
        TRANSLATORS.run_once(measure_translator, seed)
    write(
        TAGGERS,
        "# The head of a tagger that looks most at the word after",
        "Its mean weights over the test sentences, and that of the head that comes next; the "
        "accuracy with all heads, without this one, and without the one of the others that is "
        "missed most.",
    )
    write(
        TRANSLATORS,
        "# Where a translator's decoder looks",
        "Mean weights of cross-attention over the 432 numbers below 1,000 that have hundreds, tens "
        "from 40 to 90 and ones from 2 to 9; in each place, those of the head that has most there.",
    )


if __name__ == "__main__":
    main()
