"""Causal linear attention in chunks of tokens, with gradients that keep a state for each chunk.

Source: Katharopoulos et al. (2020), eq. 13-15, for the gradients of the numerator.
"""

import math

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from attncourse.precision import no_autocast

# tokens in a chunk: fewer leave the matrix products too small, more pair tokens that a state joins
CHUNK = 128


class ChunkwiseLinearAttention(torch.autograd.Function):
    """For each query, the mean of the values so far under the products of features as weights."""

    @staticmethod
    def forward(ctx, q, k, v):
        """Each chunk's pairs and the state before it, which is kept for the backward pass."""
        ctx.batch = q.shape[:-2]
        q, k, v = (x.reshape(math.prod(ctx.batch), *x.shape[-2:]) for x in (q, k, v))
        out, states = torch.empty_like(v), []
        S, z = q.new_zeros(len(q), q.shape[2], v.shape[2]), q.new_zeros(len(q), 1, q.shape[2])
        for here in chunks_of(q):
            weights = (q[:, here] @ k[:, here].mT).tril_()
            total = weights.sum(-1, True).add_((q[:, here] * z).sum(-1, True))
            total.masked_fill_(total == 0, 1)
            torch.div((weights @ v[:, here]).baddbmm_(q[:, here], S), total, out=out[:, here])
            states += S, z, total
            S, z = S.baddbmm(k[:, here].mT, v[:, here]), z + k[:, here].sum(1, True)
        ctx.save_for_backward(q, k, v, out, *states)
        return out.view(*ctx.batch, *out.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):  # pyright: ignore[reportIncompatibleMethodOverride]
        """Each chunk's pairs once more; what later queries hand back to its keys is in a state."""
        q, k, v, out, *states = ctx.saved_tensors
        dout = grads[0].reshape(out.shape)
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        dS, dz = q.new_zeros(len(q), q.shape[2], v.shape[2]), q.new_zeros(len(q), 1, q.shape[2])
        steps = [*zip(chunks_of(q), states[::3], states[1::3], states[2::3], strict=True)]
        with no_autocast(q):
            for here, S, z, total in reversed(steps):
                dsums = dout[:, here] / total
                dtotal = -(dsums * out[:, here]).sum(-1, True)
                weights = (q[:, here] @ k[:, here].mT).tril_()
                dweights = (dsums @ v[:, here].mT).add_(dtotal).tril_()
                dq[:, here] = (dweights @ k[:, here]).baddbmm_(dsums, S.mT).addcmul_(dtotal, z)
                dk[:, here] = (dweights.mT @ q[:, here]).baddbmm_(v[:, here], dS.mT).add_(dz)
                dv[:, here] = (weights.mT @ dsums).baddbmm_(k[:, here], dS)
                dS.baddbmm_(q[:, here].mT, dsums)
                dz += (dtotal * q[:, here]).sum(1, True)
        return tuple(x.view(*ctx.batch, *x.shape[1:]) for x in (dq, dk, dv))


def chunks_of(q: Tensor) -> list[slice]:
    """The places of each chunk of tokens."""
    return [slice(start, start + CHUNK) for start in range(0, q.shape[1], CHUNK)]
