"""Generation: caches, greedy decoding, sampling and beam search, against full forward passes."""

import itertools
from functools import partial

import pytest
import torch
from torch import nn

from attncourse import device
from attncourse.dot_product import causal_mask, padding_mask
from attncourse.positional import LearnedEncoding, SinusoidalEncoding
from attncourse.transformer import (
    Causal,
    CausalLinearAttention,
    Decoder,
    DecoderBlock,
    Decoding,
    Embedding,
    Encoder,
    EncoderBlock,
    KeyValueCache,
    LanguageModel,
    LinearState,
    Transformer,
    beam_search,
    generate,
    greedy,
    sample,
)

D, HEADS, VOCABULARY, STOP = 8, 2, 4, 0
EXACT = {"rtol": 1e-12, "atol": 1e-12}
each_cache = pytest.mark.parametrize("attend", [Causal, CausalLinearAttention])


@pytest.fixture
def normal(g):
    """Draws standard normal tensors on the course's device, from a fixed seed."""

    def draw(*shape):
        return torch.randn(shape, generator=g, dtype=torch.float64).to(device())

    return draw


@pytest.fixture
def make_writer(normal):
    """Makes a language model with random normal parameters, large enough for sharp scores."""

    def make(attend=Causal, position=None):
        blocks = [EncoderBlock(D, HEADS, 12, attend()) for _ in range(2)]
        table = Embedding(VOCABULARY, D, position or SinusoidalEncoding(D))
        return randomize(LanguageModel(table, Encoder(blocks, nn.LayerNorm(D))), normal)

    return make


@pytest.fixture
def translator(normal):
    """Makes an encoder-decoder with random normal parameters."""

    def make(attend=Causal):
        table = Embedding(VOCABULARY, D, SinusoidalEncoding(D))
        encoder = Encoder([EncoderBlock(D, HEADS, 12)], nn.LayerNorm(D))
        decoder = Decoder([DecoderBlock(D, HEADS, 12, attend()) for _ in range(2)])
        return randomize(Transformer(table, encoder, table, decoder), normal)

    return make


def randomize(model, normal):
    """Set all parameters to random normal numbers."""
    model = model.to(device(), torch.float64)
    for p in model.parameters():
        p.data = normal(*p.shape)
    return model


class TableDecoding(Decoding):
    """A decoding whose scores after a token are that token's row of a table."""

    def __init__(self, rows):
        self.table = torch.tensor(rows, dtype=torch.float64, device=device())

    def step(self, tokens):
        return self.table[tokens]

    def select(self, rows):
        pass


def ids(*rows):
    return torch.tensor(rows, device=device())


# token -> the scores of the next; the best of 3 is 2, of 2 is 1, of 1 the stop
COUNTDOWN = [[0.0, 0, 0, 9], [9.0, 0, 1, 0], [0.0, 9, 1, 0], [0.0, 1, 9, 0]]
PAIRS = ids([1, 2, 3, 1, 2], [3, 3, 1, 2, 1])


@each_cache
def test_selected_rows_go_on_as_if_each_had_been_alone(translator, attend):
    model, order = translator(attend), [1, 1, 0, 1]
    source, mask = ids([1, 2, 3], [3, 2, 1]), padding_mask(ids(3, 2), 3)
    decoding = model.decode(source, mask)
    decoding.step(PAIRS[:, :3])
    decoding.select(ids(*order))
    out = decoding.step(PAIRS[order, 3:])
    expected = model(source[order], PAIRS[order], mask[order])[:, 3:]
    torch.testing.assert_close(out, expected, **EXACT)


def test_one_source_mask_may_serve_all_sources(translator):
    model, mask = translator(), padding_mask(ids(2), 3)
    decoding = model.decode(ids([1, 2, 3], [3, 2, 1]), mask)
    decoding.step(PAIRS[:, :1])
    decoding.select(ids(1, 1, 1))
    expected = model(ids([3, 2, 1]), PAIRS[1:, :2], mask)[:, 1:].expand(3, -1, -1)
    torch.testing.assert_close(decoding.step(PAIRS[[1, 1, 1], 1:2]), expected, **EXACT)


