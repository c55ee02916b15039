r"""Linear attention (chapter: linear).

$$V'_i = \frac{\phi(Q_i)^\top \sum_{j \le i} \phi(K_j) V_j^\top}
{\phi(Q_i)^\top \sum_{j \le i} \phi(K_j)}, \qquad \phi(x) = \mathrm{elu}(x) + 1$$

Without a causal mask, both sums go over all keys.
Source: Katharopoulos et al. (2020), eq. 4-12 and 16-20.
"""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import elu

from attncourse.dot_product import causal_mask
from attncourse.kernels.linear import CHUNK, ChunkwiseLinearAttention
from attncourse.precision import upcast
from attncourse.shapes import shaped


def feature_map(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """Features above 0, so that every weight is too: elu(x) + 1.

    In float32, that of -18 is rounded to 0. Source: Katharopoulos et al. (2020), eq. 7.
    """
    return elu(x) + 1


def taylor_features(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch features"]:
    """1 + d + d² features, whose products are 1 + x·y + (x·y)²/2: three terms of exp(x·y).

    No such weight is below 1/2. Softmax divides q·k by √d: to come near it, divide q first.
    The features of a polynomial: Katharopoulos et al. (2020), 3.2.1.
    """
    pairs = (x[..., :, None] * x[..., None, :]).flatten(-2) / 2**0.5
    return torch.cat([torch.ones_like(x[..., :1]), x, pairs], dim=-1)


@shaped
@upcast
def linear_attention_parallel(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    causal: bool = True,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> Float[Tensor, "*batch n e"]:
    """For each query, the mean of the values, with all n x m weights written out.

    The specification of the other forms. Source: Katharopoulos et al. (2020), eq. 4 and 8.
    """
    require_same_length(q, k, causal)
    weights = feature_map(q) @ feature_map(k).mT
    if causal:
        weights = weights.masked_fill(~causal_mask(q.shape[-2], q.device), 0)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0)
    return safe_divide(weights @ v, weights.sum(-1, keepdim=True))


@shaped
@upcast
def linear_attention_cumsum(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> Float[Tensor, "*batch n e"]:
    """Causal linear attention from all sums at once: n x features x e numbers.

    Source: Katharopoulos et al. (2020), eq. 9-12.
    """
    phi_q, phi_k = feature_map(q), feature_map(k)
    S = (phi_k[..., :, None] * v[..., None, :]).cumsum(-3)
    z = phi_k.cumsum(-2)
    total = (phi_q * z).sum(-1, keepdim=True)
    return safe_divide((phi_q[..., None, :] @ S).squeeze(-2), total)


@shaped
@upcast
def linear_attention_state(
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    mask: Bool[Tensor, "*#batch 1 m"] | None = None,
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> tuple[Float[Tensor, "*batch features e"], Float[Tensor, "*batch features"]]:
    """What any later query needs to know of keys and values: S and z, of a fixed size.

    Without keys it is the state to begin with. A mask leaves keys out. Both are float32 at least.
    Source: Katharopoulos et al. (2020), eq. 10 and 11.
    """
    phi_k = masked_features(feature_map(k), mask)
    return phi_k.mT @ v, phi_k.sum(-2)


def empty_state(
    k: Tensor, v: Tensor, feature_map: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """The state S and z before the first token: zeros, as many as there are features."""
    return linear_attention_state(k[..., :0, :], v[..., :0, :], feature_map=feature_map)


@shaped
@upcast
def linear_attention_step(
    state: tuple[Float[Tensor, "*batch features e"], Float[Tensor, "*batch features"]],
    q: Float[Tensor, "*batch d"],
    k: Float[Tensor, "*batch d"],
    v: Float[Tensor, "*batch e"],
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> tuple[tuple[Tensor, Tensor], Float[Tensor, "*batch e"]]:
    """One token joins the state, and then reads it: the new state, and the token's output.

    Source: Katharopoulos et al. (2020), eq. 16-20.
    """
    S, z = state
    phi_q, phi_k = feature_map(q), feature_map(k)
    S = S + phi_k[..., :, None] * v[..., None, :]
    z = z + phi_k
    sums = (phi_q[..., None, :] @ S).squeeze(-2)
    total = (phi_q * z).sum(-1, keepdim=True)
    return (S, z), safe_divide(sums, total)


@shaped
def linear_attention_recurrent(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> Float[Tensor, "*batch n e"]:
    """Causal linear attention as a recurrent network, with a state of fixed size.

    With f features, it is f x e + f numbers. Source: Katharopoulos et al. (2020), eq. 16-20.
    """
    state = empty_state(k, v, feature_map)
    outputs = []
    for q_t, k_t, v_t in zip(q.unbind(-2), k.unbind(-2), v.unbind(-2), strict=True):
        state, output = linear_attention_step(state, q_t, k_t, v_t, feature_map)
        outputs.append(output)
    return torch.stack(outputs, dim=-2) if outputs else torch.zeros_like(v)


@shaped
@upcast
def linear_attention_chunkwise(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    mask: Bool[Tensor, "*#batch 1 n"] | None = None,
    feature_map: Callable[[Tensor], Tensor] = feature_map,
    chunk: int = CHUNK,
) -> Float[Tensor, "*batch n e"]:
    """Causal linear attention: parallel within a chunk, recurrent between chunks.

    Source: Sun et al. (2023), section 2.1, there for a state that decays.
    """
    if chunk < 1:
        raise ValueError(f"chunk={chunk}: a chunk has at least 1 token")
    S, z = empty_state(k, v, feature_map)
    phi_q, phi_k = feature_map(q), masked_features(feature_map(k), mask)
    in_chunks = (x.split(chunk, dim=-2) for x in broadcast_batch(phi_q, phi_k, v))
    outputs = []
    for phi_q_c, phi_k_c, v_c in zip(*in_chunks, strict=True):
        weights = (phi_q_c @ phi_k_c.mT).tril()
        sums = phi_q_c @ S + weights @ v_c
        total = phi_q_c @ z[..., None] + weights.sum(-1, keepdim=True)
        outputs.append(safe_divide(sums, total))
        S, z = S + phi_k_c.mT @ v_c, z + phi_k_c.sum(-2)
    return torch.cat(outputs, dim=-2)


@shaped
@upcast
def linear_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    causal: bool = False,
    mask: Bool[Tensor, "*#batch 1 m"] | None = None,
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> Float[Tensor, "*batch n e"]:
    """For each query, the mean of the values, in time that grows with n and not n².

    Without `causal`, one state serves all queries. With it, the tokens are read in chunks
    of 128, with a backward pass written by hand that cannot be differentiated again.
    A mask leaves keys out for all queries; a query without any key gets zeros.
    Source: Katharopoulos et al. (2020), eq. 4-6; eq. 13-15 for the gradients.
    """
    require_same_length(q, k, causal)
    phi_q = feature_map(q)
    if causal:
        phi_k = masked_features(feature_map(k), mask)
        return ChunkwiseLinearAttention.apply(*broadcast_batch(phi_q, phi_k, v))
    S, z = linear_attention_state(k, v, mask, feature_map)
    return safe_divide(phi_q @ S, phi_q @ z[..., None])


@shaped
def gated_write(
    S: Float[Tensor, "*batch d e"],
    k: Float[Tensor, "*batch d"],
    v: Float[Tensor, "*batch e"],
    gate: Float[Tensor, "*#batch #d"],
) -> Float[Tensor, "*batch d e"]:
    """The state after a token: gates fade its rows, and then the token adds to it.

    Source: Yang et al. (2024); one gate for all rows: Dao and Gu (2024).
    """
    return gate[..., :, None] * S + k[..., :, None] * v[..., None, :]


@shaped
def delta_write(
    S: Float[Tensor, "*batch d e"],
    k: Float[Tensor, "*batch d"],
    v: Float[Tensor, "*batch e"],
    beta: Float[Tensor, "*#batch"],
) -> Float[Tensor, "*batch d e"]:
    """The state after a token: beta is the share of its key's error that it corrects.

    Source: Schlag et al. (2021), where the features of a key sum to 1. Here keys have norm 1, as in
    Yang, Wang, Zhang et al. (2024).
    """
    error = v - (k[..., None, :] @ S).squeeze(-2)
    return S + beta[..., None, None] * k[..., :, None] * error[..., None, :]


def broadcast_batch(*tensors: Tensor) -> Iterator[Tensor]:
    """The tensors, with their leading axes broadcast together."""
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in tensors))
    return (x.expand(*batch, *x.shape[-2:]) for x in tensors)


def masked_features(phi_k: Tensor, mask: Tensor | None) -> Tensor:
    """The keys' features, with zeros where the mask leaves a key out."""
    return phi_k if mask is None else phi_k.masked_fill(~mask.mT, 0)


def safe_divide(sums: Tensor, total: Tensor) -> Tensor:
    """Weighted sums over their total weight; zeros where nothing has any."""
    return sums / total.masked_fill(total == 0, 1)


def require_same_length(q: Tensor, k: Tensor, causal: bool) -> None:
    """Raise ValueError, with the lengths, where causal queries and keys are not of one sequence."""
    if causal and q.shape[-2] != k.shape[-2]:
        raise ValueError(f"causal needs as many queries as keys: {q.shape[-2]} and {k.shape[-2]}")
