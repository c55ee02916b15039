"""Numbers and their names: the words, the sampling, the training and test sets, the batches."""

import random

import pytest

from attncourse.data.numbers import (
    END,
    GERMAN_PART,
    LENGTHS,
    START,
    Words,
    draw_number,
    name,
    numbers,
)

pytest.importorskip("num2words", reason="the names of numbers need num2words")


@pytest.mark.parametrize(
    ("number", "language", "want"),
    [
        (21, "english", "twenty one"),
        (1_000_105, "english", "one million one hundred and five"),
        (21, "german", "ein und zwanzig"),
        (1_000_016, "german", "eine million sech zehn"),
        (80, "french", "quatre vingts"),
        (71, "french", "soixante et onze"),
    ],
)
def test_a_name_is_its_words_and_a_german_one_its_parts(number, language, want):
    assert name(number, language) == tuple(want.split())


def test_no_letter_of_a_german_name_is_lost():
    from num2words import num2words

    rng = random.Random(0)
    for number in [*range(1, 100), *(draw_number(rng) for _ in range(300))]:
        full = num2words(number, lang="de").lower().replace(" ", "")
        assert "".join(GERMAN_PART.findall(num2words(number, lang="de").lower())) == full


def test_an_unknown_language_is_named():
    with pytest.raises(ValueError, match=r"language='latin' .* english, german, french"):
        name(1, "latin")


def test_half_of_the_groups_of_a_drawn_number_are_empty():
    rng = random.Random(0)
    groups = [
        number // 1000**i % 1000
        for number in (draw_number(rng) for _ in range(500))
        for i in range(4)
    ]
    assert 0.45 < groups.count(0) / len(groups) < 0.55 and max(groups) < 1000


def test_what_is_tested_was_not_trained_and_has_its_length():
    training, test_sets = numbers(300, 20, seed=0)
    assert len(training) == 300 and {*range(1, 100)} <= {*training}
    assert all(len(name(number, "english")) <= 10 for number in training)
    for length, (least, most) in LENGTHS.items():
        assert len(test_sets[length]) == 20 and not {*test_sets[length]} & {*training}
        assert all(least <= len(name(number, "english")) <= most for number in test_sets[length])
    assert (training, test_sets) == numbers(300, 20, seed=0) != numbers(300, 20, seed=1)
    with pytest.raises(ValueError, match=r"train=98 .* 99, .* test=0 .* 1"):
        numbers(98, 0, seed=0)


def test_labels_are_the_target_one_word_further():
    words = Words(range(1, 100), "english", "german")
    pairs = words.batch([21, 7])
    assert pairs.lengths.tolist() == [2, 1]
    assert pairs.target[:, 0].tolist() == [START, START]
    assert pairs.labels[0].tolist() == [*pairs.target[0, 1:].tolist(), END]
    assert pairs.labels[1].tolist() == [words.target["sieben"], END, -100, -100]
    assert words.decode(pairs.labels[0].tolist()) == "ein und zwanzig"


def test_a_word_that_training_lacks_is_named():
    with pytest.raises(ValueError, match=r"'hundred' .* 27 words"):
        Words(range(1, 100), "english", "german").batch([100])


def test_an_epoch_has_every_number_once(g):
    words = Words(range(1, 100), "english", "french")
    batches = list(words.batches(range(1, 100), 16, g))
    rows = [row[row > END].tolist() for batch in batches for row in batch.target]
    expected = [[words.target[word] for word in name(number, "french")] for number in range(1, 100)]
    assert sorted(rows) == sorted(expected)
