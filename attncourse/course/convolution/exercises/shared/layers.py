"""The layers whose footprint is asked for: each takes (n, d) and gives (n, d)."""

from judge.exercise import Source

WEIGHT = "torch.linspace({}, 3 * x.shape[-1] ** 2, dtype=x.dtype).{}().view(x.shape[-1], -1, 3)"
CONVOLUTION = "torch.conv1d({}, {}, padding=1)"
SINES = WEIGHT.format("1, 3", "sin")
HIDDEN = CONVOLUTION.format("x.mT[None]", SINES) + ".tanh()"
BAND = "torch.ones(len(x), len(x), dtype=torch.bool).tril().triu(-2)"
NEXT = "torch.cat([x[1:], x[:1]])"
HALF = f"{NEXT}[:, : x.shape[-1] // 2]"
# each row but the first with the one before it
SPREAD = "torch.cat([(one := {})[:1], one[1:] + one[:-1]])"

# what each makes of x
EXPRESSIONS = {
    "a convolution of 3 taps":
        CONVOLUTION.format("x.mT[None]", WEIGHT.format("-1, 2", "cos")) + "[0].mT",
    "two convolutions of 3 taps": CONVOLUTION.format(HIDDEN, SINES) + "[0].mT",
    "attention in a causal window":
        f"(x @ x.mT / x.shape[-1] ** 0.5).where({BAND}, -torch.inf).softmax(dim=-1) @ x",
    "a product of each position and the next": "torch.cat([x[:-1] * x[1:], x[-1:] ** 2])",
    "squared differences": "torch.cat([x[:1] ** 2, (x[1:] - x[:-1]) ** 2])",
    "columns that are each other's opposite": f"torch.cat([(half := {HALF}), -half], dim=-1)",
    "a difference of columns": f"{SPREAD.format('x[:, :1] - x[:, 1:2]')}.expand(x.shape)",
    "a squared difference of columns":
        f"{SPREAD.format('(x[:, :1] - x[:, 1:2]) ** 2')}.expand(x.shape)",
    # rows of length 1, whose squares add up to the same whatever x is
    "points of a circle":
        f"torch.stack([(at := {SPREAD.format('x.sum(dim=-1)')}).cos(), at.sin()], dim=-1)",
    "a last column that reaches a first one":
        "torch.cat([torch.cat([x[:1, :1], x[1:, :1] + x[:-1, -1:]]), x[:, 1:]], dim=-1)",
    "a first column that reaches a last one":
        "torch.cat([x[:, :-1], torch.cat([x[:-1, -1:] + x[1:, :1], x[-1:, -1:]])], dim=-1)",
    "minus the position before": "-torch.cat([x[-1:], x[:-1]])",
    "a trace of the mean": "x + 1e-30 * x.mean(dim=0)",
    "a third column of four":
        f"torch.cat([x[:, :2], (x + {NEXT})[:, 2:-1], x[:, -1:]], dim=-1)",
}  # fmt: skip
LAYERS = {
    about: Source(f"(x):\n    return {expression}\n", "layer")
    for about, expression in EXPRESSIONS.items()
}
