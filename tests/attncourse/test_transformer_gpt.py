"""The GPT on one screen: equal to the composed model, and causal."""

import copy

import pytest
import torch

from attncourse import device
from attncourse.transformer import GPT, composed, generate

VOCABULARY, MAX_N = 7, 9


@pytest.fixture
def gpt(normal):
    """A GPT in float64 with random normal parameters."""
    model = GPT(VOCABULARY, d_model=12, heads=3, depth=2, max_n=MAX_N).to(device(), torch.float64)
    for weight in model.parameters():
        weight.data = normal(*weight.shape) / 3
    return model


def tokens(g, *shape):
    return torch.randint(VOCABULARY, shape, generator=g).to(device())


@pytest.mark.parametrize("shape", [(5,), (2, 1), (2, MAX_N), (2, 3, 4)])
def test_the_composed_model_gives_the_same_scores_and_gradients(gpt, shape, g):
    composed_model, token_ids = composed(gpt), tokens(g, *shape)
    scores = [model(token_ids) for model in (gpt, composed_model)]
    torch.testing.assert_close(scores[0], scores[1])
    # the tables of the two have other names, and their parameters another order
    norms = []
    for model, output in zip((gpt, composed_model), scores, strict=True):
        gradients = torch.autograd.grad(output.square().sum(), list(model.parameters()))
        norms.append(sorted(gradient.norm().item() for gradient in gradients))
    torch.testing.assert_close(*norms)


def test_it_has_a_copy_of_the_weights(gpt, g):
    composed_model, token_ids = composed(gpt), tokens(g, 2, 4)
    expected = composed_model(token_ids)
    for weight in gpt.parameters():
        weight.data.zero_()
    torch.testing.assert_close(composed_model(token_ids), expected)


def test_a_model_of_one_block_is_composed_too(g):
    gpt, token_ids = GPT(VOCABULARY, 12, 3, 1, MAX_N).to(device()), tokens(g, 2, 4)
    torch.testing.assert_close(composed(gpt)(token_ids), gpt(token_ids))


def test_its_embeddings_begin_near_zero():
    gpt = GPT(300, 32, heads=2, depth=1, max_n=300)
    for table in (gpt.token_embedding, gpt.position_embedding):
        assert table.weight.std().item() == pytest.approx(0.02, rel=0.1)


def test_both_write_the_same(gpt, g):
    prompt = tokens(g, 2, 3)
    output = gpt.write(prompt, 5)
    assert output[:, :3].equal(prompt)
    assert output[:, 3:].equal(generate(composed(gpt).decode(), prompt, 5))


def test_no_row_depends_on_a_later_token(gpt, g):
    text = tokens(g, 2, 6)
    changed_text = text.clone()
    changed_text[:, 4] = (changed_text[:, 4] + 1) % VOCABULARY
    expected, changed_output = gpt(text), gpt(changed_text)
    torch.testing.assert_close(expected[:, :4], changed_output[:, :4], rtol=0, atol=1e-12)
    assert (expected[:, 4:] - changed_output[:, 4:]).abs().amax(-1).min() > 1e-6


def test_without_positions_the_order_is_lost_at_the_end(gpt, g):
    gpt = copy.deepcopy(gpt)
    gpt.position_embedding.weight.data.zero_()
    gpt.blocks = gpt.blocks[:1]
    text = tokens(g, 6)
    reordered = torch.cat([text[:5].flip(0), text[5:]])
    torch.testing.assert_close(gpt(text)[-1], gpt(reordered)[-1])


def test_a_text_that_is_too_long_is_refused_with_both_numbers(gpt):
    text = torch.zeros(MAX_N + 1, dtype=torch.long, device=device())
    with pytest.raises(ValueError, match=r"10 tokens, .* 9"):
        gpt(text)
