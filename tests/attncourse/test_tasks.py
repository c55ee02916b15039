"""The models of the three tasks: no padding counts; trees and measures against loops."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attncourse.data import Sentence, Vocabulary, treebank
from attncourse.dot_product import attention, padding_mask
from attncourse.positional import SinusoidalEncoding, sinusoids, tree_distance
from attncourse.relative import RelativeAttention, relative_attention
from attncourse.tasks import (
    Classifier,
    Tagger,
    Translator,
    TreeAttention,
    WordEmbedding,
    confusion,
    exact_matches,
    mean_of_tokens,
)
from attncourse.transformer import Decoder, DecoderBlock, Embedding, Encoder, EncoderBlock
from tests.attncourse.gradients import assert_equal_with_gradients

START, STOP = 1, 2
PARENTS = torch.tensor([[-1, 0, 1, 1, -1], [2, 2, -1, -1, -1]])


def encoder(attend=attention) -> Encoder:
    return Encoder([EncoderBlock(8, 2, 16, attend)], nn.LayerNorm(8))


def translator() -> Translator:
    source, target = (Embedding(9, 8, SinusoidalEncoding(8)) for _ in range(2))
    decoder = Decoder([DecoderBlock(8, 2, 16)], nn.LayerNorm(8))
    return Translator(source, encoder(), target, decoder)


@pytest.fixture
def tokens(g) -> torch.Tensor:
    return torch.randint(3, 9, (2, 5), generator=g)


@pytest.mark.parametrize("attend", [lambda: attention, lambda: TreeAttention(4, 3, offsets=True)])
def test_padding_changes_no_label_of_a_tagger(attend, tokens):
    model = Tagger(WordEmbedding(9, 9, 8, SinusoidalEncoding(8)), encoder(attend()), 8, 4)
    outputs = model(tokens, tokens, torch.tensor([5, 3]), PARENTS)
    alone = model(tokens[1:, :3], tokens[1:, :3], torch.tensor([3]), PARENTS[1:, :3])
    torch.testing.assert_close(outputs[1:, :3], alone)


def test_padding_does_not_change_the_label_of_a_sequence(tokens):
    model = Classifier(Embedding(9, 8), encoder(), 8, 2)
    outputs = model(tokens, torch.tensor([5, 3]))
    torch.testing.assert_close(outputs[1:], model(tokens[1:, :3], torch.tensor([3])))


def test_padding_does_not_change_a_translation(tokens):
    model = translator()
    outputs = model.translate(tokens, torch.tensor([5, 3]), START, STOP, 6)
    alone = model.translate(tokens[1:, :3], torch.tensor([3]), START, STOP, 6)
    assert outputs[1:, : alone.shape[1]].equal(alone)


def test_a_translation_is_what_the_scores_of_the_whole_text_say(tokens):
    model, lengths = translator(), torch.tensor([5, 3])
    outputs = model.translate(tokens, lengths, START, STOP, 6)
    target = torch.cat([torch.full((2, 1), START), outputs], dim=1)
    best = model(tokens, target[:, :-1], lengths).argmax(-1)
    ended = (outputs == STOP).cumsum(-1) > (outputs == STOP)
    assert ((best == outputs) | ended).all()


def test_a_translation_ends_with_the_stop_token(tokens):
    model, source = translator(), (tokens[:1], torch.tensor([5]))
    first = model.translate(*source, START, STOP, 6)[0, 0].item()
    assert model.translate(*source, START, first, 6).tolist() == [[first]]


@pytest.mark.parametrize("offsets", [False, True])
def test_tree_attention_equals_a_loop_over_pairs_with_its_gradients(offsets, g):
    q, k, v = qkv = [x.requires_grad_() for x in torch.randn(3, 2, 2, 5, 4, generator=g).double()]
    attend = TreeAttention(4, 2, offsets).double()
    attend.parents = PARENTS
    distance, expected = tree_distance(PARENTS), []
    for b in range(2):
        for i in range(5):
            rows = []
            for j in range(5):
                row = max(-2, min(2, distance[b, i, j].item())) + 2
                rows.append(row * 5 + max(-2, min(2, j - i)) + 2 if offsets else row)
            scores = (q[b, :, i, None] * (k[b] + attend.a_k[rows])).sum(-1) / 2
            expected.append(scores.softmax(-1)[:, None] @ (v[b] + attend.a_v[rows]))
    theirs = torch.cat(expected, dim=1).unflatten(1, (2, 5)).transpose(0, 1)
    assert_equal_with_gradients(attend(*qkv), theirs, [*qkv, *attend.parameters()])


def test_on_a_chain_the_distance_in_the_tree_is_the_offset(g):
    q, k, v = torch.randn(3, 1, 2, 5, 4, generator=g)
    attend = TreeAttention(4, 3)
    attend.parents = torch.tensor([[-1, 0, 1, 2, 3]])
    expected = relative_attention(q, k, v, attend.a_k, attend.a_v)
    torch.testing.assert_close(attend(q, k, v), expected)


def test_tree_attention_starts_as_relative_attention_does():
    sizes = [kind(8, 4).a_k.std().item() for kind in (TreeAttention, RelativeAttention)]
    assert 0.5 < sizes[0] / sizes[1] < 2


def test_the_mean_counts_no_padding(g):
    x = torch.randn(2, 3, 4, generator=g).requires_grad_()
    real = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.stack([x[0, :2].mean(0), torch.zeros(4)])
    assert_equal_with_gradients(mean_of_tokens(x, real), expected, [x])


def test_tagger_and_classifier_are_their_parts_with_their_gradients(tokens):
    lengths, mask = torch.tensor([5, 3]), padding_mask(torch.tensor([5, 3]), 5)
    words = WordEmbedding(9, 9, 8, SinusoidalEncoding(8))
    tagger, classifier = Tagger(words, encoder(), 8, 4), Classifier(words.words, encoder(), 8, 2)
    vectors = F.embedding(tokens, words.words.weight)
    x = vectors + F.embedding(8 - tokens, words.suffixes.weight) + sinusoids(5, 8)
    labels = F.linear(tagger.encoder(x, mask), tagger.label.weight, tagger.label.bias)
    assert_equal_with_gradients(
        tagger(tokens, 8 - tokens, lengths, PARENTS), labels, [*tagger.parameters()]
    )
    rows = classifier.encoder(vectors, mask)
    means = torch.stack([row[:n].mean(0) for row, n in zip(rows, [5, 3], strict=True)])
    label = F.linear(means, classifier.label.weight, classifier.label.bias)
    assert_equal_with_gradients(classifier(tokens, lengths), label, [*classifier.parameters()])


def test_confusion_has_a_row_for_each_label_and_leaves_out_what_has_none():
    predicted = torch.tensor([[0, 1, 1], [2, 2, 0]])
    labels = torch.tensor([[0, 1, 0], [2, 1, -100]])
    expected = torch.tensor([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
    assert confusion(predicted, labels, 3).equal(expected)


def test_a_text_matches_only_if_every_token_does():
    labels = torch.tensor([[5, STOP, -100], [5, 6, STOP], [5, STOP, -100]])
    assert exact_matches(torch.tensor([[5, 2, 2], [5, 6, 6], [6, 2, 2]]), labels).tolist() == [
        True,
        False,
        False,
    ]
    assert exact_matches(torch.tensor([[5, 2], [5, 6], [5, 2]]), labels).tolist() == [
        True,
        False,
        True,
    ]


def test_a_word_that_the_table_lacks_is_named(tokens):
    with pytest.raises(ValueError, match=r"token 9 .* 9"):
        WordEmbedding(9, 10, 8)(torch.full_like(tokens, 9), tokens)


def test_sentences_without_words_make_an_empty_batch_of_labels():
    empty = Sentence((), (), (), ())
    vocabulary = Vocabulary(treebank(offline=True))
    sizes = len(vocabulary.words) + 2, len(vocabulary.suffixes) + 2
    model = Tagger(WordEmbedding(*sizes, 8), encoder(), 8, len(vocabulary.labels))
    scores = model(*vocabulary.batch([empty, empty]).inputs)
    assert scores.shape == (2, 0, len(vocabulary.labels))
