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
ASKED = {
    "after hundert, on the ones": (2, 4),
    "after und, on the tens": (4, 3),
    "before zig, on the tens": (5, 3),
}
TRANSLATORS = Runs("translator_heads", (), tuple(ASKED))


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
    """As the page does, from whose file a model is read if it is there."""
    file = checkpoint_path(title, model, batches(None), epochs, rate)
    fit(model, lambda: batches(g), epochs, rate, checkpoint=file, generator=g)


@torch.no_grad()
def queries_and_keys(part: nn.Module, run: Callable[[], Tensor]) -> tuple[Tensor, Tensor]:
    """The queries and the keys of an attention layer in a call."""
    calls = []
    hook = part.register_forward_pre_hook(lambda _, given: calls.append(given))
    run()
    hook.remove()
    x, context = (*calls[0], calls[0][0])[:2]
    return split_heads(part.w_q(x), HEADS), split_heads(part.w_k(context), HEADS)


@cache
def bank():
    found = treebank()
    if found.sample:
        raise SystemExit(f"the results need the treebank, not {found}")
    return found


@torch.no_grad()
def of_tagger(seed: int) -> list[float]:
    """The head that looks most at the word after, and what the tagger is without it."""
    vocabulary = Vocabulary(bank())
    sizes = len(vocabulary.words) + 2, len(vocabulary.suffixes) + 2
    with seeded(seed) as g, torch.enable_grad():
        words = WordEmbedding(*sizes, WIDTH, dropout=DROPOUT)
        model = Tagger(words, encoder(DROPOUT), WIDTH, len(vocabulary.labels))
        train("tagger", model, lambda g: vocabulary.batches(bank().train, 32, g, 0.1), 8, 4e-3, g)
    part = model.eval().encoder.blocks[0].attention.part
    after, apart = [], []
    for example in bank().test:
        batch = vocabulary.batch([example])
        q, k = queries_and_keys(part, lambda batch=batch: model(*batch.inputs))
        ones, a_k = torch.eye(q.shape[-2]), part.attend.a_k
        w = relative_attention(q, k, ones, a_k, torch.zeros(len(a_k), len(ones)))[0]
        after.append(w.diagonal(1, 1, 2))
        apart += [
            w[:, i, [i + 1, above]] for i, above in enumerate(example.parents) if above > i + 1
        ]
    means = torch.cat(after, 1).mean(1)
    chosen, second = means.topk(2).indices.tolist()
    tested = [*vocabulary.batches(bank().test, 64)]
    whole, lost = part.w_o.weight.data.clone(), []
    right = accuracy(model, tested)
    for head in range(HEADS):
        part.w_o.weight.data[:, head * WIDTH // HEADS : (head + 1) * WIDTH // HEADS] = 0
        lost.append(accuracy(model, tested))
        part.w_o.weight.data.copy_(whole)
    without = lost.pop(chosen)
    elsewhere = torch.stack(apart).mean(0)[chosen].tolist()
    return [means[chosen].item(), means[second].item(), *elsewhere, right, without, min(lost)]


@torch.no_grad()
def of_translator(seed: int) -> list[float]:
    """The mean weight of the head that has most of it, for each of the questions."""
    learned, _ = numbers(8000, 300, seed=0)
    pairs = Words(learned, "english", "german")
    with seeded(seed) as g, torch.enable_grad():
        source, target = (table(len(one) + 3) for one in (pairs.source, pairs.target))
        block = DecoderBlock(WIDTH, HEADS, HIDDEN, Causal(shaw(MAX_DISTANCE)))
        writes = Decoder([block], nn.LayerNorm(WIDTH))
        model = Translator(source, encoder(0.0), target, writes)
        train("translator", model, lambda g: pairs.batches(learned, 32, g), 5, 4e-3, g)
    batch, part = pairs.batch(SHAPE), model.eval().decoder.blocks[0].cross_attention.part
    w = attention_weights(*queries_and_keys(part, lambda: model(*batch.inputs))).mean(0)
    return [w[:, query, key].max().item() for query, key in ASKED.values()]


def table(known: int) -> Embedding:
    made = Embedding(known, WIDTH)
    nn.init.normal_(made.table.weight, std=0.1)
    return made


def write(runs: Runs, title: str, text: str) -> None:
    lines = [
        (f"seed {seed}", *(f"{x:.3f}" for x in runs.finished()[(str(seed),)]))
        for seed in range(SEEDS)
    ]
    write_page(runs.name, "task_heads", [title, text], ("training", *runs.value_columns), lines)


def main() -> None:
    torch.set_num_threads(1)
    for seed in range(SEEDS):
        TAGGERS.run_once(of_tagger, seed)
        TRANSLATORS.run_once(of_translator, seed)
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
