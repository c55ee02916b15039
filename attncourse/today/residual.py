r"""Several residual streams in place of one: hyper-connections.

$$X' = A X + b\, f(a^\top X)^\top$$

The $s$ rows of $X$ are a token's streams. A part f of a block reads a mixture of them, its output
is added to each with a weight, and the streams are mixed. With one stream and weights of 1, it is
the sum x + f(x).
Source: Zhu et al. (2024); A doubly stochastic: Xie et al. (2025).
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from attncourse.shapes import shaped


@shaped
def hyper_connection(
    streams: Float[Tensor, "*batch s d"],
    part: Callable[[Tensor], Tensor],
    read: Float[Tensor, "*#batch s"],
    write: Float[Tensor, "*#batch s"],
    mix: Float[Tensor, "*#batch s s"],
) -> Float[Tensor, "*batch s d"]:
    """The streams after a part of a block, which reads one mixture of them and adds to all.

    The weights may be of the token: models make them from its streams.
    Source: Zhu et al. (2024).
    """
    output = part((read[..., None] * streams).sum(-2))
    return mix @ streams + write[..., None] * output[..., None, :]


@shaped
def doubly_stochastic(
    scores: Float[Tensor, "*batch s s"], steps: int = 20
) -> Float[Tensor, "*batch s s"]:
    """Weights above 0 whose rows sum to 1, and columns nearly: no mixing makes the streams grow.

    Columns and rows are normalised in turn (Sinkhorn-Knopp), the rows last.
    Source: Xie et al. (2025).
    """
    # in logarithms nothing overflows
    for _ in range(steps):
        scores = scores.log_softmax(-2).log_softmax(-1)
    return scores.exp()
