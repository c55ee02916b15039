"""Five random states of each interactive figure against the numbers of the package."""

import math
import random
import re

import pytest
import torch

from attncourse.convolution import tap_offsets, tap_weights
from attncourse.course.convolution.claims import compose, convolution, footprint
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.efficient import longformer_mask, online_softmax_update
from attncourse.figures.explorer import TEMPERATURES
from attncourse.figures.method_costs.text import CELLS, cells_of
from attncourse.figures.numbers import format_number
from attncourse.figures.turning import DEGREES
from attncourse.linear import feature_map, linear_attention_parallel, linear_attention_state
from attncourse.positional import sinusoids
from attncourse.relative import relative_index, rope
from tests.conftest import SEED

from . import in_page
from .in_page import (
    FIGURES,
    K,
    Q,
    V,
    all_states,
    bare_page,
    control_options,
    figure_in,
    read_states,
    slot_numbers,
)


def explorer(query, mask, d_k, scale, temperature):
    """The steps of attention; a temperature divides the scores."""
    d, mask = in_page.WIDTHS[d_k], [*in_page.MASKS.values()][mask]
    k, v = K[:, :d].double(), V.double()
    q = Q[:, :d].double() / TEMPERATURES[temperature] * (1 if scale else d**0.5)
    weight, output = attention_weights(q, k, mask)[query], attention(q, k, v, mask)[query]
    return {
        "dot": k @ Q[query, :d].double(),
        "score": (k @ q[query] / d**0.5).masked_fill(~mask[query], -torch.inf),
        "weight": weight,
        "part": weight[:, None] * v,
        "output": output,
        "total": weight.sum(),
        "said": output,
    }


def heads(head, query):
    weights = in_page.WEIGHTS[head]
    return {
        "weight": weights,
        "arc": weights,
        "found": weights[query],
        "said": weights.amax(-1)[query],
    }


def kernel(kernel, alpha, query):
    taps = torch.tensor([*in_page.KERNELS.values()][kernel]).double()
    weights = tap_weights(tap_offsets((3,)).double(), (5,), float(in_page.ALPHAS[alpha]))[:, query]
    true = torch.zeros(7).double()
    true[query : query + 3] = taps
    return {"weight": weights, "sum": taps @ weights, "true": true[1:-1]}


def receptive(layers, width, output):
    """The number of paths to an output, from each place of each layer: a gradient."""
    weight, x = torch.ones(1, 1, (3, 5, 1)[width]).double(), torch.zeros(9, 1).double()
    layer = [
        lambda _: lambda x: convolution(x, weight),
        lambda i: lambda x: convolution(x, weight, dilation=2**i),
        lambda _: lambda x: torch.ones(9, 9).double() @ x,
    ][layers]
    paths = [footprint(compose([*map(layer, range(i, 3))]), x)[output] for i in (3, 2, 1, 0)]
    return {
        "path": torch.stack([row / row.max() for row in paths]),
        "said": (paths[-1] > 0).sum(),
    }


def patterns(pattern, n, width):
    """Full, causal, a window, with a global token, and then two random keys more."""

    def allowed(n: int) -> torch.Tensor:
        if pattern < 2:
            return causal_mask(n) | (pattern == 0)
        return longformer_mask(n, 2 * width + 1, [0] * (pattern > 2))

    def pairs(n: int) -> torch.Tensor:
        return allowed(n).sum() + (~allowed(n)).sum(-1).clamp(max=2 * (pattern == 4)).sum()

    dots = torch.zeros(6, 6)
    dots[: n + 2, : n + 2] = allowed(n + 2)
    numbers = {"said": torch.hstack([pairs(n + 2), pairs(1024)])}
    # which keys are random only the page says
    return numbers if pattern == 4 else numbers | {"pair": dots}


def running(**state):
    scores, values = in_page.SCORES.double()[None], in_page.VALUES.double()[:, None]
    mu, ell, z = scores.new_full((1, 1), -torch.inf), scores.new_zeros(1, 1), values.new_zeros(1, 1)
    end = min(2 * state["after block"] + 2, 7)
    for start in range(0, end, 2):
        block = slice(start, start + 2)
        mu, ell, z = online_softmax_update(mu, ell, z, scores[:, block], values[block])
    part = (scores - mu).exp() * (torch.arange(7) < end)
    return {"part": part, "weight": part / ell, "said": torch.cat([mu, ell, z, z / ell])}


def growing(chunk, token):
    q, k, v = in_page.LINEAR
    seen, start = token + 1, token // (chunk + 1) * (chunk + 1)
    S, z = linear_attention_state(k[:seen], v[:seen])
    early_S, early_z = linear_attention_state(k[:start], v[:start])
    output = linear_attention_parallel(q, k, v)[token]
    weights = (feature_map(k) @ feature_map(q)[token]) * (torch.arange(len(v)) < seen)
    return {
        "S": S,
        "z": z,
        "early": torch.cat([early_z[:, None], early_S], dim=-1),
        **dict.fromkeys(("masked", "recurrent", "chunks"), output),
        "total": weights.sum().expand(3),
        "weight": weights / weights.sum(),
        "said": output,
    }


def orders(n, d):
    costs = torch.tensor([costs[d][n] for costs in in_page.FLOPS])
    n, d = in_page.LENGTHS[n], in_page.SIDES[d]
    return {
        "area": torch.tensor([n * n, d * d]),
        "cost": costs / costs.max(),
        "said": costs.max() / costs.min(),
    }


