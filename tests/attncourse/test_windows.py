"""Windows of texts: each token is asked for once, and a drawn window may begin anywhere."""

from collections import Counter

import pytest
import torch

from attncourse.data import NO_LABEL, PADDING, Address, BytePairs, WindowBatch, Windower
from attncourse.data.windows import DECADES, make_batch

# its tokens are bytes: 256 is the start, 257 is any decade, 258 the first of them
BYTES = BytePairs([])
START, ANY_DECADE = 256, 257
# no byte stands twice, so that a token says its text and its place
LENGTHS = [9, 1, 5, 0, 2, 12, 10, 6]
YEARS = [1790, 1795, 1801, 1866, 1900, 1973, 2019, 2026]


def texts(lengths=LENGTHS) -> list[Address]:
    characters = map(chr, range(ord("!"), 127))
    return [
        Address(year, "".join(next(characters) for _ in range(length)))
        for year, length in zip(YEARS, lengths, strict=False)
    ]


def labels_that_count(window: tuple[torch.Tensor, torch.Tensor]) -> list[int]:
    """The labels of a window that count."""
    return [label for label in window[1].tolist() if label != NO_LABEL]


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("length", [3, 4, 7, 14, 128])
def test_each_token_of_each_text_is_a_label_once_and_no_window_crosses_texts(length, size):
    batches = list(Windower(BYTES, length).batches(texts(), size))
    assert all(len(batch.tokens) == size for batch in batches[:-1])
    windows = [window for batch in batches for window in zip(*batch, strict=True)]
    expected = [
        [*text.text[start : start + length - 2].encode()]
        for text in texts()
        for start in range(0, len(text.text), length - 2)
    ]
    assert [labels_that_count(window) for window in windows] == expected
    decades = {letter: text.decade for text in texts() for letter in text.text.encode()}
    for tokens, labels in windows:
        decade = decades[labels_that_count((tokens, labels))[0]]
        assert tokens[:2].tolist() == [START, ANY_DECADE + 1 + DECADES.index(decade)]


def test_tokens_and_labels_go_to_another_device():
    batch = WindowBatch(torch.zeros(2, 3, dtype=int), torch.zeros(2, 4, dtype=int)).to("meta")
    assert [(x.device.type, x.shape[1]) for x in batch] == [("meta", 3), ("meta", 4)]


def test_the_labels_are_the_next_tokens_and_neither_the_prefix_nor_padding_is_one():
    batches = Windower(BYTES, 6).batches([Address(1801, "abcdef"), Address(1790, "xyz")], 9)
    (windows,) = batches
    a, b, c, d, e, f, x, y, z = b"abcdefxyz"
    assert windows.tokens.tolist() == [
        [START, ANY_DECADE + 2, a, b, c],
        [START, ANY_DECADE + 2, e, PADDING, PADDING],
        [START, ANY_DECADE + 1, x, y, PADDING],
    ]
    none = NO_LABEL
    assert windows.labels.tolist() == [
        [none, a, b, c, d],
        [none, e, f, none, none],
        [none, x, y, z, none],
    ]
    assert windows.tokens.dtype == windows.labels.dtype == torch.int64
    assert len(windows.inputs) == 1 and windows.inputs[0] is windows.tokens


def test_a_window_has_no_more_tokens_than_its_length_says():
    for length in (3, 8):
        (windows,) = Windower(BYTES, length).batches([Address(1790, "a" * 50)], 99)
        # the last of the window is a label alone
        assert windows.tokens.shape[-1] == length - 1


def test_texts_without_a_token_make_no_window():
    assert [*Windower(BYTES, 8).batches([], 4)] == []
    assert [*Windower(BYTES, 8).batches([Address(1790, "")], 4)] == []


def test_pieces_are_merged_in_a_whole_text_before_it_is_cut():
    pairs = BytePairs([(ord("a"), ord("b"))])
    (windows,) = Windower(pairs, 4).batches([Address(1790, "xabab")], 9)
    assert windows.labels[:, 1:].tolist() == [[ord("x"), 256], [256, NO_LABEL]]
    assert windows.tokens[0, :2].tolist() == [257, 259]


