r"""Multi-head attention (chapter: multi_head).

$$\mathrm{MultiHead}(X, Y) = [\mathrm{head}_0 \dots \mathrm{head}_{h-1}]\, W_O, \qquad
\mathrm{head}_i = \mathrm{Attention}(X W_Q^i, Y W_K^i, Y W_V^i)$$

Source: Vaswani et al. (2017), section 3.2.2.
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from attncourse.dot_product import attention
from attncourse.shapes import shaped


@shaped
def split_heads(
    x: Float[Tensor, "*batch n d"], heads: int
) -> Float[Tensor, "*batch {heads} n d_h"]:
    """Split each row into `heads` equal pieces; piece i of every row is head i.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    require_divisible("d", x.shape[-1], heads)
    # the heads become a leading axis, so that attention treats them like a batch
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(-3, -2)


@shaped
def join_heads(x: Float[Tensor, "*batch heads n d_h"]) -> Float[Tensor, "*batch n d"]:
    """Put the heads' rows side by side again: undoes `split_heads`.

    Source: Vaswani et al. (2017), section 3.2.2 (there Concat).
    """
    return x.transpose(-3, -2).flatten(-2)


class MultiHeadAttention(nn.Module):
    """Attention in several heads, each with its own projections, and a last matrix.

    `attend(q, k, v, mask)` is what each head does.
    Source: Vaswani et al. (2017), section 3.2.2; the biases are torch's.
    """

    def __init__(self, d_model: int, heads: int, attend=attention, bias: bool = True):
        super().__init__()
        require_divisible("d_model", d_model, heads)
        self.d_model = d_model
        self.heads = heads
        self.attend = attend
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    @shaped
    def forward(
        self,
        x: Float[Tensor, "*batch n {self.d_model}"],
        context: Float[Tensor, "*batch m {self.d_model}"] | None = None,
        mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    ) -> Float[Tensor, "*batch n {self.d_model}"]:
        """The queries come from x, the keys and values from the context, by default x.

        The mask has no axis for the heads: all of them share it.
        """
        context = x if context is None else context
        q = split_heads(self.w_q(x), self.heads)
        k = split_heads(self.w_k(context), self.heads)
        v = split_heads(self.w_v(context), self.heads)
        if mask is not None:
            # an axis for the heads, or a batch of masks would line up with them
            mask = mask.unsqueeze(-3)
        return self.w_o(join_heads(self.attend(q, k, v, mask)))


def require_divisible(name: str, d: int, heads: int) -> None:
    """Raise ValueError, with the numbers, if d cannot be split into that many heads."""
    if heads < 1:
        raise ValueError(f"heads={heads}: a layer has at least 1 head")
    if d < 1 or d % heads:
        raise ValueError(f"{name}={d} is not a multiple of heads={heads}")