def distances(layer, distance, show):
    gradients, steps = (
        torch.stack([*rows.values()]) for rows in (in_page.GRADIENTS, in_page.STEPS)
    )
    return {
        "left": gradients[:, distance + 1] / gradients[:, 1],
        "path": steps[:, distance + 1],
    }


def sampling(temperature, k):
    scores = in_page.NEXT.double()
    drawable = scores >= scores.sort(descending=True).values[k]
    chance = (scores.masked_fill(~drawable, -torch.inf) / TEMPERATURES[temperature]).softmax(0)
    return {"score": scores, "chance": chance, "said": chance[0]}


def plane(query, temperature, **switch):
    x, warm = in_page.POINTS.double(), TEMPERATURES[temperature]
    separate = switch["query and key"]
    q, k, v = (x @ matrix.double() if separate else x for matrix in in_page.SEPARATE)
    weight, output = attention_weights(q / warm, k)[query], attention(q / warm, k, v)[query]
    return {
        "dot": k @ q[query],
        "score": k @ q[query] / 2**0.5 / warm,
        "given": weight,
        "weight": weight,
        "part": weight[:, None] * v,
        "output": output,
        "said": torch.hstack([weight.max(), output]),
    }


def turning(**state):
    i, j, shift, degrees = state.values()
    scale = 1 / math.radians(DEGREES[degrees])
    q, k = (
        rope(torch.tensor([x]).double(), torch.tensor([t + shift]), scale=scale)
        for x, t in (((1, 2), i), ((3, -0.5), j))
    )
    return {"turned": torch.cat([q, k]), "score": q @ k.mT, "said": q @ k.mT}


def clocks(position, another):
    p = sinusoids(12, 6).double()
    # each pair by itself: the cosine of the angle between its hands
    cosine = (p[position] * p[another]).unflatten(0, (3, 2)).sum(-1)
    return {"cosine": cosine, "mean": cosine.mean(), "said": cosine.mean()}


def clipping(n, k):
    rows = torch.zeros(6, 6)
    rows[: n + 1, : n + 1] = relative_index(n + 1, k) / (2 * k or 1)
    return {"row": rows}


def offsets(method, **state):
    i, j = state.values()
    scores = torch.stack([score[i, j] - score[0, 0] for score in in_page.FAMILY.values()])
    return {"score": scores, "said": scores[method]}


def recorded(**state):
    case = state["hidden word"]
    return {"bar": in_page.BITS[case].masked_fill(in_page.FORBIDDEN_BITS[case][:, None], 0)}


def recorded_by_number(**state):
    return {"bar": in_page.BY_WINDOW[state["words seen"]]}


def waves(position, d):
    d = in_page.WAVE_WIDTHS[d]
    p = sinusoids(in_page.N, d, dtype=torch.float64)
    product = p @ p[position]
    return {"wave": p[:, :4], "share": product / (d / 2), "said": product[position]}


def method_costs(first, second, size, context, machine):
    """Bars, in the scale of the longer of two or four."""
    size, machine = in_page.SIZES[size], in_page.MACHINES[machine]
    options = [*size.methods.values(), *(model.stack for model in in_page.MODELS)]
    picks, n = (options[first], options[second]), 2 ** (context + 7)

    def both(name: str) -> torch.Tensor:
        return torch.tensor([stack.quantity(name, n) for stack in picks], dtype=torch.float64)

    tasks = {
        kind: torch.stack([both(f"{task} {kind}") for task in ("read", "write")])
        for kind in ("products", "elements", "moved")
    }
    arithmetic = 2 * tasks["products"] / machine.operations
    memory = 2 * tasks["moved"] / machine.bandwidth
    longest = torch.maximum(arithmetic, memory).amax(-1, keepdim=True)
    cells = torch.zeros(2, 3, CELLS)
    for row, stack in zip(cells, picks, strict=True):
        for line, (_, layer) in zip(row, stack.layers, strict=False):
            line += torch.tensor([share for _, share in cells_of(layer, n)])
    return {
        "cell": cells,
        **{name: x / x.amax(-1, keepdim=True) for name, x in tasks.items()},
        "cache": both("cache") / both("cache").max(),
        "arithmetic": arithmetic / longest,
        "memory": memory / longest,
    }


NUMBERS = [
    explorer, heads, kernel, receptive, patterns, running, growing, orders, distances, sampling,
    plane, turning, clocks, clipping, offsets, recorded, recorded_by_number, waves,
    method_costs,
]  # fmt: skip


@pytest.mark.parametrize("expected", NUMBERS, ids=lambda expected: expected.__name__)
def test_a_figure_shows_and_says_the_numbers_of_the_package(expected, tab):
    tab.set_content(bare_page(FIGURES[expected.__name__]))
    states = all_states(**control_options(figure_in(tab)))
    drawn = random.Random(int(SEED)).sample(states, min(5, len(states)))
    for state, slots in zip(drawn, read_states(figure_in(tab), drawn), strict=True):
        numbers = expected(**state)
        said = numbers.pop("said", torch.empty(0)).flatten().tolist()
        ((sentence, _),) = slots["said"]
        texts = {str(x) if isinstance(x, int) else format_number(x) for x in said}
        assert texts <= {*re.findall(r"−?\d+(?:\.\d+)?", sentence)}, f"{state}: {sentence}"
        for name, x in numbers.items():
            torch.testing.assert_close(
                slot_numbers(slots[name]),
                x.double().flatten(),
                rtol=1e-6,
                atol=1e-6,
                msg=lambda problem, place=f"{name} of {state}": f"{place}: {problem}",
            )