def test_a_drawn_window_begins_at_every_place_equally_often(g):
    windower, addresses = Windower(BYTES, 6), texts([9, 1, 5, 4, 2, 12])
    batches = [*windower.random_batches(addresses, 500, 18, g)]
    assert len(batches) == 18 and all(len(batch.tokens) == 500 for batch in batches)
    counts = Counter(
        tuple(labels_that_count(window)) for batch in batches for window in zip(*batch, strict=True)
    )
    # the whole of a short text, four tokens at each place of a longer one
    expected = {
        tuple(address.text[start : start + 4].encode())
        for address in addresses
        for start in range(max(1, len(address.text) - 3))
    }
    assert len(expected) == 6 + 1 + 2 + 1 + 1 + 9 and set(counts) == expected
    # of 9,000 windows 450 begin at each of 20 places, give or take 20.7
    assert all(abs(count - 450) < 4 * 20.7 for count in counts.values())
    spread = sum((count - 450) ** 2 for count in counts.values()) / 450
    # chi-squared of 19 degrees of freedom: between 5 and 44 but for 2 in 1,000
    assert 5 < spread < 44


def test_a_drawn_window_has_the_decade_of_its_text(g):
    addresses = texts([9, 1, 5, 2, 12])
    decades = {letter: address.decade for address in addresses for letter in address.text.encode()}
    for windows in Windower(BYTES, 6).random_batches(addresses, 50, 3, g):
        for tokens, labels in zip(*windows, strict=True):
            pairs = labels_that_count((tokens, labels))
            decade = ANY_DECADE + 1 + DECADES.index(decades[pairs[0]])
            assert tokens[: len(pairs) + 1].tolist() == [START, decade, *pairs[:-1]]
            assert labels[0] == NO_LABEL


def test_which_windows_are_drawn_is_the_generators():
    windower = Windower(BYTES, 6)
    runs = [
        [batch.tokens.tolist() for batch in windower.random_batches(texts(), 20, 2, g)]
        for g in (torch.Generator().manual_seed(seed) for seed in (0, 0, 1))
    ]
    assert runs[0] == runs[1] != runs[2]
    assert runs[0][0] != runs[0][1]
    assert [*windower.random_batches(texts(), 20, 0, torch.Generator())] == []


def test_each_decade_and_any_have_a_token_of_their_own_after_those_of_the_text():
    windower = Windower(BYTES)
    second = [windower.prefix(decade)[1] for decade in (None, *DECADES)]
    assert second == [*range(ANY_DECADE, windower.vocabulary)]
    assert windower.vocabulary == 256 + 26 and len(DECADES) == 24
    assert {windower.prefix(decade)[0] for decade in (None, *DECADES)} == {START}


def test_undated_windows_all_begin_with_the_token_of_any_decade(g):
    undated = Windower(BYTES, 6, dated=False)
    assert undated.vocabulary == Windower(BYTES, 6).vocabulary
    dated = [*Windower(BYTES, 6).batches(texts(), 4)]
    for batch, other in zip(undated.batches(texts(), 4), dated, strict=True):
        assert (batch.tokens[:, 1] == ANY_DECADE).all() and (other.tokens[:, 1] > ANY_DECADE).all()
        assert batch.tokens[:, 2:].equal(other.tokens[:, 2:]) and batch.labels.equal(other.labels)
    for batch in undated.random_batches(texts([9, 5]), 20, 1, g):
        assert (batch.tokens[:, 1] == ANY_DECADE).all()


def test_rows_of_no_more_than_a_prefix_have_nothing_to_ask_for():
    windows = make_batch([[START, ANY_DECADE], [START, ANY_DECADE, 7]])
    assert isinstance(windows, WindowBatch)
    assert windows.tokens.tolist() == [[START, PADDING], [START, ANY_DECADE]]
    assert windows.labels.tolist() == [[NO_LABEL, NO_LABEL], [NO_LABEL, 7]]


@pytest.mark.parametrize("length", [2, 0, -1])
def test_a_window_without_room_for_a_text_is_refused(length):
    with pytest.raises(ValueError, match=f"length={length}.* 3"):
        Windower(BYTES, length)


@pytest.mark.parametrize("decade", [1780, 1795, 2030])
@pytest.mark.parametrize("dated", [True, False])
def test_a_decade_that_has_no_token_is_refused(decade, dated):
    with pytest.raises(ValueError, match=f"decade={decade}.* 1790, .* 2020"):
        Windower(BYTES, 6, dated).prefix(decade)


def test_a_text_of_a_year_that_has_no_token_is_refused(g):
    addresses = [Address(1789, "abc")]
    for windows in (
        Windower(BYTES, 6).batches(addresses, 2),
        Windower(BYTES, 6).random_batches(addresses, 2, 1, g),
    ):
        with pytest.raises(ValueError, match="decade=1780"):
            next(windows)


def test_texts_without_a_token_cannot_be_drawn_from(g):
    with pytest.raises(ValueError, match="2 texts"):
        next(
            Windower(BytePairs([])).random_batches([Address(1900, ""), Address(1901, "")], 2, 1, g)
        )
