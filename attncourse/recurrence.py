r"""Recurrent networks (chapter: recurrence).

$$h_t = \tanh(W_{ih} x_t + b_{ih} + W_{hh} h_{t-1} + b_{hh})$$

Source: Elman (1990). The LSTM: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et
al. (2000). Names and order of the weights are those of torch.nn.RNN and torch.nn.LSTM.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attncourse.shapes import shaped


@shaped
def rnn(
    x: Float[Tensor, "*batch n d"],
    w_ih: Float[Tensor, "h d"],
    w_hh: Float[Tensor, "h h"],
    b_ih: Float[Tensor, "h"],
    b_hh: Float[Tensor, "h"],
    first: Float[Tensor, "*batch h"] | None = None,
) -> Float[Tensor, "*batch n h"]:
    """All states: each is made from the token at its position and the state before it.

    `first` is the state before the first token, by default zeros. Source: Elman (1990).
    """
    h = x.new_zeros(*x.shape[:-2], w_hh.shape[-1]) if first is None else first
    require_steps(x, 1, w_hh, h)
    # what the tokens bring needs no state: one product for all of them
    from_tokens = x @ w_ih.mT + b_ih + b_hh
    states = []
    for from_token in from_tokens.unbind(-2):
        h = (from_token + h @ w_hh.mT).tanh()
        states.append(h)
    return torch.stack(states, dim=-2)


@shaped
def lstm(
    x: Float[Tensor, "*batch n d"],
    w_ih: Float[Tensor, "gates d"],
    w_hh: Float[Tensor, "gates h"],
    b_ih: Float[Tensor, "gates"],
    b_hh: Float[Tensor, "gates"],
    first: tuple[Float[Tensor, "*batch h"], Float[Tensor, "*batch h"]] | None = None,
) -> tuple[Float[Tensor, "*batch n h"], Float[Tensor, "*batch h"]]:
    """All states, and the last cell; `first` is the state and the cell before the first token.

    The rows of the weights are those of the gates i, f, g and o, in this order.
    Source: Hochreiter and Schmidhuber (1997); the gate f: Gers et al. (2000).
    """
    zeros = x.new_zeros(*x.shape[:-2], w_hh.shape[-1])
    h, c = (zeros, zeros) if first is None else first
    require_steps(x, 4, w_hh, h, c)
    from_tokens = x @ w_ih.mT + b_ih + b_hh
    states = []
    for from_token in from_tokens.unbind(-2):
        i, f, g, o = (from_token + h @ w_hh.mT).chunk(4, dim=-1)
        # keep a share of the cell, and add a share of what is new
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        states.append(h)
    return torch.stack(states, dim=-2), c


def gradient_by_distance(
    layer: Callable[[Tensor], Tensor],
    n: int,
    d: int = 16,
    draws: int = 8,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "n"]:
    """How much the last of n outputs depends on the token at each distance before it, 0 first.

    It is the Frobenius norm of the Jacobian of output n-1 with respect to token n-1-distance,
    averaged over draws of normal tokens of width d. The layer takes (batch, n, d) to the same
    shape, each sequence on its own.
    """
    if min(n, d, draws) < 1:
        raise ValueError(f"n={n}, d={d} and draws={draws}: each must be at least 1")
    device = None if generator is None else generator.device
    tokens = torch.randn(draws, n, d, generator=generator, device=device, dtype=dtype)
    # a copy for each number of the last output: then one backward pass gives the whole Jacobian
    copies = tokens.repeat_interleave(d, dim=0).requires_grad_()
    out = layer(copies)
    if out.shape != copies.shape:
        raise ValueError(f"the layer takes {tuple(copies.shape)} to {tuple(out.shape)}")
    own = out[:, -1].unflatten(0, (draws, d)).diagonal(dim1=-2, dim2=-1)
    (gradient,) = torch.autograd.grad(own.sum(), copies)
    jacobians = gradient.unflatten(0, (draws, d))
    return jacobians.norm(dim=(1, 3)).mean(0).flip(0)


def require_steps(x: Tensor, gates: int, w_hh: Tensor, *first: Tensor) -> None:
    """Raise ValueError, with the sizes, if there is no token or a state does not fit."""
    if x.shape[-2] == 0:
        raise ValueError(f"x={tuple(x.shape)} has no token")
    rows, h = w_hh.shape
    if rows != gates * h:
        raise ValueError(f"w_hh={(rows, h)} should be {(gates * h, h)}: h rows for each gate")
    for state in first:
        if state.shape != (expected := (*x.shape[:-2], h)):
            raise ValueError(f"a first state of {tuple(state.shape)} should be {expected}")
