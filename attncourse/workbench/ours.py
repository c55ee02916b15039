"""Whether a method is one of the course's: with its weights, one of ours gives the same outputs.

Weights are matched by the modules that hold them, whatever these are called. A method of ours whose
weights are stored otherwise, or whose sizes are not in `OURS`, is not recognised.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, islice, permutations, product

import torch
from torch import Tensor, nn

from attncourse.relative import RelativeAttention
from attncourse.today import (
    ChosenPooledAttention,
    DeltaAttention,
    GatedAttention,
    LatentAttention,
    PooledAttention,
    SelectedAttention,
)
from attncourse.transformer import (
    ALiBiAttention,
    Causal,
    RotaryAttention,
    T5Attention,
    WindowedAttention,
)
from attncourse.workbench.checks import N, differing, text
from attncourse.workbench.layers import AttendLayer
from attncourse.workbench.methods import METHODS
from attncourse.workbench.protocol import D_MODEL, HEADS

Make = Callable[[], nn.Module]
SIZES = (2, 4, 8, 16, 32, 64)
# five matrices of one shape can be matched in 120 ways
MOST_MATCHES = 200


def first_layer(name: str) -> nn.Module:
    """The first layer of the model of one of the methods that are compared."""
    return METHODS[name](1).stack.blocks[0].attention.part  # pyright: ignore


def windowed(size: int, *rotary: nn.Module) -> nn.Module:
    """Attention to a token and the size - 1 before it."""
    return Causal(WindowedAttention(2 * size - 1, *rotary))


def layers(kind: Callable[..., nn.Module], **options: tuple) -> dict[str, Make]:
    """Layers with each combination of the options."""
    named = [dict(zip(options, values, strict=True)) for values in product(*options.values())]
    return {
        ", ".join([kind.__name__, *(f"{key}={x}" for key, x in one.items())]): partial(
            kind, D_MODEL, HEADS, **one
        )
        for one in named
    }


# functions of queries, keys and values
ATTENDS: dict[str, Callable[[], Callable[..., Tensor]]] = {
    "attention": Causal,
    "ALiBi": lambda: Causal(ALiBiAttention(HEADS)),
    "T5": lambda: Causal(T5Attention(HEADS, bidirectional=False)),
    "Shaw": lambda: Causal(RelativeAttention(D_MODEL // HEADS, 16)),
    **{f"a window of {n}": partial(windowed, n) for n in SIZES},
    **{f"a rotary window of {n}": lambda n=n: windowed(n, RotaryAttention()) for n in SIZES},
}
OURS: dict[str, Make] = {
    **{name: partial(first_layer, name) for name in METHODS},
    **{name: lambda make=make: AttendLayer(make()) for name, make in ATTENDS.items()},
    **layers(GatedAttention, gates=("element", "head"), sinks=(False, True)),
    **layers(LatentAttention, d_latent=SIZES[2:], d_rotary=SIZES[1:]),
    **layers(SelectedAttention, count=SIZES[1:]),
    **layers(PooledAttention, size=SIZES[:4], width=SIZES[1:]),
    **layers(ChosenPooledAttention, size=(4, 8), width=(8, 16), count=(4, 8)),
    **layers(DeltaAttention, gates=("none", "one", "channel"), taps=(1, 2, 4)),
}


@torch.no_grad()
def recognized(layer: nn.Module) -> str | None:
    """The course's method that a layer is, if any; no weight may be 0."""
    if is_inherited(layer):
        return "a layer of the course"
    x, weights = text(layer, N), units(dict(layer.named_parameters()))
    z = layer(x)
    for name, make in OURS.items():
        ours = make().to(x.dtype).eval()
        own = units(dict(ours.named_parameters()))
        if shapes(own) != shapes(weights):
            continue
        for _ in matches(own, weights):
            # most differ from the first tokens on
            if not (differing(ours(x[:, :4]), z[:, :4]).any() or differing(ours(x), z).any()):
                return name
    return None


def is_inherited(layer: nn.Module) -> bool:
    """Whether what a layer computes is all written in the course."""
    if (known := getattr(layer, "is_inherited", None)) is not None:
        return known
    if isinstance(layer, AttendLayer):
        attend = getattr(layer.attend, "func", layer.attend)
        parts = [type(attend).forward if isinstance(attend, nn.Module) else attend]
    else:
        parts = [getattr(type(layer), name, None) for name in ("forward", "whole", "step")]
    homes = (getattr(part, "__module__", "") for part in parts if part)
    return all(home.startswith("attncourse.") for home in homes)


# the parameters of modules, by their names and shapes in it
Units = dict[tuple, list[list[Tensor]]]


def units(weights: Mapping[str, Tensor]) -> Units:
    """Weights by the module that holds them; those of the layer itself one by one."""
    names = [name.split(".") for name in weights]
    paths = [parts[:-1] for parts in names]
    # what all lie in is left out
    outer = next((i for i, path in enumerate(zip(*paths, strict=False)) if len({*path}) > 1), None)
    outer = min(map(len, paths), default=0) if outer is None else outer
    modules: dict[tuple, dict[str, Tensor]] = defaultdict(dict)
    for parts, x in zip(names, weights.values(), strict=True):
        *path, last = parts[outer:]
        modules[tuple(path) if path else (None, last)][last if path else ""] = x
    found: Units = defaultdict(list)
    for module in modules.values():
        key = tuple((name, tuple(module[name].shape)) for name in sorted(module))
        found[key].append([module[name] for name in sorted(module)])
    return dict(found)


def shapes(found: Units) -> dict[tuple, int]:
    """How many modules there are of each kind."""
    return {key: len(modules) for key, modules in found.items()}


def matches(own: Units, weights: Units) -> Iterator[None]:
    """Put weights into modules of the same shapes, in one way after another."""
    orders = product(*(permutations(weights[key]) for key in own))
    for order in islice(orders, MOST_MATCHES):
        for modules, others in zip(own.values(), order, strict=True):
            for x, y in zip(chain(*modules), chain(*others), strict=True):
                x.copy_(y)
        yield
