"""The closed forms of what a method costs, against what is counted in calls of the mechanisms."""

import re
from collections.abc import Callable, Iterable
from functools import partial

import pytest
import torch
from torch import Tensor

from attncourse.convolution import window_mask
from attncourse.cost import count, elements_by_operation
from attncourse.course.today.models import MACHINES, MODELS, SIZES
from attncourse.dot_product import attention, causal_mask
from attncourse.efficient import cache_bytes, grouped_query_attention
from attncourse.linear import linear_attention_state, linear_attention_step
from attncourse.method_costs import (
    ALL,
    QUANTITIES,
    Layer,
    Seen,
    Stack,
    delta,
    latents,
    linear,
    pooled,
    selected,
    softmax,
    window_of_shared,
)
from attncourse.today import (
    absorbed_latent_attention,
    choose_keys,
    delta_attention_step,
    index_scores,
    latent_attention,
    latent_cache_bytes,
    selected_attention,
    selected_mask,
    state_bytes,
)
from attncourse.today.pooled import pool_rows, pooled_attention_step, pooled_mask
from tests import ROOT

PRODUCTS = {"mm", "bmm"}
MASKS = {"bitwise_not", "eq", "ge", "masked_fill"}
# indices count as copies: they say what is copied
COPIES = {"cat", "clamp", "clone", "gather", "remainder"}
LENGTHS = (1, 7, 24)

H, G, D, E, W = 6, 2, 5, 4, 8
LATENT, ROPE = 7, 3
INDEX_HEADS, INDEX_D, MOST, POOL = 3, 4, 2, 4


def empty(*shape: int) -> Tensor:
    return torch.empty(shape, device="meta")


def counted(*calls: Callable) -> dict[str, int]:
    """Multiply-adds, and elements without those of products, masks and copies."""
    elements = sum(
        (elements_by_operation(call) for call in calls), start=elements_by_operation(int)
    )
    kept = {name: size for name, size in elements.items() if name not in PRODUCTS | MASKS | COPIES}
    return {
        "products": sum(count(call).flops for call in calls) // 2,
        "elements": sum(kept.values()),
    }


# the calls for the last of t tokens


def softmax_step(t: int) -> list[Callable]:
    return [partial(grouped_query_attention, empty(H, 1, D), empty(G, t, D), empty(G, t, D))]


def window_step(t: int) -> list[Callable]:
    return softmax_step(min(t, W))


def absorbed_step(t: int) -> list[Callable]:
    maps = empty(H, LATENT, D), empty(H, LATENT, E)
    rotary = empty(H, 1, ROPE), empty(t, ROPE)
    return [partial(absorbed_latent_attention, empty(H, 1, D), empty(t, LATENT), *maps, rotary)]


def index_step(entries: int) -> list[Callable]:
    q, w = empty(INDEX_HEADS, 1, INDEX_D), empty(INDEX_HEADS, 1)
    return [
        partial(index_scores, q, empty(entries, INDEX_D), w),
        partial(choose_keys, empty(1, entries), MOST),
    ]


def selected_step(t: int) -> list[Callable]:
    q, keys, values = empty(H, 1, LATENT + ROPE), empty(1, t, LATENT + ROPE), empty(1, t, LATENT)
    index = torch.empty(1, min(t, MOST), dtype=torch.long, device="meta")
    return [
        partial(torch.matmul, empty(H, 1, D), empty(H, LATENT, D).mT),
        *index_step(t),
        partial(selected_attention, q, keys, values, index),
        partial(torch.matmul, empty(H, 1, LATENT), empty(H, LATENT, E)),
    ]


def pooled_step(t: int) -> list[Callable]:
    before = t - 1
    sizes = min(before, W), before % POOL, before % POOL, before // POOL
    state = tuple(empty(size, D) for size in sizes)
    token = empty(H, D), empty(D), empty(D), empty(POOL, D)
    return [partial(pooled_attention_step, state, *token, W)]


