r"""Linear attention (chapter: linear).

$$V'_i = \frac{\phi(Q_i)^\top \sum_{j \le i} \phi(K_j) V_j^\top}
{\phi(Q_i)^\top \sum_{j \le i} \phi(K_j)}, \qquad \phi(x) = \mathrm{elu}(x) + 1$$

Without a causal mask, both sums go over all keys.
Source: Katharopoulos et al. (2020), eq. 4-12 and 16-20.
"""

import math
from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import elu

from attncourse.dot_product import causal_mask, require_fit
from attncourse.relative import autocast_off

# tokens in a chunk: fewer leave the matrix products too small, more pair tokens that a state joins
CHUNK = 128


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


def linear_attention_masked(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    causal: bool = True,
    mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> Float[Tensor, "*batch n e"]:
    """Each pair's weight written out, later keys struck out: n x m numbers.

    The specification of the other forms. Source: Katharopoulos et al. (2020), eq. 4 and 8.
    """
    require_fit(q, k, v, mask)
    require_fit_linear(q, k, v, causal)
    with autocast_off(q):
        weights = feature_map(widened(q)) @ feature_map(widened(k)).mT
        if causal:
            weights = weights.masked_fill(~causal_mask(q.shape[-2], q.device), 0)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0)
        return divided(weights @ v.to(weights), weights.sum(-1, keepdim=True)).to(v.dtype)


