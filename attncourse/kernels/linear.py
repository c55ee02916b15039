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
            q_c, k_c, v_c = (x[:, here] for x in (q, k, v))
            weights = (q_c @ k_c.mT).tril_()
            sums = (weights @ v_c).baddbmm_(q_c, S)
            total = weights.sum(-1, True).add_((q_c * z).sum(-1, True))
            total.masked_fill_(total == 0, 1)
            torch.div(sums, total, out=out[:, here])
            states += S, z, total
            S, z = S.baddbmm(k_c.mT, v_c), z + k_c.sum(1, True)
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
                q_c, k_c, v_c, out_c, dout_c = (x[:, here] for x in (q, k, v, out, dout))
                dsums = dout_c / total
                dtotal = -(dsums * out_c).sum(-1, True)
                weights = (q_c @ k_c.mT).tril_()
                dweights = (dsums @ v_c.mT).add_(dtotal).tril_()
                dq[:, here] = (dweights @ k_c).baddbmm_(dsums, S.mT).addcmul_(dtotal, z)
                dk[:, here] = (dweights.mT @ q_c).baddbmm_(v_c, dS.mT).add_(dz)
                dv[:, here] = (weights.mT @ dsums).baddbmm_(k_c, dS)
                # last, since the chunk's own dk and dv take what the chunks after it hand back
                dS.baddbmm_(q_c.mT, dsums)
                dz += (dtotal * q_c).sum(1, True)
        return tuple(x.view(*ctx.batch, *x.shape[1:]) for x in (dq, dk, dv))


def chunks_of(q: Tensor) -> list[slice]:
    """The places of each chunk of tokens."""
    return [slice(start, start + CHUNK) for start in range(0, q.shape[1], CHUNK)]
