"""The claims of the chapter tasks."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from attncourse.course.claim import Measured, about, above, at_least, at_most, claim, exactly
from attncourse.course.dot_product.claims import normal
from attncourse.course.language_model.claims import whole_numbers
from attncourse.dot_product import attention, attention_weights
from attncourse.relative import RelativeAttention, relative_attention, relative_index
from attncourse.tasks import Classifier, Tagger, Translator, WordEmbedding, exact_matches
from attncourse.train import accuracy, fit, seeded
from attncourse.transformer import Causal, Decoder, DecoderBlock, Embedding, Encoder, EncoderBlock

WORDS, WIDTH, HEADS = 12, 32, 2
Model = TypeVar("Model", bound=nn.Module)
ROUNDING = at_most(1e-12, "rounding")


class Made(NamedTuple):
    """A batch of texts that were made up."""

    inputs: tuple[Tensor, ...]
    labels: Tensor


class Alone(nn.Module):
    """In place of an encoder: each word stays as it is."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x


def relative() -> nn.Module:
    return RelativeAttention(WIDTH // HEADS, 4)


def encoder(attend: Callable[..., Tensor]) -> Encoder:
    return Encoder([EncoderBlock(WIDTH, HEADS, WIDTH, attend)], nn.LayerNorm(WIDTH))


def tagger(attend: Callable[..., Tensor]) -> Tagger:
    return Tagger(WordEmbedding(WORDS, 1, WIDTH), encoder(attend), WIDTH, 2)


def classifier(reads: nn.Module) -> Classifier:
    return Classifier(Embedding(WORDS, WIDTH), reads, WIDTH, 2)


def train_model(
    g: torch.Generator,
    make: Callable[[], Model],
    draw: Callable[[], Made],
    steps: int,
) -> Model:
    """What `make` makes, after so many steps on batches that `draw` gives.

    Torch's own generator, which belongs to the reader's next cell, stays as it is.
    """

    def batches() -> Iterator[Made]:
        return (draw() for _ in range(steps))

    with seeded(int(whole_numbers(g, 2**31, 1))):
        model = make().to(g.device)
        fit(model, batches, 1, 1e-2)
    return model.eval()


def of_words(words: Tensor) -> tuple[Tensor, ...]:
    """The inputs of a tagger, without suffixes and trees."""
    zeros = torch.zeros_like(words)
    return words, zeros, zeros[:, 0] + words.shape[1], zeros - 1


def random_model(g: torch.Generator, make: Callable[[], Model]) -> Model:
    """A model in float64, not trained."""
    with seeded(int(whole_numbers(g, 2**31, 1))):
        return make().double().to(g.device)


def max_abs_diff(x: Tensor, y: Tensor) -> float:
    """The largest difference of two tensors."""
    return (x - y).abs().max().item()


@claim(
    "Padded to four times its length, a text gets the same scores from a `Classifier`. With the "
    "mean of all rows, those of the padding too, its scores would change.",
    source="our own measurement",
)
def padding_is_left_out(g):
    model = random_model(g, lambda: classifier(encoder(relative())))
    words, lengths = whole_numbers(g, WORDS, 8, 20), torch.full((8,), 5, device=g.device)
    mask = (torch.arange(20, device=g.device) < 5).expand(8, 1, 20)
    rows = model.encoder(model.embedding(words), mask)
    scores, short = model.label(rows.mean(-2)), model(words[:, :5], lengths)
    return Measured(
        {
            "scores apart by": (max_abs_diff(model(words, lengths), short), ROUNDING),
            "with the mean of all rows": (max_abs_diff(scores, short), above(0.01)),
        }
    )


@claim(
    "Without positions, shuffling the words of a text only shuffles a tagger's scores, and leaves "
    "a classifier's scores as they are. With relative positions, both change.",
    source="Vaswani et al. (2017), section 3.5; our own measurement",
)
def order_needs_positions(g):
    words = whole_numbers(g, WORDS, 4, 9)
    rows = {}
    order, lengths = torch.randperm(9, device=g.device, generator=g), torch.full((4,), 9)
    for name, attend in (("without", lambda: attention), ("with", relative)):
        expected = ROUNDING if name == "without" else above(1e-3)
        labels = random_model(g, lambda reader=attend: tagger(reader()))
        change = max_abs_diff(
            labels(*of_words(words[:, order])), labels(*of_words(words))[:, order]
        )
        rows[f"{name} positions, the tagger's scores"] = change, expected
        label = random_model(g, lambda reader=attend: classifier(encoder(reader())))
        outputs = [label(x, lengths.to(g.device)) for x in (words, words[:, order])]
        rows[f"{name} positions, the classifier's scores"] = max_abs_diff(*outputs), expected
    return Measured(rows)


def after_the_word_before(g: torch.Generator, texts: int) -> Made:
    """Texts whose words are labelled by the half of the vocabulary that the word before is in."""
    words = whole_numbers(g, WORDS, texts, 10)
    labels = (words >= WORDS // 2).long().roll(1, dims=1)
    labels[:, 0] = -100
    return Made(of_words(words), labels)


@claim(
    "Where the label of a word depends on the word before it alone, each word's commonest label is "
    "right about half the time, and a tagger without positions at most three quarters of the time. "
    "After 150 steps, a tagger with relative positions is right nearly always.",
    source="our own example",
)
def labels_may_need_a_neighbour(g):
    training, test = after_the_word_before(g, 400), after_the_word_before(g, 200)
    pairs = zip((training.inputs[0], test.inputs[0]), (training.labels, test.labels), strict=True)
    (words, labels), (test_words, test_labels) = ((x[:, 1:], y[:, 1:]) for x, y in pairs)
    commonest = torch.stack([labels[words == i].mode().values for i in range(WORDS)])
    accuracies = {
        "each word's commonest label": (commonest[test_words] == test_labels).double().mean().item()
    }
    for name, attend in (("no positions", attention), ("relative positions", relative())):
        model = train_model(
            g, lambda reader=attend: tagger(reader), lambda: after_the_word_before(g, 32), 150
        )
        accuracies[name] = accuracy(model, [test])
    expected = [about(0.5, 0.05), at_most(0.75), at_least(0.95)]
    return Measured(
        dict(zip(accuracies, zip(accuracies.values(), expected, strict=True), strict=True))
    )


def by_order(g: torch.Generator, texts: int) -> Made:
    """Texts with the words 0 and 1 in two of eight places; the label says whether 0 comes first."""
    words = whole_numbers(g, WORDS - 2, texts, 8) + 2
    positions = torch.rand(texts, 8, device=g.device, generator=g).argsort(dim=-1)[:, :2]
    words.scatter_(1, positions, torch.tensor([0, 1], device=g.device).expand(texts, 2))
    lengths = torch.full((texts,), 8, device=g.device)
    return Made((words, lengths), (positions[:, 0] < positions[:, 1]).long())


@claim(
    "Where the label is which of two words comes first, a mean of word vectors is right for "
    "exactly half of the texts, if each stands beside the same text with the two words exchanged. "
    "After 200 steps, a classifier with relative positions is right nearly always.",
    source="our own example",
)
def a_bag_is_blind_to_order(g):
    (words, lengths), labels = by_order(g, 200)
    exchanged = torch.where(words < 2, 1 - words, words)
    both_orders = Made(
        (torch.cat([words, exchanged]), lengths.repeat(2)), torch.cat([labels, 1 - labels])
    )
    shares = []
    for reads in (Alone(), encoder(relative())):
        model = train_model(
            g, lambda reader=reads: classifier(reader), lambda: by_order(g, 32), 200
        )
        shares.append(accuracy(model, [both_orders]))
    return Measured(
        {
            "mean of word vectors": (shares[0], exactly(0.5)),
            "relative positions": (shares[1], at_least(0.95)),
        }
    )


def best_words(texts: Tensor, labels: Tensor, count: int = 20) -> Tensor:
    """The words whose share among positive texts differs most from that among negative ones."""
    return (texts[labels == 1].mean(0) - texts[labels == 0].mean(0)).abs().topk(count).indices


def cross_validated(texts: Tensor, labels: Tensor, leak: bool) -> float:
    """The accuracy over five folds of a vote of the best words, chosen in each fold or before."""
    folds, right_count = torch.arange(len(texts), device=texts.device) % 5, 0
    for fold in range(5):
        training, held_out = folds != fold, folds == fold
        x, y = (texts, labels) if leak else (texts[training], labels[training])
        words = best_words(x, y)
        direction = (texts[training][:, words][labels[training] == 1].mean(0)) - (
            texts[training][:, words][labels[training] == 0].mean(0)
        )
        votes = (texts[held_out][:, words] - texts[training][:, words].mean(0)) @ direction
        right_count += ((votes > 0) == (labels[held_out] == 1)).sum().item()
    return right_count / len(texts)


@claim(
    "For 100 texts of random words with random labels there is nothing to learn. If the 20 words "
    "that a classifier uses are chosen on all texts, those of the test fold too, five-fold "
    "cross-validation reports well above 0.6; chosen on the training folds alone, about 0.5.",
    source="Hastie et al. (2009), section 7.10.2; our own measurement",
)
def choosing_on_the_test_set_deceives(g):
    accuracies = {True: 0.0, False: 0.0}
    for _ in range(20):
        texts, labels = whole_numbers(g, 2, 100, 1000).double(), whole_numbers(g, 2, 100)
        for leak in accuracies:
            accuracies[leak] += cross_validated(texts, labels, leak) / 20
    return Measured(
        {
            "chosen on all texts": (accuracies[True], at_least(0.7)),
            "chosen on the training folds": (accuracies[False], about(0.5, 0.07)),
        }
    )


@claim(
    "If each token is right with probability 0.98, independently of the others, a text of $n$ "
    "tokens is right throughout with probability $0.98^n$: 0.82 for 10 tokens, 0.55 for 30. "
    "Counted over 20,000 texts.",
    source="our own measurement",
)
def exact_match_falls_with_the_length(g):
    rows = {}
    for n in (10, 30):
        labels = whole_numbers(g, WORDS, 20_000, n)
        is_wrong = torch.rand(labels.shape, device=g.device, generator=g) > 0.98
        outputs = torch.where(is_wrong, (labels + 1) % WORDS, labels)
        share = exact_matches(outputs, labels).double().mean().item()
        rows[f"{n} tokens"] = share, about(0.98**n, 0.015)
    return Measured(rows)


START, END = WORDS, WORDS + 1


def to_copy(g: torch.Generator, texts: int, n: int) -> Made:
    """Texts, each with itself as its translation."""
    words, end = whole_numbers(g, WORDS, texts, n), torch.full((texts, 1), END, device=g.device)
    target = torch.cat([torch.full_like(end, START), words], dim=1)
    lengths = torch.full((texts,), n, device=g.device)
    return Made((words, target, lengths), torch.cat([words, end], dim=1))


def copier() -> Translator:
    """A small translator with relative positions."""
    source, target = Embedding(WORDS + 2, WIDTH), Embedding(WORDS + 2, WIDTH)
    for table in (source.table, target.table):
        nn.init.normal_(table.weight, std=WIDTH**-0.5)
    block = DecoderBlock(WIDTH, HEADS, WIDTH, Causal(relative()))
    return Translator(source, encoder(relative()), target, Decoder([block], nn.LayerNorm(WIDTH)))


@claim(
    "A translator learns to copy texts in 250 steps. Where training had texts of 1 to 4 words, it "
    "copies single words. Where it had only texts of 3 and 4, hardly any single word comes out "
    "right: it has never seen a text end so early.",
    source="our own example",
)
def stopping_is_learned(g):
    rows = {}
    for name, min_words in (("1 to 4 words", 1), ("3 and 4 words", 3)):
        model = train_model(
            g, copier, lambda n=min_words: to_copy(g, 32, n + int(whole_numbers(g, 5 - n, 1))), 250
        )
        for n in (1, 3):
            (words, _, lengths), labels = to_copy(g, 60, n)
            outputs = model.translate(words, lengths, START, END, 8)
            right_share = exact_matches(outputs, labels).double().mean().item()
            is_unseen = n < min_words
            expected = at_most(0.1) if is_unseen else at_least(0.9)
            rows[f"trained on {name}, right of {n}"] = right_share, expected
    return Measured(rows)


def means(g: torch.Generator, seeds: int, times: int) -> Tensor:
    """The mean result of so many seeds, many times, in units of one seed's standard deviation."""
    return normal(g, times, seeds).mean(-1)


@claim(
    "Let the results of two equally good models be normal over seeds, with the same standard "
    "deviation $s$. With one seed each, they differ by more than $s$ in 48% of all comparisons; "
    "the means of three seeds each do so in 22%.",
    source="the normal distribution; counted over 40,000 comparisons",
)
def equal_models_differ(g):
    rows = {}
    for seeds, share in ((1, 0.48), (3, 0.22)):
        first, second = (means(g, seeds, 40_000) for _ in range(2))
        share_apart = ((first - second).abs() > 1).double().mean().item()
        rows[f"means of {seeds}, share more than $s$ apart"] = share_apart, about(share, 0.015)
    return Measured(rows)


@claim(
    "If a model is right with probability $p$ for each of $n$ independent examples, its measured "
    r"share has the standard deviation $\sqrt{p(1-p)/n}$: 0.0126 for $p = 0.95$ and 300 examples.",
    source="the binomial distribution; counted over 20,000 test sets",
)
def a_share_is_uncertain(g):
    is_right = torch.rand(20_000, 300, device=g.device, generator=g) < 0.95
    deviation = share(is_right).std().item()
    return Measured({"standard deviation": (deviation, about((0.95 * 0.05 / 300) ** 0.5, 5e-4))})


def share(is_right: Tensor) -> Tensor:
    """The share of right results in each row."""
    return is_right.double().mean(-1)


@claim(
    "The output for unit vectors in place of the values, and zeros in place of the table of value "
    "vectors, is the matrix of weights.",
    source="Shaw et al. (2018), eq. 1, 2 and 4; our own measurement",
)
def unit_values_show_the_weights(g):
    n, d, max_distance = 9, 8, 4
    q, k, a_k = (normal(g, rows, d).double() for rows in (n, n, 2 * max_distance + 1))
    identity = torch.eye(n, device=g.device, dtype=torch.float64)
    zeros = identity.new_zeros(2 * max_distance + 1, n)
    offset_vectors = a_k[relative_index(n, max_distance, g.device)]
    expected = ((q @ k.mT + (q[:, None] * offset_vectors).sum(-1)) / d**0.5).softmax(-1)
    return Measured(
        {
            "relative attention, apart by": (
                max_abs_diff(relative_attention(q, k, identity, a_k, zeros), expected),
                ROUNDING,
            ),
            "attention, apart by": (
                max_abs_diff(attention(q, k, identity), attention_weights(q, k)),
                ROUNDING,
            ),
            "other than without the offsets by": (
                max_abs_diff(expected, attention_weights(q, k)),
                above(0.01),
            ),
        }
    )