def chosen_pooled_step(t: int) -> list[Callable]:
    rows = empty(1, min(t, W) + min(t // POOL, MOST), D)
    blocks = [
        partial(pool_rows, empty(POOL, width), empty(POOL, width), empty(POOL, width))
        for width in (D, INDEX_D)
    ]
    attended = partial(attention, empty(H, 1, D), rows.expand(H, -1, -1), rows.expand(H, -1, -1))
    return [*index_step(t // POOL), attended, *(blocks if t % POOL == 0 else [])]


def shared_window_step(t: int) -> list[Callable]:
    keys = empty(min(t, W), D).expand(H, -1, -1)
    return [partial(attention, empty(H, 1, D), keys, keys)]


def linear_step(t: int) -> list[Callable]:
    state = empty(H, D, E), empty(H, D)
    return [partial(linear_attention_step, state, empty(H, D), empty(H, D), empty(H, E))]


def delta_step(t: int, gates: int) -> list[Callable]:
    token = empty(H, D), empty(H, D), empty(H, E), empty(H, gates), empty(H)
    return [partial(delta_attention_step, empty(H, D, E), *token)]


INDEX = INDEX_HEADS, INDEX_D
STEPS: dict[str, tuple[Layer, Callable[[int], list[Callable]]]] = {
    "softmax": (softmax(H, G, D), softmax_step),
    "window": (softmax(H, G, D, Seen(most=W)), window_step),
    "latents": (latents(H, D, E, LATENT, ROPE), absorbed_step),
    "selected": (selected(H, D, E, LATENT, ROPE, INDEX, MOST), selected_step),
    "window of shared": (window_of_shared(H, D, W), shared_window_step),
    "linear": (linear(H, D, E), linear_step),
    "one gate": (delta(H, D, E, gates=1), partial(delta_step, gates=1)),
    "a gate a channel": (delta(H, D, E, gates=D), partial(delta_step, gates=D)),
}
# their rows are pooled at the end of a block, which the closed form shares out among its tokens
POOLED = {
    "pooled": (pooled(H, D, W, POOL), pooled_step),
    "pooled and chosen": (pooled(H, D, W, POOL, INDEX, MOST), chosen_pooled_step),
}


def total(works: Iterable[dict[str, int]]) -> dict[str, int]:
    works = [*works]
    return {kind: sum(work[kind] for work in works) for kind in works[0]}


def expected(layer: Layer, task: str, n: int) -> dict[str, int]:
    stack = Stack(((1, layer),))
    return {kind: stack.quantity(f"{task} {kind}", n) for kind in ("products", "elements")}


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", STEPS)
def test_writing_a_token_costs_what_is_counted_in_a_step(name, n):
    layer, step = STEPS[name]
    assert counted(*step(n)) == expected(layer, "write", n)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", [name for name in STEPS if name != "latents"])
def test_reading_a_text_costs_as_much_as_all_its_steps(name, n):
    layer, step = STEPS[name]
    assert total(counted(*step(t)) for t in range(1, n + 1)) == expected(layer, "read", n)


@pytest.mark.parametrize("n", [4, 8, 24])
@pytest.mark.parametrize("name", POOLED)
def test_reading_whole_blocks_costs_as_much_as_all_their_steps(name, n):
    layer, step = POOLED[name]
    steps = total(counted(*step(t)) for t in range(1, n + 1))
    got = expected(layer, "read", n)
    # the share of a sum is rounded down to a whole number
    assert steps["products"] == got["products"]
    assert 0 <= steps["elements"] - got["elements"] < 2 * n
    write = expected(layer, "write", n)
    assert counted(*step(n))["products"] == write["products"]


@pytest.mark.parametrize("n", LENGTHS)
def test_latents_are_read_in_the_plain_form(n):
    layer = latents(H, D, E, LATENT, ROPE)
    maps = empty(H, LATENT, D), empty(H, LATENT, E)
    rotary = empty(H, n, ROPE), empty(n, ROPE)
    plain = partial(latent_attention, empty(H, n, D), empty(n, LATENT), *maps, rotary)
    work, pairs = layer.read, {ALL: n * n}
    # without a mask, all pairs are computed, also those above the diagonal
    assert counted(plain) == {
        kind: sum(x * pairs.get(seen, n) for seen, x in getattr(work, kind).items())
        for kind in ("products", "elements")
    }


@pytest.mark.parametrize(
    "seen", [ALL, Seen(most=3), Seen(4), Seen(4, 2), Seen(3, 1), Seen(most=5, chosen=True)], ids=str
)
def test_all_tokens_see_the_sum_of_what_each_sees(seen):
    for n in range(30):
        assert seen.by_all(n) == sum(seen.by_last(t) for t in range(n + 1))


def test_a_text_sees_as_many_entries_as_its_masks_allow():
    scores = torch.rand(24, 24, generator=torch.Generator().manual_seed(0))
    chosen = selected_mask(choose_keys(scores, MOST, causal_mask(24)), 24)
    for seen, mask in {
        ALL: causal_mask(24),
        Seen(most=W): window_mask(24, W, causal=True),
        Seen(POOL): pooled_mask(24, POOL, W)[:, 24:],
        Seen(most=MOST, chosen=True): chosen,
    }.items():
        assert mask.sum() == seen.by_all(24)
        assert mask[-1].sum() == seen.by_last(24)


@pytest.mark.parametrize("n", [8, 24])
def test_the_cache_is_what_the_mechanisms_keep(n):
    half = torch.float16

    def bytes_of(layer: Layer) -> int:
        return Stack(((3, layer),)).quantity("cache", n) * half.itemsize // 3

    assert bytes_of(softmax(H, G, D)) == cache_bytes(n, 1, G, D, half)
    assert bytes_of(softmax(H, G, D, Seen(most=5))) == cache_bytes(5, 1, G, D, half)
    one_layer = latent_cache_bytes(n, 1, LATENT, ROPE, half)
    assert bytes_of(latents(H, D, E, LATENT, ROPE)) == one_layer
    index_keys = torch.empty(n, INDEX_D, dtype=half)
    chosen = selected(H, D, E, LATENT, ROPE, INDEX, MOST)
    assert bytes_of(chosen) == one_layer + state_bytes(index_keys)
    state = linear_attention_state(*(torch.empty(H, n, width) for width in (D, E)))
    assert bytes_of(linear(H, D, E)) == state_bytes(state) // 2
    assert bytes_of(delta(H, D, E, gates=1)) == H * D * E * half.itemsize
    pools = tuple(torch.empty(0, D, dtype=half) for _ in range(4))
    token = [torch.empty(size, dtype=half) for size in ((H, D), (D,), (D,), (POOL, D))]
    for _ in range(n):
        pools, _ = pooled_attention_step(pools, *token, W)
    assert bytes_of(pooled(H, D, W, POOL)) == state_bytes(pools)


def test_a_step_moves_its_token_and_what_it_reads_and_writes():
    """For the methods whose step has all of it among its arguments and results."""
    for name in ("linear", "one gate", "a gate a channel"):
        layer, step = STEPS[name]
        (call,) = step(9)
        tensors = [*call.args, *call()]
        numbers = sum(map(state_bytes, tensors)) // 4
        assert numbers == Stack(((1, layer),)).quantity("write moved", 9)
    q_and_output, entry = 2 * H * D, 2 * G * D
    moved = Stack(((1, softmax(H, G, D)),)).quantity("write moved", 9)
    assert moved == q_and_output + entry + 9 * entry


def test_layers_add_up():
    both = Stack(((2, softmax(H, G, D)), (3, delta(H, D, E, gates=1))))
    parts = [Stack(((1, layer),)) for _, layer in both.layers]
    for name in QUANTITIES:
        first, second = (part.quantity(name, 9) for part in parts)
        assert both.quantity(name, 9) == 2 * first + 3 * second > 0


# of a token in all layers, and of a text whatever its length, by the models' configurations
KEPT = {
    "Llama 3.1 8B": (32 * 2 * 8 * 128, 0),
    "Llama 3.1 70B": (80 * 2 * 8 * 128, 0),
    "DeepSeek-V3": (61 * (512 + 64), 0),
    "Gemma 3 27B": (10 * 2 * 16 * 128, 52 * 1024 * 2 * 16 * 128),
    "gpt-oss-120b": (18 * 2 * 8 * 64, 18 * 128 * 2 * 8 * 64),
    "DeepSeek-V3.2": (61 * (512 + 64 + 128), 0),
    "Qwen3.5 397B": (15 * 2 * 2 * 256, 45 * (64 * 128 * 128 + 3 * 12288)),
    "DeepSeek-V4-Flash": (21 * (512 + 128) / 4 + 20 * 512 / 128, 43 * 128 * 512),
    "DeepSeek-V4-Pro": (30 * (512 + 128) / 4 + 31 * 512 / 128, 61 * 128 * 512),
    "Kimi K3": (24 * (512 + 64), 69 * (96 * 128 * 128 + 3 * 3 * 96 * 128)),
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_model_keeps_what_its_configuration_says(model):
    growing, constant = KEPT[model.name]
    for n in (2**17, 2**20):
        assert model.stack.quantity("cache", n) == growing * n + constant


def test_each_model_and_size_has_its_report_and_the_file_with_its_numbers():
    keys = re.findall(r"^@\w+{(\w+),", (ROOT / "reference/references.bib").read_text("utf-8"), re.M)
    for source in (*MODELS, *SIZES):
        assert source.key in keys
    for source in (*MODELS, *SIZES, *MACHINES):
        # a commit, so that what is read there stays as it is
        assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/blob/[0-9a-f]{40}/\S+", source.url)


def test_a_size_is_that_of_the_model_it_is_named_after():
    models = {model.name: model.stack for model in MODELS}
    methods = {size.name: size.methods for size in SIZES}
    for name, method in {
        "Llama 3.1 8B": "8 groups of heads",
        "Llama 3.1 70B": "8 groups of heads",
        "DeepSeek-V3": "latents",
    }.items():
        assert methods[name][method] == models[name]
    chosen = methods["DeepSeek-V3"]["2,048 chosen latents"]
    assert chosen == models["DeepSeek-V3.2"]
    assert sum(count for count, _ in methods["Kimi K3"]["linear"].layers) == 93
