"""The figure of the growing state, before any control is moved, and what it refuses."""

import pytest
import torch

from attncourse import plot
from tests.plot.elements import begins

PHI = torch.tensor([[1.0, 2.0], [3.0, 0.5]])
V = torch.tensor([[4.0, -1.0, 0.0], [0.0, 1.0, 2.0]])


def test_the_figure_begins_with_the_first_token_read():
    texts = begins(plot.growing(PHI, PHI, V, ["a", "b"], chunk=2, alt="state"))
    assert texts["key"] == ["1.00", "2.00", "", ""]
    assert texts["value"] == ["4.00", "−1.00", "0.00", "", "", ""]
    assert texts["weight"] == ["5.00", ""]
    assert texts["way"] == ["pair", ""]
    assert texts["z"] == ["1.00", "2.00"]
    assert texts["S"] == ["4.00", "−1.00", "0.00", "8.00", "−2.00", "0.00"]
    assert texts["total"] == ["5.00"] * 3
    for form in ("masked", "recurrent", "chunks"):
        assert texts[form] == ["4.00", "−1.00", "0.00"]


@pytest.mark.parametrize(
    ("phi_q", "phi_k", "v", "words", "chunk", "message"),
    [
        (PHI, PHI[:1], V, "ab", 1, r"phi_q=\(2, 2\), phi_k=\(1, 2\), v=\(2, 3\)"),
        (PHI, PHI, V[:1], "ab", 1, r"v=\(1, 3\)"),
        (PHI, PHI, V, "abc", 1, "3 words"),
        (PHI[:0], PHI[:0], V[:0], "", 1, "0 words"),
        (PHI, PHI, V, "ab", 0, "chunk=0, but there are 2 words"),
        (PHI, PHI, V, "ab", 3, "chunk=3, but there are 2 words"),
        (PHI, PHI * torch.nan, V, "ab", 1, r"phi_k\[0, 0\] is nan"),
        (PHI, -PHI, V, "ab", 1, "a feature is not above 0"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_numbers(phi_q, phi_k, v, words, chunk, message):
    with pytest.raises(ValueError, match=message):
        plot.growing(phi_q, phi_k, v, list(words), chunk=chunk, alt="state")
