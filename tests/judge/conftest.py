"""A fixture of the tests of the checks: a check that draws its own seed draws the run's."""

import secrets

import pytest

from tests.conftest import SEED


@pytest.fixture(autouse=True)
def fix_seed(monkeypatch):
    """A failure can be repeated, and what the known mistakes do on these inputs is known by now."""
    monkeypatch.setattr(secrets, "randbelow", lambda limit: int(SEED) % limit)