def test_keys_and_values_grow_with_the_text_and_a_state_does_not(make_writer):
    sizes = {}
    for attend in (Causal, CausalLinearAttention):
        decoding, sizes[attend] = make_writer(attend).decode(), []
        for piece in PAIRS.split([3, 1, 1], dim=1):
            decoding.step(piece)
            (cache, *_) = decoding.caches
            cached = cache.state if attend is CausalLinearAttention else (cache.k, cache.v)
            sizes[attend].append(sum(x.numel() for x in cached))
    assert sizes[Causal] == [2 * 2 * n * D for n in (3, 4, 5)]
    assert sizes[CausalLinearAttention] == [2 * HEADS * (D // HEADS) * (D // HEADS + 1)] * 3


def test_a_cached_step_takes_the_mask_of_all_that_is_kept(normal):
    block, x = randomize(EncoderBlock(D, HEADS, 12, Causal()), normal), normal(2, 5, D)
    mask = padding_mask(ids(5, 4), 5) & ids([1, 1, 1, 1, 1], [0, 1, 1, 1, 1])[:, None].bool()
    cache = block.new_cache()
    first, last = block(x[:, :3], mask[..., :3], cache), block(x[:, 3:], mask, cache)
    torch.testing.assert_close(torch.cat([first, last], dim=1), block(x, mask), **EXACT)


def test_what_joined_a_state_cannot_be_masked(normal):
    block = randomize(EncoderBlock(D, HEADS, 12, CausalLinearAttention()), normal)
    mask = padding_mask(ids(5, 4), 5)
    with pytest.raises(ValueError, match=r"mask=\(2, 1, 1, 5\)"):
        block(normal(2, 5, D), mask, block.new_cache())


def test_an_empty_cache_has_no_rows_to_select():
    for cache in (KeyValueCache(), LinearState()):
        cache.select(ids(0, 0))
        assert all(value is None for value in vars(cache).values())


def test_what_is_written_has_no_gradient(make_writer):
    model = make_writer()
    decoding = model.decode()
    generate(decoding, PAIRS, 2)
    assert not any(cache.k.requires_grad for cache in decoding.caches)
    _, score = beam_search(model.decode(), PAIRS, 2, STOP)
    assert not score.requires_grad


def test_the_last_token_needs_no_position(make_writer):
    model = make_writer(position=LearnedEncoding(PAIRS.shape[1] + 2, D))
    assert generate(model.decode(), PAIRS, 3).shape == (2, 3)
    text, _ = beam_search(model.decode(), PAIRS, 3, STOP, width=2)
    assert text.shape == (2, 3)


def test_a_row_that_has_stopped_waits_for_the_others():
    assert generate(TableDecoding(COUNTDOWN), ids([1], [3], [2]), 9, stop=STOP).tolist() == [
        [0, 0, 0],
        [2, 1, 0],
        [1, 0, 0],
    ]


def test_without_a_stop_there_are_as_many_tokens_as_were_asked_for():
    assert generate(TableDecoding(COUNTDOWN), ids([1]), 6).tolist() == [[0, 3, 2, 1, 0, 3]]
    assert generate(TableDecoding(COUNTDOWN), ids([3]), 2, stop=STOP).tolist() == [[2, 1]]


def test_a_stop_within_the_prompt_ends_nothing():
    assert generate(TableDecoding(COUNTDOWN), ids([1, STOP]), 9, stop=STOP).tolist() == [
        [3, 2, 1, 0]
    ]


@each_cache
def test_each_row_is_written_as_if_it_were_alone(translator, attend):
    model, source = translator(attend), ids([1, 2, 3], [3, 1, 0], [2, 0, 0])
    lengths, begin = [3, 2, 1], ids([1])
    mask = padding_mask(ids(*lengths), 3)
    joint = generate(model.decode(source, mask), begin.expand(3, 1), 6, STOP)
    for row, x, length in zip(joint, source, lengths, strict=True):
        alone = generate(model.decode(x[None, :length]), begin, 6, STOP)[0]
        assert row.tolist() == alone.tolist() + [STOP] * (len(row) - len(alone))


@pytest.mark.parametrize("top_k", [None, 1, 3, 6])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_samples_come_as_often_as_the_softmax_says(normal, g, temperature, top_k):
    scores, draws = normal(6), 20_000
    best = sorted(range(6), key=lambda i: -scores[i])[:top_k]
    weights = [float((scores[i] / temperature).exp()) if i in best else 0.0 for i in range(6)]
    p = torch.tensor(weights) / sum(weights)
    randomize = sample(scores.expand(draws, 6), device_generator(g), temperature, top_k).cpu()
    share = randomize.bincount(minlength=6) / draws
    # five standard deviations
    assert ((share - p).abs() <= 5 * (p * (1 - p) / draws) ** 0.5).all()


def device_generator(g):
    """A generator on the course's device, for sampling."""
    return torch.Generator(device()).manual_seed(g.initial_seed())


def test_the_only_candidate_is_the_greedy_one(normal, g):
    scores = normal(50, 6)
    assert torch.equal(sample(scores, device_generator(g), top_k=1), greedy(scores))
    assert torch.equal(sample(scores, device_generator(g), temperature=1e-4), greedy(scores))


def test_scores_that_tie_with_the_last_candidate_all_stay(g):
    scores = torch.tensor([1.0, 2.0, 1.0, 0.0, 1.0], device=device()).expand(2000, 5)
    assert sample(scores, device_generator(g), top_k=2).unique().tolist() == [0, 1, 2, 4]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_samples_depend_on_their_generator_alone(normal, g, dtype):
    scores, random_state = normal(40, 6).to(dtype), torch.get_rng_state()
    first, second = sample(scores, device_generator(g)), sample(scores, device_generator(g))
    assert torch.equal(first, second) and torch.equal(random_state, torch.get_rng_state())
    assert first.dtype == torch.int64 and not torch.equal(first, greedy(scores))


def test_a_text_is_drawn_token_by_token(make_writer, g):
    model = make_writer()
    choose = partial(sample, generator=device_generator(g), top_k=2)
    output = generate(model.decode(), PAIRS, 5, choose=choose)
    scores = model(torch.cat([PAIRS, output], dim=1))[:, PAIRS.shape[1] - 1 : -1]
    likely = scores.topk(2).indices
    assert (output[..., None] == likely).any(-1).all()


def text_log_probabilities(model, prompt, tokens):
    """Log-probability of every text that ends with a stop or at the limit, by full passes."""
    totals, candidates = {}, ids(*itertools.product(range(VOCABULARY), repeat=tokens))
    scores = model(torch.cat([prompt.expand(len(candidates), -1), candidates], dim=1))
    log_p = scores.log_softmax(-1)[:, len(prompt) - 1 : -1].gather(-1, candidates[..., None])
    for text, log_probabilities in zip(candidates, log_p.squeeze(-1), strict=True):
        key = trim(text)
        totals[key] = log_probabilities[: len(key)].sum().item()
    return totals


def best_text(log_probabilities, power):
    """The best text and its length-normalized score."""
    scores = {
        text: log_p / ((5 + len(text)) / 6) ** power for text, log_p in log_probabilities.items()
    }
    return max(scores.items(), key=lambda item: item[1])


def trim(text):
    """The tokens of a text up to its first stop, as a tuple."""
    text = tuple(text.tolist())
    return text[: text.index(STOP) + 1] if STOP in text else text


@each_cache
def test_a_beam_as_wide_as_all_texts_finds_the_best_of_them(make_writer, attend):
    model, best = make_writer(attend), set()
    # flat enough that long and short texts compete
    model.embedding.table.weight.data /= 4
    with torch.no_grad():
        log_probabilities = [text_log_probabilities(model, prompt, 3) for prompt in PAIRS[:, :2]]
    for power in (0.0, 0.6, 1.0, 4.0):
        beams = beam_search(model.decode(), PAIRS[:, :2], 3, STOP, VOCABULARY**3, power)
        for text, score, all_log_p in zip(*beams, log_probabilities, strict=True):
            expected, value = best_text(all_log_p, power)
            assert trim(text) == expected
            assert score.item() == pytest.approx(value, abs=1e-12)
            best.add(expected)
    assert len({len(text) for text in best}) > 1


def test_the_score_of_a_beam_is_that_of_its_text(make_writer):
    model = make_writer()
    with torch.no_grad():
        log_probabilities = [text_log_probabilities(model, prompt, 3) for prompt in PAIRS[:, :2]]
    for width, power in itertools.product((2, 3, 5), (0.0, 0.6)):
        beams = beam_search(model.decode(), PAIRS[:, :2], 3, STOP, width, power)
        for text, score, all_log_p in zip(*beams, log_probabilities, strict=True):
            trimmed = trim(text)
            value = all_log_p[trimmed] / ((5 + len(trimmed)) / 6) ** power
            assert score.item() == pytest.approx(value, abs=1e-12)
            assert value <= best_text(all_log_p, power)[1] + 1e-12


@pytest.mark.parametrize("power", [0.0, 0.6])
@each_cache
def test_a_beam_of_one_text_is_greedy(make_writer, attend, power):
    model = make_writer(attend)
    output = generate(model.decode(), PAIRS, 6, STOP)
    beam, _ = beam_search(model.decode(), PAIRS, 6, STOP, width=1, length_penalty=power)
    assert torch.equal(beam, output)


def test_a_wider_beam_finds_what_greedy_misses():
    # 3 is the likelier first token, but leads to four equal ones
    rows = [[0.25] * 4, [0, 0, 0.4, 0.6], [0.9, 0.1, 0, 0], [0.25] * 4]
    chain = TableDecoding(torch.tensor(rows).log().tolist())
    assert generate(chain, ids([1]), 1, STOP).tolist() == [[3]]
    text, score = beam_search(chain, ids([1]), 2, STOP, width=2, length_penalty=0.0)
    assert text.tolist() == [[2, STOP]]
    assert score.exp().item() == pytest.approx(0.36)


def test_a_text_that_has_ended_is_kept_while_others_go_on():
    # the first token is the stop in 3 of 4; what goes on is sure, but cannot catch up
    rows = torch.tensor([[0.25] * 4, [0.75, 0, 0.25, 0], [0, 0, 0, 1.0], [0, 0, 1.0, 0]])
    text, score = beam_search(TableDecoding(rows.log().tolist()), ids([1]), 5, STOP, 3, 0.0)
    assert text.tolist() == [[STOP] * 5]
    assert score.exp().item() == pytest.approx(0.75)
    # a strong penalty of short texts lets the longest win
    text, _ = beam_search(TableDecoding(rows.log().tolist()), ids([1]), 5, STOP, 3, 4.0)
    assert text.tolist() == [[2, 3, 2, 3, 2]]


@pytest.mark.parametrize("width", [1, 3])
@each_cache
def test_beams_of_several_sources_are_those_of_each_alone(translator, attend, width):
    model, source = translator(attend), ids([1, 2, 3], [3, 1, 0], [2, 0, 0])
    lengths, begin = [3, 2, 1], ids([1])
    decoding = model.decode(source, padding_mask(ids(*lengths), 3))
    joint = beam_search(decoding, begin.expand(3, 1), 5, STOP, width)
    for text, score, x, length in zip(*joint, source, lengths, strict=True):
        device_generator, value = beam_search(model.decode(x[None, :length]), begin, 5, STOP, width)
        assert trim(text) == trim(device_generator[0])
        torch.testing.assert_close(score, value[0], **EXACT)


def decode(rows=2, position=None):
    """The start of decoding translations of `rows` sources."""
    table = Embedding(VOCABULARY, D, position)
    decoder = Decoder([DecoderBlock(D, HEADS, 12) for _ in range(2)])
    model = Transformer(table, Encoder([EncoderBlock(D, HEADS, 12)]), table, decoder)
    return model.to(device()).decode(torch.ones(rows, 3, dtype=torch.int64, device=device()))


FLAT = torch.zeros(2, 6)


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (lambda: generate(decode(), PAIRS, 0), "max_tokens=0"),
        (lambda: generate(decode(), PAIRS[:, :0], 3), r"prompt=\(2, 0\)"),
        (lambda: generate(decode(), PAIRS[0], 3), r"prompt=\(5,\)"),
        (lambda: beam_search(decode(), PAIRS[:0], 3, STOP), r"prompt=\(0, 5\)"),
        (lambda: beam_search(decode(), PAIRS, 3, STOP, width=0), "width=0"),
        (lambda: generate(decode(3), PAIRS, 3), "2 rows .* 3 texts"),
        (lambda: generate(decode(), PAIRS + 1, 3), "token 4 .* 4"),
        (lambda: generate(decode(2, LearnedEncoding(3, D)), PAIRS, 3), "0 to 4, .* 3 rows"),
        (lambda: generate(decode(2, LearnedEncoding(6, D)), PAIRS, 3), "6 to 6, .* 6 rows"),
        (lambda: sample(FLAT, torch.Generator(), temperature=0.0), "temperature=0.0"),
        (lambda: sample(FLAT, torch.Generator(), temperature=-1.0), "temperature=-1.0"),
        (lambda: sample(FLAT, torch.Generator(), top_k=0), "top_k=0 .* 6"),
        (lambda: sample(FLAT, torch.Generator(), top_k=7), "top_k=7 .* 6"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_named_with_its_numbers(call, numbers):
    with pytest.raises(ValueError, match=numbers):
        call()


def test_a_step_that_was_refused_can_be_made_again(make_writer):
    model = make_writer(position=LearnedEncoding(4, D))
    decoding = model.decode()
    decoding.step(PAIRS[:, :3])
    for unfit_tokens in (PAIRS[:, 3:], PAIRS[:, 3:4] + 7, PAIRS[:1, 3:4]):
        with pytest.raises(ValueError, match=r"3 to 4|token \d+|1 rows"):
            decoding.step(unfit_tokens)
    full = model(PAIRS[:, :4])[:, 3:]
    torch.testing.assert_close(decoding.step(PAIRS[:, 3:4]), full, **EXACT)


def test_the_causal_masks_of_prompt_and_steps_are_those_of_the_whole_text():
    maps, full, q = [], causal_mask(5, device()), torch.ones(1, 5, 4, device=device())
    attend = Causal(lambda q, k, v, mask: maps.append(mask) or q)
    for start, end in ((0, 3), (3, 4), (4, 5)):
        attend(q[:, start:end], q[:, :end], q[:, :end])
        assert torch.equal(maps[-1], full[start:end, :end])
