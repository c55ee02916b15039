"""Exercise prune_heads: the matrices of a layer that has only some of its heads."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="prune_heads",
    chapter="multi_head",
    title="A layer with fewer heads",
    kind="extend",
    difficulty=2,
    minutes=20,
    points=15,
    hints=(
        "Which numbers of each matrix does one head alone use? The output of w_q, w_k and w_v is "
        "cut into heads, and so is the input of w_o.",
        "Cut the rows of w_q, w_k and w_v into (heads, width), take the heads in keep, in their "
        "order, and merge the two axes again. With w_o do the same to its columns. The width is "
        "the number of rows divided by heads; d_model says nothing about it.",
        "w_q.unflatten(0, (heads, -1))[keep].flatten(0, 1), and for w_o the same with axis 1",
    ),
    # four matrices come back, and a gradient is taken of one tensor
    differentiable=False,
)


@exercise.reference
def row_by_row(w_q, w_k, w_v, w_o, heads, keep):
    width = w_q.shape[0] // heads
    rows = [int(head) * width + i for head in keep for i in range(width)]
    inner = (torch.stack([w[row] for row in rows]) for w in (w_q, w_k, w_v))
    return *inner, torch.stack([w_o[:, row] for row in rows], dim=1)


def drawn(draw, heads, width, d):
    """The weights of a layer, and its heads."""
    inner = (draw.normal(heads * width, d) for _ in range(3))
    return *inner, draw.normal(d, heads * width), heads


@exercise.cases
def cases(draw):
    width = draw.integer(2, 3)
    layer = drawn(draw, 4, width, 4 * width)
    said = f"4 heads, d_model={4 * width}"
    long = drawn(draw, 64, 2, 8)
    order = torch.randperm(64, generator=draw.generator)[:32]
    yield Case(f"{said}, keep=[0, 2]", (*layer, [0, 2]), longer=(*long, order.tolist()))
    yield Case(f"{said}, keep=[3, 1] as a tensor", (*layer, torch.tensor([3, 1])))
    yield Case(f"{said}, keep=[2, 3, 0]", (*layer, [2, 3, 0]))
    as_tensor = (*layer, torch.tensor([3, 0, 1])), (*long, order)
    yield Case(f"{said}, keep=[3, 0, 1] as a tensor", as_tensor[0], longer=as_tensor[1])
    yield Case(f"{said}, keep=[1]", (*layer, [1]))
    yield Case(f"{said}, all heads stay", (*layer, [0, 1, 2, 3]))
    yield Case("a layer pruned before: 3 heads of 2, d_model=8", (*drawn(draw, 3, 2, 8), [2, 0]))
    yield Case("heads wider than the model", (*drawn(draw, 2, 5, 3), [1]))
    yield Case("one head of width 1", (*drawn(draw, 1, 1, 1), [0]))


def kept(w, heads, keep, axis):
    return w.unflatten(axis, (heads, -1)).index_select(axis, keep).flatten(axis, axis + 1)


def indices(keep, like):
    """A list or a tensor of heads as a tensor where the weights are."""
    return torch.as_tensor(keep, device=like.device)


def pruned(w_q, w_k, w_v, w_o, heads, keep, *, cut=kept, axes=(0, 0, 0, 1)):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    keep = indices(keep, w_q)
    each = zip((w_q, w_k, w_v, w_o), axes, strict=True)
    return tuple(cut(w, heads, keep, axis) for w, axis in each)


@exercise.valid
def heads_selected(w_q, w_k, w_v, w_o, heads, keep):
    return pruned(w_q, w_k, w_v, w_o, heads, keep)


@exercise.valid
def rows_selected(w_q, w_k, w_v, w_o, heads, keep):
    width = w_q.size(0) // heads
    rows = (indices(keep, w_q)[:, None] * width + torch.arange(width, device=w_q.device)).flatten()
    return w_q[rows], w_k[rows], w_v[rows], w_o[:, rows]


@exercise.valid
def by_plain_indexing(w_q, w_k, w_v, w_o, heads, keep):
    inner = (
        w.reshape(heads, -1, w.shape[1])[keep].reshape(-1, w.shape[1]) for w in (w_q, w_k, w_v)
    )
    return [*inner, w_o.reshape(w_o.shape[0], heads, -1)[:, keep].flatten(1)]


@exercise.valid
def positions_in_a_table(w_q, w_k, w_v, w_o, heads, keep):
    rows = torch.arange(w_q.shape[0], device=w_q.device).view(heads, -1)[keep].ravel()
    return (*(w.index_select(0, rows) for w in (w_q, w_k, w_v)), w_o.index_select(1, rows))


@exercise.valid
def by_a_product_that_selects(w_q, w_k, w_v, w_o, heads, keep):
    every = torch.arange(heads, device=w_q.device)
    chosen = (indices(keep, w_q)[:, None] == every).to(w_q.dtype)
    select = torch.kron(
        chosen, torch.eye(w_q.shape[0] // heads, dtype=w_q.dtype, device=w_q.device)
    )
    return select @ w_q, select @ w_k, select @ w_v, w_o @ select.mT


@exercise.mutant("w_o loses rows: its input, the joined heads, is in its columns")
def rows_of_w_o(w_q, w_k, w_v, w_o, heads, keep):
    return pruned(w_q, w_k, w_v, w_o, heads, keep, axes=(0, 0, 0, 0))


@exercise.mutant("w_q, w_k and w_v lose columns: their output, cut into heads, is in their rows")
def columns_of_all(w_q, w_k, w_v, w_o, heads, keep):
    return pruned(w_q, w_k, w_v, w_o, heads, keep, axes=(1, 1, 1, 1))


@exercise.mutant("w_o is as it was: without some heads its input is narrower, too")
def w_o_untouched(w_q, w_k, w_v, w_o, heads, keep):
    return *pruned(w_q, w_k, w_v, w_o, heads, keep)[:3], w_o


@exercise.mutant("w_v is as it was: a head that goes takes its values along")
def w_v_untouched(w_q, w_k, w_v, w_o, heads, keep):
    q, k, _, o = pruned(w_q, w_k, w_v, w_o, heads, keep)
    return q, k, w_v, o


@exercise.mutant("w_k is as it was: a head that goes takes its keys along")
def w_k_untouched(w_q, w_k, w_v, w_o, heads, keep):
    q, _, v, o = pruned(w_q, w_k, w_v, w_o, heads, keep)
    return q, w_k, v, o


@exercise.mutant("w_o does not follow the order of keep")
def w_o_sorted(w_q, w_k, w_v, w_o, heads, keep):
    o = pruned(w_q, w_k, w_v, w_o, heads, indices(keep, w_q).sort().values)[-1]
    return *pruned(w_q, w_k, w_v, w_o, heads, keep)[:3], o


@exercise.mutant("w_o comes back transposed: it stays (out, in)")
def w_o_transposed(w_q, w_k, w_v, w_o, heads, keep):
    *inner, o = pruned(w_q, w_k, w_v, w_o, heads, keep)
    return *inner, o.mT


@exercise.mutant("a reshape cuts the rows of w_o up: cut its columns into (heads, width)")
def w_o_cut_by_a_view(w_q, w_k, w_v, w_o, heads, keep):
    o = w_o.reshape(heads, -1, w_o.shape[0])[indices(keep, w_o)].flatten(0, 1)
    return *pruned(w_q, w_k, w_v, w_o, heads, keep)[:3], o.mT


@exercise.mutant("keep is taken for rows: a head has as many rows as it is wide")
def heads_taken_for_rows(w_q, w_k, w_v, w_o, heads, keep):
    keep = indices(keep, w_q)
    return w_q[keep], w_k[keep], w_v[keep], w_o[:, keep]


@exercise.mutant("the heads count from 0, as keep does: nothing is to be taken away from it")
def counted_from_one(w_q, w_k, w_v, w_o, heads, keep):
    return pruned(w_q, w_k, w_v, w_o, heads, (indices(keep, w_q) - 1) % heads)


@exercise.mutant("the heads in keep go, and the others stay: it is the other way round")
def the_others_kept(w_q, w_k, w_v, w_o, heads, keep):
    left = [head for head in range(heads) if head not in list(keep)]
    return pruned(w_q, w_k, w_v, w_o, heads, torch.tensor(left, dtype=torch.int64))


SORTED = "the heads come in their old order: keep says the order of those that stay"


@exercise.mutant(SORTED)
def sorted_heads(w_q, w_k, w_v, w_o, heads, keep):
    return pruned(w_q, w_k, w_v, w_o, heads, indices(keep, w_q).sort().values)


@exercise.mutant(SORTED)
def heads_under_a_mask(w_q, w_k, w_v, w_o, heads, keep):
    stays = torch.zeros(heads, dtype=torch.bool, device=w_q.device)
    stays[indices(keep, w_q)] = True
    rows = stays.repeat_interleave(w_q.shape[0] // heads)
    return w_q[rows], w_k[rows], w_v[rows], w_o[:, rows]


@exercise.mutant("the first heads stay, as many as keep has: it says which ones")
def the_first_heads(w_q, w_k, w_v, w_o, heads, keep):
    return pruned(w_q, w_k, w_v, w_o, heads, torch.arange(len(keep)))


@exercise.mutant("the other heads are zeros: their rows and columns should be gone")
def zeros_left_in(w_q, w_k, w_v, w_o, heads, keep):
    stays = torch.zeros(heads, dtype=w_q.dtype, device=w_q.device)
    stays[indices(keep, w_q)] = 1
    rows = stays.repeat_interleave(w_q.shape[0] // heads)
    return *(w * rows[:, None] for w in (w_q, w_k, w_v)), w_o * rows


@exercise.mutant(
    "the width of a head is taken from d_model: in a layer pruned before, it is rows / heads"
)
def width_from_the_model(w_q, w_k, w_v, w_o, heads, keep):
    width = w_q.shape[1] // heads
    rows = indices(keep, w_q)[:, None] * width + torch.arange(width, device=w_q.device)
    rows = rows.flatten().clamp(max=w_q.shape[0] - 1)
    return w_q[rows], w_k[rows], w_v[rows], w_o[:, rows]


@exercise.mutant(
    "the width of a head is d / heads; d_model says nothing about it: it may be smaller"
)
def cut_by_the_width_of_the_model(w_q, w_k, w_v, w_o, heads, keep):
    inner = (w.reshape(heads, w.shape[1] // heads, -1)[keep].flatten(0, 1) for w in (w_q, w_k, w_v))
    return *inner, w_o.unflatten(1, (heads, -1))[:, keep].flatten(1)


@exercise.mutant("the width of a head is d_model through the heads that stay: divide by heads")
def width_from_what_stays(w_q, w_k, w_v, w_o, heads, keep):
    width = w_q.shape[0] // len(keep)
    rows = indices(keep, w_q)[:, None] * width + torch.arange(width, device=w_q.device)
    rows = rows.flatten() % w_q.shape[0]
    return w_q[rows], w_k[rows], w_v[rows], w_o[:, rows]


@exercise.mutant("a head has every so many rows: the first head has the first rows, all together")
def interleaved(w_q, w_k, w_v, w_o, heads, keep):
    def cut(w, heads, keep, axis):
        return w.unflatten(axis, (-1, heads)).index_select(axis + 1, keep).flatten(axis, axis + 1)

    return pruned(w_q, w_k, w_v, w_o, heads, keep, cut=cut)


@exercise.mutant("the rows of a head are apart: those of one head come before those of the next")
def joined_interleaved(w_q, w_k, w_v, w_o, heads, keep):
    def cut(w, heads, keep, axis):
        some = w.unflatten(axis, (heads, -1)).index_select(axis, keep)
        return some.transpose(axis, axis + 1).flatten(axis, axis + 1)

    return pruned(w_q, w_k, w_v, w_o, heads, keep, cut=cut)


@exercise.mutant("the heads still have an axis of their own: merge it with their width")
def heads_not_merged(w_q, w_k, w_v, w_o, heads, keep):
    def cut(w, heads, keep, axis):
        return w.unflatten(axis, (heads, -1)).index_select(axis, keep)

    return pruned(w_q, w_k, w_v, w_o, heads, keep, cut=cut)


@exercise.mutant(
    "w_o is made larger for the heads that went: with them at zero, nothing else moves"
)
def scaled_up(w_q, w_k, w_v, w_o, heads, keep):
    *inner, o = pruned(w_q, w_k, w_v, w_o, heads, keep)
    return *inner, o * heads / len(keep)


@exercise.mutant("the matrices are in another order: w_q, w_k, w_v, w_o")
def in_another_order(w_q, w_k, w_v, w_o, heads, keep):
    q, k, v, o = pruned(w_q, w_k, w_v, w_o, heads, keep)
    return k, q, v, o


@exercise.mutant("only w_o comes back: return all four matrices")
def only_w_o(w_q, w_k, w_v, w_o, heads, keep):
    return pruned(w_q, w_k, w_v, w_o, heads, keep)[-1]


@exercise.mutant("with a list it fails: keep is a list or a tensor")
def a_tensor_wanted(w_q, w_k, w_v, w_o, heads, keep):
    return pruned(w_q, w_k, w_v, w_o, heads, keep.to(w_q.device))


@exercise.mutant("it loops over the heads: index with all of them at once")
def loop_over_heads(w_q, w_k, w_v, w_o, heads, keep):
    inner = []
    for w in (w_q, w_k, w_v):
        parts = w.chunk(heads)
        inner.append(torch.cat([parts[head] for head in keep]))
    parts = w_o.chunk(heads, dim=1)
    return *inner, torch.cat([parts[head] for head in keep], dim=1)


@exercise.mutant("keep changes: it is an input, so work on a copy")
def keep_sorted(w_q, w_k, w_v, w_o, heads, keep):
    result = pruned(w_q, w_k, w_v, w_o, heads, keep)
    keep.sort() if isinstance(keep, list) else keep.zero_()
    return result


@exercise.mutant("the input changes: write into a copy, not into w_o itself")
def changed_in_place(w_q, w_k, w_v, w_o, heads, keep):
    result = pruned(w_q, w_k, w_v, w_o, heads, keep)
    w_o.zero_()
    return result


@exercise.mutant("the result is always float32: keep the dtype of the weights")
def always_float32(w_q, w_k, w_v, w_o, heads, keep):
    return tuple(w.float() for w in pruned(w_q, w_k, w_v, w_o, heads, keep))


@exercise.mutant("the result is always float64: keep the dtype of the weights")
def always_float64(w_q, w_k, w_v, w_o, heads, keep):
    return tuple(w.double() for w in pruned(w_q, w_k, w_v, w_o, heads, keep))


CPU = "a new tensor is made on the CPU: give it the device of an input"


@exercise.mutant(CPU)
def rows_on_the_cpu(w_q, w_k, w_v, w_o, heads, keep):
    width = w_q.shape[0] // heads
    rows = (torch.as_tensor(keep)[:, None] * width + torch.arange(width)).flatten()
    return w_q[rows], w_k[rows], w_v[rows], w_o[:, rows]


@exercise.mutant(CPU)
def made_on_the_cpu(w_q, w_k, w_v, w_o, heads, keep):
    result = pruned(w_q, w_k, w_v, w_o, heads, keep)
    return tuple(torch.zeros(w.shape, dtype=w.dtype) + w for w in result)
