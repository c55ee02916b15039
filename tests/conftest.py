"""What the tests share: annotations checked at every call, a seeded generator, GPU tests.

A test of a bad input asks for the fixture `unchecked`, so that the input reaches the function's
own message instead of the annotations' check.
"""

import jaxtyping
import pytest
import torch

from tests import ROOT

CHAPTERS = sorted(path.stem for path in ROOT.glob("chapters/*.md"))

jaxtyping.install_import_hook([f"attncourse.{slug}" for slug in CHAPTERS], "beartype.beartype")


def pytest_collection_modifyitems(items):
    """Skip the tests marked `gpu` where torch sees none; the summary names them."""
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA GPU, and torch sees none"))


@pytest.fixture
def g() -> torch.Generator:
    """A generator that starts at the same place in every test."""
    return torch.Generator().manual_seed(0)


@pytest.fixture
def unchecked():
    """The annotations are not checked while the test runs."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
