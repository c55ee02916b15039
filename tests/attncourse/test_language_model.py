"""A language model and its measures against torch, counting, and hand-computed weights."""

import copy
import csv
import itertools
import math
import re
from collections import Counter
from fractions import Fraction
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attncourse import device
from attncourse.data import Address, BytePairs, Windower
from attncourse.data.windows import make_batch
from attncourse.efficient import flash_attention, grouped_query_attention
from attncourse.language_model import (
    BackOff,
    LSTMLanguageModel,
    bits_by_window,
    bits_per_character,
    bootstrap_interval,
    head_weights,
    induction_score,
    language_model,
    offset_score,
    perplexity,
    surprisal,
    without,
)
from attncourse.language_model.trace import trace
from attncourse.multi_head import join_heads
from attncourse.relative import RelativeAttention
from attncourse.train import fit, seeded
from attncourse.transformer import (
    ALiBiAttention,
    Causal,
    CausalLinearAttention,
    RotaryAttention,
    T5Attention,
    WindowedAttention,
)
from tests import ROOT
from tests.attncourse.gradients import assert_equal_with_gradients

# no two of them, nor the width of a head, are equal
VOCABULARY, D, HEADS, DEPTH, GROUPS = 9, 24, 4, 3, 2
IGNORED = -100
EXACT = {"rtol": 0, "atol": 1e-12}


def tokens(g, *shape):
    return torch.randint(VOCABULARY, shape, generator=g).to(device())


@pytest.fixture
def draw_labels(g):
    """Draws random labels, every third of which is ignored."""

    def draw(*shape, ignore=IGNORED):
        labels = torch.randint(1, VOCABULARY, shape, generator=g)
        labels.view(-1)[1::3] = ignore
        return labels

    return draw


# surprisal and perplexity


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 1), (2, 7), (2, 3, 4), (0,)])
@pytest.mark.parametrize("ignore", [IGNORED, 0])
def test_surprisal_is_torchs_cross_entropy_in_bits_with_its_gradients(
    shape, ignore, g, draw_labels
):
    scores = torch.randn(*shape, VOCABULARY, generator=g, dtype=torch.float64).requires_grad_()
    labels = draw_labels(*shape, ignore=ignore)
    # of torch, classes stand on the second axis
    nats = F.cross_entropy(
        scores.reshape(-1, VOCABULARY).T[None],
        labels.reshape(1, -1),
        ignore_index=ignore,
        reduction="none",
    )
    ours, theirs = surprisal(scores, labels, ignore), nats.view(shape) / math.log(2)
    assert ours.shape == labels.shape and ours.dtype == torch.float64
    torch.testing.assert_close(ours, theirs, **EXACT)
    assert ours[labels == ignore].eq(0).all()
    for our_gradient, their_gradient in zip(
        *(torch.autograd.grad(bits.square().sum(), scores) for bits in (ours, theirs)), strict=True
    ):
        torch.testing.assert_close(our_gradient, their_gradient)


def test_surprisal_is_minus_the_logarithm_of_a_probability():
    p = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64)
    # scores are probabilities' logarithms, but for a number that is the same for all
    scores = (p.log() + 7).expand(4, 4)
    bits = surprisal(scores, torch.tensor([0, 1, 2, 3]))
    torch.testing.assert_close(bits, torch.tensor([1.0, 2, 3, 3], dtype=torch.float64))
    assert perplexity(scores[:2], torch.tensor([0, 1])) == pytest.approx(2**1.5)


def test_one_that_finds_eight_tokens_equally_likely_has_a_perplexity_of_eight():
    scores, labels = torch.full((2, 5, 8), 3.0), torch.zeros(2, 5, dtype=torch.long)
    assert surprisal(scores, labels).sum() == pytest.approx(30)
    assert perplexity(scores, labels) == pytest.approx(8)


@pytest.mark.parametrize("shape", [(1,), (2, 7), (2, 3, 4)])
@pytest.mark.parametrize("ignore", [IGNORED, 0])
def test_perplexity_is_the_exponential_of_torchs_mean_loss(shape, ignore, g, draw_labels):
    scores = 3 * torch.randn(*shape, VOCABULARY, generator=g, dtype=torch.float64)
    labels = draw_labels(*shape, ignore=ignore)
    loss = F.cross_entropy(scores.view(-1, VOCABULARY), labels.view(-1), ignore_index=ignore)
    value = perplexity(scores, labels, ignore)
    assert isinstance(value, float) and value == pytest.approx(math.exp(loss), rel=1e-12)
    # what is ignored may have any scores
    scores[labels == ignore] *= 5
    assert perplexity(scores, labels, ignore) == value


