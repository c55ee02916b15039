"""What a learner's test meets: right forms of linear attention and, made of the first, wrong ones.

Each is handed over as its source, so it stands alone.
"""

import torch

from judge.implementations import not_contiguous, spoiled
from judge.variants import every


def as_a_matrix(q, k, v, causal=False):
    phi_q = torch.nn.functional.elu(q) + 1
    phi_k = torch.nn.functional.elu(k) + 1
    weights = phi_q @ phi_k.mT
    if causal:
        weights = weights.tril()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ v


def by_sums(q, k, v, causal=False):
    phi_q, phi_k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (q, k))
    state = phi_k[..., :, None] * v[..., None, :]
    if causal:
        state, total = state.cumsum(-3), phi_k.cumsum(-2)
    else:
        state, total = state.sum(-3, keepdim=True), phi_k.sum(-2, keepdim=True)
    out = torch.einsum("...id,...ide->...ie", phi_q, state.expand(*phi_q.shape, -1))
    return out / (phi_q * total).sum(-1, keepdim=True)


def token_by_token(q, k, v, causal=False):
    phi_q, phi_k = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    values = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    state = 0 if causal else phi_k.mT @ values
    rows = []
    for i in range(q.shape[-2]):
        if causal:
            state = state + phi_k[..., i, :, None] * values[..., i, None, :]
        row = (phi_q[..., i, None, :] @ state)[..., 0, :]
        rows.append(row[..., :-1] / row[..., -1:])
    return torch.stack(rows, dim=-2)


RIGHT = {
    "a right linear attention": as_a_matrix,
    "a right linear attention, by running sums": by_sums,
    "a right linear attention, token by token": token_by_token,
    "a right linear attention, whose result is not contiguous": (
        # where causal, there are as many queries as keys
        "weights.tril()",
        "weights * weights.new_ones(q.shape[-2], q.shape[-2]).tril()",
        *not_contiguous("weights @ v"),
    ),
}
PHI_Q, PHI_K = "torch.nn.functional.elu(q) + 1", "torch.nn.functional.elu(k) + 1"
PRODUCT, LOWER = "phi_q @ phi_k.mT", "weights.tril()"
SUM, MEAN = "weights.sum(dim=-1, keepdim=True)", "weights @ v"
# what each wrong one does, and the edits that make it of the matrix
WRONG = spoiled(MEAN) | {
    "forgets the normaliser": (f"weights / {SUM}", "weights"),
    "divides by the number of keys": (SUM, "k.shape[-2]"),
    "normalises over the queries": (SUM, "weights.sum(dim=-2, keepdim=True)"),
    "normalises over all keys when causal": (SUM, f"({PRODUCT}).sum(dim=-1, keepdim=True)"),
    "adds 0.01 to the normaliser": (SUM, f"(0.01 + {SUM})"),
    "takes the softmax": (PRODUCT, "(q @ k.mT / q.shape[-1] ** 0.5).exp()"),
    "takes exp for a feature map": (PHI_Q, "q.exp()", PHI_K, "k.exp()"),
    "has no feature map": (PHI_Q, "q", PHI_K, "k"),
    "has no feature map for the keys": (PHI_K, "k"),
    "leaves the 1 out of the feature map": (PHI_Q, PHI_Q[:-4], PHI_K, PHI_K[:-4]),
    "takes relu for elu in the feature map": (every("elu"), "relu"),
    "scales the queries": ("elu(q)", "elu(q / q.shape[-1] ** 0.5)"),
    "ignores causal": ("if causal", "if False"),
    "is always causal": ("if causal", "if True"),
    "hides each token from itself when causal": (LOWER, "weights.tril(-1)"),
    "shows one token ahead when causal": (LOWER, "weights.tril(1)"),
    "hides the earlier tokens when causal": (LOWER, "weights.triu()"),
    "shows each token itself alone when causal": (LOWER, "weights.tril().triu()"),
    "forgets what lies 16 tokens back when causal": (LOWER, "weights.tril().triu(-15)"),
    "forgets what lies 20 tokens back when causal": (LOWER, "weights.tril().triu(-19)"),
    "averages the keys": (MEAN, "weights @ k"),
    "returns the weights": (MEAN, "weights"),
    "is right only without a batch": (SUM, "weights.sum(dim=1, keepdim=True)"),
    "is right only with one batch axis": (SUM, "weights.sum(dim=2, keepdim=True)"),
    "cannot do without a batch": (PRODUCT, 'torch.einsum("...bid,...bjd->...bij", phi_q, phi_k)'),
    "takes the first sentence's queries for all, with two leading axes": (
        PRODUCT, "(phi_q if q.dim() < 4 else phi_q[:1, :1]) @ phi_k.mT"),
    "takes the first sentence's keys for all": (
        "phi_k.mT", "(phi_k if k.dim() < 3 else phi_k[:1]).mT"),
    "takes the last sentence's keys for all": (
        "phi_k.mT", "(phi_k if k.dim() < 3 else phi_k[-1:]).mT"),
    "wants values as wide as the keys": (MEAN, "weights @ v.view_as(k)"),
    "wants as many queries as keys": ("phi_k.mT", "phi_k.view_as(phi_q).mT"),
    "changes q": (PHI_Q, "torch.nn.functional.elu(q.mul_(2) / 2) + 1"),
    "changes k": (MEAN, "weights @ v + 0 * k.mul_(2).sum()"),
    "changes v": (MEAN, "weights @ v.mul_(2) / 2"),
    "changes v before it takes the mean": (MEAN, "weights @ v.mul_(2)"),
}  # fmt: skip
