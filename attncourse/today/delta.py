r"""The delta rule with gates: Gated DeltaNet has one gate, Kimi Delta Attention one a key channel.

$$S_i = (I - \beta_i k_i k_i^\top)\, \mathrm{diag}(\alpha_i)\, S_{i-1} + \beta_i k_i v_i^\top,
\qquad z_i = S_i^\top q_i$$

With all gates at 1 it is the delta rule. Keys should have norm 1: no step then makes S larger in
the direction of its key.
Source: Yang, Kautz and Hatamizadeh (2025), section 3.1; a gate for each channel: Kimi Team (2025),
Kimi Linear, eq. 1.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncourse.dot_product import causal_mask
from attncourse.linear import delta_write
from attncourse.precision import upcast
from attncourse.shapes import shaped

# tokens per chunk: the decays of all pairs in a chunk are kept, for each channel
CHUNK = 16


@shaped
def delta_attention_step(
    S: Float[Tensor, "*batch d e"],
    q: Float[Tensor, "*batch d"],
    k: Float[Tensor, "*batch d"],
    v: Float[Tensor, "*batch e"],
    gate: Float[Tensor, "*#batch #d"],
    beta: Float[Tensor, "*#batch"],
) -> tuple[Float[Tensor, "*batch d e"], Float[Tensor, "*batch e"]]:
    """The state fades, the token corrects it, and then reads it: the new state and the output.

    The gates lie between 0 and 1, one for all rows of S or one for each. It is computed in the
    dtype of S. Source: Kimi Team (2025), Kimi Linear, eq. 1.
    """
    q, k, wide_v, gate, beta = (x.to(S.dtype) for x in (q, k, v, gate, beta))
    S = delta_write(gate[..., :, None] * S, k, wide_v, beta)
    return S, (q[..., None, :] @ S).squeeze(-2).to(v.dtype)


@shaped
@upcast
def delta_attention_recurrent(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    gate: Float[Tensor, "*#batch n #d"],
    beta: Float[Tensor, "*#batch n"],
    mask: Bool[Tensor, "*#batch 1 n"] | None = None,
) -> Float[Tensor, "*batch n e"]:
    """Token by token, with a state of fixed size; a masked token changes nothing in it.

    The specification of the chunkwise form. Source: Kimi Team (2025), Kimi Linear, eq. 1.
    """
    S = empty_delta_state(q, k, v)
    gate, beta = masked_gates(gate, beta, mask)
    outputs = []
    tokens = (q.unbind(-2), k.unbind(-2), v.unbind(-2), gate.unbind(-2), beta.unbind(-1))
    for token in zip(*tokens, strict=True):
        S, output = delta_attention_step(S, *token)
        outputs.append(output)
    return torch.stack(outputs, dim=-2) if outputs else q @ S


@shaped
@upcast
def delta_attention_chunkwise(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    gate: Float[Tensor, "*#batch n #d"],
    beta: Float[Tensor, "*#batch n"],
    mask: Bool[Tensor, "*#batch 1 n"] | None = None,
    chunk: int = CHUNK,
) -> Float[Tensor, "*batch n e"]:
    """The same, a chunk at a time: each token's correction is the solution of a triangular system.

    Decays are sums of logarithms over the tokens between, never a quotient, so that strong ones
    do not overflow. A gate below the smallest normal number counts as that number.
    Source: Kimi Team (2025), Kimi Linear, eq. 6-9; the system is the UT transform of Yang, Wang,
    Zhang et al. (2024), section 3.2.
    """
    if chunk < 1:
        raise ValueError(f"chunk={chunk}: a chunk has at least 1 token")
    S = empty_delta_state(q, k, v)
    gate, beta = masked_gates(gate, beta, mask)
    log_gate = gate.clamp(min=torch.finfo(gate.dtype).tiny).log()
    outputs = []
    for q_c, k_c, v_c, log_gate_c, beta_c in chunks(chunk, q, k, v, log_gate, beta[..., None]):
        since_start, between = log_gate_c.cumsum(-2).exp(), decays(log_gate_c)
        system = beta_c * decayed_products(k_c, k_c, between)
        error = beta_c * (v_c - (since_start * k_c) @ S)
        # ones stand for the system's diagonal, which is not read
        writes = torch.linalg.solve_triangular(system, error, upper=False, unitriangular=True)
        outputs.append((since_start * q_c) @ S + decayed_products(q_c, k_c, between) @ writes)
        S = since_start[..., -1, :, None] * S + (between[..., -1, :, :] * k_c).mT @ writes
    return torch.cat(outputs, dim=-2) if outputs else q @ S


def decays(log_gate: Float[Tensor, "*batch c d"]) -> Float[Tensor, "*batch c c d"]:
    """What is left of token j's write at token i: the product of the gates of j+1 to i; 0 before j.

    The sums of logarithms are taken for each j anew: a difference of long sums loses digits.
    Source: Dao and Gu (2024), listing 1 (segsum).
    """
    earlier = causal_mask(log_gate.shape[-2], log_gate.device)[..., None]
    after_j = earlier.transpose(0, 1).logical_not()
    sums = (log_gate[..., :, None, :] * after_j).cumsum(-3)
    return sums.masked_fill(~earlier, -torch.inf).exp()


@shaped
def decayed_products(
    x: Float[Tensor, "*batch c d"],
    k: Float[Tensor, "*batch c d"],
    between: Float[Tensor, "*#batch c c #d"],
) -> Float[Tensor, "*batch c c"]:
    """For each pair of a chunk, the product of x_i and of what is left of k_j."""
    if between.shape[-1] == 1:
        return (x @ k.mT) * between.squeeze(-1)
    return (x[..., :, None, :] * between * k[..., None, :, :]).sum(-1)


def chunks(size: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The tensors' rows, so many at a time."""
    for start in range(0, tensors[0].shape[-2], size):
        yield tuple(x[..., start : start + size, :] for x in tensors)


def empty_delta_state(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The state before the first token: zeros."""
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    return v.new_zeros(*batch, k.shape[-1], v.shape[-1])


def masked_gates(gate: Tensor, beta: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Gates that leave the state as it is where the mask leaves a token out."""
    if mask is None:
        return gate, beta
    return gate.masked_fill(~mask.mT, 1), beta.masked_fill(~mask.squeeze(-2), 0)
