"""The Transformer's blocks, caches and generation: against torch's own, by property, bad input."""

import torch

from attncourse.transformer import FeedForward


def test_the_feed_forward_network_keeps_the_shape():
    assert FeedForward(4, 16)(torch.ones(2, 3, 4)).shape == (2, 3, 4)
