"""Chunkwise causal linear attention, which saves one state per chunk for backward.

Source: Katharopoulos et al. (2020), eq. 13-15, for the gradients of the numerator.
"""

import math

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from attncourse.precision import no_autocast

# tokens per chunk: fewer make the matrix products too small, more add quadratic work
CHUNK = 128


class ChunkwiseLinearAttention(torch.autograd.Function):
    """Causal linear attention; the arguments are the feature maps of q and k, and v."""

    @staticmethod
    def forward(ctx, q, k, v):
        """Output from the pairs within each chunk and the state before it; the states are saved."""
        ctx.batch = q.shape[:-2]
        q, k, v = (x.reshape(math.prod(ctx.batch), *x.shape[-2:]) for x in (q, k, v))
        out, states = torch.empty_like(v), []
        S, z = q.new_zeros(len(q), q.shape[2], v.shape[2]), q.new_zeros(len(q), 1, q.shape[2])
        for chunk in chunk_slices(q):
            q_c, k_c, v_c = (x[:, chunk] for x in (q, k, v))
            weights = (q_c @ k_c.mT).tril_()
            sums = (weights @ v_c).baddbmm_(q_c, S)
            total = weights.sum(-1, True).add_((q_c * z).sum(-1, True))
            total.masked_fill_(total == 0, 1)
            torch.div(sums, total, out=out[:, chunk])
            states += S, z, total
            S, z = S.baddbmm(k_c.mT, v_c), z + k_c.sum(1, True)
        ctx.save_for_backward(q, k, v, out, *states)
        return out.view(*ctx.batch, *out.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gradients, chunk by chunk from the last; dS and dz sum those from later chunks."""
        q, k, v, out, *states = ctx.saved_tensors
        dout = grads[0].reshape(out.shape)
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        dS, dz = q.new_zeros(len(q), q.shape[2], v.shape[2]), q.new_zeros(len(q), 1, q.shape[2])
        steps = [*zip(chunk_slices(q), states[::3], states[1::3], states[2::3], strict=True)]
        with no_autocast(q):
            for chunk, S, z, total in reversed(steps):
                q_c, k_c, v_c, out_c, dout_c = (x[:, chunk] for x in (q, k, v, out, dout))
                dsums = dout_c / total
                dtotal = -(dsums * out_c).sum(-1, True)
                weights = (q_c @ k_c.mT).tril_()
                dweights = (dsums @ v_c.mT).add_(dtotal).tril_()
                dq[:, chunk] = (dweights @ k_c).baddbmm_(dsums, S.mT).addcmul_(dtotal, z)
                dk[:, chunk] = (dweights.mT @ q_c).baddbmm_(v_c, dS.mT).add_(dz)
                dv[:, chunk] = (weights.mT @ dsums).baddbmm_(k_c, dS)
                # after dk and dv, which need the gradients from later chunks alone
                dS.baddbmm_(q_c.mT, dsums)
                dz += (dtotal * q_c).sum(1, True)
        return tuple(x.view(*ctx.batch, *x.shape[1:]) for x in (dq, dk, dv))


def chunk_slices(q: Tensor) -> list[slice]:
    """The slice of token positions of each chunk."""
    return [slice(start, start + CHUNK) for start in range(0, q.shape[1], CHUNK)]
