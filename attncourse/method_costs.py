"""What a layer of attention costs by its method and the length of the text, in closed form.

A quantity is a sum over kinds of entries that queries see: for each kind a number, times how many
entries of that kind the last of n tokens sees (to write it), or all n tokens together (to read
them). Tests hold the numbers to what `attncourse.cost` counts in calls of the mechanisms.

Counted is what happens between a layer's projections. *Products* are multiply-adds of matrix
products; *elements* are numbers that elementwise operations, softmax and sorting compute, without
masks and copies; *moved* are numbers read from memory or written to it once. A recurrent method is
counted token by token; a chunkwise form has more products and fewer elements.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """Entries that a query sees: one for each `pool` tokens up to it, of which at most `most`.

    If there are more, it sees the most recent ones, or those that are `chosen` for it.
    """

    pool: int = 1
    most: int | None = None
    chosen: bool = False

    def by_last(self, n: int) -> int:
        """The number of entries that the last of n tokens sees."""
        entries = n // self.pool
        return entries if self.most is None else min(entries, self.most)

    def by_all(self, n: int) -> int:
        """The sum of `by_last` over the lengths from 1 to n."""
        most = self.by_last(n)
        # each smaller number of entries lasts for `pool` tokens, the largest for the rest
        return self.pool * most * (most - 1) // 2 + most * (n - self.pool * most + 1)


ALL = Seen()
# the token itself, and what is kept once whatever the length
ONCE = Seen(most=1)

Terms = Mapping[Seen, int]


@dataclass(frozen=True)
class Work:
    """Work for each entry of each kind that a query sees."""

    products: Terms
    elements: Terms
    moved: Terms

    def __add__(self, other: "Work") -> "Work":
        """Both, one after the other."""
        return Work(
            add_terms(self.products, other.products),
            add_terms(self.elements, other.elements),
            add_terms(self.moved, other.moved),
        )


def add_terms(*terms: Terms) -> Terms:
    """The sum of terms, kind by kind."""
    total: Counter[Seen] = Counter()
    for each in terms:
        total.update(each)
    return total


@dataclass(frozen=True)
class Layer:
    """A layer's cache, and its work for a token by itself and for the entries that it sees.

    Queries attend to the entries `attends`; without any, they ask a state of `state` numbers.
    `plain` takes the place of `step` where a prompt is read in another form. Reading moves what a
    token brings and gives, once, and not the entries that it sees.
    """

    attends: tuple[Seen, ...]
    cache: Terms
    token: Work
    step: Work
    plain: Work | None = None
    state: int = 0

    @property
    def write(self) -> Work:
        """The work to write a token."""
        return self.token + self.step

    @property
    def read(self) -> Work:
        """The work to read a prompt."""
        work = self.token + (self.plain or self.step)
        return Work(work.products, work.elements, self.token.moved)


@dataclass(frozen=True)
class Stack:
    """The layers of a model: how many there are of each kind."""

    layers: tuple[tuple[int, Layer], ...]

    def terms(self, name: str) -> Terms:
        """The terms of a quantity in all layers together: "cache", or "write products", say."""
        return add_terms(
            *(
                {seen: count * number for seen, number in layer_terms(layer, name).items()}
                for count, layer in self.layers
            )
        )

    def quantity(self, name: str, n: int) -> int:
        """A quantity for n tokens."""
        seen_by = Seen.by_all if name.startswith("read") else Seen.by_last
        return sum(number * seen_by(seen, n) for seen, number in self.terms(name).items())


@dataclass(frozen=True)
class Model:
    """A model in use; `key` names its report, `url` the file that has its sizes."""

    name: str
    stack: Stack
    key: str
    url: str


@dataclass(frozen=True)
class Size:
    """The methods at the size of a model: as many layers, and heads as many and as wide."""

    name: str
    methods: Mapping[str, Stack]
    key: str
    url: str


@dataclass(frozen=True)
class Machine:
    """A machine's peaks, operations in bfloat16 and bytes a second, and the bytes of its memory."""

    name: str
    operations: float
    bandwidth: float
    memory: int
    url: str


QUANTITIES = (
    "cache",
    "read products",
    "read elements",
    "read moved",
    "write products",
    "write elements",
    "write moved",
)


def layer_terms(layer: Layer, name: str) -> Terms:
    """The terms of a quantity in one layer."""
    if name == "cache":
        return layer.cache
    task, kind = name.split()
    return getattr(getattr(layer, task), kind)


def softmax(heads: int, groups: int, d: int, seen: Seen = ALL) -> Layer:
    """Softmax attention; each group of heads shares a key and a value of width d for each token.

    Elements: the scaled scores and their softmax.
    """
    entry = 2 * groups * d
    return Layer(
        attends=(seen,),
        cache={seen: entry},
        token=Work({}, {}, {ONCE: 2 * heads * d + entry}),
        step=Work({seen: 2 * heads * d}, {seen: 2 * heads}, {seen: entry}),
    )


