"""Every state of the interactive figures against the numbers of the package."""

import cmath
import functools
import math
import re
from itertools import chain

import pytest
import torch

from attncourse import figures
from attncourse.convolution import tap_offsets, tap_weights
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.efficient import longformer_mask
from attncourse.figures.explorer import TEMPERATURES
from attncourse.figures.numbers import format_number
from attncourse.figures.turning import DEGREES
from attncourse.linear import feature_map, linear_attention_parallel, linear_attention_state
from attncourse.positional import sinusoids
from attncourse.relative import relative_index

from . import in_page
from .in_page import SEPARATE, K, Q, V, all_states, bare_page, figure_in, read_states, slot_numbers

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
EXPECTED = {}
SEPARATE_SWITCH = "query and key"


def add_expected(figure, **options: int):
    """Put a figure, so many options of each control, and what it must show into the table.

    What it must show in a state: for each slot the numbers, or the texts, or both; of `said` a
    pattern that matches the whole.
    """

    def add(expected):
        EXPECTED[expected.__name__] = figure, options, expected
        return expected

    return add


def regex_of(x) -> str:
    """A number as a figure shows it, for a pattern."""
    return re.escape(format_number(float(x)))


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


@add_expected(in_page.EXPLORER, query=4, mask=3, d_k=4, scale=2, temperature=len(TEMPERATURES))
def explorer(query, mask, d_k, scale, temperature):
    d, softmax_temperature = in_page.WIDTHS[d_k], TEMPERATURES[temperature]
    mask = list(in_page.MASKS.values())[mask]
    k, v = K[:, :d].double(), V.double()
    q = Q[:, :d].double() / softmax_temperature * (1 if scale else d**0.5)
    weight, output = attention_weights(q, k, mask)[query], attention(q, k, v, mask)[query]
    most_weight = "most weight, .*" if mask[query].any() else "no key may be attended to"
    outputs = ", ".join(map(regex_of, output))
    factors = [f"√{d}"] * scale + [f"{softmax_temperature}"] * (softmax_temperature != 1)
    divisor = "\u00a0· ".join(factors) or "1"
    return {
        "dot": k @ Q[query, :d].double(),
        "score": (k @ q[query] / d**0.5).masked_fill(~mask[query], -torch.inf),
        "weight": weight,
        "part": weight[:, None] * v,
        "output": output,
        "total": weight.sum(),
        "divisor": [f"({divisor})" if len(factors) > 1 else divisor],
        "said": rf"Query {re.escape(in_page.QUERIES[query])}: {most_weight}\. Output: {outputs}\.",
    }


@add_expected(in_page.HEADS, head=3, query=4)
def heads(head, query):
    top, key = in_page.WEIGHTS[head, query].max(dim=-1)
    most_weight = rf"most weight, {regex_of(top)}, on {in_page.KEYS[key]}\."
    sentence = rf"Head {head}, query {re.escape(in_page.QUERIES[query])}: {most_weight}"
    return {
        "weight": in_page.WEIGHTS[head],
        "arc": (in_page.WEIGHTS[head], [""] * in_page.WEIGHTS[head].numel()),
        "found": in_page.WEIGHTS[head, query],
        "said": sentence,
    }


@add_expected(in_page.KERNEL_AS_HEADS, kernel=2, alpha=4, query=5)
def kernel(kernel, alpha, query):
    taps = torch.tensor(list(in_page.KERNELS.values())[kernel]).double()
    sharpness = float(in_page.ALPHAS[alpha])
    weights = tap_weights(tap_offsets((3,)).double(), (5,), sharpness)[:, query]
    true = torch.zeros(7).double()
    true[query : query + 3] = taps
    max_error = (taps @ weights - true[1:-1]).abs().max().item()
    error_text = rf"up to {max_error:.2f}" if max_error >= 0.005 else r"less than 0\.005"
    outside = {0: f" Head −1 looks outside.* {query}.", 4: rf" Head \+1 looks outside.* {query}\."}
    return {
        "weight": weights,
        "sum": taps @ weights,
        "true": true[1:-1],
        "said": rf".* by {error_text}\.{outside.get(query, '')}",
    }


