"""Exercise head_matrices: what each head does to a vector, as one matrix."""

import torch

from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

exercise = Exercise.read(
    __name__,
    generic_hints={
        "loops": "you loop over the heads: they are an axis, and one product handles all of them"
    },
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def entry_by_entry(w_v, w_o, heads):
    d, d_h = w_v.shape[1], w_v.shape[0] // heads
    matrices = []
    for h in range(heads):
        numbers = range(h * d_h, (h + 1) * d_h)
        entries = [sum(w_v[c, a] * w_o[b, c] for c in numbers) for a in range(d) for b in range(d)]
        matrices.append(torch.stack(entries).reshape(d, d))
    return torch.stack(matrices)


@exercise.cases
def cases(draw):
    heads, d_h = draw.sizes(2, 2, 4)
    d = heads * d_h
    w_v, w_o = draw.normal(d, d), draw.normal(d, d)
    longer_inputs = draw.normal(8 * d, 4), draw.normal(4, 8 * d), 8 * heads
    yield Case(f"{heads} heads, d_model={d}", (w_v, w_o, heads), longer=longer_inputs)
    yield Case("one head", (w_v, w_o, 1))
    yield Case("heads of width 1", (w_v, w_o, d))
    yield Case("heads wider than the model", (draw.normal(12, 3), draw.normal(3, 12), 2))
    yield Case("heads narrower than the model", (draw.normal(6, 7), draw.normal(7, 6), 3))
    yield Case("a single number", (w_v[:1, :1], w_o[:1, :1], 1))


WHOLE = "(w_v.mT @ w_o.mT)"
variants.right(exercise,
    # the others hidden
    "hidden = torch.eye(heads, device=w_v.device).repeat_interleave(read.shape[-1], dim=1) == 0\n"
    "return w_v.mT @ w_o.mT.masked_fill(hidden[..., None], 0.0)",
    # what the layer does to the identity
    "rows = w_v.new_ones(w_v.shape[1]).diag() @ w_v.T\n"
    "read = rows.unflatten(1, (heads, -1)).permute(1, 0, 2)\n"
    "write = w_o.reshape(w_o.shape[0], heads, -1).permute(1, 2, 0)\n"
    "return torch.bmm(read, write)",
    "return (write.mT @ read.mT).mT",
    "read = w_v.reshape(heads, w_v.shape[0] // heads, -1)\n"
    "write = w_o.reshape(w_o.shape[0], heads, -1)\n"
    'return torch.einsum("hca,bhc->hab", read, write)',
    "read = torch.stack(w_v.tensor_split(heads)).mT\n"
    "write = torch.stack(w_o.tensor_split(heads, dim=1)).mT",
)  # fmt: skip
variants.wrong(exercise, {
    "your matrices are for column vectors: make them for a row x, which meets w_v before w_o":
        "return (read @ write).mT",
    "you split the columns of w_v, which is (out, in): split its rows, because the heads are in "
    "its output":
        "read = w_v.mT.unflatten(0, (heads, -1))",
    "reshaping w_v.T cuts up its rows: split its columns, which are the rows of w_v":
        "read = w_v.T.reshape(heads, w_v.shape[1], -1)",
    "w_v is not transposed: its shape is (out, in), so the layer computes x @ w_v.T": (
        "w_v.unf", "w_v.mT.unf"),
    "you split the rows of w_o: the heads are in its input, so split its columns": (
        ".mT.unf", ".unf"),
    "you treat both matrices as (in, out): nn.Linear stores them as (out, in)": (
        ".mT.unf", ".unf", "w_v.unf", "w_v.mT.unf"),
    "reshaping w_o cuts up its rows: split its columns into (heads, width), then swap axes":
        "write = w_o.reshape(heads, w_o.shape[0], -1).mT",
    "each head takes rows from all over the matrix: the first head should have the first rows": [
        "read = w_v.unflatten(0, (-1, heads)).transpose(0, 1).mT\n"
        "write = w_o.mT.unflatten(0, (-1, heads)).transpose(0, 1)",
        "read = w_v.unflatten(0, (-1, heads)).transpose(0, 1).mT"],
    "you sum over the heads: keep them apart, because each has attention weights of its own":
        "return (read @ write).sum(0)",
    "every head gets the product of the whole matrices: split them into heads first":
        f"return {WHOLE}.expand(heads, -1, -1)",
    "you split the product: split the two matrices before you multiply them, so that each head's "
    "matrix is (d_model, d_model)":
        f"return {WHOLE}.unflatten(0, (heads, -1))",
    "the sum runs over the model's width: it should run over the width of a head":
        "return read.mT @ write.mT",
    "all heads use the first head's columns of w_o: give each head its own":
        "return read @ write[:1]",
    "the heads of w_o are in reverse order: head 0 should have the first columns":
        "return read @ write.flip(0)",
    "the heads are on the last axis: put them first, (heads, d_model, d_model)":
        "return (read @ write).movedim(0, -1)",
    "you join the matrices into one: keep an axis for the heads, (heads, d_model, d_model)":
        "return (read @ write).flatten(0, 1)",
    "you divide the result by the number of heads: leave that out, because the layer sums over the "
    "heads":
        "return read @ write / heads",
    "you scale the matrices: leave that out, because only the scores are scaled":
        "return read @ write / read.shape[-1] ** 0.5",
    "the width of a head comes from d_model: it should be d_v / heads": [
        (every("unflatten(0, (heads, -1))"), "reshape(heads, w_v.shape[1] // heads, -1)"),
        (every("unflatten(0, (heads, -1))"), "view(heads, w_v.shape[1] // heads, -1)"),
        (every("heads, -1"), "-1, w_o.shape[0] // heads"),
        (every(".unf"), "[: w_v.shape[1] // heads * heads].unf")],
    "the heads come in reverse order: head 0 should come first": "return (read @ write).flip(0)",
    "you return a list: stack the matrices into one tensor, (heads, d_model, d_model)":
        "return list(read @ write)",
    "no gradient reaches w_o: don't detach anything": ("w_o.mT", "w_o.mT.detach()"),
    "the input changes: t_ transposes w_o in place, so use w_o.mT instead": (
        "w_o.mT", "w_o.t_()"),
})  # fmt: skip
