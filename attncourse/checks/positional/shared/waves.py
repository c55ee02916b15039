"""Sinusoids with their parts as arguments, for the right and the wrong answers of this chapter."""

import torch


def exponents(like, d):
    """2i / d for each pair of columns, in the dtype and on the device of another tensor."""
    return torch.arange(0, d, 2, dtype=like.dtype, device=like.device) / d


def interleaved(even, odd):
    return torch.stack([even, odd], dim=-1).flatten(-2)


def halves(first, second):
    return torch.cat([first, second], dim=-1)


def waves(positions, d, *, powers=None, base=10000.0, join=interleaved):
    """The sinusoids of the positions, with the places where a wrong one departs as arguments."""
    powers = exponents(positions, d) if powers is None else powers
    angles = positions[..., None] * base**-powers
    return join(angles.sin(), angles.cos())[..., :d]


def swapped(sines, cosines):
    return interleaved(cosines, sines)
