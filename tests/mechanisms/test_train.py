"""Training and counting what is right, on a task of a few numbers."""

from itertools import pairwise
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from attncourse.train import accuracy, fit, seeded


class Letters(NamedTuple):
    """Each label is its letter's number modulo 3; the last place of a row has none."""

    letters: Tensor
    labels: Tensor


class Lookup(nn.Module):
    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.table = nn.Embedding(6, 8)
        self.dropout = nn.Dropout(dropout)
        self.label = nn.Linear(8, 3)

    def forward(self, batch: Letters) -> Tensor:
        return self.label(self.dropout(self.table(batch.letters)))


@pytest.fixture
def batches(g) -> list[Letters]:
    letters = torch.randint(6, (4, 5, 7), generator=g)
    labels = letters % 3
    labels[..., -1] = -100
    return [Letters(*pair) for pair in zip(letters, labels, strict=True)]


def test_a_model_learns_what_a_table_can_hold(batches):
    with seeded(0):
        model = Lookup(dropout=0.1)
        before = accuracy(model, batches)
        history = fit(model, lambda: batches, epochs=20, lr=3e-2)
    assert before < 0.7 and accuracy(model, batches) == 1
    assert len(history) == 20 and history[-1] < 0.1 * history[0]


def test_a_seed_decides_weights_dropout_and_generator(batches):
    outcomes = []
    for seed in (0, 0, 1):
        with seeded(seed) as own:
            model = Lookup(dropout=0.5)
            history = fit(model, lambda: batches, epochs=2)
            outcomes.append((history, torch.rand(1, generator=own).item()))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] != outcomes[2][0] and outcomes[0][1] != outcomes[2][1]


def test_a_seed_leaves_torchs_own_generator_as_it_was():
    before = torch.get_rng_state()
    with seeded(7):
        torch.rand(5)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_last_steps_are_small(batches):
    with seeded(0):
        model = Lookup()
        places = []
        model.table.weight.register_hook(
            lambda grad: places.append(model.table.weight.detach().clone())
        )
        fit(model, lambda: batches, epochs=4)
    moves = [(b - a).abs().max() for a, b in pairwise(places)]
    assert moves[-1] < moves[0] / 3


def test_places_without_a_label_count_neither_in_the_loss_nor_in_the_accuracy(batches):
    with seeded(0):
        model = Lookup()
    fit(model, lambda: batches, epochs=30, lr=3e-2)
    other = [b._replace(letters=b.letters.clone()) for b in batches]
    for batch in other:
        batch.letters[:, -1] = (batch.letters[:, -1] + 1) % 6
    assert accuracy(model, batches) == accuracy(model, other) == 1
    assert fit(model, lambda: batches[:1], 1, 0.0) == fit(model, lambda: other[:1], 1, 0.0)


def test_accuracy_is_the_share_counted_by_hand():
    class Constant(nn.Module):
        def forward(self, batch):
            return torch.tensor([0.0, 1.0, 0.0]).expand(*batch.labels.shape, 3)

    labels = [torch.tensor([[1, 2, -100], [1, -100, -100]]), torch.tensor([[0, 1]])]
    assert accuracy(Constant(), [Letters(x, x) for x in labels]) == 3 / 5


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_in_the_mode_it_was_in(batches, training):
    with seeded(0):
        model = Lookup(dropout=0.5).train(training)
        assert accuracy(model, batches) == accuracy(model, batches)
        fit(model, lambda: batches, epochs=1)
    assert model.training == training
