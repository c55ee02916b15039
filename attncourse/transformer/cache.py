"""Caches of a block for decoding token by token."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncourse.linear import linear_attention_state, linear_attention_step
from attncourse.shapes import shaped


class KeyValueCache:
    """The keys and values of the n tokens so far: 2 n d numbers if both have width d.

    Source: Shazeer (2019), section 2.4 (there prev_K and prev_V).
    """

    def __init__(self):
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def attend(
        self,
        attend: Callable[..., Tensor],
        q: Float[Tensor, "*batch n d"],
        k: Float[Tensor, "*batch_k n d"],
        v: Float[Tensor, "*batch_k n e"],
        mask: Bool[Tensor, "*#batch #n #m"] | None = None,
    ) -> Float[Tensor, "*batch n e"]:
        """Append the new keys and values, and attend to all of them."""
        # this copies what is kept at each step; who wants speed allocates it once
        self.k = k if self.k is None else torch.cat([self.k, k], dim=-2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=-2)
        return attend(q, self.k, self.v, mask=mask)

    def select(self, rows: Int[Tensor, "rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.k is not None and self.v is not None:
            self.k, self.v = self.k[rows], self.v[rows]


class LinearState:
    """The state of causal linear attention: of the same size after any number of tokens.

    Source: Katharopoulos et al. (2020), eq. 16-20.
    """

    def __init__(self):
        self.state: tuple[Tensor, Tensor] | None = None

    @shaped
    def attend(
        self,
        attend: Callable[..., Tensor],
        q: Float[Tensor, "*batch n d"],
        k: Float[Tensor, "*batch n d"],
        v: Float[Tensor, "*batch n e"],
        mask: Bool[Tensor, "*#batch 1 n"] | None = None,
    ) -> Float[Tensor, "*batch n e"]:
        """Add the tokens to the state one by one; `attend` starts at zeros, and is not used."""
        if mask is not None:
            raise ValueError(f"mask={tuple(mask.shape)}: what joined the state cannot be masked")
        if self.state is None:
            self.state = linear_attention_state(k[..., :0, :], v[..., :0, :])
        outputs = []
        for q_t, k_t, v_t in zip(q.unbind(-2), k.unbind(-2), v.unbind(-2), strict=True):
            self.state, output = linear_attention_step(self.state, q_t, k_t, v_t)
            outputs.append(output)
        return torch.stack(outputs, dim=-2)

    def select(self, rows: Int[Tensor, "rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.state is not None:
            self.state = self.state[0][rows], self.state[1][rows]


class LayerState:
    """The state of a layer with steps of its own: `empty_state(x)` and `step(state, x)`."""

    def __init__(self):
        self.state: tuple[Tensor, ...] | None = None

    def extend(self, layer, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d"]:
        """Let the layer take one step for each token."""
        outputs = []
        for token in x.unbind(-2):
            state = layer.empty_state(token) if self.state is None else self.state
            self.state, output = layer.step(state, token)
            outputs.append(output)
        return torch.stack(outputs, dim=-2)

    def select(self, rows: Int[Tensor, "rows"]) -> None:
        """Keep these rows of the batch, in this order."""
        if self.state is not None:
            self.state = tuple(x[rows] for x in self.state)


HeadsCache = KeyValueCache | LinearState
Cache = HeadsCache | LayerState
