"""The sentence that the chapters look into, and the trained models that read it."""

import csv

import pytest
import torch

from attncourse import english
from attncourse.course.multi_head.claims import weights_of_the_model
from attncourse.data import addresses
from attncourse.stored import FOLDER
from tests import ROOT

SMALL = ("gpt", "lstm", "linear", "one_block", "one_block_without_positions")


@pytest.fixture(scope="module")
def model():
    """The full model that comes with the course."""
    return english.model("english")


def test_every_word_of_the_sentence_is_one_token():
    words = english.SENTENCE.removesuffix(".").split()
    assert english.pieces() == [*words, "."]
    assert english.tokens().shape == (1, 2 + len(words) + 1)
    assert {english.CUE, english.TARGET, english.CONTROL} <= {*words}


def test_no_address_has_the_sentence():
    archive = addresses()
    texts = (*archive.train, *archive.validation, *archive.test)
    assert not any(english.SENTENCE in text.text for text in texts)


def test_in_every_full_model_than_waits_for_more_and_not_for_people():
    with (ROOT / "benchmarks" / "results" / "sentence.csv").open(encoding="utf-8") as file:
        rows = [
            {name: float(x) for name, x in row.items() if name != "model"}
            for row in csv.DictReader(file)
        ]
    assert [row["seed"] for row in rows] == [*range(len(rows))] and len(rows) == 3
    for row in rows:
        assert row[english.CUE] >= 1 and abs(row[english.CONTROL]) < 0.1
    # what the page says of the other trainings
    page = (ROOT / "chapters" / "multi_head.md").read_text("utf-8")
    numbers = (
        f"one in block {rows[1]['block']:.0f} and one in block {rows[2]['block']:.0f}. "
        f'At "today", they put {rows[1]["weight"]:.3f} and {rows[2]["weight"]:.3f} of their weight '
        'on "more".'
    )
    assert numbers in page
    assert [row["block"] for row in rows] == [2, 3, 2]


def test_the_chapter_says_where_four_heads_look():
    words, weights = english.pieces(), weights_of_the_model()[:, :, 2:]
    own, more = torch.arange(2, 2 + len(words)), 2 + words.index(english.CUE)
    page = (ROOT / "chapters" / "multi_head.md").read_text("utf-8")

    def words_at(rows: torch.Tensor) -> list[str]:
        return [word for word, is_at in zip(words, rows, strict=True) if is_at]

    assert words_at(weights[0, 1].argmax(-1) != own) == ["is", "this", "was"]
    assert 'to the word that asks, except at "is", "this" and "was".' in page
    assert words_at(weights[1, 0].argmax(-1) != own - 1) == ["year"]
    assert 'to the token before, except at "year".' in page
    assert words_at(weights[2, 0, :, more] > 0.3) == [*"work country today than ago .".split()]
    assert '"more" at "work", "country", "ago", the full stop and,' in page
    largest, was = weights[2, 2].argmax(-1) - 2, words.index("was")
    assert (largest == words.index("is")).sum() == 8 and len(words) == 15
    assert (largest == was).sum() == 4 and len(words) - was == 5
    assert 'at 8 of the 15 words, its largest weight is on "is", and at 4 of the 5 from' in page


def test_the_stored_line_is_what_the_stored_model_says(model):
    with (ROOT / "benchmarks" / "results" / "sentence.csv").open(encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    index, costs = (
        english.pieces().index(english.TARGET),
        english.costs_of_hiding(model, english.tokens()),
    )
    cue_cost, control_cost = (
        costs[english.pieces().index(word), index].item() for word in (english.CUE, english.CONTROL)
    )
    assert cue_cost == pytest.approx(float(row[english.CUE]), abs=1e-3)
    assert control_cost == pytest.approx(float(row[english.CONTROL]), abs=1e-3)


def test_a_hidden_word_costs_nothing_before_it_and_nothing_at_itself(model):
    costs = english.costs_of_hiding(model, english.tokens())
    assert costs.tril().abs().max() < 1e-5
    assert costs.triu(1).abs().max() > 1


def test_as_many_last_words_as_there_are_is_all_of_them(model):
    tokens = english.tokens()
    full, short = (
        english.surprisals(model, tokens)[0],
        english.surprisals_of_last(model, tokens, 20),
    )
    torch.testing.assert_close(short, full, atol=1e-4, rtol=1e-4)
    last_word_only = english.surprisals_of_last(model, tokens, 1)
    two = torch.cat([tokens[:, :2], tokens[:, 9:11]], dim=1)
    assert last_word_only[8].item() == pytest.approx(
        english.surprisals(model, two)[0, -1].item(), abs=1e-4
    )


def test_after_the_last_block_stands_what_the_model_says(model):
    text, following = "There is more work in this country today", [" than", ".", ","]
    by_block = english.next_probabilities_by_block(model, text, following)
    assert by_block.shape == (len(model.stack.blocks) + 1, 3)
    torch.testing.assert_close(by_block[-1], english.next_probabilities(model, text, following))


def test_a_word_of_several_tokens_is_refused(model):
    with pytest.raises(ValueError, match=r"\[' otters'\]: each should be one token"):
        english.next_probabilities(model, "We have", [" more", " otters"])


def test_nothing_moves_if_nothing_changes_and_all_moves_at_most():
    tokens, other_tokens = english.tokens(), english.tokens("They have more people at work today.")
    assert not english.total_variation(english.model_or_lstm("gpt"), tokens, tokens).any()
    far = english.total_variation(
        english.model_or_lstm("gpt"),
        english.tokens("We have more people at work today."),
        other_tokens,
    )
    assert 0 < far.min() and far.max() < 1


def test_there_are_five_small_models_of_at_most_400_kilobytes():
    files = {name: FOLDER / f"{name}.js" for name in SMALL}
    assert {path.stem for path in FOLDER.glob("*.js")} == {
        *SMALL,
        "english",
        "copier_1",
        "copier_2",
    }
    assert all(path.stat().st_size <= 400_000 for path in files.values())


def test_the_lstm_and_the_gpt_have_as_many_parameters():
    lstm, gpt, linear = (
        sum(parameter.numel() for parameter in english.model_or_lstm(name).parameters())
        for name in ("lstm", "gpt", "linear")
    )
    assert gpt == linear and abs(lstm / gpt - 1) < 0.01


def test_without_positions_order_is_not_seen_and_with_them_it_is():
    sentence, shuffled = "We have more people at work", "at people more have We work"
    following = ["ed", ".", " to"]
    for name, is_equal in (("one_block_without_positions", True), ("one_block", False)):
        first, second = (
            english.next_probabilities(english.model(name), text, following)
            for text in (sentence, shuffled)
        )
        assert torch.allclose(first, second, atol=1e-5) is is_equal
