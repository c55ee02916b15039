"""Two methods side by side: what a query may see, the cache, the work, and a machine's limit.

The first state is computed here, later ones in view.js; the numbers of both are those of
`attncourse.method_costs`, which the page receives as terms.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from attncourse.figures.interactive import Interactive, Select, Slider, columns, number, row
from attncourse.figures.method_costs.text import (
    CELLS,
    ELEMENT_BYTES,
    cells_of,
    format_bytes,
    format_count,
    format_time,
    seen_text,
)
from attncourse.method_costs import QUANTITIES, Layer, Machine, Model, Seen, Size, Stack

HERE = Path(__file__).parent
CONTEXTS = [2**exponent for exponent in range(7, 21)]
# lines of a panel, for as many kinds of layers
MOST_KINDS = 3
TASKS = {"read": "To read the text", "write": "To write the next token"}
NOTE = """Counted is what happens between the projections of all layers, for one text, in 16 bits:
states, too, although many programs keep them in 32.
Multiply-adds are those of matrix products. Elementwise work is counted by the numbers that it
computes, such as scaled scores, their softmax, or a state that fades. The queries, keys, values
and outputs of a prompt are moved once. To write a token, the part of the cache that it sees is
read once, and a state is read and written. Latents are read in the plain form and written in the
absorbed one. Methods with a state go through a text token by token; in chunks, they need more
multiply-adds and less elementwise work. Not counted are projections, weights, which texts that are
written at the same time share, feed-forward layers, masks, copies and incomplete blocks. The times
are the least that the peaks of one machine allow, without the elementwise work, so programs take
longer."""


def method_costs(
    sizes: Sequence[Size],
    models: Sequence[Model],
    machines: Sequence[Machine],
    *,
    alt: str,
    start: tuple[int, int] = (1, 5),
    context: int = 2**17,
) -> Interactive:
    """Figure: two methods at a model's size, or two models, with a slider for the context.

    `start` has the two that are shown first, counted through the methods and then the models.
    """
    require_options(sizes, models, machines, start, context)
    methods = [(name, stack, sizes[0]) for name, stack in sizes[0].methods.items()]
    options = [*methods, *((model.name, model.stack, model) for model in models)]
    names, stacks, sources = zip(*(options[index] for index in start), strict=True)
    panels = "".join(
        panel_html(name, stack, context) for name, stack in zip(names, stacks, strict=True)
    )
    groups = {
        "methods, at the size": [*sizes[0].methods],
        "models, at their own": [model.name for model in models],
    }
    return Interactive(
        HERE / "view.js",
        page_data(sizes, models, machines),
        [
            Select("first", groups, start[0]),
            Select("second", groups, start[1]),
            Select("size", {"": [size.name for size in sizes]}),
            Slider("context", CONTEXTS, CONTEXTS.index(context)),
            Select("machine", {"": [machine.name for machine in machines]}),
        ],
        "",
        alt=alt,
        picture=f'<div class="panels">{panels}</div>{legend_html(context)}'
        f"{costs_table(names, stacks, context, machines[0])}"
        f"<details><summary>What is counted, and sources</summary><div>{NOTE}</div>"
        f"<div>Sizes: {sizes_links(*sources)}. Peaks: {source_link(machines[0])}.</div></details>",
        fallback=all_table(sizes[0], models, context),
        caption_first=True,
    )


def sizes_links(first: Model | Size, second: Model | Size) -> str:
    """Links to the sizes of both; the second is hidden where it is the first."""
    look = "also none" if first.url == second.url else "also"
    return (
        f'{source_link(first)}<span data-show="also" class="{look}">, {source_link(second)}</span>'
    )


def source_link(source: Model | Size | Machine) -> str:
    """A link to where the numbers of a model or machine stand."""
    return f'<a data-show="source" href="{escape(source.url)}">{escape(source.name)}</a>'


def panel_html(name: str, stack: Stack, n: int) -> str:
    """HTML of what a query may see in each kind of layer: words, and a row of cells."""
    lines = [
        line_html("line", seen_text(count, layer, n), cells_of(layer, n))
        for count, layer in stack.layers
    ]
    empty = line_html("line none", "", [("", 0)] * CELLS)
    return f"<div>{name_html(name)}{''.join(lines)}{empty * (MOST_KINDS - len(lines))}</div>"


def line_html(look: str, words: str, cells: Iterable[tuple[str, float]]) -> str:
    """HTML of a line of a panel, each cell filled as far as its tokens are seen."""
    content = "".join(number("cell", share, f"slice {kind}", "") for kind, share in cells)
    return (
        f'<div data-show="line" class="{look}"><span data-show="sees">{escape(words)}</span>'
        f'<div class="cells" aria-hidden="true">{content}</div></div>'
    )


def name_html(name: str) -> str:
    """HTML of the name of a method or a model."""
    return f'<b data-show="name">{escape(name)}</b>'


def legend_html(n: int) -> str:
    """HTML that says what a cell is, and what its looks mean."""
    looks = {"keys": "seen one by one", "pooled": "pooled", "state": "remembered in a state"}
    samples = ", ".join(
        f'<span class="sample {look}"></span> {words}' for look, words in looks.items()
    )
    return (
        f'<div class="legend">A cell stands for <span data-show="tokens">{n // CELLS:,}</span> '
        f"tokens, the newest at the right: {samples}.</div>"
    )


def costs_table(names: Sequence[str], stacks: Sequence[Stack], n: int, machine: Machine) -> str:
    """HTML table of the costs of both stacks, with bars that compare the two."""
    cache = [ELEMENT_BYTES * stack.quantity("cache", n) for stack in stacks]
    body = title("Cache")
    body += bars("of the text", "cache", cache, format_bytes)
    body += bars("for each token", "each", [x / n for x in cache], format_bytes)
    for task, words in TASKS.items():
        products, elements, moved = (
            [stack.quantity(f"{task} {kind}", n) for stack in stacks]
            for kind in ("products", "elements", "moved")
        )
        moved = [ELEMENT_BYTES * x for x in moved]
        body += title(words)
        body += bars("multiply-adds", "products", products, format_count)
        body += bars("elementwise", "elements", elements, format_count)
        body += bars("bytes moved", "moved", moved, format_bytes)
        body += times_html(products, moved, machine)
    heading = columns('<span class="unseen">cost</span>', *map(name_html, names))
    return f'<table class="costs"><thead>{heading}</thead><tbody>{body}</tbody></table>'


def title(words: str) -> str:
    """A row that names the rows below it."""
    return f'<tr class="task"><th colspan="3" scope="colgroup">{words}</th></tr>'


def bars(words: str, slot: str, numbers: Sequence[float], write: Callable[[float], str]) -> str:
    """A row of two numbers with bars, in one scale."""
    return row(words, *(number(slot, x / max(numbers), "bar", write(x)) for x in numbers))


def times_html(products: Sequence[int], moved: Sequence[int], machine: Machine) -> str:
    """Two rows with the least times, in one scale; the longer one of each method is its limit."""
    arithmetic = [2 * x / machine.operations for x in products]
    memory = [x / machine.bandwidth for x in moved]
    longest = max(*arithmetic, *memory)

    def times_row(slot: str, times: Sequence[float], limits: Sequence[bool]) -> str:
        cells = (
            number(slot, x / longest, f"bar{' limit' * limit}", format_time(x))
            for x, limit in zip(times, limits, strict=True)
        )
        return row(f"time for {slot}", *cells)

    by_memory = [x >= y for x, y in zip(memory, arithmetic, strict=True)]
    by_arithmetic = [not limit for limit in by_memory]
    return times_row("arithmetic", arithmetic, by_arithmetic) + times_row(
        "memory", memory, by_memory
    )


def all_table(size: Size, models: Sequence[Model], n: int) -> str:
    """HTML table of all methods at a size and of all models, for readers without scripts."""
    heading = columns("", "cache", "multiply-adds to read", "to write a token", "moved for it")
    stacks = dict(size.methods) | {model.name: model.stack for model in models}
    rows = "".join(
        row(
            escape(name),
            format_bytes(ELEMENT_BYTES * stack.quantity("cache", n)),
            format_count(stack.quantity("read products", n)),
            format_count(stack.quantity("write products", n)),
            format_bytes(ELEMENT_BYTES * stack.quantity("write moved", n)),
        )
        for name, stack in stacks.items()
    )
    caption = f"Methods at the size of {size.name}, then models, at {n:,} tokens"
    return f"<table><caption>{escape(caption)}</caption>{heading}{rows}</table>"


def page_data(
    sizes: Sequence[Size], models: Sequence[Model], machines: Sequence[Machine]
) -> dict[str, object]:
    """What the view reads: stacks as terms, and the numbers of entries at each context."""
    all_stacks = [[*size.methods.values()] for size in sizes]
    own_stacks = [model.stack for model in models]
    seen: dict[Seen, int] = {}
    for stack in [*(stack for stacks in all_stacks for stack in stacks), *own_stacks]:
        for kinds in (
            *(layer.attends for _, layer in stack.layers),
            *(stack.terms(name) for name in QUANTITIES),
        ):
            for kind in kinds:
                seen.setdefault(kind, len(seen))

    def layer_data(count: int, layer: Layer) -> list:
        return [count, [seen[kind] for kind in layer.attends], layer.state]

    def stack_data(stack: Stack) -> dict[str, list]:
        terms = (stack.terms(name) for name in QUANTITIES)
        return {
            "layers": [layer_data(*kind) for kind in stack.layers],
            "terms": [[[seen[kind], x] for kind, x in each.items()] for each in terms],
        }

    return {
        "contexts": CONTEXTS,
        "cells": CELLS,
        "size": ELEMENT_BYTES,
        "seen": [[kind.pool, kind.most, kind.chosen] for kind in seen],
        "last": [[kind.by_last(n) for kind in seen] for n in CONTEXTS],
        "all": [[kind.by_all(n) for kind in seen] for n in CONTEXTS],
        "methods": [*sizes[0].methods],
        "sizes": [
            {"name": size.name, "url": size.url, "stacks": [*map(stack_data, stacks)]}
            for size, stacks in zip(sizes, all_stacks, strict=True)
        ],
        "models": [
            {"name": model.name, "url": model.url, "stack": stack_data(model.stack)}
            for model in models
        ],
        "machines": [vars(machine) for machine in machines],
    }


def require_options(
    sizes: Sequence[Size],
    models: Sequence[Model],
    machines: Sequence[Machine],
    start: tuple[int, int],
    context: int,
) -> None:
    """Raise ValueError, with the numbers, where the arguments of `method_costs` do not fit."""
    if not sizes or not machines:
        raise ValueError(f"{len(sizes)} sizes, {len(machines)} machines: it needs one of each")
    names = [[*size.methods] for size in sizes]
    if any(each != names[0] for each in names):
        raise ValueError(f"the sizes have different methods: {names}")
    options = len(names[0]) + len(models)
    if not all(0 <= index < options for index in start):
        raise ValueError(f"start={start}, but there are {options} methods and models, from 0")
    if context not in CONTEXTS:
        raise ValueError(f"context={context} is none of {CONTEXTS}")
    stacks = [*(stack for size in sizes for stack in size.methods.values())]
    for stack in [*stacks, *(model.stack for model in models)]:
        if not 1 <= len(stack.layers) <= MOST_KINDS:
            raise ValueError(f"{len(stack.layers)} kinds of layers: 1 to {MOST_KINDS} have room")