def test_labels_none_of_which_counts_have_no_perplexity():
    scores = torch.zeros(2, 3, VOCABULARY)
    with pytest.raises(ValueError, match=r"labels=\(2, 3\).* -100"):
        perplexity(scores, torch.full((2, 3), IGNORED))
    with pytest.raises(ValueError, match=r"labels=\(2, 3\).* 7"):
        perplexity(scores, torch.full((2, 3), 7), ignore=7)


def test_the_bits_of_a_window_are_the_sum_of_its_labels(g):
    table = nn.Embedding(VOCABULARY, VOCABULARY)
    rows = [[1, 2, 3, 4, 5], [1, 2, 6], [3, 1, 4, 4], [2, 2]]
    batches = [make_batch(rows[:3]), make_batch(rows[3:])]
    bits = bits_by_window(table, batches)
    p = table.weight.detach().softmax(-1)
    expected = [sum(-math.log2(p[a, b]) for a, b in itertools.pairwise(row[1:])) for row in rows]
    assert bits.tolist() == pytest.approx(expected, rel=1e-5) and bits[3] == 0
    assert not bits.requires_grad


# the interval


def test_if_all_texts_cost_the_same_the_interval_is_a_point(g):
    characters = torch.tensor([3.0, 50.0, 200.0])
    assert bootstrap_interval(2 * characters, characters, g, draws=50) == pytest.approx((2, 2))


def test_the_interval_is_that_of_all_sets_of_texts_that_may_be_drawn(g):
    bits = torch.tensor([30.0, 90.0, 20.0, 400.0], dtype=torch.float64)
    characters = torch.tensor([10.0, 60.0, 20.0, 100.0], dtype=torch.float64)
    ratios = [
        bits[list(indices)].sum() / characters[list(indices)].sum()
        for indices in itertools.product(range(4), repeat=4)
    ]
    expected = torch.stack(ratios).quantile(torch.tensor([0.025, 0.975], dtype=torch.float64))
    low, high = bootstrap_interval(bits, characters, g, draws=20_000)
    # the sums of all texts lie within, and 5 of 256 sets do not
    assert low < (bits.sum() / characters.sum()).item() < high
    assert (low, high) == pytest.approx(expected.tolist(), abs=0.02)


def test_the_interval_of_many_alike_texts_is_that_of_a_mean(g):
    bits = 5 + torch.randn(400, generator=g)
    low, high = bootstrap_interval(bits, torch.ones(400), g)
    margin = 1.96 * bits.std().item() / 20
    expected = bits.mean().item() - margin, bits.mean().item() + margin
    assert (low, high) == pytest.approx(expected, abs=0.02)
    # few draws find less of it, and which they are is the generator's
    intervals = [
        bootstrap_interval(bits, torch.ones(400), torch.Generator().manual_seed(s))
        for s in (1, 1, 2)
    ]
    assert intervals[0] == intervals[1] != intervals[2]
    low, high = bootstrap_interval(bits, torch.ones(400), g, draws=1)
    assert low == high


# the models that count


def back_off_probabilities(rows, context, vocabulary, order, discount, first=0) -> list[Fraction]:
    """Next-token probabilities under absolute discounting, counted from rows, as fractions."""
    if order == 0:
        return [Fraction(1, vocabulary)] * vocabulary
    context = tuple(context[max(0, len(context) - order + 1) :])
    n = len(context)
    lower_order = back_off_probabilities(rows, context[1:], vocabulary, n, discount, first)
    counts = Counter(
        row[i]
        for row in rows
        for i in range(max(first, n), len(row))
        if tuple(row[i - n : i]) == context
    )
    total = sum(counts.values())
    if not total:
        return lower_order
    unseen = sum(lower_order[token] for token in range(vocabulary) if token not in counts)
    if not unseen:
        seen_mass = total - discount * len(counts)
        return [(counts[token] - discount) / seen_mass for token in range(vocabulary)]
    freed = discount * len(counts) / total
    return [
        (counts[token] - discount) / total
        if token in counts
        else freed * lower_order[token] / unseen
        for token in range(vocabulary)
    ]


ROWS = [[0, 1, 2, 1, 2, 0, 1, 1], [2, 1, 2, 0], [3], [], [0, 1, 2, 3, 0, 1]]


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("discount", [Fraction(3, 4), Fraction(1, 8)])
@pytest.mark.parametrize("first", [0, 2])
def test_what_is_counted_is_what_loops_in_fractions_count(order, discount, first):
    model = BackOff(order, 5, float(discount))
    model.learn(ROWS, first)
    for n in range(4):
        for context in itertools.product(range(5), repeat=n):
            if n < max(order, 1):
                expected = back_off_probabilities(ROWS, context, 5, order, discount, first)
                p = model.after(context)
                assert p.tolist() == pytest.approx([*map(float, expected)], rel=1e-5)
                assert p.sum().item() == pytest.approx(1, abs=1e-6) and p.min() > 0


