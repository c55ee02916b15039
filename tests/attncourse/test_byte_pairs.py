"""Byte-pair encoding: the library `tokenizers` learns the same merges and makes the same tokens."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from attncourse.data import BytePairs, addresses, excerpts, learn_pairs, stored_pairs
from attncourse.data.byte_pairs import BYTES, PIECE, merge

STORED = stored_pairs()
SAMPLE = addresses(offline=True)
TEXTS = [*SAMPLE.train, *SAMPLE.validation, *SAMPLE.test, *excerpts()]
# GPT-2's pattern in Unicode classes, except that only digits count as numbers
UNICODE_PATTERN = r" ?[\p{L}\p{Nl}\p{No}]+| ?\p{Nd}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
STRINGS = [
    "",
    " ",
    "a",
    "We can’t, “they” say—naïve café, Ångström, cafe\u0301",
    "a flag 🇺🇸, a smile 😀😀, a family 👨‍👩‍👧",
    "tabs\tand\t\ttwo, blanks  and   three    four ",
    "_a snake_case_name_ __twice__ 1_000",
    "in 1860, 1,234,567 of 3½% or x² and Ⅷ",
    "lines\nand\n\nthree\n\n\n of them \n \n",
    " \n\t leading\u00a0and trailing \r\n",
    "the Government of the United States",
]
# characters that both Unicode versions class alike; Python alone takes four separators for blanks
characters = st.characters(
    max_codepoint=0x36F, exclude_categories=["Cn"], exclude_characters="\x1c\x1d\x1e\x1f"
) | st.sampled_from("  \n\t_—“”’€😀")


def tokenizers_equivalent(pairs: BytePairs) -> Tokenizer:
    """A tokenizer of the library with the same merges and token ids."""
    # a printable character for each byte, its own where that is printable
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    substitutes = iter(range(256, 512))
    symbols = [chr(byte if byte in printable else next(substitutes)) for byte in range(BYTES)]
    names = ["".join(symbols[byte] for byte in piece) for piece in pairs.bytes]
    tokenizer = Tokenizer(
        models.BPE(
            {name: token for token, name in enumerate(names)},
            [(names[first], names[second]) for first, second in pairs.merges],
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(UNICODE_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


LIBRARY = tokenizers_equivalent(STORED)


@pytest.mark.parametrize("text", [text.text for text in TEXTS], ids=[text.year for text in TEXTS])
def test_the_tokens_of_a_text_are_the_librarys(text):
    assert STORED.encode(text) == LIBRARY.encode(text).ids
    assert STORED.decode(STORED.encode(text)) == text


@pytest.mark.parametrize("text", STRINGS, ids=range(len(STRINGS)))
def test_the_tokens_of_unusual_strings_are_the_librarys(text):
    assert STORED.encode(text) == LIBRARY.encode(text).ids
    assert STORED.decode(STORED.encode(text)) == text


@settings(max_examples=100, deadline=None)
@given(text=st.text(characters, max_size=30))
def test_the_tokens_of_any_string_are_the_librarys(text):
    assert STORED.encode(text) == LIBRARY.encode(text).ids


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=30))
def test_the_tokens_of_any_string_give_it_back(text):
    tokens = STORED.encode(text)
    assert STORED.decode(tokens) == text
    assert len(tokens) <= len(text.encode())
    # the bytes alone give it back, too
    assert BytePairs([]).encode(text) == [*text.encode()]


def library_merges(text: str, vocabulary: int) -> list[tuple[int, int]]:
    """The merges that the library's trainer learns, with bytes as Latin-1 characters."""
    tokenizer = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=[chr(byte) for byte in range(BYTES)],
        special_tokens=[],
        show_progress=False,
    )
    pieces = [piece.encode().decode("latin-1") for piece in PIECE.findall(text)]
    tokenizer.train_from_iterator(pieces, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return [(model["vocab"][first], model["vocab"][second]) for first, second in model["merges"]]


@pytest.mark.parametrize(
    ("text", "vocabulary"),
    [
        (excerpts()[3].text, 600),
        # nearly all its pairs are as common as others
        (SAMPLE.test[0].text, 400),
        ("aaaa aaa aaaaa bbbb é ééé 😀😀 abab abababa", 275),
    ],
    ids=["an excerpt", "a short text", "repeats"],
)
def test_the_pairs_that_are_learned_are_the_librarys(text, vocabulary):
    pairs = learn_pairs(text, vocabulary)
    assert len(pairs) == vocabulary - BYTES
    assert pairs == library_merges(text, vocabulary)


def test_of_equally_common_pairs_the_one_of_smaller_tokens_is_merged():
    assert learn_pairs("cb ab ca", BYTES + 1) == [(ord(" "), ord("a"))]
    assert learn_pairs("bd\nbc\nad", BYTES + 3) == [
        (ord("a"), ord("d")),
        (ord("b"), ord("c")),
        (ord("b"), ord("d")),
    ]
    # no pair goes beyond a piece, such as a word with the blank before it
    assert learn_pairs("b b b a a a xy", BYTES + 1) == [(ord(" "), ord("a"))]


def test_of_pairs_that_overlap_the_first_is_merged():
    assert merge([1, 1, 1], (1, 1), 9) == [9, 1]
    assert merge([1, 1, 1, 1, 2, 1], (1, 1), 9) == [9, 9, 2, 1]
    assert merge([1, 2, 1, 2, 2], (1, 2), 9) == [9, 9, 2]
    assert merge([], (1, 1), 9) == merge([], (2, 1), 9) == []


def test_the_earliest_pair_of_the_list_is_merged_first():
    pairs = BytePairs([(98, 99), (97, 98), (97, 256)])
    assert pairs.encode("abc") == [258] and pairs.encode("abd") == [257, 100]
    assert pairs.decode([258, 257, 256]) == "abcabbc"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Hello, world", ["Hello", ",", " world"]),
        ("in 1860 3x", ["in", " 1860", " 3", "x"]),
        ("a_b _", ["a", "_", "b", " _"]),
        ("$5--no!", ["$", "5", "--", "no", "!"]),
        ("a   b\n\n c", ["a", "  ", " b", "\n\n", " c"]),
        ("a \n", ["a", " \n"]),
        ("a\tb\t\tc", ["a", "\t", "b", "\t", "\t", "c"]),
        ("it's Île", ["it", "'", "s", " Île"]),
    ],
)
def test_a_piece_has_letters_digits_or_signs_and_the_blank_before_them(text, pieces):
    assert PIECE.findall(text) == pieces