def linear_attention_cumulative(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> Float[Tensor, "*batch n e"]:
    """The same with every token's two sums at once: n x features x e numbers.

    Source: Katharopoulos et al. (2020), eq. 9-12.
    """
    require_fit_linear(q, k, v, causal=True)
    with autocast_off(q):
        phi_q, phi_k = feature_map(widened(q)), feature_map(widened(k))
        S = (phi_k[..., :, None] * v[..., None, :]).cumsum(-3)
        z = phi_k.cumsum(-2)
        total = (phi_q * z).sum(-1, keepdim=True)
        return divided((phi_q[..., None, :] @ S).squeeze(-2), total).to(v.dtype)


def linear_attention_state(
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    mask: Bool[Tensor, "*#batch 1 m"] | None = None,
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> tuple[Float[Tensor, "*batch features e"], Float[Tensor, "*batch features"]]:
    """What any later query needs to know of these keys and values: S and z, of a fixed size.

    No keys give the state to begin with. A mask leaves keys out.
    Source: Katharopoulos et al. (2020), eq. 10 and 11.
    """
    require_fit_linear(k, k, v, mask=mask)
    with autocast_off(k):
        phi_k = allowed(feature_map(widened(k)), mask)
        return phi_k.mT @ v.to(phi_k), phi_k.sum(-2)


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
    with autocast_off(q):
        phi_q, phi_k = feature_map(widened(q)), feature_map(widened(k))
        S, z = S + phi_k[..., :, None] * v[..., None, :], z + phi_k
        total = (phi_q * z).sum(-1, keepdim=True)
        return (S, z), divided((phi_q[..., None, :] @ S).squeeze(-2), total).to(v.dtype)


def linear_attention_recurrent(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> Float[Tensor, "*batch n e"]:
    """The same as a recurrent network, whose state has one size at any length.

    With f features, it is f x e + f numbers. Source: Katharopoulos et al. (2020), eq. 16-20.
    """
    require_fit_linear(q, k, v, causal=True)
    state = linear_attention_state(k[..., :0, :], v[..., :0, :], feature_map=feature_map)
    outputs = []
    for token in zip(q.unbind(-2), k.unbind(-2), v.unbind(-2), strict=True):
        state, output = linear_attention_step(state, *token, feature_map)
        outputs.append(output)
    return torch.stack(outputs, dim=-2) if outputs else torch.zeros_like(v)


def linear_attention_chunked(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch n d"],
    v: Float[Tensor, "*batch n e"],
    mask: Bool[Tensor, "*#batch 1 n"] | None = None,
    feature_map: Callable[[Tensor], Tensor] = feature_map,
    chunk: int = CHUNK,
) -> Float[Tensor, "*batch n e"]:
    """The masked form within a chunk of tokens, and the recurrent one from chunk to chunk.

    Source: Sun et al. (2023), section 2.1, there for a state that decays.
    """
    require_fit_linear(q, k, v, True, mask)
    if chunk < 1:
        raise ValueError(f"chunk={chunk}: a chunk has at least 1 token")
    with autocast_off(q):
        S, z = linear_attention_state(k[..., :0, :], v[..., :0, :], feature_map=feature_map)
        phi_q, phi_k = feature_map(widened(q)), allowed(feature_map(widened(k)), mask)
        chunks = (x.split(chunk, dim=-2) for x in of_one_batch(phi_q, phi_k, v.to(phi_k)))
        outputs = []
        for q_c, k_c, v_c in zip(*chunks, strict=True):
            weights = (q_c @ k_c.mT).tril()
            total = weights.sum(-1, keepdim=True) + q_c @ z[..., None]
            outputs.append(divided(q_c @ S + weights @ v_c, total))
            S, z = S + k_c.mT @ v_c, z + k_c.sum(-2)
        return torch.cat(outputs, dim=-2).to(v.dtype)


def linear_attention(
    q: Float[Tensor, "*batch n d"],
    k: Float[Tensor, "*batch m d"],
    v: Float[Tensor, "*batch m e"],
    causal: bool = False,
    mask: Bool[Tensor, "*#batch 1 m"] | None = None,
    feature_map: Callable[[Tensor], Tensor] = feature_map,
) -> Float[Tensor, "*batch n e"]:
    """The same in time and memory that grow with n: one state for all, or, if causal, in chunks.

    A mask leaves keys out for all queries; a query left without any gets zeros. The causal form's
    backward pass is written by hand, and has no gradient of its own.
    Source: Katharopoulos et al. (2020), eq. 4-6; eq. 13-15 for gradients of a causal numerator.
    """
    require_fit_linear(q, k, v, causal, mask)
    with autocast_off(q):
        phi_q = feature_map(widened(q))
        if causal:
            phi_k = allowed(feature_map(widened(k)), mask)
            return MeansInChunks.apply(*of_one_batch(phi_q, phi_k, v.to(phi_k))).to(v.dtype)
        S, z = linear_attention_state(k, v, mask, feature_map)
        return divided(phi_q @ S, phi_q @ z[..., None]).to(v.dtype)


class MeansInChunks(torch.autograd.Function):
    """For each query, the mean of the values so far under the products of features as weights.

    It is `linear_attention_chunked` with a backward pass by hand, from the last chunk to the first.
    Source: Katharopoulos et al. (2020), eq. 13-15, for the gradients of the numerator.
    """

    @staticmethod
    def forward(ctx, q, k, v):
        """Each chunk's pairs and the state before it, which is kept for the backward pass."""
        ctx.batch = q.shape[:-2]
        q, k, v = (x.reshape(math.prod(ctx.batch), *x.shape[-2:]) for x in (q, k, v))
        out, kept = torch.empty_like(v), []
        S, z = q.new_zeros(len(q), q.shape[2], v.shape[2]), q.new_zeros(len(q), 1, q.shape[2])
        for here in chunks_of(q):
            weights = (q[:, here] @ k[:, here].mT).tril_()
            total = weights.sum(-1, True).add_((q[:, here] * z).sum(-1, True))
            total.masked_fill_(total == 0, 1)
            torch.div((weights @ v[:, here]).baddbmm_(q[:, here], S), total, out=out[:, here])
            kept += S, z, total
            S, z = S.baddbmm(k[:, here].mT, v[:, here]), z + k[:, here].sum(1, True)
        ctx.save_for_backward(q, k, v, out, *kept)
        return out.view(*ctx.batch, *out.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):  # pyright: ignore[reportIncompatibleMethodOverride]
        """Each chunk's pairs once more; what later queries hand back to its keys is in a state."""
        q, k, v, out, *kept = ctx.saved_tensors
        dout = grads[0].reshape(out.shape)
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        dS, dz = q.new_zeros(len(q), q.shape[2], v.shape[2]), q.new_zeros(len(q), 1, q.shape[2])
        steps = [*zip(chunks_of(q), kept[::3], kept[1::3], kept[2::3], strict=True)]
        with autocast_off(q):
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


def of_one_batch(*tensors: Tensor) -> Iterator[Tensor]:
    """The tensors with the leading axes that they have together."""
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in tensors))
    return (x.expand(*batch, *x.shape[-2:]) for x in tensors)


def chunks_of(q: Tensor) -> list[slice]:
    """The places of each chunk of tokens."""
    return [slice(start, start + CHUNK) for start in range(0, q.shape[1], CHUNK)]


def allowed(phi_k: Tensor, mask: Tensor | None) -> Tensor:
    """The keys' features, with zeros where the mask leaves a key out."""
    return phi_k if mask is None else phi_k.masked_fill(~mask.mT, 0)


def divided(sums: Tensor, total: Tensor) -> Tensor:
    """Weighted sums over their total weight; zeros where nothing has any."""
    return sums / total.masked_fill(total == 0, 1)


def widened(x: Tensor) -> Tensor:
    """x in float32 at least: in 16 bits, a long sum soon no longer notices what is added."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def require_fit_linear(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, mask: Tensor | None = None
) -> None:
    """Raise ValueError or TypeError, with the sizes, where linear attention cannot do this."""
    if isinstance(causal, Tensor):
        raise TypeError(f"causal is a tensor, {tuple(causal.shape)}: give a mask by name, mask=")
    require_fit(q, k, v, mask)
    if mask is not None and mask.shape[-2:] != (1, k.shape[-2]):
        raise ValueError(
            f"mask={tuple(mask.shape)} has to be (..., 1, {k.shape[-2]}): one sum over keys "
            "serves every query"
        )
    if causal and q.shape[-2] != k.shape[-2]:
        raise ValueError(f"causal needs as many queries as keys: {q.shape[-2]} and {k.shape[-2]}")