@add_expected(in_page.RECEPTIVE, layers=3, width=3, output=9)
def receptive(layers, width, output):
    differences, width = torch.arange(9) - torch.arange(9)[:, None], [3, 5, 1][width]

    def connections(layer: int) -> torch.Tensor:
        """Which inputs of a layer lead to which of its outputs."""
        dilation = 2**layer if layers == 1 else 1
        is_connected = (differences % dilation == 0) & (differences.abs() // dilation <= width // 2)
        return (is_connected | (layers == 2)).double()

    paths = [torch.eye(9)[output].double()]
    for layer in (2, 1, 0):
        paths.append(paths[-1] @ connections(layer))
    shares = torch.cat([row / row.max() for row in paths])
    positions = (paths[-1] > 0).nonzero().flatten().tolist()
    ends = f", from {positions[0]} to {positions[-1]}" if len(positions) > 1 else ""
    return {
        "path": (shares, ["•" if x else "·" for x in shares]),
        "said": rf"Output {output} sees {len(positions)} of 9 inputs{ends}\.( .*)?",
    }


@functools.cache
def allowed(pattern: int, n: int, width: int) -> torch.Tensor:
    """The package's mask of a pattern; of the last, without its random keys."""
    make = [
        lambda: torch.ones(n, n).bool(),
        lambda: causal_mask(n),
        lambda: longformer_mask(n, width),
    ]
    return (make[pattern] if pattern < 3 else lambda: longformer_mask(n, width, [0]))()


@add_expected(in_page.PATTERNS, pattern=5, n=5, width=3)
def patterns(pattern, n, width):
    n, width = n + 2, 2 * width + 1
    random = 2 if pattern == 4 else 0
    dots = torch.zeros(6, 6).bool()
    dots[:n, :n] = allowed(pattern, n, width)
    # the first keys of its order that are not there yet
    for row, order in zip(dots[:n], in_page.PATTERNS.data["orders"], strict=False):
        row[[j for j in order.tolist() if j < n and not row[j]][:random]] = True
    allowed_pairs = allowed(pattern, 1024, width)
    pairs = allowed_pairs.sum() + (~allowed_pairs).sum(-1).clamp(max=random).sum()
    return {
        "pair": ["•" if dot else "" for dot in dots.flatten()],
        "said": f"{dots.sum()} of {n * n} pairs, .* 1024 tokens: {pairs} of 1048576 pairs, .*",
    }


@add_expected(in_page.RUNNING, **{"after block": 4})
def running(**state):
    step = state["after block"]
    end, earlier_scores = min(2 * step + 2, 7), in_page.SCORES[: 2 * step].double()
    scores, values = in_page.SCORES[:end].double(), in_page.VALUES[:end].double()
    exponentials, blanks = (scores - scores.max()).exp(), [""] * (7 - end)
    weights, max_pattern = exponentials / exponentials.sum(), regex_of(scores.max())
    sentences = rf"The largest score is {max_pattern}\. "
    if step:
        factor = regex_of((earlier_scores.max() - scores.max()).exp())
        raised = (
            rf"rises from {regex_of(earlier_scores.max())} to {max_pattern}, "
            rf"so .* is multiplied by {factor}\. "
        )
        unchanged = rf"is still {max_pattern}, so what was summed before stays\. "
        sentences = (
            f"The largest score {raised if scores.max() > earlier_scores.max() else unchanged}"
        )
    sums = map(
        regex_of, (exponentials.sum(), (exponentials * values).sum(), (weights * values).sum())
    )
    sentences += r"The sum of exponentials is {}, that of the values {}; divided, {}\. ".format(
        *sums
    )
    return {
        "part": [*map(format_number, exponentials.tolist()), *blanks],
        "weight": [*map(format_number, weights.tolist()), *blanks],
        "said": sentences
        + (".*no key is left.*" if end == 7 else f"{7 - end} keys are still to come."),
    }


@add_expected(in_page.GROWING, chunk=5, token=5)
def growing(chunk, token):
    n, (q, k, v) = len(in_page.TOKENS), in_page.LINEAR
    visible, start = token + 1, token // (chunk + 1) * (chunk + 1)
    S, z = linear_attention_state(k[:visible], v[:visible])
    weights = (feature_map(q) @ feature_map(k).mT)[token] * (torch.arange(n) < visible)
    words = [format_number(x) if j < visible else "" for j, x in enumerate(weights.tolist())]
    keys = feature_map(k)
    key_texts = [
        format_number(x) if j < visible else "" for j, row in enumerate(keys.tolist()) for x in row
    ]
    output = linear_attention_parallel(q, k, v)[token]
    sentence = rf"Masked: {plural(visible, 'pair')}\. Recurrent: a state of 6 numbers\. "
    chunks = rf"Chunks: {plural(start, 'token')} by the state, {plural(visible - start, 'pair')}\. "
    equal_outputs = f"All three give {', '.join(map(regex_of, output))}\\."
    matrix = (feature_map(q) @ keys.mT).tril()
    shares, chunk_index = matrix / matrix.sum(-1, keepdim=True), torch.arange(n) // (chunk + 1)
    summands = keys[:, :, None] * torch.cat([torch.ones(n, 1), v], dim=-1)[:, None]
    summands = summands * (torch.arange(n) < visible)[:, None, None]
    state_and_sum = linear_attention_state(k[:start], v[:start])
    return {
        "cell": (shares, [""] * n * n),
        "block": (shares * (chunk_index[:, None] == chunk_index), [""] * n * n),
        "part": (summands, [""] * summands.numel()),
        "early": torch.cat([state_and_sum[1][:, None], state_and_sum[0]], dim=-1),
        "above": in_page.TOKENS * 2,
        "S": S,
        "z": z,
        **dict.fromkeys(("masked", "recurrent", "chunks"), output),
        "total": weights.sum().expand(3),
        "weight": (weights / weights.sum(), words),
        "key": (keys, key_texts),
        "read": in_page.TOKENS,
        "way": ["state"] * start + ["pair"] * (visible - start) + [""] * (n - visible),
        "said": rf"Token {visible}, {in_page.TOKENS[token]}\. {sentence}{chunks}{equal_outputs}",
    }


@add_expected(in_page.ORDERS, n=3, d=2)
def orders(n, d):
    n, d = in_page.LENGTHS[n], in_page.SIDES[d]
    # a product of a by b and b by c takes 2abc operations; z is read too
    costs = torch.tensor([2 * n * d * n * 2, 2 * d * n * d * 2 + 2 * n * d])
    areas, scores_first_is_dearer = torch.tensor([n * n, d * d]), costs[0] > costs[1]
    ratio = regex_of(costs.max() / costs.min())
    dearer_order = "queries and keys" if scores_first_is_dearer else "keys and values"
    return {
        "size": [f"{n} × {n}", f"{d} × {d}"],
        "area": (areas, [f"{x:,}" for x in areas]),
        "cost": (costs / costs.max(), [f"{x:,}" for x in costs]),
        "said": f"n = {n}, d = {d}: .* has {n * n} numbers or {d * d}\\. "
        f"Multiplying {dearer_order} first takes {ratio} times as many operations\\.",
    }


@add_expected(in_page.DISTANCES, layer=3, distance=8, show=2)
def distances(layer, distance, show):
    names, t = list(in_page.GRADIENTS), distance + 1
    shares = torch.stack([gradients / gradients[1] for gradients in in_page.GRADIENTS.values()])
    counts = torch.stack([*in_page.STEPS.values()])
    steps = counts[layer, t].item()
    path = rf"the path has {plural(steps, 'step')}, and the gradient is (.*) times .*"
    ticks = ["8", "6", "4", "2", "0"] if show else ["1", "10⁻²", "10⁻⁴", "10⁻⁶", "10⁻⁸"]
    return {
        "left": (shares[:, t], [format_share(x) for x in shares[:, t].tolist()]),
        "path": (counts[:, t], [f"{x}" if x >= 0 else "none" for x in counts[:, t].tolist()]),
        "tick": ticks,
        "at": [f"{t}"],
        "said": f"{names[layer]}, {plural(t, 'token')} back: "
        + (path if steps >= 0 else r".*no path leads from there, so there is no gradient\."),
    }


def format_share(share: float) -> str:
    """A share as the figure writes it."""
    if share == 0 or share >= 0.1:
        return format_number(share) if share else "0"
    digits, _, exponent = f"{share:.1e}".partition("e")
    return f"{digits} · 10{str(int(exponent)).translate(SUPERSCRIPTS)}"


@add_expected(in_page.SAMPLING, temperature=len(TEMPERATURES), k=5)
def sampling(temperature, k):
    scores = in_page.NEXT.double()
    drawable = scores >= scores.sort(descending=True).values[k]
    chance = (scores.masked_fill(~drawable, -torch.inf) / TEMPERATURES[temperature]).softmax(0)
    other_tokens = {1: "no other token", 2: "one other token"}.get(
        n := drawable.sum().item(), f"{n - 1} other tokens"
    )
    return {
        "score": scores,
        "chance": chance,
        "token": ["the", "dog", *"abc"],
        "share": [""] * 5,
        "count": ["0"] * 5,
        "said": rf"“the” is drawn with a probability of {regex_of(chance[0])}; "
        rf"{other_tokens} can be drawn\.",
    }


@add_expected(in_page.PLANE, query=3, temperature=len(TEMPERATURES), **{SEPARATE_SWITCH: 2})
def plane(query, temperature, **switch):
    x, warm = in_page.POINTS.double(), TEMPERATURES[temperature]
    matrices = [
        matrix.double() if switch[SEPARATE_SWITCH] else torch.eye(2).double() for matrix in SEPARATE
    ]
    q, k, v = (x @ matrix for matrix in matrices)
    weight, output = attention_weights(q / warm, k)[query], attention(q / warm, k, v)[query]
    a, b = map(regex_of, output)
    word = ("the", "river", "bank")[query]
    return {
        "dot": k @ q[query],
        "score": k @ q[query] / 2**0.5 / warm,
        "given": weight,
        "weight": weight,
        "part": weight[:, None] * v,
        "output": output,
        "said": f"Query “{word}”: most weight, {regex_of(weight.max())}, on .*\\. "
        f"It comes out with {a} water and {b} money\\.",
    }


@add_expected(
    in_page.TURNING,
    **{"query at": 6, "key at": 6, "both further by": 6, "degrees a position": len(DEGREES)},
)
def turning(**state):
    i, j, shift, degrees = state.values()
    turn = math.radians(DEGREES[degrees])
    # as complex numbers: rope takes whole positions, each a turn of 1
    q, k = (
        torch.view_as_real(
            torch.tensor([x], dtype=torch.complex128) * cmath.rect(1, (t + shift) * turn)
        )
        for x, t in ((1 + 2j, i), (3 - 0.5j, j))
    )
    return {
        "turned": torch.cat([q, k]),
        "score": q @ k.mT,
        "said": f"Query at {i + shift}, key at {j + shift}: the offset is "
        f"{str(j - i).replace('-', '−')}, and the score {regex_of(q @ k.mT)}\\.",
    }


@add_expected(in_page.CLOCKS, position=12, another=12)
def clocks(position, another):
    p = sinusoids(12, 6).double()
    # each pair by itself: the cosine of the angle between its hands
    pairs = (p[position] * p[another]).unflatten(0, (3, 2)).sum(-1)
    frequency = 10000 ** (-torch.arange(3, dtype=torch.float64) / 3)
    share = pairs.mean()
    return {
        "turned": (frequency[:, None] * torch.tensor([position, another])).flatten(),
        "cosine": pairs,
        "mean": share,
        "said": f"Positions {position} and {another}: "
        f"the dot product is {regex_of(share)} of .*\\.",
    }


@pytest.mark.parametrize(("n", "d"), [(1, 8), (8, 5), (8, 0)])
def test_clocks_of_no_curve_or_an_odd_width_are_refused(n, d):
    with pytest.raises(ValueError, match=f"[nd]={n if n < 2 else d}"):
        figures.clocks(n, d, alt="clocks")


@add_expected(in_page.CLIPPING, n=6, k=7)
def clipping(n, k):
    n = n + 1
    rows = relative_index(n, k)
    texts = [[str(x) for x in row] + [""] * (6 - n) for row in rows.tolist()]
    first, last = rows.min().item(), rows.max().item()
    used = f"rows {first} to {last} are" if first < last else f"row {first} is"
    ends = [f"row {row} serves {(rows == row).sum()} pairs, .*" for row in (0, 2 * k)]
    if len(rows.unique()) == 2 * n - 1:
        shared_rows = "No two offsets share a row."
    elif k == 0:
        shared_rows = f"Row 0 serves all {n * n} pairs: .*"
    else:
        shared_rows = f"At its ends, {', and '.join(ends)}"
    return {
        "row": [*chain(*texts), *[""] * 6 * (6 - n)],
        "said": f"The table has {plural(2 * k + 1, 'row')}; {used} used. {shared_rows}",
    }


# where the cells are is looked at in test_skewing.py
def skewing(n, direction, step):
    width = [n if direction else 2 * n - 1] * 4 + [n]
    count = [width[0], width[0] + 1, 0, width[0], n][step]
    sentences = [
        f"A row for each query, .*, from {'−' * (n > 1)}{n - 1} to {width[0] - n}\\.",
        "One more .*",
        f".* Its first {n} go\\.",
        f".*, now {width[0]} to a row: .*",
        ".* A dot is a 0: .*" if direction else f"The first {n} columns stay: .*",
    ]
    return {
        "column": [f"{c}" if c < count else "" for c in range(2 * n)],
        "line": [f"{'row' if step == 3 else 'query'} {i}" for i in range(n)],
        "corner": [["column", "column", "dropped", "column", "key"][step]],
        "said": sentences[step],
    }


for n, figure in in_page.SKEWINGS.items():
    expected = functools.partial(skewing, n)
    EXPECTED[f"skewing {n}"] = figure, {"direction": 2, "step": 5}, expected


@add_expected(in_page.OFFSETS, **{"query at": 6, "key at": 6, "method": 5})
def offsets(method, **state):
    i, j = state.values()
    scores = {
        name: family_scores - family_scores[0, 0] for name, family_scores in in_page.FAMILY.items()
    }
    name, method_scores = list(scores.items())[method]
    offset = f"{j - i}".replace("-", "−")
    # Shaw's table has a maximum distance of 2
    is_clipped = name == "Shaw" and abs(j - i) >= 2
    clipped_text = (
        ", the same from offset " + ("2 to 5" if j > i else "−5 to −2") if is_clipped else ""
    )
    pairs = 6 - abs(j - i)
    return {
        "score": torch.stack([score[i, j] for score in scores.values()]),
        "offset": [offset],
        "said": f"Query at {i}, key at {j}: the offset is {offset}, as for {pairs} of 36 pairs\\. "
        f"{name}: {regex_of(method_scores[i, j])}{clipped_text}\\.",
    }


@add_expected(in_page.RECORDED, **{"hidden word": 3})
def recorded(**state):
    return recorded_in(in_page.BITS[state["hidden word"]], in_page.QUERIES, ["GPT", "LSTM"])


@add_expected(in_page.RECORDED_BY_NUMBER, **{"words seen": 3})
def recorded_by_number(**state):
    return recorded_in(in_page.BY_WINDOW[state["words seen"]], in_page.TOKENS, ["bits"])


def recorded_in(numbers, rows, names):
    """The bars of a case, and what they say: where two columns differ most, or the longest bar."""
    if len(names) == 2:
        index = (numbers[:, 0] - numbers[:, 1]).abs().argmax()
        two_values = ", ".join(
            f"{regex_of(x)} with {name}" for x, name in zip(numbers[index], names, strict=True)
        )
        sentence = f"“{re.escape(rows[index])}” has the largest difference: {two_values}"
    else:
        top, index = numbers[:, 0].max(dim=0)
        sentence = f"{names[0]}: most, {regex_of(top)}, at “{re.escape(rows[index])}”"
    return {"bar": numbers, "said": rf"{sentence}\."}


@add_expected(in_page.WAVES, position=in_page.N, d=len(in_page.WAVE_WIDTHS))
def waves(position, d):
    d = in_page.WAVE_WIDTHS[d]
    p = sinusoids(in_page.N, d, dtype=torch.float64)
    product = p @ p[position]
    offsets = [f"{s - position:+d}".replace("-", "−") for s in range(in_page.N)]
    offsets[position] = "0"
    neighbour = position + 1 if position + 1 < in_page.N else position - 1
    itself, beside = regex_of(product[position]), regex_of(product[neighbour])
    products = rf"product {itself} with itself, {beside} with {neighbour}\."
    return {
        "wave": p[:, :4],
        "share": product / (d / 2),
        "offset": offsets,
        "half": [f"{d // 2}"],
        "said": f"Position {position}, width {d}: {products}",
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_every_state_of_a_figure_equals_the_package(name, tab):
    figure, options, expected = EXPECTED[name]
    tab.set_content(bare_page(figure))
    states = all_states(**options)
    for state, got in zip(states, read_states(figure_in(tab), states), strict=True):
        for slot, want in expected(**state).items():
            slot_of_state, texts = f"{slot} of {state}", [text for text, _ in got[slot]]
            if slot == "said":
                assert re.fullmatch(want, texts[0]), (
                    f"{slot_of_state}: {texts[0]!r} is not {want!r}"
                )
            elif isinstance(want, list):
                assert texts == want, slot_of_state
            else:
                numbers, words = want if isinstance(want, tuple) else (want, None)
                values = slot_numbers(got[slot])
                torch.testing.assert_close(
                    values,
                    numbers.double().flatten(),
                    rtol=1e-6,
                    atol=1e-6,
                    msg=lambda problem, slot_of_state=slot_of_state: f"{slot_of_state}: {problem}",
                )
                assert texts == (words or [format_number(x) for x in values.tolist()]), (
                    slot_of_state
                )


def test_above_0_and_below_0_have_colours_of_their_own(tab):
    tab.set_content(bare_page(in_page.WAVES))
    look = "cells => cells.map(cell => [+cell.value, getComputedStyle(cell).backgroundColor])"
    # in order of their values: the lowest, 0 and the highest
    cells = sorted(tab.locator(".signed").evaluate_all(look))
    (zero_colour,) = {colour for value, colour in cells if value == 0}
    assert len({cells[0][1], zero_colour, cells[-1][1]}) == 3


@pytest.mark.parametrize("widths", [[8, 7], [2], []])
def test_waves_of_odd_or_no_widths_are_refused(widths):
    with pytest.raises(ValueError, match=rf"widths={re.escape(str(widths))}: each must be even"):
        figures.waves(12, widths, alt="waves")


def test_a_vector_that_leaves_the_drawing_is_refused():
    with pytest.raises(ValueError, match=r"length 5 is longer than 3\.67"):
        figures.turning((3, 4), (1, 0), 4, alt="too long")
