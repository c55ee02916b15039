"""Linear attention in its three forms: causal matrix, recurrent state, and chunks.

The first state is computed here, later ones in growing.js.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import torch
from torch import Tensor

from attncourse.figures.interactive import Button, Interactive, Slider, columns, number, row
from attncourse.figures.numbers import format_number, require_finite

# number of random orders of the tokens, which the button goes through
ORDERS = 24
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def growing(
    phi_q: Tensor, phi_k: Tensor, v: Tensor, words: Sequence[str], *, chunk: int, alt: str
) -> Interactive:
    """Figure: linear attention in three forms, with choices of the token and the chunk's length.

    Features of queries and keys are (n, f), values (n, e). The last token is shown first. A row for
    each token has its weights in the causal matrix, its addition to the state, and its pairs within
    its chunk; below are the state and the chosen token's output, in each form. A button shuffles
    the tokens before it.
    """
    require_consistent(phi_q, phi_k, v, words, chunk)
    n = len(words)
    orders = torch.rand(ORDERS, n, generator=torch.Generator().manual_seed(0)).argsort()
    orders[0] = torch.arange(n)
    start = (n - 1) // chunk * chunk
    kinds = ["state"] * start + ["pair"] * (n - start)
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"phiQ": phi_q, "phiK": phi_k, "v": v, "words": list(words), "orders": orders},
        [
            Slider("token", range(1, n + 1), n - 1),
            Slider("chunk", range(1, n + 1), chunk - 1),
            Button("shuffle"),
        ],
        "",
        alt=alt,
        picture=forms_table(phi_q, phi_k, v, words, chunk)
        + numbers_details(phi_k, v, words, phi_k @ phi_q[-1], kinds),
    )


def forms_table(phi_q: Tensor, phi_k: Tensor, v: Tensor, words: Sequence[str], chunk: int) -> str:
    """HTML table of the three forms, with the last token's output in each."""
    n, e = v.shape
    start = (n - 1) // chunk * chunk
    weights = (phi_q @ phi_k.mT).tril()
    shares = weights / weights.sum(-1, keepdim=True)
    # what each token adds to the state, z and S side by side
    summands = phi_k[:, :, None] * torch.cat([v.new_ones(n, 1), v], dim=-1)[:, None]
    rows = [
        row(
            f'<span data-show="read" class="{"state" if i < start else "pair"}'
            f'{" now" * (i == n - 1)}{" cut" * (i % chunk == 0)}">{escape(word)}</span>',
            weight_cells("cell", i, n, shares[i]),
            number_grid("parts", ["part"] * (1 + e), summands[i], ""),
            weight_cells("block", i, chunk, shares[i]),
        )
        for i, word in enumerate(words)
    ]
    labels = "".join(f'<span data-show="above">{escape(word)}</span>' for word in words)
    keys = f'<div class="cells" aria-hidden="true">{labels}</div>'
    names = '<div class="tile"><span>z</span><span>S</span></div>'
    outputs, total = weights[-1] @ v / weights[-1].sum(), weights[-1].sum()
    forms = "masked", "recurrent", "chunks"
    sums = [
        row(
            "state",
            "",
            number_grid("sums", ["z", *["S"] * e], summands.sum(0)),
            number_grid("early", ["early"] * (1 + e), summands[:start].sum(0)),
        ),
        row("total", *(number("total", total) for _ in forms)),
        row("output", *(number_grid("out", [form] * e, outputs[None]) for form in forms)),
    ]
    heading = columns("query ↓", "matrix", "recurrent network", "chunks")
    max_sum, max_summand = (x.abs().max().item() for x in (summands.cumsum(0), summands))
    return (
        f'<table class="forms" style="--most:{max_sum:.3f};--part:{max_summand:.3f};--wide:{e}">'
        f"<thead>{heading}{row('key →', keys, names, keys)}</thead>"
        f"<tbody>{''.join(rows)}</tbody><tfoot>{''.join(sums)}</tfoot></table>"
    )


def weight_cells(slot: str, i: int, chunk: int, shares: Tensor) -> str:
    """HTML of a query's weights: a heat map within its chunk, the rest marked as state."""

    def cell(j: int) -> str:
        kind = ("masked" if j > i else "pair") if j // chunk == i // chunk else "state"
        if j > i and kind == "state":
            kind = "none"
        return number(slot, shares[j] if kind == "pair" else 0, f"heat {kind}", "")

    content = "".join(map(cell, range(len(shares))))
    return f'<div class="cells" aria-hidden="true">{content}</div>'


def number_grid(kind: str, slots: Sequence[str], numbers: Tensor, text: str | None = None) -> str:
    """HTML grid of numbers coloured by value, each column in its slot."""
    content = "".join(
        number(slot, x, "sum", text)
        for line in numbers
        for slot, x in zip(slots, line, strict=True)
    )
    hidden = "" if text is None else ' aria-hidden="true"'
    return f'<div class="tile {kind}"{hidden}>{content}</div>'


def numbers_details(
    phi_k: Tensor, v: Tensor, words: Sequence[str], weights: Tensor, kinds: Sequence[str]
) -> str:
    """Collapsible HTML table with the numbers of each token."""
    rows = "".join(
        row(
            f'<span data-show="word">{escape(word)}</span>',
            *(number("key", x) for x in phi_k[j]),
            *(number("value", x) for x in v[j]),
            number("weight", weights[j] / weights.sum(), "heat", format_number(weights[j].item())),
            f'<data data-show="way">{kinds[j]}</data>',
        )
        for j, word in enumerate(words)
    )
    heading = columns(
        "token",
        *(f"φ(k){i + 1}".translate(SUBSCRIPTS) for i in range(phi_k.shape[1])),
        *(f"v{c + 1}".translate(SUBSCRIPTS) for c in range(v.shape[1])),
        "weight",
        "chunks",
    )
    return (
        "<details><summary>The numbers of each token</summary>"
        f"<table><thead>{heading}</thead><tbody>{rows}</tbody></table></details>"
    )


def require_consistent(
    phi_q: Tensor, phi_k: Tensor, v: Tensor, words: Sequence[str], chunk: int
) -> None:
    """Raise ValueError, with the sizes, where the arguments of `growing` do not fit each other."""
    shapes = f"phi_q={tuple(phi_q.shape)}, phi_k={tuple(phi_k.shape)}, v={tuple(v.shape)}"
    if not v.dim() == 2 == phi_k.dim() or phi_q.shape != phi_k.shape or len(v) != len(phi_k):
        raise ValueError(f"features (n, f), twice, and values (n, e) are needed: {shapes}")
    if not 0 < len(words) == len(v):
        raise ValueError(f"{len(words)} words for {shapes}")
    if not 1 <= chunk <= len(words):
        raise ValueError(f"chunk={chunk}, but there are {len(words)} words")
    for name, x in {"phi_q": phi_q, "phi_k": phi_k, "v": v}.items():
        require_finite(name, x)
    if not (phi_q > 0).all() or not (phi_k > 0).all():
        raise ValueError("a feature is not above 0, so a total weight could be 0")
