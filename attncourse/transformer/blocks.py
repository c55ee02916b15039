"""The parts of a Transformer block, and the blocks of its encoder and its decoder."""

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import relu

from attncourse.dot_product import attention
from attncourse.multi_head import MultiHeadAttention, join_heads, split_heads
from attncourse.transformer.attends import Causal
from attncourse.transformer.cache import Cache, HeadsCache

# keys and values, split into heads
KeysValues = tuple[Tensor, Tensor]


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, for each token alone.

    Source: Vaswani et al. (2017), eq. 2.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Callable[[Tensor], Tensor] = relu,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.activation, self.dropout = activation, nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """Wider, through the activation, and back to the width of x."""
        return self.down(self.dropout(self.activation(self.up(x))))


class PreNorm(nn.Module):
    """The residual stream goes on unchanged; a part reads it normalised, and adds to it.

    Source: Xiong et al. (2020), table 1, right.
    """

    def __init__(self, d_model: int, part: nn.Module, dropout: float = 0.0):
        super().__init__()
        self.norm, self.part = nn.LayerNorm(d_model), part
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch n d"], *more, **named) -> Tensor:
        """x + f(norm(x)); the part f gets the other arguments too."""
        return x + self.dropout(self.part(self.norm(x), *more, **named))


class PostNorm(nn.Module):
    """A part adds to the residual stream, and the sum is normalised.

    Source: Vaswani et al. (2017), section 3.1.
    """

    def __init__(self, d_model: int, part: nn.Module, dropout: float = 0.0):
        super().__init__()
        self.norm, self.part = nn.LayerNorm(d_model), part
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch n d"], *more, **named) -> Tensor:
        """norm(x + f(x)); the part f gets the other arguments too."""
        return self.norm(x + self.dropout(self.part(x, *more, **named)))


class GroupedAttention(MultiHeadAttention):
    """Multi-head attention with an optional cache, and optionally fewer heads of keys and values.

    With fewer, several heads of queries share each, and `attend` is grouped_query_attention, alone
    or within another.
    Source: Vaswani et al. (2017), section 3.2.2; the groups: Ainslie et al. (2023), section 2.2.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        attend: Callable[..., Tensor] = attention,
        groups: int | None = None,
    ):
        super().__init__(d_model, heads, attend)
        self.groups = heads if groups is None else groups
        if self.groups < 1 or heads % self.groups:
            raise ValueError(f"heads={heads} is not a multiple of groups={self.groups}")
        if self.groups != heads:
            self.w_k = nn.Linear(d_model, self.groups * (d_model // heads))
            self.w_v = nn.Linear(d_model, self.groups * (d_model // heads))

    def keys_values(self, context: Float[Tensor, "*batch m d"]) -> KeysValues:
        """The context's keys and values, in heads."""
        k, v = self.w_k(context), self.w_v(context)
        return split_heads(k, self.groups), split_heads(v, self.groups)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        x: Float[Tensor, "*batch n d"],
        context: Tensor | KeysValues | None = None,
        mask: Bool[Tensor, "*#batch #n #m"] | None = None,
        cache: HeadsCache | None = None,
    ) -> Float[Tensor, "*batch n d"]:
        """Attention to x itself, after what the cache has, or to a context.

        A context may be the pair that `keys_values` gives, if it is made already.
        """
        if context is not None and getattr(self.attend, "one_sequence", False):
            raise ValueError(
                f"{type(self.attend).__name__} needs offsets between positions of one sequence; "
                "in cross-attention, queries and keys are of two"
            )
        context = x if context is None else context
        k, v = context if isinstance(context, tuple) else self.keys_values(context)
        q = split_heads(self.w_q(x), self.heads)
        mask = None if mask is None else mask.unsqueeze(-3)
        if cache is None:
            return self.w_o(join_heads(self.attend(q, k, v, mask=mask)))
        return self.w_o(join_heads(cache.attend(self.attend, q, k, v, mask)))


class EncoderBlock(nn.Module):
    """Self-attention, then the feed-forward network, each in a residual.

    With a causal `attend` it is the block of a model such as GPT.
    Source: Vaswani et al. (2017), section 3.1.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_ff: int,
        attend: Callable[..., Tensor] = attention,
        *,
        groups: int | None = None,
        residual: type[PreNorm | PostNorm] = PreNorm,
        activation: Callable[[Tensor], Tensor] = relu,
        dropout: float = 0.0,
    ):
        super().__init__()
        each_token = FeedForward(d_model, d_ff, activation, dropout)
        self.attention = residual(
            d_model, GroupedAttention(d_model, heads, attend, groups), dropout
        )
        self.feed_forward = residual(d_model, each_token, dropout)

    def forward(
        self,
        x: Float[Tensor, "*batch n d"],
        mask: Bool[Tensor, "*#batch #n #m"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "*batch n d"]:
        """The block's output; the cache has the tokens before x, and x is added to it."""
        return self.feed_forward(self.attention(x, mask=mask, cache=cache))

    def new_cache(self) -> Cache:
        """An empty cache, of the kind that its `attend` needs, or a layer in place of its heads."""
        part = self.attention.part
        attend = getattr(part, "attend", part)
        kind = getattr(attend, "cache", None)
        if kind is None:
            name = getattr(attend, "__name__", type(attend).__name__)
            raise ValueError(
                f"{name} sees later tokens, so that each new one changes what is kept of those "
                f"before it: a cache needs Causal({name}) or CausalLinearAttention()"
            )
        return kind()


class DecoderBlock(EncoderBlock):
    """Causal self-attention, cross-attention to the encoder's output, the feed-forward network.

    Source: Vaswani et al. (2017), section 3.1.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_ff: int,
        attend: Callable[..., Tensor] | None = None,
        cross_attend: Callable[..., Tensor] = attention,
        *,
        residual: type[PreNorm | PostNorm] = PreNorm,
        dropout: float = 0.0,
        **options,
    ):
        own = Causal() if attend is None else attend
        super().__init__(d_model, heads, d_ff, own, residual=residual, dropout=dropout, **options)
        cross = GroupedAttention(d_model, heads, cross_attend, options.get("groups"))
        self.cross_attention = residual(d_model, cross, dropout)

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        x: Float[Tensor, "*batch n d"],
        memory: Tensor | KeysValues,
        mask: Bool[Tensor, "*#batch #n #kept"] | None = None,
        memory_mask: Bool[Tensor, "*#batch #n #m"] | None = None,
        cache: Cache | None = None,
    ) -> Float[Tensor, "*batch n d"]:
        """The block's output; the memory is the encoder's output, or its keys and values."""
        x = self.attention(x, mask=mask, cache=cache)
        return self.feed_forward(self.cross_attention(x, memory, memory_mask))

    def keys_values(self, memory: Float[Tensor, "*batch m d"]) -> KeysValues:
        """The keys and values of its cross-attention, the same for every token of the target."""
        part: GroupedAttention = self.cross_attention.part  # pyright: ignore
        return part.keys_values(memory)
