"""Every state of the interactive figures against the numbers of the package."""

import math
import re
from itertools import product

import pytest
import torch

from attncourse import plot
from attncourse.convolution import tap_offsets, tap_weights
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.efficient import longformer_mask
from attncourse.linear import feature_map, linear_attention_parallel, linear_attention_state
from attncourse.plot.explorer import TEMPERATURES
from attncourse.plot.numbers import shown
from attncourse.positional import sinusoids
from attncourse.relative import causal_skew, relative_index, skew

from .figures import (
    ALPHAS,
    CLIPPING,
    COLUMNS,
    DISTANCES,
    EXPLORER,
    GRADIENTS,
    GROWING,
    KERNEL,
    KERNELS,
    LINEAR,
    MASKS,
    PATTERNS,
    QUERIES,
    RECEPTIVE,
    RUNNING,
    SCORES,
    SKEWING,
    STEPS,
    TOKENS,
    VALUES,
    WAVE_WIDTHS,
    WAVES,
    WIDTHS,
    K,
    Q,
    V,
    figure_in,
    held,
    page_of,
    read,
    visit,
)

RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def close(got, want, **tolerance):
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6, **tolerance)


def states_of(**options) -> list[dict]:
    return [dict(zip(options, one, strict=True)) for one in product(*options.values())]


def every_state(tab, figure, **options):
    """Each state of a figure on a page of its own, with what its slots show and hold there."""
    tab.set_content(page_of(figure))
    states = states_of(**options)
    return zip(states, visit(figure_in(tab), states), strict=True)


def test_every_state_of_the_explorer_equals_the_package(tab):
    every = every_state(
        tab, EXPLORER, query=range(4), mask=range(3), d_k=range(4), scale=(True, False),
        temperature=range(len(TEMPERATURES)),
    )  # fmt: skip
    for state, got in every:
        query, scale = state["query"], state["scale"]
        d, temperature = WIDTHS[state["d_k"]], TEMPERATURES[state["temperature"]]
        mask = list(MASKS.values())[state["mask"]]
        k, v = K[:, :d].double(), V.double()
        q = Q[:, :d].double() / temperature * (1 if scale else d**0.5)
        weight = attention_weights(q, k, mask)[query]
        expected = {
            "dot": k @ Q[query, :d].double(),
            "score": (k @ q[query] / d**0.5).masked_fill(~mask[query], -torch.inf),
            "weight": weight,
            "part": (weight[:, None] * v).flatten(),
            "output": attention(q, k, v, mask)[query],
            "total": weight.sum()[None],
        }
        for slot, numbers in expected.items():
            numbers_held = held(got[slot])
            close(numbers_held, numbers, msg=lambda why, at=(slot, state): f"{at}: {why}")
            assert [text for text, _ in got[slot]] == [shown(x) for x in numbers_held.tolist()], (
                slot,
                state,
            )
        ((said, _),) = got["said"]
        assert said.startswith(f"Query {QUERIES[query]}: "), state
        assert ("no key may be attended to" in said) == (not mask[query].any()), state
        assert said.endswith(f"Output: {', '.join(text for text, _ in got['output'])}."), state


def test_every_state_of_the_kernel_equals_the_package(tab):
    for state, got in every_state(tab, KERNEL, kernel=range(2), alpha=range(4), query=range(5)):
        query, alpha = state["query"], ALPHAS[state["alpha"]]
        taps = torch.tensor(list(KERNELS.values())[state["kernel"]]).double()
        weights = tap_weights(tap_offsets((3,)).double(), (5,), float(alpha))[:, query]
        inside = torch.zeros(7).double()
        inside[query : query + 3] = taps
        expected = {"weight": weights.flatten(), "sum": taps @ weights, "true": inside[1:-1]}
        for slot, numbers in expected.items():
            close(held(got[slot]), numbers)
        ((said, _),) = got["said"]
        off = (expected["sum"] - expected["true"]).abs().max().item()
        assert f"by {f'up to {off:.2f}' if off >= 0.005 else 'less than 0.005'}." in said, state
        assert ("looks outside" in said) == (query in (0, 4)), state
        assert said.count("Head −1") == (query == 0), state


