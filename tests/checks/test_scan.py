"""What an answer's text names: what it needs itself, not what its cell tries it out with."""

import pytest

from attncourse.checks.exercise import TORCH_ATTENTION
from attncourse.checks.scan import forbidden_in

HEAD = """\
import torch
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as sdpa
from torch import nn
other = sdpa
"""
OWN = "def attention(q, k, v):\n    return {}\n"
TRIED = (
    "want = sdpa(q, k, v)\nassert attention(q, k, v).allclose(F.scaled_dot_product_attention(q))\n"
)


def found(text: str) -> str:
    return forbidden_in(text, "attention", TORCH_ATTENTION)


def test_an_answer_may_be_compared_with_what_it_may_not_call():
    assert not found(HEAD + OWN.format("torch.softmax(q @ k.mT, -1) @ v") + TRIED)


@pytest.mark.parametrize(
    "call",
    [
        "sdpa(q, k, v)",
        "other(q, k, v)",
        "F.scaled_dot_product_attention(q, k, v)",
        "getattr(F, 'scaled_dot_product_attention')(q, k, v)",
        "nn.MultiheadAttention(8, 2)(q, k, v)",
    ],
)
def test_what_an_answer_needs_is_found_under_any_of_its_names(call):
    assert found(HEAD + OWN.format(call)) in (
        "scaled_dot_product_attention",
        "MultiheadAttention",
    )


def test_a_name_that_is_bound_in_no_plain_way_is_looked_for_everywhere():
    assert found(
        "import torch.nn.functional as F\nglobals()['attention'] = "
        + "F.scaled_dot_product_attention"
    )