def test_an_emoji_is_its_four_bytes():
    assert STORED.encode("😀") == [0xF0, 0x9F, 0x98, 0x80]


def test_bytes_that_are_no_character_become_its_replacement():
    assert STORED.decode([0xF0, 0x9F, 0x98]) == "\ufffd"
    assert STORED.decode([*b"a", 0xFF, *b"b"]) == "a\ufffdb"
    assert STORED.decode([]) == ""


def test_where_nothing_is_left_to_merge_the_error_says_after_how_many():
    assert learn_pairs("ab ab", 258) == [(97, 98), (32, 256)]
    with pytest.raises(ValueError, match=r"vocabulary=300.* 258 tokens"):
        learn_pairs("ab ab", 300)
    with pytest.raises(ValueError, match=r"vocabulary=257.* 256 tokens"):
        learn_pairs("", 257)
    assert learn_pairs("", BYTES) == []


def test_the_stored_pairs_make_2048_different_tokens():
    assert len(STORED) == len(set(STORED.bytes)) == 2048
    assert [*STORED.merges.values()] == [*range(BYTES, 2048)]


def test_each_stored_token_lies_within_a_piece_and_is_what_its_bytes_become():
    for token, content in enumerate(STORED.bytes[BYTES:], BYTES):
        text = content.decode(errors="ignore")
        if text.encode() == content:
            assert PIECE.fullmatch(text) and STORED.piece_tokens(text) == [token]


def test_a_stored_token_is_more_than_three_letters_of_a_text_it_has_not_learned_from():
    text = "".join(excerpt.text for excerpt in excerpts())
    assert len(text) > 3 * len(STORED.encode(text))


@pytest.mark.slow
def test_the_stored_pairs_are_those_the_library_learns_from_the_training_addresses():
    archive = addresses()
    if archive.sample:
        pytest.skip(f"the addresses cannot be had: {archive.why}")
    text = "\n".join(example.text for example in archive.train)
    assert library_merges(text, 2048) == [*STORED.merges]


def test_a_vocabulary_without_all_bytes_is_refused():
    with pytest.raises(ValueError, match=r"vocabulary=100.* 256"):
        learn_pairs("text", 100)
