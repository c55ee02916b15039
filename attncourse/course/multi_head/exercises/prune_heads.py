"""Exercise prune_heads: the matrices of a layer that has only some of its heads."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "you loop over the heads: index with all of keep at once"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def row_by_row(w_q, w_k, w_v, w_o, heads, keep):
    width = w_q.shape[0] // heads
    rows = [int(head) * width + i for head in keep for i in range(width)]
    inner = (torch.stack([w[row] for row in rows]) for w in (w_q, w_k, w_v))
    return *inner, torch.stack([w_o[:, row] for row in rows], dim=1)


def draw_layer(draw, heads, width, d):
    """The weights of a layer, and its heads."""
    inner = (draw.normal(heads * width, d) for _ in range(3))
    return *inner, draw.normal(d, heads * width), heads


@exercise.cases
def cases(draw):
    width = draw.integer(2, 3)
    layer = draw_layer(draw, 4, width, 4 * width)
    sizes = f"4 heads, d_model={4 * width}"
    longer_layer = draw_layer(draw, 64, 2, 8)
    order = torch.randperm(64, generator=draw.generator)[:32]
    yield Case(f"{sizes}, keep=[0, 2]", (*layer, [0, 2]), longer=(*longer_layer, order.tolist()))
    yield Case(f"{sizes}, keep=[3, 1] as a tensor", (*layer, torch.tensor([3, 1])))
    yield Case(f"{sizes}, keep=[2, 3, 0]", (*layer, [2, 3, 0]))
    as_tensor = (*layer, torch.tensor([3, 0, 1])), (*longer_layer, order)
    yield Case(f"{sizes}, keep=[3, 0, 1] as a tensor", as_tensor[0], longer=as_tensor[1])
    yield Case(f"{sizes}, keep=[1]", (*layer, [1]))
    yield Case(f"{sizes}, all heads stay", (*layer, [0, 1, 2, 3]))
    yield Case(
        "a layer pruned before: 3 heads of 2, d_model=8", (*draw_layer(draw, 3, 2, 8), [2, 0])
    )
    yield Case("heads wider than the model", (*draw_layer(draw, 2, 5, 3), [1]))
    yield Case("one head of width 1", (*draw_layer(draw, 1, 1, 1), [0]))


@exercise.valid
def rows_selected(w_q, w_k, w_v, w_o, heads, keep):
    keep = torch.as_tensor(keep, device=w_q.device)
    width = w_q.shape[0] // heads
    numbers = torch.arange(width, device=w_q.device)
    rows = (keep[:, None] * width + numbers).flatten()
    return w_q[rows], w_k[rows], w_v[rows], w_o[:, rows]


variants.right(exercise, "return [*inner, outer]")
variants.right(exercise,
    "every = torch.eye(heads).to(w_q)\n"
    "select = torch.kron(every[keep], torch.eye(width).to(w_q))\n"
    "return select @ w_q, select @ w_k, select @ w_v, w_o @ select.mT",
    "every = torch.arange(w_q.shape[0], device=w_q.device).reshape(heads, -1)\n"
    "rows = every[keep].flatten()",
    of=rows_selected,
)  # fmt: skip


def replace_keep(heads):
    """The edit after which these heads are kept."""
    return "    inner =", f"    keep = {heads}\n    inner ="


KEEP = "torch.as_tensor(keep, device=w_q.device)"
STAYS = f"torch.isin(torch.arange(heads, device=w_q.device), {KEEP})"
variants.wrong(exercise, {
    "w_o loses rows: remove columns instead, because its input is the joined heads":
        "outer = w_o.unflatten(0, (heads, -1))[keep].flatten(0, 1)",
    "w_q, w_k and w_v lose columns: remove rows instead, because their output is split into heads":
        "inner = (w.unflatten(1, (heads, -1))[:, keep].flatten(1) for w in (w_q, w_k, w_v))",
    "w_o is unchanged: with fewer heads, its input should be narrower as well": "outer = w_o",
    "w_v is unchanged: a head that is removed should lose its values as well":
        "q, k, _ = inner\nreturn q, k, w_v, outer",
    "w_k is unchanged: a head that is removed should lose its keys as well":
        "q, _, v = inner\nreturn q, w_k, v, outer",
    "w_k keeps the first heads: it should keep those listed in keep":
        "q, _, v = inner\nreturn q, w_k[: len(q)], v, outer",
    "w_v keeps the first heads: it should keep those listed in keep":
        "q, k, _ = inner\nreturn q, k, w_v[: len(q)], outer",
    "the heads of w_o are not in the order of keep: use the same order as in the other matrices": (
        ":, keep", f":, {KEEP}.sort().values"),
    "the columns of w_o are in the wrong order: keep the columns of each head together": (
        "[:, keep]", "[:, keep].transpose(1, 2)"),
    "w_o comes back transposed: it should stay (out, in)": "return *inner, outer.mT",
    "reshaping w_o cuts up its rows: split its columns into (heads, width)":
        "outer = w_o.reshape(heads, -1, w_o.shape[0])[keep].flatten(0, 1).mT",
    "you use keep to select rows: it lists heads, each of which has as many rows as its width":
        "inner = (w[keep] for w in (w_q, w_k, w_v))\nouter = w_o[:, keep]",
    "you subtract 1 from keep: use it as it is, because its heads are counted from 0":
        replace_keep(f"({KEEP} - 1) % heads"),
    "you remove the heads in keep: keep them, and remove the others":
        replace_keep("[head for head in range(heads) if head not in list(keep)]"),
    "the heads are in their old order: put them in the order of keep": [
        replace_keep(f"{KEEP}.sort().values"), replace_keep(STAYS)],
    "all four matrices keep the first heads: they should keep those listed in keep":
        replace_keep("[*range(len(keep))]"),
    "you set the other heads to zero: remove their rows and columns instead":
        f"stays = {STAYS}\n"
        "inner = ((w.unflatten(0, (heads, -1)) * stays[:, None, None]).flatten(0, 1)\n"
        "         for w in (w_q, w_k, w_v))\n"
        "outer = (w_o.unflatten(1, (heads, -1)) * stays[:, None]).flatten(1)",
    "the width of a head comes from d_model, but d may be smaller: it should be d / heads": (
        "unflatten(0, (heads, -1))", "reshape(heads, w.shape[1] // heads, -1)"),
    "each head takes rows from all over the matrix: the first head should have the first rows": [
        ("0, (heads, -1))[keep]", "0, (-1, heads))[:, keep]",
         "1, (heads, -1))[:, keep]", "1, (-1, heads))[..., keep]"),
        ("0, (heads, -1))[keep]", "0, (-1, heads))[:, keep].transpose(0, 1)",
         "1, (heads, -1))[:, keep]", "1, (-1, heads))[..., keep].mT")],
    "the rows of the kept heads are interleaved: all rows of one head should come before those of "
    "the next": (
        "[keep]", "[keep].transpose(0, 1)", "[:, keep]", "[:, keep].transpose(1, 2)"),
    "the heads still have an axis of their own: merge it with their width": (
        ".flatten(0, 1)", "", ".flatten(1)", ""),
    "you scale w_o up to make up for the missing heads: leave its numbers as they were":
        "return *inner, outer * heads / len(keep)",
    "the matrices are in the wrong order: return w_q, w_k, w_v, w_o":
        "q, k, v = inner\nreturn k, q, v, outer",
    "you return only w_o: return all four matrices": "return outer",
    "your code fails if keep is a list: it should work with a list or a tensor":
        replace_keep("keep.to(w_q.device)"),
    "your code changes keep: it is an input, so work on a copy":
        "result = *inner, outer\n"
        "keep.sort() if isinstance(keep, list) else keep.zero_()\n"
        "return result",
    LOOP: (
        "w.unflatten(0, (heads, -1))[keep]",
        "torch.stack([w.chunk(heads)[head] for head in range(heads)])[keep]"),
    "the input changes: write into a copy, not into w_o itself": (
        ".flatten(1)", ".flatten(1) + 0 * w_o.zero_().sum()"),
})  # fmt: skip
variants.wrong(exercise, {
    "the width of a head comes from d_model: use the number of rows divided by heads, which also "
    "works for a pruned layer":
        "width = w_q.shape[1] // heads\n"
        "rows = (keep[:, None] * width + numbers).flatten().clamp(max=w_q.shape[0] - 1)",
    "you divide the number of rows by the number of kept heads: divide it by heads to get a head's "
    "width":
        "width = w_q.shape[0] // len(keep)\n"
        "rows = (keep[:, None] * width + numbers).flatten() % w_q.shape[0]",
    messages.DEVICE: (every(", device=w_q.device"), ""),
}, of=rows_selected)  # fmt: skip
