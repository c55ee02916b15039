"""A label per sequence: whether people found a tweet, or a sentence of a review, positive.

    pip install -e ".[bench]"
    python benchmarks/sentiment.py                       # every run that the results lack
    python benchmarks/sentiment.py --seeds 1 --kinds tweets

A run is one line of results/sentiment.csv; delete lines to run them again.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product

import torch
from classifiers import MODELS, WIDTH, classifier
from runs import Runs, mean_and_std, write_page
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from attncourse.data.sentiment import RatedText, Ratings, Vocabulary, ratings, tokenize
from attncourse.train import accuracy, fit, seeded

FOLDS, BATCH, MIN_COUNT = 5, 32, 2
# the number of seeds for each set of texts; each seed has its own folds
SEEDS = {"tweets": 3, "products": 1, "editorials": 1, "movies": 1}
# settings tried for logistic regression, and for the networks on folds of the tweets
C_VALUES, NGRAM_RANGES = (0.1, 0.3, 1, 3, 10, 30), ((1, 1), (1, 2))
RATES, EPOCHS, INNER_FOLDS = (2e-3, 4e-3), (4, 8), 2
RUNS = Runs("sentiment", ("texts", "model"), ("accuracy",))
CHOICES = Runs("sentiment_choices", ("model", "rate", "epochs"), ("accuracy",))


def majority_accuracy(train: list[Rated], test: list[Rated]) -> float:
    """Test accuracy of the commonest label in training."""
    positive = 2 * sum(text.positive for text in train) > len(train)
    return sum(text.positive == positive for text in test) / len(test)


def regression_accuracy(
    vectorizer: type[CountVectorizer], train: list[Rated], test: list[Rated]
) -> float:
    """Test accuracy of logistic regression, tuned by cross-validation on the training texts."""
    vectorized = vectorizer(tokenizer=tokens, lowercase=False, token_pattern=None)
    search = GridSearchCV(
        make_pipeline(vectorized, LogisticRegression(solver="liblinear")),
        {
            f"{vectorizer.__name__.lower()}__ngram_range": NGRAM_RANGES,
            "logisticregression__C": C_VALUES,
        },
        cv=3,
    )
    texts, labels = zip(*((text.text, text.positive) for text in train), strict=True)
    search.fit(texts, labels)
    return search.score([text.text for text in test], [text.positive for text in test])


def network_accuracy(
    name: str, rate: float, epochs: int, seed: int, train: list[Rated], test: list[Rated]
) -> float:
    """Train a network, with the vocabulary of the training texts; its test accuracy."""
    vocabulary = Vocabulary(train, MIN_COUNT)
    with seeded(seed) as g:
        model = classifier(name, vocabulary)
        fit(model, lambda: vocabulary.batches(train, BATCH, g), epochs, rate)
    return accuracy(model, vocabulary.batches(test, 4 * BATCH))


BASELINES: dict[str, Callable[..., float]] = {
    "the commonest label": majority_accuracy,
    "bag of words, logistic regression": partial(regression_accuracy, CountVectorizer),
    "tf-idf, logistic regression": partial(regression_accuracy, TfidfVectorizer),
}


def cross_validate(texts: Ratings, seed: int, score: Callable[..., float]) -> list[float]:
    """The accuracy over all folds, as a list of one number."""
    folds = list(texts.folds(FOLDS, seed))
    right = sum(score(train, test) * len(test) for train, test in folds)
    return [right / len(texts.texts)]


def try_setting(tweets: Ratings, name: str, rate: float, epochs: int, seed: int) -> list[float]:
    """Accuracy of a setting of a network, on folds of the training texts of the first fold."""
    train, _ = next(tweets.folds(FOLDS, seed))
    inner = list(replace(tweets, texts=tuple(train)).folds(FOLDS, seed))[:INNER_FOLDS]
    return [
        sum(network_accuracy(name, rate, epochs, seed, *split) for split in inner) / INNER_FOLDS
    ]


def best_setting(name: str) -> tuple[float, int]:
    """The rate and number of epochs with the best accuracy."""
    scores_by_setting = {
        key: scores for key, scores in CHOICES.finished().items() if key[0] == name
    }
    _, rate, epochs, _ = max(scores_by_setting, key=lambda key: scores_by_setting[key])
    return float(rate), int(epochs)


def run_model(sets: dict[str, Ratings], kind: str, name: str, seed: int) -> list[float]:
    """Accuracy of a model on one set of texts, with folds and initial weights from one seed."""
    if name in BASELINES:
        return cross_validate(sets[kind], seed, BASELINES[name])
    for rate, epochs in product(RATES, EPOCHS):
        CHOICES.run_once(partial(try_setting, sets["tweets"]), name, rate, epochs, 0)
    return cross_validate(
        sets[kind], seed, partial(network_accuracy, name, *best_setting(name), seed)
    )


def write_table(sets: dict[str, Ratings]) -> None:
    finished = {kind: texts for kind, texts in sets.items() if RUNS.columns(kind, "CNN")}
    rows = []
    for name in (*BASELINES, *MODELS):
        columns = [RUNS.columns(kind, name) for kind in finished]
        rows.append((name, *(mean_and_std(column[0]) if column else "" for column in columns)))
    seed_counts = ", ".join(f"{kind} {len(RUNS.columns(kind, 'CNN')[0])}" for kind in finished)
    settings = "; ".join("{}: {} and {}".format(name, *best_setting(name)) for name in MODELS)
    text = [
        "# A label per sequence",
        f"The share of texts whose label is right, in {FOLDS} folds, so that each text is tested "
        f"once. {'; '.join(map(str, finished.values()))}.",
        "Mean and standard deviation over the seeds, each with folds and initial weights of its "
        f"own: {seed_counts}.",
        "All models read the same tokens, and know only those of their training texts. "
        f"Logistic regression chooses its strength C from {', '.join(map(str, C_VALUES))}, and "
        "words alone or also pairs of neighbours, by cross-validation in three folds of the "
        f"training texts. The networks have width {WIDTH} and batches of {BATCH}. Each chooses "
        f"the rate of AdamW, which falls to 0, from {' and '.join(map(str, RATES))} and its epochs "
        f"from {' and '.join(map(str, EPOCHS))}, on {INNER_FOLDS} of {FOLDS} folds of the training "
        "tweets of the first fold, and takes the same for the other texts. They are, for "
        f"{settings}.",
    ]
    write_page("sentiment", "sentiment", text, ("model", *finished), rows, "scikit-learn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, help="how many seeds of each model")
    parser.add_argument("--kinds", nargs="+", choices=SEEDS, default=list(SEEDS))
    arguments = parser.parse_args()
    # one thread: the same sums in the same order on every machine, and room for other work
    torch.set_num_threads(1)
    sets = {kind: ratings(kind) for kind in SEEDS}
    if any(texts.sample for texts in sets.values()):
        raise SystemExit("the results need the ratings, not the sample")
    for kind in arguments.kinds:
        for seed in range(arguments.seeds or SEEDS[kind]):
            for name in (*BASELINES, *MODELS):
                RUNS.run_once(partial(run_model, sets), kind, name, seed)
            write_table(sets)


if __name__ == "__main__":
    main()
