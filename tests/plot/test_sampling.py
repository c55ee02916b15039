"""The figure of sampling, before any slider is moved."""

import pytest
import torch

from attncourse import plot
from attncourse.plot.numbers import shown
from tests.plot.elements import begins


def test_the_figure_begins_with_the_softmax_of_all_scores():
    scores = torch.tensor([2.0, 1.0, -1.0])
    texts = begins(plot.sampling(scores, ["a", "b", "c"], alt="three tokens"))
    assert texts["chance"] == [shown(x) for x in scores.double().softmax(0).tolist()]
    assert texts["score"] == [shown(x) for x in scores.tolist()]


@pytest.mark.parametrize(
    ("scores", "tokens", "message"),
    [
        (torch.zeros(3), ["a", "b"], r"scores=\(3,\), 2 tokens"),
        (torch.zeros(1), ["a"], r"scores=\(1,\), 1 tokens: a score for each of at least 2"),
        (torch.tensor([0.0, torch.nan]), ["a", "b"], "scores.* is nan"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_numbers(scores, tokens, message):
    with pytest.raises(ValueError, match=message):
        plot.sampling(scores, tokens, alt="tokens")
