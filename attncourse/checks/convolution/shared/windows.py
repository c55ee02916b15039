"""Windows around positions, for the exercises that ask for them, and their places of mistake."""

import torch
from torch.nn.functional import pad

from attncourse.checks.relative.shared.rows import offsets

# hints of two exercises
FILL = "the fill is not low enough: it still gets weight where other scores are low. Fill with -inf"
KEYS = "keys that low give scores of either sign, or NaN: mask the scores, not the keys"


def band(n, m, left, right, device=None, *, first=None):
    """True where a key lies at most `left` before its query and at most `right` after it."""
    offset = offsets(n, m, device, first=first)
    return (offset >= -left) & (offset <= right)


def windows(x, width, before=None, value=0.0):
    """The `width` vectors of each position, `before` of them first; beyond the ends, that value."""
    before = width // 2 if before is None else before
    padded = pad(x, (0, 0, before, width - 1 - before), value=value)
    return padded.unfold(-2, width, 1).mT


def keys(n, width, device=None, before=None):
    """The position at each place of each window, (n, width); some lie beyond the ends."""
    place = torch.arange(width, device=device) - (width // 2 if before is None else before)
    return torch.arange(n, device=device)[:, None] + place


def inside(n, width, device=None, before=None):
    """Which places of each window hold a position of the sequence."""
    key = keys(n, width, device, before)
    return (key >= 0) & (key < n)
