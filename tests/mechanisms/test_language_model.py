"""The mechanisms of the chapter language_model against an oracle, by property, and with bad input."""

import pytest
import torch

from attncourse.language_model import identity


@pytest.mark.parametrize("n", [1, 7, 8])
def test_it_equals_its_oracle(n, g):
    x = torch.randn(2, n, 3, generator=g)
    torch.testing.assert_close(identity(x), x)