def latents(heads: int, d: int, d_v: int, latent: int, rope: int) -> Layer:
    """Multi-head latent attention: read in the plain form, and written in the absorbed one.

    Elements: the sum of both scores, the scaled scores and their softmax.
    """
    entry = latent + rope
    return Layer(
        attends=(ALL,),
        cache={ALL: entry},
        token=through_latents(heads, d, d_v, latent, rope),
        step=Work({ALL: heads * (entry + latent)}, {ALL: 3 * heads}, {ALL: entry}),
        plain=Work({ALL: heads * (d + rope + d_v)}, {ALL: 3 * heads}, {}),
    )


def through_latents(heads: int, d: int, d_v: int, latent: int, rope: int) -> Work:
    """The work for a token of latent attention, the same in both forms.

    In the plain form, its keys and values are made of its latent; in the absorbed form, its query
    moves into the space of the latents, and the mean out of it.
    """
    own = heads * (d + rope + d_v) + latent + rope
    return Work({ONCE: heads * latent * (d + d_v)}, {}, {ONCE: own})


def selected(
    heads: int, d: int, d_v: int, latent: int, rope: int, index: tuple[int, int], most: int
) -> Layer:
    """Latent attention, in the absorbed form, to the entries that an indexer chooses for a query.

    `index` has the indexer's number of heads and their width.
    """
    entry, chosen = latent + rope, Seen(most=most, chosen=True)
    attended = Work({chosen: heads * (entry + latent)}, {chosen: 2 * heads}, {chosen: entry})
    return Layer(
        attends=(chosen,),
        cache={ALL: entry + index[1]},
        token=through_latents(heads, d, d_v, latent, rope) + index_token(*index),
        step=attended + index_step(*index, ALL),
    )


def index_token(heads: int, d: int) -> Work:
    """What a token brings to an indexer: queries and weights of the heads, and one key."""
    return Work({}, {}, {ONCE: heads * (d + 1) + d})


def index_step(heads: int, d: int, entries: Seen) -> Work:
    """The scores of all entries by an indexer, whose heads share its keys of width d.

    Elements: ReLU, the heads' weights and their sum, and the sorted scores with their indices.
    """
    return Work({entries: heads * d}, {entries: 2 * heads + 3}, {entries: d})


def window_of_shared(heads: int, d: int, window: int) -> Layer:
    """The latest entries, each of which is key and value for all heads."""
    recent = Seen(most=window)
    return Layer(
        attends=(recent,),
        cache={recent: d},
        token=Work({}, {}, {ONCE: 2 * heads * d + d}),
        step=shared_step(heads, d, recent),
    )


def shared_step(heads: int, d: int, seen: Seen) -> Work:
    """Attention to entries that are key and value for all heads."""
    return Work({seen: 2 * heads * d}, {seen: 2 * heads}, {seen: d})


def pooled(
    heads: int,
    d: int,
    window: int,
    pool: int,
    index: tuple[int, int] | None = None,
    most: int | None = None,
) -> Layer:
    """Besides a window, a mean of each `pool` entries: all means, or those that are chosen.

    An indexer has pooled keys of its own, and chooses `most` of them. Elements for each token: its
    score with that of its place in the block, their softmax, the weighted entry, and its share of
    the sum. The tokens of a block that is not complete are not counted in the cache.
    """
    recent, means = window_of_shared(heads, d, window), Seen(pool, most, chosen=most is not None)
    width = d + (index[1] if index else 0)
    token = recent.token + Work({}, {ONCE: 3 * width + width // pool}, {ONCE: width})
    step = recent.step + shared_step(heads, d, means)
    if index:
        token, step = token + index_token(*index), step + index_step(*index, Seen(pool))
    return Layer(
        (means, *recent.attends), add_terms(recent.cache, {Seen(pool): width}), token, step
    )


def linear(heads: int, d: int, d_v: int) -> Layer:
    """Linear attention with features elu + 1: a state S and its normaliser z for each head.

    Elements: the features, what the token adds to S and z, the total and the quotient.
    """
    return recurrent(
        state=heads * d * (d_v + 1),
        products=heads * d * d_v,
        elements=heads * (2 * d * d_v + 6 * d + d_v + 1),
        own=heads * (2 * d + 2 * d_v),
    )


def delta(heads: int, d: int, d_v: int, gates: int, convolution: int = 0) -> Layer:
    """The delta rule with `gates` gates a head: one, or one for each of the d channels of the key.

    `convolution` numbers of earlier tokens are kept for a short convolution before it. Elements:
    the faded state, the error, and what the token writes.
    """
    return recurrent(
        state=heads * d * d_v + convolution,
        products=heads * 2 * d * d_v,
        elements=heads * (3 * d * d_v + d + d_v),
        own=heads * (2 * d + 2 * d_v + gates + 1),
    )


def recurrent(state: int, products: int, elements: int, own: int) -> Layer:
    """A layer whose tokens change a state of fixed size, which a step reads and writes."""
    return Layer(
        attends=(),
        cache={ONCE: state},
        token=Work({ONCE: products}, {ONCE: elements}, {ONCE: own}),
        step=Work({}, {}, {ONCE: 2 * state}),
        state=state,
    )