@pytest.mark.parametrize("order", range(4))
def test_each_row_of_scores_is_after_the_tokens_up_to_its_own(order, g):
    model = BackOff(order, 5)
    model.learn(ROWS)
    text = torch.randint(5, (2, 3, 6), generator=g)
    scores = model(text)
    assert scores.shape == (2, 3, 6, 5)
    for i, j, t in itertools.product(range(2), range(3), range(6)):
        expected = back_off_probabilities(
            ROWS, text[i, j, : t + 1].tolist(), 5, order, Fraction(3, 4)
        )
        assert scores[i, j, t].exp().tolist() == pytest.approx([*map(float, expected)], rel=1e-5)
    assert model(text[0, 0]).equal(scores[0, 0]) and model(text[:1, 1, :1]).shape == (1, 1, 5)


def test_seen_tokens_lose_the_discount_and_the_others_share_it_as_the_shorter_model_says():
    model = BackOff(2, 5, discount=0.5)
    model.learn(ROWS)
    after_2, unigram = model.after((2,)), model.after(())
    # after 2 came 0 twice, 1 twice, 3 once
    assert after_2[[0, 1, 3]].tolist() == pytest.approx([1.5 / 5, 1.5 / 5, 0.5 / 5])
    assert after_2[[2, 4]].sum().item() == pytest.approx(3 * 0.5 / 5)
    assert (after_2[2] / after_2[4]).item() == pytest.approx((unigram[2] / unigram[4]).item())
    # 4 never came: it has all that was taken off the others
    assert unigram[4].item() == pytest.approx(4 * 0.5 / 19)


def test_where_every_token_was_seen_nothing_is_lost():
    model = BackOff(2, 3, discount=0.5)
    model.learn([[0, 0, 0, 1, 0, 2, 1]])
    # 0 followed 0 twice, 1 and 2 once each
    assert model.after((0,)).tolist() == pytest.approx([1.5 / 2.5, 0.5 / 2.5, 0.5 / 2.5])
    assert model.after(()).tolist() == pytest.approx([3.5 / 5.5, 1.5 / 5.5, 0.5 / 5.5])
    one_token_model = BackOff(3, 1)
    one_token_model.learn([[0, 0, 0]])
    assert one_token_model(torch.zeros(2, 4, dtype=torch.long)).eq(0).all()


def test_of_order_0_all_tokens_are_equally_likely_before_and_after_learning():
    model = BackOff(0, 8)
    for _ in range(2):
        scores = model(torch.tensor([[1, 2, 3]]))
        assert perplexity(scores, torch.tensor([[2, 3, 3]])) == pytest.approx(8)
        model.learn(ROWS)
    # one that has learned nothing is as surprised
    assert BackOff(3, 8).after((1, 2)).tolist() == pytest.approx([1 / 8] * 8)


def test_what_is_learned_later_counts_as_what_is_learned_at_once():
    learned_at_once, learned_by_row = BackOff(3, 5), BackOff(3, 5)
    learned_at_once.learn(ROWS)
    for row in ROWS:
        # what it said before must not stay
        learned_by_row.after((1, 2))
        learned_by_row.learn([row])
    for context in ((), (2,), (1, 2), (4, 4)):
        assert learned_by_row.after(context).equal(learned_at_once.after(context))


def test_a_longer_memory_is_less_surprised_by_what_it_has_learned():
    row = [0, 1, 2, 0, 2, 1] * 4
    text = torch.tensor([row])
    texts_found = []
    for order in range(4):
        model = BackOff(order, 3)
        model.learn([row])
        texts_found.append(perplexity(model(text[:, :-1]), text[:, 1:]))
    assert (
        texts_found == sorted(texts_found, reverse=True)
        and texts_found[0] > 2.9
        and texts_found[3] < 1.3
    )


@pytest.mark.parametrize(
    ("order", "vocabulary", "discount"), [(-1, 5, 0.5), (2, 0, 0.5), (2, 5, 0.0), (2, 5, 1.0)]
)
def test_a_model_that_cannot_count_is_refused_with_its_numbers(order, vocabulary, discount):
    words = f"order={order} .* vocabulary={vocabulary} .* discount={discount}"
    with pytest.raises(ValueError, match=words):
        BackOff(order, vocabulary, discount)


# the models that are trained


