"""Exercise head_matrices: what each head does to a vector, as one matrix."""

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    usual_hints={
        "loops": "it loops over the heads: they are an axis, and one product serves them all"
    },
)


@exercise.reference
def entry_by_entry(w_v, w_o, heads):
    d, d_h = w_v.shape[1], w_v.shape[0] // heads
    matrices = []
    for h in range(heads):
        own = range(h * d_h, (h + 1) * d_h)
        one = [sum(w_v[c, a] * w_o[b, c] for c in own) for a in range(d) for b in range(d)]
        matrices.append(torch.stack(one).reshape(d, d))
    return torch.stack(matrices)


@exercise.cases
def cases(draw):
    heads, d_h = draw.sizes(2, 2, 4)
    d = heads * d_h
    w_v, w_o = draw.normal(d, d), draw.normal(d, d)
    long = draw.normal(8 * d, 4), draw.normal(4, 8 * d), 8 * heads
    yield Case(f"{heads} heads, d_model={d}", (w_v, w_o, heads), longer=long)
    yield Case("one head", (w_v, w_o, 1))
    yield Case("heads of width 1", (w_v, w_o, d))
    yield Case("heads wider than the model", (draw.normal(12, 3), draw.normal(3, 12), 2))
    yield Case("heads narrower than the model", (draw.normal(6, 7), draw.normal(7, 6), 3))
    yield Case("a single number", (w_v[:1, :1], w_o[:1, :1], 1))


@exercise.valid
def plain(w_v, w_o, heads):
    rows = w_v.unflatten(0, (heads, -1))
    columns = w_o.mT.unflatten(0, (heads, -1))
    return rows.mT @ columns


CUT, PRODUCT = "unflatten(0, (heads, -1))", "rows.mT @ columns"
EVERY_SO_MANY = "unflatten(0, (-1, heads)).transpose(0, 1)"
ROWS, COLUMNS = f"w_v.{CUT}", f"w_o.mT.{CUT}"
variants.right(exercise,
    # the others hidden
    ("    return", "    heads = torch.eye(heads, dtype=torch.bool, device=w_v.device)\n"
     "    hidden = ~heads.repeat_interleave(rows.shape[1], dim=1)\n    return",
     PRODUCT, "w_v.mT @ w_o.mT.masked_fill(hidden[..., None], 0.0)"),
    # what the layer does to the identity
    (ROWS, "w_v.new_ones(w_v.shape[1]).diag() @ w_v.T\n    rows = rows.unflatten(1, (heads, -1))",
     COLUMNS, "w_o.reshape(w_o.shape[0], heads, -1).permute(1, 2, 0)",
     PRODUCT, "torch.bmm(rows.permute(1, 0, 2), columns)"),
    (PRODUCT, "(columns.mT @ rows).mT"),
    (ROWS, "w_v.reshape(heads, w_v.shape[0] // heads, -1)",
     COLUMNS, "w_o.reshape(w_o.shape[0], heads, -1)",
     PRODUCT, 'torch.einsum("hca,bhc->hab", rows, columns)'),
    (ROWS, "torch.stack(w_v.tensor_split(heads))",
     COLUMNS, "torch.stack(w_o.tensor_split(heads, dim=1)).mT"),
)  # fmt: skip
variants.wrong(exercise, {
    "this is the matrix for column vectors: a row x comes first, and meets w_v before w_o": (
        PRODUCT, f"({PRODUCT}).mT"),
    "w_v is cut by its columns: it is (out, in), and the heads are in its output": (
        ROWS, f"w_v.mT.{CUT}", "rows.mT", "rows"),
    "a reshape cuts the rows of w_v.T up: the heads are its columns, the rows of w_v": (
        ROWS, "w_v.T.reshape(heads, w_v.shape[1], -1)", "rows.mT", "rows"),
    "w_v is not transposed: with its weight as (out, in), a layer gives x @ w_v.T": (
        ROWS, f"w_v.mT.{CUT}"),
    "w_o is cut by its rows: the heads are in its input, so cut its columns": (".mT.unf", ".unf"),
    "both are taken as (in, out): nn.Linear keeps (out, in)": (
        ".mT.unf", ".unf", ROWS, f"w_v.mT.{CUT}"),
    "a reshape cuts the rows of w_o up: cut its columns into (heads, width), then swap": (
        COLUMNS, "w_o.reshape(heads, w_o.shape[0], -1).mT"),
    "a head has every so many rows: the first head has the first rows, all together": [
        (every(CUT), EVERY_SO_MANY), (ROWS, f"w_v.{EVERY_SO_MANY}")],
    "the heads are added up: each weighs x in its own way, so keep them apart": (
        PRODUCT, f"({PRODUCT}).sum(0)"),
    "every head gets the product of the whole matrices: cut them first": (
        PRODUCT, "(w_v.mT @ w_o.mT).expand(heads, -1, -1)"),
    "the product is cut, not the matrices: a head's matrix is as large as the model": (
        PRODUCT, f"(w_v.mT @ w_o.mT).{CUT}"),
    "the sum runs over the model's width: it should run over the width of the head": (
        PRODUCT, "rows @ columns.mT"),
    "all heads share the columns of the first: each has columns of w_o of its own": (
        PRODUCT, f"{PRODUCT}[:1]"),
    "the heads pair up in reverse: head 0 has the first columns of w_o as well": (
        PRODUCT, f"{PRODUCT}.flip(0)"),
    "the heads are on the last axis: they come first, (heads, d_model, d_model)": (
        PRODUCT, f"({PRODUCT}).movedim(0, -1)"),
    "the matrices stand in one: (heads, d_model, d_model) has an axis for the heads": (
        PRODUCT, f"({PRODUCT}).flatten(0, 1)"),
    "the result is divided by the heads: the layer adds them up, it takes no mean": (
        PRODUCT, f"{PRODUCT} / heads"),
    "nothing is scaled here: the scale belongs to the scores": (
        PRODUCT, f"{PRODUCT} / rows.shape[1] ** 0.5"),
    "the width of a head is d_v / heads; d_model says nothing about it": [
        (every(CUT), "reshape(heads, w_v.shape[1] // heads, -1)"),
        (every(CUT), "view(heads, w_v.shape[1] // heads, -1)"),
        (every(CUT), "unflatten(0, (-1, w_o.shape[0] // heads))"),
        (every(f".{CUT}"), f"[: w_v.shape[1] // heads * heads].{CUT}")],
    "the heads come in reverse order: head 0 comes first": (every(CUT), f"{CUT}.flip(0)"),
    "it gives a list: stack the matrices, (heads, d_model, d_model)": (PRODUCT, f"list({PRODUCT})"),
    "no gradient reaches w_o: nothing may be detached": ("w_o.mT", "w_o.mT.detach()"),
    "the input changes: w_o.mT is a view of w_o, and T_ or t_ turns w_o itself": (
        "w_o.mT", "w_o.t_()"),
})  # fmt: skip
