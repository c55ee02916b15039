"""Ways to keep a cache, at the size of the model that the figure shows."""

from dataclasses import dataclass

from attncourse.figures.method_costs.text import format_bytes
from attncourse.method_costs import Layer, Seen, Stack, latents, softmax

WINDOW = 8
# of float32, in which the page computes
ELEMENT_BYTES = 4
UNTRAINED = (
    "Only the drawing and the bytes change: the model was not trained this way, so it still reads "
    "all of its keys and values, and the predictions stay the same."
)


@dataclass(frozen=True)
class Way:
    """A way to keep a cache: what its layers cost, what it keeps, and the tokens that it drops."""

    name: str
    stack: Stack
    says: str
    window: int | None = None

    def size(self, n: int) -> int:
        """The bytes of the cache of n tokens."""
        return ELEMENT_BYTES * self.stack.quantity("cache", n)

    def dropped(self, n: int) -> int:
        """How many of n tokens are no longer in the cache."""
        return 0 if self.window is None else max(n - self.window, 0)


def size_text(size: int) -> str:
    """Bytes with their unit."""
    return format_bytes(size) if size else "0 KiB"


def ways_to_keep(blocks: int, heads: int, d: int) -> list[Way]:
    """As the model keeps its cache, and three ways that need less.

    Latents have the proportions of DeepSeek-V2, where they are four times as wide as a head, and
    rotated keys half as wide.
    """
    latent, rope = 4 * d, d // 2

    def way(name: str, layer: Layer, says: str, window: int | None = None) -> Way:
        return Way(name, Stack(((blocks, layer),)), says, window)

    return [
        way(
            "each head its own",
            softmax(heads, heads, d),
            f"Each of the {blocks * heads} heads keeps a key and a value of {d} numbers for each "
            f"token. A number takes {ELEMENT_BYTES} bytes on this page.",
        ),
        way(
            "groups of two",
            softmax(heads, heads // 2, d),
            f"Two heads would share each key and each value. {UNTRAINED}",
        ),
        way(
            "latent vectors",
            latents(heads, d, d, latent, rope),
            f"Each block would keep {latent} numbers for each token and a rotated key of {rope}, "
            f"in the proportions of DeepSeek-V2. That serves any number of heads, and saves more "
            f"the more there are. {UNTRAINED}",
        ),
        way(
            f"window of {WINDOW}",
            softmax(heads, heads, d, Seen(most=WINDOW)),
            f"Only the last {WINDOW} tokens would be kept, so the cache would stop growing. "
            f"{UNTRAINED}",
            WINDOW,
        ),
    ]