def repeat_keys(k):
    """Repeat the keys of each group for its heads."""
    return k.repeat_interleave(HEADS // k.shape[-3], dim=-3)


# by name, a maker of the attention
ATTENTIONS = {
    "plain": Causal,
    "RoPE": None,
    "ALiBi": lambda: Causal(ALiBiAttention(HEADS)),
    "windowed": lambda: Causal(WindowedAttention(3)),
    "grouped": lambda: Causal(grouped_query_attention),
    "grouped RoPE": lambda: Causal(RotaryAttention(attend=grouped_query_attention)),
    "linear": CausalLinearAttention,
    "T5": lambda: Causal(T5Attention(HEADS, num_buckets=8, max_distance=6)),
    "Shaw's keys": lambda: Causal(RelativeAttention(D // HEADS, 2, values=False)),
    "flash": lambda: Causal(flash_attention),
    "RoPE in a window": lambda: Causal(WindowedAttention(5, RotaryAttention())),
}
ALL_ATTENTIONS = ATTENTIONS | {"Shaw": lambda: Causal(RelativeAttention(D // HEADS, 2))}


@pytest.fixture
def make_model(normal):
    """Makes a float64 model with an attention by name and random normal parameters."""

    def make(name="RoPE"):
        options = {} if ALL_ATTENTIONS[name] is None else {"attend": ALL_ATTENTIONS[name]}
        groups = GROUPS if name.startswith("grouped") else None
        model = language_model(VOCABULARY, D, HEADS, DEPTH, **options, groups=groups)
        model = model.to(device(), torch.float64)
        for weight in model.parameters():
            weight.data = normal(*weight.shape) / 2
        return model

    return make


def attention_inputs(model, text):
    """Yield the attention layer of each block with its input."""
    x = model.embedding(text)
    for block in model.stack.blocks:
        yield block.attention.part, block.attention.norm(x)
        x = block(x)


def hook_count(model) -> int:
    """The number of forward hooks in a model."""
    return sum(
        len(module._forward_pre_hooks) + len(module._forward_hooks) for module in model.modules()
    )


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_with_its_weights_a_block_does_what_its_attention_does(name, n, make_model, g):
    # of fewer tokens than a value has numbers, no other weights give the same
    model, text = make_model(name), tokens(g, 2, n)
    weights = head_weights(model, text)
    assert weights.shape == (DEPTH, 2, HEADS, n, n) and not weights.requires_grad
    for expected, (layer, x) in zip(weights, attention_inputs(model, text), strict=True):
        v = repeat_keys(layer.keys_values(x)[1])
        torch.testing.assert_close(layer.w_o(join_heads(expected @ v)), layer(x))
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    assert weights.triu(1).eq(0).all() and weights.min() >= 0


def test_looking_at_the_weights_leaves_the_model_as_it_was(make_model, g):
    model, text = make_model(), tokens(g, 2, 5)
    expected, weights = model(text), copy.deepcopy(model.state_dict())
    head_weights(model, text)
    assert model(text).equal(expected) and hook_count(model) == 0
    assert all(x.equal(weights[name]) for name, x in model.state_dict().items())
    with pytest.raises(ValueError, match=r"token 9 .* 9"):
        head_weights(model, torch.full_like(text, 9))
    assert hook_count(model) == 0 and model(text).equal(expected)


@pytest.mark.parametrize("name", ["RoPE", "grouped"])
@pytest.mark.parametrize(
    "heads",
    [[], [(0, 0)], [(1, HEADS - 1)], [(0, 1), (0, 3), (1, 2)], [(1, h) for h in range(HEADS)]],
    ids=len,
)
def test_without_a_head_is_with_zeros_in_the_columns_that_read_it(name, heads, make_model, g):
    model, text = make_model(name), tokens(g, 2, 5)
    expected, other_model = model(text), copy.deepcopy(model)
    width = D // HEADS
    for block, head in heads:
        w_o = other_model.stack.blocks[block].attention.part.w_o
        w_o.weight.data[:, head * width : (head + 1) * width] = 0
    with without(model, iter(heads)):
        ablated = model(text)
    torch.testing.assert_close(ablated, other_model(text), **EXACT)
    assert ablated.equal(expected) == (not heads)
    assert model(text).equal(expected) and hook_count(model) == 0
    ours, theirs = (
        torch.autograd.grad(scores.square().sum(), [*language_model.parameters()])
        for scores, language_model in ((ablated, model), (other_model(text), other_model))
    )
    outputs = {f"stack.blocks.{block}.attention.part.w_o.weight" for block, _ in heads}
    for (parameter_name, _), a, b in zip(model.named_parameters(), ours, theirs, strict=True):
        # what is 0 in the model with zeros may have a gradient there
        if parameter_name not in outputs:
            torch.testing.assert_close(a, b)


def test_without_all_heads_of_all_blocks_a_token_is_alone(make_model, g):
    model, text = make_model(), tokens(g, 2, 5)
    with without(model, itertools.product(range(DEPTH), range(HEADS))):
        torch.testing.assert_close(model(text)[:, 4:], model(text[:, 4:]))
    assert (model(text)[:, 4:] - model(text[:, 4:])).abs().max() > 1e-3


def test_without_a_head_of_the_first_block_the_weights_of_the_second_change(make_model, g):
    model, text = make_model(), tokens(g, 2, 5)
    full = head_weights(model, text)
    with without(model, [(0, 1)]):
        ablated = head_weights(model, text)
    assert ablated[0].equal(full[0])
    assert (ablated[1] - full[1]).abs().amax((0, 2, 3)).min() > 1e-3


def test_after_an_error_the_heads_are_there_again(make_model, g):
    model, text = make_model(), tokens(g, 2, 5)
    expected = model(text)
    with pytest.raises(ZeroDivisionError), without(model, [(0, 1), (1, 1)]):
        raise ZeroDivisionError
    assert hook_count(model) == 0 and model(text).equal(expected)


@pytest.mark.parametrize(("block", "head"), [(DEPTH, 0), (-1, 0), (0, HEADS), (1, -1)])
def test_a_head_that_is_not_there_is_named_and_none_is_taken_away(block, head, make_model):
    model = make_model()
    with (
        pytest.raises(ValueError, match=f"head {head} .* block {block} of {DEPTH}"),
        without(model, [(0, 0), (block, head)]),
    ):
        pass
    assert hook_count(model) == 0


# where the heads look


@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (2, 5, 5), (2, 3, 4, 4)])
def test_the_scores_of_heads_are_means_by_loops(shape, g):
    weights, n = torch.rand(shape, generator=g, dtype=torch.float64), shape[-1]
    rows = weights.reshape(-1, n, n).tolist()
    for offset in range(n):
        expected = [
            sum(row[i][i - offset] for i in range(offset, n)) / (n - offset) for row in rows
        ]
        score = offset_score(weights, offset)
        assert score.shape == shape[:-2] and score.flatten().tolist() == pytest.approx(expected)
    for period in range(1, n):
        # token i stood at i - period, too, and there was followed by the next
        expected = [
            sum(row[i][i - period + 1] for i in range(period, n)) / (n - period) for row in rows
        ]
        score = induction_score(weights, period)
        assert score.shape == shape[:-2] and score.flatten().tolist() == pytest.approx(expected)
    if n > 1:
        assert offset_score(weights).equal(offset_score(weights, 1))


def test_a_perfect_head_of_each_kind_scores_1_and_the_other_score_is_0():
    n, period = 8, 4
    previous, induction = torch.zeros(2, n, n)
    for i in range(n):
        previous[i, max(0, i - 1)] = 1
        induction[i, i - period + 1 if i >= period else 0] = 1
    assert offset_score(previous) == 1 and induction_score(previous, period) == 0
    assert induction_score(induction, period) == 1
    # the second token looks back at the first, as those do that have nothing to repeat
    assert offset_score(induction).item() == pytest.approx(1 / 7)


@pytest.mark.parametrize(
    ("score", "number", "words"),
    [
        (offset_score, 5, "offset=5 .* 0 to 4, .* 5"),
        (offset_score, -1, "offset=-1 .* 0 to 4, .* 5"),
        (induction_score, 5, "period=5 .* 1 to 4, .* 5"),
        (induction_score, 0, "period=0 .* 1 to 4, .* 5"),
    ],
)
def test_a_place_beyond_the_text_is_refused_with_its_length(score, number, words):
    with pytest.raises(ValueError, match=words):
        score(torch.ones(2, 5, 5), number)


# the models that are compared


@pytest.mark.parametrize("name", ALL_ATTENTIONS)
def test_with_each_attend_no_row_depends_on_a_later_token(name, make_model, g):
    model, text = make_model(name), tokens(g, 2, 6)
    full = model(text)
    assert full.shape == (2, 6, VOCABULARY)
    changed_text = text.clone()
    changed_text[:, 3] = (changed_text[:, 3] + 1) % VOCABULARY
    changed_output = model(changed_text)
    torch.testing.assert_close(changed_output[:, :3], full[:, :3], **EXACT)
    assert (changed_output - full)[:, 3].abs().amax(-1).min() > 1e-6
    for n in (1, 5):
        torch.testing.assert_close(model(text[:, :n]), full[:, :n])


@pytest.mark.parametrize("name", [*ALL_ATTENTIONS])
def test_with_each_attend_a_text_goes_on_from_what_is_kept(name, make_model, g):
    model, text = make_model(name), tokens(g, 2, 6)
    decoding = model.decode()
    steps = [decoding.step(text[:, start:end]) for start, end in ((0, 3), (3, 4), (4, 6))]
    torch.testing.assert_close(torch.cat(steps, dim=1), model(text))


def test_by_default_its_heads_know_the_order_of_the_tokens(make_model, g):
    text = tokens(g, 1, 6)
    reordered = torch.cat([text[:, :5].flip(1), text[:, 5:]], dim=1)
    for name, knows_order in (("RoPE", True), ("plain", False)):
        model = make_model(name)
        model.stack.blocks = model.stack.blocks[:1]
        gap = (model(text) - model(reordered))[:, -1].abs().max()
        assert (gap > 1e-3) == knows_order and (gap < 1e-12) != knows_order


def test_it_has_the_parameters_of_blocks_four_times_as_wide_inside():
    model, grouped = (language_model(VOCABULARY, D, HEADS, DEPTH, groups=g) for g in (None, 2))
    count, grouped_count = (
        sum(p.numel() for p in counted_model.parameters()) for counted_model in (model, grouped)
    )
    assert count == VOCABULARY * D + DEPTH * (12 * D**2 + 13 * D) + 2 * D
    # half as many keys and values
    assert count - grouped_count == DEPTH * (D**2 + D)
    # what the heads of each block do is its own
    layers = [block.attention.part.attend for block in model.stack.blocks]
    assert len({*map(id, layers)}) == DEPTH


@pytest.mark.parametrize(
    "make",
    [lambda: language_model(500), lambda: LSTMLanguageModel(500, 64, 128)],
    ids=["attention", "LSTM"],
)
def test_at_first_all_tokens_are_about_equally_likely(make, g):
    with seeded(0):
        model = make()
    text = torch.randint(500, (2, 20), generator=g)
    assert perplexity(model(text[:, :-1]), text[:, 1:]) == pytest.approx(500, rel=0.1)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 5])
def test_the_lstm_equals_torchs_cells_with_their_gradients(layers, n, normal, g):
    model = LSTMLanguageModel(VOCABULARY, 6, 5, layers).to(device(), torch.float64)
    for weight in model.parameters():
        weight.data.copy_(normal(*weight.shape) / 2)
    count = VOCABULARY * 6 + 4 * 5 * (6 + 5 + 2) + (layers - 1) * 4 * 5 * (5 + 5 + 2) + 6 * 5 + 6
    assert sum(weight.numel() for weight in model.parameters()) == count
    cells = []
    for layer in range(layers):
        cell = nn.LSTMCell(5 if layer else 6, 5).to(device(), torch.float64)
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights = {name: getattr(model.lstm, f"{name}_l{layer}") for name in names}
        cells.append(partial(torch.func.functional_call, cell, weights))
    text, states, rows = tokens(g, 2, n), [None] * layers, []
    for t in range(n):
        x = model.embedding.table.weight[text[:, t]]
        for layer, cell in enumerate(cells):
            states[layer] = cell((x, states[layer]))
            x = states[layer][0]
        rows.append(model.out(x) @ model.embedding.table.weight.T)
    assert_equal_with_gradients(model(text), torch.stack(rows, 1), [*model.parameters()])


def test_the_lstm_is_causal_and_reads_all_that_came_before(normal, g):
    model = LSTMLanguageModel(VOCABULARY, 6, 5).to(device(), torch.float64)
    for weight in model.parameters():
        weight.data.copy_(normal(*weight.shape))
    text = tokens(g, 2, 6)
    changed_text = text.clone()
    changed_text[:, 3] = (changed_text[:, 3] + 1) % VOCABULARY
    expected, changed_output = model(text), model(changed_text)
    assert changed_output[:, :3].equal(expected[:, :3])
    assert (changed_output - expected)[:, 3:].abs().amax(-1).min() > 1e-6


@pytest.mark.parametrize(
    "make",
    [
        lambda: language_model(VOCABULARY, D, HEADS, DEPTH),
        lambda: LSTMLanguageModel(VOCABULARY, 6, 5),
    ],
    ids=["attention", "LSTM"],
)
def test_models_have_shapes_on_the_meta_device_and_name_an_unknown_token(make):
    model = make()
    with pytest.raises(ValueError, match=r"token 9 .* 9"):
        model(torch.tensor([[1, 9]]))
    text = torch.zeros(2, 5, dtype=torch.long, device="meta")
    assert model.to("meta")(text).shape == (2, 5, VOCABULARY)


@pytest.mark.parametrize("dated", [True, False])
def test_a_model_that_is_told_the_decade_learns_what_was_said_then(dated):
    texts = [Address(1790, "aaaa"), Address(1800, "bbbb")]
    windower = Windower(BytePairs([]), 6, dated)
    with seeded(0):
        model = language_model(windower.vocabulary, 16, 2, 1)
        fit(model, lambda: [*windower.batches(texts, 2)] * 60, 1, 2e-2)
    bits = bits_by_window(model, windower.batches(texts, 1))
    # which letter it will be costs a bit, and once it is known nothing does
    assert bits.tolist() == pytest.approx([0.0 if dated else 1.0] * 2, abs=0.2)


def test_heads_that_add_to_the_values_have_no_weights_to_show():
    shaw = language_model(50, 8, 2, 1, lambda: Causal(RelativeAttention(4, 2)))
    torch.nn.init.normal_(shaw.stack.blocks[0].attention.part.attend.attend.a_v)
    with pytest.raises(ValueError, match="add something to the values"):
        head_weights(shaw, torch.arange(4)[None])


def test_what_is_counted_is_of_the_vocabulary():
    with pytest.raises(ValueError, match=r"token 9 .* 5"):
        BackOff(2, 5).learn([[1, 9]])


def test_bits_per_character_are_those_of_all_windows_over_all_characters(normal):
    scores, labels = normal(2, 3, 5), torch.tensor([[1, 2, -100], [4, 0, 3]], device=device())
    bits = bits_per_character(lambda tokens: scores, [(labels, labels)] * 2, 7)
    assert bits == pytest.approx(2 * surprisal(scores, labels).sum().item() / 7)


def test_the_dots_on_the_page_are_the_results():
    page = (ROOT / "chapters" / "language_model.md").read_text("utf-8")
    start = page.index("name: fig-language-parts")
    figure = page[start : page.index("\n```\n", start)]
    expected = {
        name: [float(number) for number in numbers.split(", ")]
        for name, numbers in re.findall(r'"([\w ]+)": \[([\d., ]+)\]', figure)
    }
    results, full = {}, {}
    with (ROOT / "benchmarks" / "results" / "language_model.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["size"] == "small" or row["model"] in ("bigram", "trigram"):
                results.setdefault(row["model"], []).append(round(float(row["bits"]), 4))
            elif row["size"] == "full":
                full.setdefault(row["model"], []).append(float(row["bits"]))
    assert expected == results and len(results) == 13
    # what the text says of them
    mean = {name: sum(numbers) / len(numbers) for name, numbers in results.items()}
    spreads = {
        name: max(numbers) - min(numbers) for name, numbers in results.items() if len(numbers) == 3
    }
    assert len(spreads) == 11 and 0.0115 <= max(spreads.values()) < 0.0125
    larger_spread = {
        name for name, spread in spreads.items() if round(spread, 2) == 0.01 and spread > 0.007
    }
    assert larger_spread == {"ALiBi", "LSTM", "no positions"} and spreads["GPT"] < 0.001
    relative_means = [mean[name] for name in ("GPT", "Shaw", "T5")]
    assert round(max(relative_means) - min(relative_means), 2) == 0.01
    assert round(mean["ALiBi"] - mean["GPT"], 2) == 0.04
    assert round(mean["no positions"] - mean["GPT"], 1) == 0.1
    for name in ("one head", "a window of 16", "two groups of keys", "without the decade"):
        assert 0 < mean[name] - mean["GPT"] < 0.01
    assert max(mean, key=mean.get) == "bigram"
    assert f"trigram is at {mean['trigram']:.2f} and bigram at {mean['bigram']:.2f}" in figure
    small = {name: mean[name] for name in mean if name not in ("bigram", "trigram")}
    assert max(small, key=small.get) == "linear attention"
    assert abs(mean["GPT"] - mean["trigram"]) < 0.01
    large = {name: sum(numbers) / len(numbers) for name, numbers in full.items()}
    tested = {"trigram": mean["trigram"], "small GPT": mean["GPT"], "larger GPT": large["GPT"]}
    for name, bits in tested.items():
        assert re.search(rf'\("{name}", \w+, "{bits:.3f}"\)', page)
    assert round(large["no positions"] - large["GPT"], 2) == 0.04
    assert round(large["one head"] - large["GPT"], 3) == 0.015
    assert round(mean["one head"] - mean["GPT"], 3) == 0.004
    assert round(large["LSTM"] - large["GPT"], 2) == 0.04
    assert round(mean["LSTM"] - mean["GPT"], 2) == 0.03


def test_the_curves_on_the_page_are_the_results():
    page = (ROOT / "deeper" / "language_model.md").read_text("utf-8")
    figure = page[page.index("name: fig-language-curves") :]
    steps = [
        int(step) for step in figure.split("figures.lines(\n    [")[1].split("]")[0].split(", ")
    ]
    results = {}
    with (ROOT / "benchmarks" / "results" / "language_model_curves.csv").open() as file:
        for size, model, seed, step, _, bits in csv.reader(file):
            if (size, seed) == ("full", "0") and int(step) in steps:
                results.setdefault(model, []).append(f"{float(bits):.3f}")
    for model in ("GPT", "no positions", "LSTM"):
        assert f'"{model}": [{", ".join(results[model])}],' in figure
    bits_halfway, bits_at_end = (float(results["GPT"][steps.index(step)]) for step in (5000, 10000))
    assert round(bits_halfway - bits_at_end, 2) == 0.04


def test_the_lstm_and_the_gpt_at_equal_time_are_as_the_page_says():
    with (ROOT / "benchmarks" / "results" / "language_model_curves.csv").open() as file:
        rows = [row[1:] for row in csv.reader(file) if (row[0], row[2]) == ("small", "0")]
    curves = {
        name: [
            (float(seconds), float(bits)) for model, _, _, seconds, bits in rows if model == name
        ]
        for name in ("LSTM", "GPT")
    }
    end, bits = curves["LSTM"][-1]
    nearest = min(curves["GPT"], key=lambda point: abs(point[0] - end))
    assert (round(bits, 2), round(nearest[1], 2)) == (1.47, 1.51)
    assert end < curves["GPT"][-1][0] / 2


def test_the_heads_on_the_page_are_the_results():
    with (ROOT / "benchmarks" / "results" / "language_heads.csv").open(encoding="utf-8") as file:
        rows = [{**row, "model": row["model"].replace("seed 0", "ours, seed 0")}
                for row in csv.DictReader(file)]  # fmt: skip
    names = list(dict.fromkeys(row["model"] for row in rows))
    lines = []
    for name in names:
        heads = [row for row in rows if row["model"] == name]
        cells = [name]
        for score in ("one back", "decade"):
            best_head = max(heads, key=lambda row: float(row[score]))
            cost = best_head["lost"].replace("-", "−")
            cells += [f"{float(best_head[score]):.3f}, block {best_head['block']}", cost]
        lines.append("| " + " | ".join(cells) + " |")
        costliest = max(heads, key=lambda row: float(row["lost"]))
        if name != "untrained":
            assert costliest["block"] == "0"
            assert max(float(costliest["decade"]), float(costliest["one back"])) < 0.2
            assert (
                float(costliest["itself"]) > 0.5
                and costliest["role"] == "looks at the token itself"
            )
            assert max(float(row["copying"]) for row in heads) < 0.02
    assert len(lines) == 4
    assert "\n".join(lines) in (ROOT / "deeper" / "language_model.md").read_text("utf-8")


def test_a_trace_has_the_values_that_the_model_itself_computes(g):
    model = language_model(VOCABULARY, D, HEADS, DEPTH).to(device(), torch.float64)
    text = tokens(g, 7)
    got = trace(model, text)
    stream = got["stream"]
    with torch.no_grad():
        assert stream[0].equal(model.embedding(text))
        torch.testing.assert_close(stream[:-1] + got["attended"] + got["fed"], stream[1:], **EXACT)
        torch.testing.assert_close(got["logits"], model(text), **EXACT)
        torch.testing.assert_close(got["lens"][-1], got["logits"], **EXACT)
    torch.testing.assert_close(got["weight"], head_weights(model, text[None])[:, 0], **EXACT)
    # a rotation keeps the length, and the first position is not turned
    for turned, straight in (("turned", "query"), ("turned_key", "key")):
        lengths = (got[name].norm(dim=-1) for name in (turned, straight))
        torch.testing.assert_close(*lengths, **EXACT)
        assert got[turned][:, :, 0].equal(got[straight][:, :, 0])
    scores = got["turned"] @ got["turned_key"].mT / (D // HEADS) ** 0.5
    torch.testing.assert_close(scores, got["score"], **EXACT)
    allowed = torch.ones(7, 7, device=device()).tril().bool()
    masked = got["score"].masked_fill(~allowed, -torch.inf).softmax(-1)
    torch.testing.assert_close(masked, got["weight"], **EXACT)
    torch.testing.assert_close(got["weight"] @ got["value"], got["mixed"], **EXACT)
