"""The state of linear attention as it grows token by token, and three ways to read the past.

This figure computes linear attention: at first here, and in growing.js whenever a control is moved.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

import torch
from torch import Tensor

from attncourse.plot.interactive import Button, Choice, Interactive, Slider, columns, number, row
from attncourse.plot.numbers import require_finite, shown

# so many orders of the tokens are drawn once; the button goes from one to the next
ORDERS = 24
LOWER = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def growing(
    phi_q: Tensor, phi_k: Tensor, v: Tensor, words: Sequence[str], *, chunk: int, alt: str
) -> Interactive:
    """Features (n, f) of queries and keys, and values (n, e): pick a token, and a chunk's length.

    The last token is shown first. A row for each token read so far; below them the two sums of
    the state, and the token's output in three forms. A button shuffles the tokens before it.
    """
    require_fit(phi_q, phi_k, v, words, chunk)
    n, f = phi_k.shape
    weights, S, z = phi_k @ phi_q[-1], phi_k.mT @ v, phi_k.sum(0)
    total = weights.sum()
    start = (n - 1) // chunk * chunk
    ways = ["state"] * start + ["pair"] * (n - start)
    rows = [
        row(
            f'<span data-show="word">{escape(word)}</span>',
            *(number("key", x) for x in phi_k[j]),
            *(number("value", x) for x in v[j]),
            number("weight", weights[j] / total, "heat", shown(weights[j].item())),
            f'<data data-show="way">{ways[j]}</data>',
        )
        for j, word in enumerate(words)
    ]
    sums = [row("z", *(number("z", x) for x in z))] + [
        row(f"S, row {i + 1}", *[""] * f, *(number("S", x) for x in S[i])) for i in range(f)
    ]
    outputs = [
        row(
            name,
            *[""] * f,
            *(number(name, x) for x in weights @ v / total),
            number("total", total),
        )
        for name in ("masked", "recurrent", "chunks")
    ]
    strip = "".join(
        f'<span data-show="read" class="{way}{" now" * (j == n - 1)}{" cut" * (j % chunk == 0)}">'
        f"{escape(word)}</span>"
        for j, (word, way) in enumerate(zip(words, ways, strict=True))
    )
    orders = torch.rand(ORDERS, n, generator=torch.Generator().manual_seed(0)).argsort()
    orders[0] = torch.arange(n)
    numbered = [f"{j + 1} {word}" for j, word in enumerate(words)]
    heading = columns(
        "token",
        *(f"φ(k){i + 1}".translate(LOWER) for i in range(f)),
        *(f"v{c + 1}".translate(LOWER) for c in range(v.shape[1])),
        "weight",
        "chunks",
    )
    return Interactive(
        Path(__file__).with_suffix(".js"),
        {"phiQ": phi_q, "phiK": phi_k, "v": v, "words": list(words), "orders": orders},
        [
            Choice("token", numbered, n - 1),
            Slider("chunk", range(1, n + 1), chunk - 1),
            Button("shuffle"),
        ],
        f"<thead>{heading}</thead><tbody>{''.join(rows)}</tbody>"
        f"<tbody>{''.join(sums)}</tbody><tfoot>{''.join(outputs)}</tfoot>",
        alt=alt,
        picture=f'<div class="strip" aria-hidden="true">{strip}</div>',
    )


def require_fit(phi_q: Tensor, phi_k: Tensor, v: Tensor, words: Sequence[str], chunk: int) -> None:
    """Raise ValueError, with the sizes, where the parts of the figure do not go together."""
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