def connected(kind: int, width: int, layer: int) -> torch.Tensor:
    """Which inputs of a layer lead to which of its outputs."""
    apart = torch.arange(9) - torch.arange(9)[:, None]
    if kind == 2:
        return torch.ones(9, 9).double()
    spread = 2**layer if kind == 1 else 1
    return ((apart % spread == 0) & (apart.abs() // spread <= width // 2)).double()


def test_every_state_of_what_an_output_sees_counts_the_paths(tab):
    for state, got in every_state(tab, RECEPTIVE, layers=range(3), width=range(3), output=range(9)):
        width, output = [3, 5, 1][state["width"]], state["output"]
        paths = [torch.eye(9)[output].double()]
        for layer in (2, 1, 0):
            paths.append(paths[-1] @ connected(state["layers"], width, layer))
        shares = torch.cat([row / row.max() for row in paths])
        close(held(got["path"]), shares)
        assert [text for text, _ in got["path"]] == ["•" if x else "·" for x in shares], state
        ((said, _),) = got["said"]
        seen = (paths[-1] > 0).nonzero().flatten().tolist()
        assert f"Output {output} sees {len(seen)} of 9 inputs" in said, state
        range_said = re.search(r"from (\d) to (\d)", said)
        ends = [int(x) for x in range_said.groups()] if range_said else [output, output]
        assert ends == [seen[0], seen[-1]], state


N = 6
FULL, CAUSAL, WINDOW, LONGFORMER, BIGBIRD = range(5)


def masks(n, width):
    """The package's mask of each pattern that draws nothing."""
    return {
        FULL: torch.ones(n, n, dtype=torch.bool),
        CAUSAL: causal_mask(n),
        WINDOW: longformer_mask(n, width),
        LONGFORMER: longformer_mask(n, width, [0]),
    }


def test_every_state_of_the_patterns_is_the_package_s_mask(tab):
    for state, got in every_state(tab, PATTERNS, pattern=range(5), n=range(5), width=range(3)):
        n, width = state["n"] + 2, 2 * state["width"] + 1
        dots = torch.tensor([text == "•" for text, _ in got["pair"]]).view(N, N)
        assert not dots[n:].any() and not dots[:, n:].any(), state
        found, known = dots[:n, :n], masks(n, width)
        if state["pattern"] == BIGBIRD:
            fixed = known[LONGFORMER]
            assert (found | ~fixed).all(), state
            more = (~fixed).sum(-1).clamp(max=2)
            assert torch.equal((found & ~fixed).sum(-1), more), state
        else:
            assert torch.equal(found, known[state["pattern"]]), state
        ((said, _),) = got["said"]
        assert said.startswith(f"{found.sum()} of {n * n} pairs, "), state


@pytest.mark.parametrize("width", [0, 2])
def test_the_pairs_of_1024_tokens_are_counted_without_drawing_them(width, tab):
    tab.set_content(page_of(PATTERNS))
    known = masks(1024, 2 * width + 1)
    for pattern, mask in known.items():
        (said,) = read(figure_in(tab), pattern=pattern, width=width)["said"]
        assert f"1024 tokens: {mask.sum()} of 1048576 pairs" in said
    (said,) = read(figure_in(tab), pattern=BIGBIRD)["said"]
    fixed = known[LONGFORMER]
    more = (~fixed).sum(-1).clamp(max=2).sum()
    assert f"1024 tokens: {fixed.sum() + more} of 1048576 pairs" in said


def test_after_each_block_the_figure_has_the_softmax_of_all_keys_so_far(tab):
    for state, got in every_state(tab, RUNNING, **{"after block": range(4)}):
        end = min(2 * state["after block"] + 2, 7)
        seen, values = SCORES[:end].double(), VALUES[:end].double()
        parts, rest = (seen - seen.max()).exp(), [""] * (7 - end)
        assert [text for text, _ in got["part"]] == [*map(shown, parts.tolist()), *rest]
        weights = parts / parts.sum()
        assert [text for text, _ in got["weight"]] == [*map(shown, weights.tolist()), *rest]
        ((said, _),) = got["said"]
        sums = (parts.sum(), (parts * values).sum(), (weights * values).sum())
        total, z, out = (shown(x.item()) for x in sums)
        assert f"exponentials is {total}, that of the values {z}; divided, {out}." in said
        assert ("no key is left" in said) == (end == 7)


def test_the_factor_that_is_told_is_that_of_the_two_maxima(tab):
    tab.set_content(page_of(RUNNING))
    told = [read(figure_in(tab), **{"after block": step})["said"][0] for step in range(4)]
    assert told[0].startswith("The largest score is 1.50. ")
    assert "rises from 1.50 to 2.50, so what was summed before is multiplied by 0.37." in told[1]
    assert told[2].startswith("The largest score is still 2.50, so what was summed before stays.")
    assert "rises from 2.50 to 3.00, so what was summed before is multiplied by 0.61." in told[3]


def test_every_state_of_linear_attention_equals_the_package(tab):
    n, (q, k, v) = len(TOKENS), LINEAR
    want = linear_attention_parallel(q, k, v)
    weights = feature_map(q) @ feature_map(k).mT
    for state, got in every_state(tab, GROWING, token=range(n), chunk=range(n)):
        t, chunk = state["token"], state["chunk"] + 1
        S, z = linear_attention_state(k[: t + 1], v[: t + 1])
        close(held(got["S"]), S.flatten())
        close(held(got["z"]), z)
        for form in ("masked", "recurrent", "chunks"):
            close(held(got[form]), want[t])
        total = weights[t, : t + 1].sum()
        close(held(got["total"]), total.expand(3))
        shares = held(got["weight"])
        close(shares[: t + 1], weights[t, : t + 1] / total)
        assert [text == "" for text, _ in got["weight"]] == [j > t for j in range(n)]
        assert [text == "" for text, _ in got["key"]] == [j > t for j in range(n) for _ in "kk"]
        ways = [text for text, _ in got["way"]]
        start = t // chunk * chunk
        assert ways == ["state"] * start + ["pair"] * (t + 1 - start) + [""] * (n - 1 - t)
        ((said, _),) = got["said"]
        assert said.startswith(f"{TOKENS[t]} is token {t + 1}. Masked: {t + 1} pair")
        assert re.search(rf"state of 6 numbers.*: {start} tokens? by the state, ", said), said


def number(text: str) -> float:
    """A number that the figure shows, with or without a power of ten."""
    text = text.replace("−", "-")
    digits, _, raised = text.rpartition("10") if "⁻" in text else (text, "", "0")
    return float(digits.strip(" ·") or 1) * 10.0 ** int(raised.translate(RAISED))


def test_every_layer_and_distance_is_put_into_words(tab):
    for state, got in every_state(tab, DISTANCES, layer=range(3), distance=range(8)):
        name, t = list(GRADIENTS)[state["layer"]], state["distance"] + 1
        share, steps = (GRADIENTS[name][t] / GRADIENTS[name][1]).item(), STEPS[name][t].item()
        ((said, _),) = got["said"]
        assert said.startswith(f"{name}, {t} token{'s' if t > 1 else ''} back: "), said
        if steps < 0:
            assert said.endswith("no way from there, and no gradient."), said
            continue
        assert f"the way has {steps} step{'s' if steps > 1 else ''}, " in said, said
        told = said.split("the gradient is ")[1].split(" times")[0]
        assert number(told) == pytest.approx(share, rel=0.05), said


def test_the_table_shows_powers_of_ten_or_path_lengths(tab):
    tab.set_content(page_of(DISTANCES))
    left = [number(text) for text in read(figure_in(tab), show=0)["cell"]]
    shares = [(one[t] / one[1]).item() for one in GRADIENTS.values() for t in COLUMNS]
    for told, share in zip(left, shares, strict=True):
        assert told == (10.0 ** round(math.log10(share)) if share else 0)
    ways = read(figure_in(tab), show=1)["cell"]
    steps = [one[t].item() for one in STEPS.values() for t in COLUMNS]
    assert ways == ["none" if one < 0 else str(one) for one in steps]


def test_every_state_of_the_clipping_table_equals_the_package(tab):
    for state, got in every_state(tab, CLIPPING, n=range(N), k=range(N + 1)):
        n, reach = state["n"] + 1, state["k"]
        rows = relative_index(n, reach)
        texts = [text for text, _ in got["row"]]
        kept = [texts[i * N : i * N + n] for i in range(n)]
        assert kept == [[str(one) for one in row] for row in rows.tolist()], state
        assert sum(text != "" for text in texts) == n * n, state
        ((said, _),) = got["said"]
        assert said.startswith(f"The table has {2 * reach + 1} row"), state
        assert {int(x) for x in re.findall(r"(?:rows?|to) (\d+)(?= to| are| is)", said)} == {
            rows.min().item(), rows.max().item()
        }, state  # fmt: skip
        for row, pairs in re.findall(r"[Rr]ow (\d+) serves (?:all )?(\d+) pair", said):
            assert (rows == int(row)).sum() == int(pairs), state
        shared = any(
            (rows == row).sum() > max(0, n - abs(row - reach)) for row in range(2 * reach + 1)
        )
        assert ("No two offsets" in said) != shared, state


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize(("direction", "skewed"), [(0, skew), (1, causal_skew)])
def test_the_last_step_of_the_skew_is_the_package_s(n, direction, skewed, tab):
    tab.set_content(page_of(plot.skewing(n, alt="The skew.")))
    got = read(figure_in(tab), direction=direction, step=3)["entry"]
    offsets = torch.arange(1 - n, 1 if direction else n, dtype=torch.float64)
    # a number for the query beside the offset, so that an entry of another query is noticed
    expected = skewed(offsets + 100 * torch.arange(1, n + 1)[:, None])
    values = visit(figure_in(tab), [{}])[0]["entry"]
    for i, j in product(range(n), repeat=2):
        text, value = got[i * 2 * n + j], float(values[i * 2 * n + j][1])
        told = 0 if text == "·" else int(text.replace("−", "-")) + 100 * n * value
        assert told == pytest.approx(expected[i, j].item())


def test_no_step_of_the_skew_but_the_last_changes_the_order_of_the_entries(tab):
    tab.set_content(page_of(SKEWING))
    for direction in (0, 1):
        read(figure_in(tab), direction=direction)
        table, padded, reshaped = (
            [text for text in read(figure_in(tab), step=step)["entry"] if text] for step in range(3)
        )
        assert [text for text in padded if text != "pad"] == table
        assert reshaped == padded[4:]


def test_every_state_of_the_waves_equals_the_package(tab):
    n = 12
    for state, got in every_state(tab, WAVES, position=range(n), d=range(len(WAVE_WIDTHS))):
        t, d = state["position"], WAVE_WIDTHS[state["d"]]
        p = sinusoids(n, d, dtype=torch.float64)
        product = p @ p[t]
        for slot, numbers in {"wave": p[:, :4].flatten(), "share": product / (d / 2)}.items():
            got_numbers = held(got[slot])
            close(got_numbers, numbers, msg=f"{slot} at {state}")
            assert [text for text, _ in got[slot]] == [shown(x) for x in got_numbers.tolist()]
        assert [text.replace("−", "-") for text, _ in got["offset"]] == [
            f"{s - t:+d}" if s != t else "0" for s in range(n)
        ]
        near = t + 1 if t + 1 < n else t - 1
        ((said, _),) = got["said"]
        assert said == (
            f"Position {t}, width {d}: product {shown(product[t].item())} with itself, "
            f"{shown(product[near].item())} with {near}."
        )
        assert got["half"] == [[f"{d // 2}", None]]


def test_above_0_and_below_0_have_colours_of_their_own(tab):
    tab.set_content(page_of(WAVES))
    look = "cells => cells.map(cell => [+cell.value, getComputedStyle(cell).backgroundColor])"
    # in order of their values: the lowest, 0 and the highest
    cells = sorted(tab.locator(".signed").evaluate_all(look))
    (none,) = {colour for value, colour in cells if value == 0}
    assert len({cells[0][1], none, cells[-1][1]}) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"widths": [8, 7]}, r"widths=\[8, 7\]: each must be even, and at least 4"),
        ({"widths": [2]}, r"widths=\[2\]"),
        ({"widths": []}, r"widths=\[\]"),
        ({"position": 12}, "position starts at option 12, but it has 12"),
        ({"n": 0}, "position starts at option 0, but it has 0"),
        ({"alt": " "}, "alt is empty"),
    ],
)
def test_what_no_figure_can_show_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        plot.waves(**({"n": 12, "widths": [8], "alt": "waves"} | arguments))
