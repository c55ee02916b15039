"""What exercises share that sum keys and values up: inputs, a reference, hints."""

import torch

EPSILON = "an epsilon in the denominator shows where features are small: leave it out"
LEAST = "a least value for the denominator shows where features are small: leave it out"
FEATURES_AGAIN = "the feature map is applied again: phi_q and phi_k are features already"


def features(draw, *shape):
    """Positive numbers, none of them near 0: small ones have a case of their own.

    No gradient is asked for in a case of one small feature: it is what is left of 1e6 - 1e6.
    """
    return 4 * (draw.normal(*shape).exp() + 1)


def draw_inputs(draw, *batch, n, d, e, m=None):
    """phi_q, phi_k and v: n queries, and m keys or n."""
    m = m or n
    return features(draw, *batch, n, d), features(draw, *batch, m, d), draw.normal(*batch, m, e)


def causal_by_hand(phi_q, phi_k, v):
    """Causal linear attention, token by token."""
    state = total = 0
    rows = []
    for i in range(phi_q.shape[-2]):
        state = state + phi_k[..., i, :, None] * v[..., i, None, :]
        total = total + phi_k[..., i, :]
        sums = (phi_q[..., i, :, None] * state).sum(-2)
        rows.append(sums / (phi_q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)
