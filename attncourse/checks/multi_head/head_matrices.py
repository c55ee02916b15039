"""Exercise head_matrices: what each head does to a vector, as one matrix."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="head_matrices",
    chapter="multi_head",
    title="One matrix for each head",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "A head's weights average rows, the two linear maps act on columns: nothing stands "
        "between the maps, so they are one. Which part of each belongs to the head?",
        "x @ w_v.T is cut by its columns, so w_v is cut by its rows. The columns of w_o meet "
        "the joined heads, so w_o is cut by its columns. The layer multiplies from the right with "
        "the transposed parts, that of w_v first.",
        "w_v.unflatten(0, (heads, -1)).mT @ w_o.mT.unflatten(0, (heads, -1)) is a product for "
        "each head",
    ),
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


def split(w, heads):
    """Rows in heads."""
    return w.unflatten(0, (heads, -1))


def interleaved(w, heads):
    return w.unflatten(0, (-1, heads)).transpose(0, 1)


def product(w_v, w_o, heads, *, cut=split, cut_o=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    return cut(w_v, heads).mT @ (cut_o or cut)(w_o.mT, heads)


@exercise.valid
def a_product_for_each_head(w_v, w_o, heads):
    return product(w_v, w_o, heads)


@exercise.valid
def by_einsum(w_v, w_o, heads):
    w_v = w_v.view(heads, w_v.shape[0] // heads, -1)
    w_o = w_o.view(w_o.shape[0], heads, -1)
    return torch.einsum("hca,bhc->hab", w_v, w_o)


@exercise.valid
def by_chunks(w_v, w_o, heads):
    parts = w_v.tensor_split(heads), w_o.tensor_split(heads, dim=1)
    return torch.stack(parts[0]).mT @ torch.stack(parts[1]).mT


@exercise.valid
def transposed_at_the_end(w_v, w_o, heads):
    return (w_o.unflatten(1, (heads, -1)).movedim(1, 0) @ split(w_v, heads)).transpose(1, 2)


@exercise.valid
def the_others_hidden(w_v, w_o, heads):
    d_v = w_v.shape[0]
    own = torch.arange(d_v, device=w_v.device) // (d_v // heads)
    hidden = own != torch.arange(heads, device=w_v.device)[:, None]
    return w_v.mT @ w_o.mT.masked_fill(hidden[:, :, None], 0.0)


@exercise.valid
def what_it_does_to_the_identity(w_v, w_o, heads):
    x = torch.eye(w_v.shape[1], dtype=w_v.dtype, device=w_v.device)
    values = (x @ w_v.T).reshape(len(x), heads, -1).permute(1, 0, 2)
    return torch.bmm(values, w_o.reshape(w_o.shape[0], heads, -1).permute(1, 2, 0))


@exercise.mutant(
    "this is the matrix for column vectors: a row x comes first, and meets w_v before w_o"
)
def for_column_vectors(w_v, w_o, heads):
    return product(w_v, w_o, heads).mT


@exercise.mutant("w_v is cut by its columns: it is (out, in), and the heads are in its output")
def w_v_cut_by_columns(w_v, w_o, heads):
    return split(w_v.mT, heads) @ split(w_o.mT, heads)


@exercise.mutant("a reshape cuts the rows of w_v.T up: the heads are its columns, the rows of w_v")
def w_v_cut_by_a_view(w_v, w_o, heads):
    return w_v.T.reshape(heads, w_v.shape[1], -1) @ split(w_o.mT, heads)


@exercise.mutant("w_v is not transposed: with its weight as (out, in), a layer gives x @ w_v.T")
def w_v_not_transposed(w_v, w_o, heads):
    return product(w_v.mT, w_o, heads)


@exercise.mutant("w_o is cut by its rows: the heads are in its input, so cut its columns")
def w_o_cut_by_rows(w_v, w_o, heads):
    return product(w_v, w_o.mT, heads)


@exercise.mutant("both are taken as (in, out): nn.Linear keeps (out, in)")
def neither_transposed(w_v, w_o, heads):
    return product(w_v.mT, w_o.mT, heads)


@exercise.mutant(
    "a reshape cuts the rows of w_o up: cut its columns into (heads, width), then swap"
)
def w_o_cut_by_a_view(w_v, w_o, heads):
    return split(w_v, heads).mT @ w_o.reshape(heads, w_o.shape[0], -1).mT


INTERLEAVED = "a head has every so many rows: the first head has the first rows, all together"


@exercise.mutant(INTERLEAVED)
def both_interleaved(w_v, w_o, heads):
    return product(w_v, w_o, heads, cut=interleaved)


@exercise.mutant(INTERLEAVED)
def w_v_interleaved(w_v, w_o, heads):
    return product(w_v, w_o, heads, cut=interleaved, cut_o=split)


@exercise.mutant("the heads are added up: each weighs x in its own way, so keep them apart")
def added_up(w_v, w_o, heads):
    return product(w_v, w_o, heads).sum(0)


@exercise.mutant("every head gets the product of the whole matrices: cut them first")
def whole_product_for_each(w_v, w_o, heads):
    return (w_v.mT @ w_o.mT).expand(heads, -1, -1)


@exercise.mutant("the product is cut, not the matrices: a head's matrix is as large as the model")
def product_cut(w_v, w_o, heads):
    return split(w_v.mT @ w_o.mT, heads)


@exercise.mutant("the sum runs over the model's width: it should run over the width of the head")
def over_the_width_of_the_model(w_v, w_o, heads):
    return split(w_v, heads) @ split(w_o.mT, heads).mT


@exercise.mutant("all heads share the columns of the first: each has columns of w_o of its own")
def columns_of_the_first(w_v, w_o, heads):
    return split(w_v, heads).mT @ split(w_o.mT, heads)[:1]


@exercise.mutant("the heads pair up in reverse: head 0 has the first columns of w_o as well")
def paired_in_reverse(w_v, w_o, heads):
    return split(w_v, heads).mT @ split(w_o.mT, heads).flip(0)


@exercise.mutant("the heads are on the last axis: they come first, (heads, d_model, d_model)")
def heads_at_the_end(w_v, w_o, heads):
    return product(w_v, w_o, heads).movedim(0, -1)


@exercise.mutant("the matrices stand in one: (heads, d_model, d_model) has an axis for the heads")
def one_below_the_other(w_v, w_o, heads):
    return product(w_v, w_o, heads).flatten(0, 1)


@exercise.mutant("the result is divided by the heads: the layer adds them up, it takes no mean")
def divided_by_the_heads(w_v, w_o, heads):
    return product(w_v, w_o, heads) / heads


@exercise.mutant("nothing is scaled here: the scale belongs to the scores")
def scaled(w_v, w_o, heads):
    return product(w_v, w_o, heads) / (w_v.shape[0] // heads) ** 0.5


@exercise.mutant("the width of a head is d_v / heads; d_model says nothing about it")
def width_from_the_model(w_v, w_o, heads):
    return product(w_v, w_o, heads, cut=lambda w, h: w.view(h, w_v.shape[1] // h, -1))


@exercise.mutant("it gives a list: stack the matrices, (heads, d_model, d_model)")
def plain_list(w_v, w_o, heads):
    return list(product(w_v, w_o, heads))


@exercise.mutant("it loops over the heads: they are an axis, and one product serves them all")
def loop_over_heads(w_v, w_o, heads):
    matrices = []
    for rows, columns in zip(w_v.chunk(heads), w_o.chunk(heads, dim=1), strict=True):
        matrices.append(rows.mT @ columns.mT)
    return torch.stack(matrices)


@exercise.mutant("no gradient reaches w_o: nothing may be detached")
def detached(w_v, w_o, heads):
    return product(w_v, w_o.detach(), heads)


@exercise.mutant("the input changes: w_o.mT is a view of w_o, and T_ or t_ turns w_o itself")
def transposed_in_place(w_v, w_o, heads):
    w_o.t_()
    return split(w_v, heads).mT @ split(w_o, heads)


@exercise.mutant("the result is always float32: keep the dtype of the weights")
def always_float32(w_v, w_o, heads):
    return product(w_v.float(), w_o.float(), heads)


@exercise.mutant("the result is always float64: keep the dtype of the weights")
def always_float64(w_v, w_o, heads):
    return product(w_v.double(), w_o.double(), heads)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def filled_on_the_cpu(w_v, w_o, heads):
    d = w_v.shape[1]
    return torch.zeros(heads, d, d, dtype=w_v.dtype) + product(w_v, w_o, heads)
