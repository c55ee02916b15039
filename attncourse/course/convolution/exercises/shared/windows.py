"""Windows around positions, for the exercises that ask for them."""

import torch
from torch.nn.functional import pad

# hints of two exercises
FILL = "the fill is not low enough: it still gets weight where other scores are low. Fill with -inf"
KEYS = "keys that low give scores of either sign, or NaN: mask the scores, not the keys"
LATE = "the zeros take all the weight where scores are low: mask before the softmax"
NAN = "0 times -inf is NaN: use masked_fill or torch.where"


def windows(x, width, before=None, value=0.0):
    """The `width` vectors of each position, `before` of them first; beyond the ends, that value."""
    before = width // 2 if before is None else before
    padded = pad(x, (0, 0, before, width - 1 - before), value=value)
    return padded.unfold(-2, width, 1).mT


def keys(n, width, device=None, before=None):
    """The position at each place of each window, (n, width); some lie beyond the ends."""
    place = torch.arange(width, device=device) - (width // 2 if before is None else before)
    return torch.arange(n, device=device)[:, None] + place
