"""Hints of two exercises that compute attention window by window."""

FILL = "the fill isn't low enough, and gets weight where other scores are low: fill with -inf"
KEYS = "keys that low give scores of either sign, or NaN: mask the scores, not the keys"
LATE = "the zeros take all the weight where scores are low: mask before the softmax"
NAN = "0 times -inf is NaN: use masked_fill or torch.where"
