"""Exercise pooled_past: attention to one's own block, and to a row for each before."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over blocks or tokens: give the blocks an axis, and pool all of them at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def query_by_query(q, x, z, size):
    n, d = x.shape[-2:]
    pooled, out = [], []
    for start in range(0, n - size + 1, size):
        parts = z[..., start : start + size, :]
        weights = (parts - parts.amax(-2, keepdim=True)).exp()
        weights = weights / weights.sum(-2, keepdim=True)
        pooled.append((weights * x[..., start : start + size, :]).sum(-2))
    for i in range(n):
        own = i // size
        rows = pooled[:own] + [x[..., j, :] for j in range(own * size, i + 1)]
        scores = torch.stack([(q[..., i, :] * row).sum(-1) for row in rows], dim=-1) / d**0.5
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = weights / weights.sum(-1, keepdim=True)
        out.append(sum(weights[..., j, None] * row for j, row in enumerate(rows)))
    return torch.stack(out, dim=-2)


def draw_rows(draw, *shape):
    return tuple(draw.normal(*shape) for _ in range(3))


@exercise.cases
def cases(draw):
    size = draw.integer(3, 4)
    # three blocks and some tokens left over
    n = 3 * size + draw.integer(1, size - 1)
    d = next(d for d in (5, 6, 7) if d not in (size, n))
    q, x, z = draw_rows(draw, 2, n, d)
    longer = *draw_rows(draw, 2, 64 + n, d), size
    text = f"n={n}, d={d}, size={size}"
    yield Case(f"a batch of 2, {text}", (q, x, z, size), longer=longer)
    yield Case(f"no batch, {text}", (q[0], x[0], z[0], size))
    yield Case("two leading axes, n=7, d=4, size=2", (*draw_rows(draw, 2, 3, 7, 4), 2))
    yield Case("no token left over, n=12, size=3", (*draw_rows(draw, 2, 12, 5), 3))
    yield Case("as many blocks as places, n=9, size=3", (*draw_rows(draw, 2, 9, 4), 3))
    yield Case("all but one left over, n=5, size=3", (*draw_rows(draw, 5, 4), 3))
    yield Case("a text shorter than a block, n=4, size=6", (*draw_rows(draw, 2, 4, 3), 6))
    yield Case("blocks of one token", (q, x, z, 1))
    yield Case("z of 0, so the pools are plain means", (q, x, 0 * z, size))
    yield Case("z near 1000", (q, x, 1000 + 3 * z, size))
    yield Case("scores near 1000", (1000 * q, x, z, size))
    # no finite number that stands for -inf is low enough
    low = q.clone()
    low[..., 0, :] = -1e12 * x[..., 0, :]
    yield Case("a first score near -10^12", (low, x, z, size))
    # the row of a block that is not complete would decide
    loud = x.clone()
    loud[..., -1, :] *= 50
    yield Case("a last token far larger than the others", (q, loud, z, size))
    yield Case("one token", (q[:, :1], x[:, :1], z[:, :1], size))


SEEN = "seen = torch.cat([near, before], dim=-1)"
variants.right(exercise,
    # the last block filled up: no query sees its row
    "fill = (0, 0, 0, -n % size)\nblocks = -(-n // size)\n"
    "shape = (blocks, size)\n"
    "cut_x = torch.nn.functional.pad(x, fill).unflatten(-2, shape)\n"
    "cut_z = torch.nn.functional.pad(z, fill).unflatten(-2, shape)",
    "seen = torch.cat([before, near], dim=-1)\nrows = torch.cat([pooled, x], dim=-2)",
    "cut_x = x[..., : blocks * size, :].reshape(*x.shape[:-2], blocks, size, d)\n"
    "cut_z = z[..., : blocks * size, :].reshape(*x.shape[:-2], blocks, size, d)\n"
    'pooled = torch.einsum("...bsd,...bsd->...bd", torch.softmax(cut_z, -2), cut_x)',
    "mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()\n"
    "near = mask & (block[:, None] <= block)\n"
    "start = torch.arange(blocks, device=x.device) * size\n"
    "before = start + size <= (block * size)[:, None]",
    # two parts of one softmax
    "first = (q @ x.mT / d**0.5).masked_fill(~near, -torch.inf)\n"
    "scores = torch.cat([first, (q @ pooled.mT / d**0.5).masked_fill(~before, -torch.inf)], -1)\n"
    "weights = torch.where(seen, scores, torch.finfo(x.dtype).min).softmax(dim=-1)\n"
    "return weights[..., :n] @ x + weights[..., n:] @ pooled",
)  # fmt: skip
variants.wrong(exercise, {
    "at its last token a block is seen twice, by its row and token by token: a query should see "
    "the rows of blocks before its own":
        "before = torch.arange(blocks, device=x.device) < ((i + 1) // size)[:, None]",
    "a query sees the row of its own block, which holds later tokens: let it see the blocks before "
    "its own": "before = torch.arange(blocks, device=x.device) <= block[:, None]",
    "the last block is filled up with zeros, and its row is seen: let a query see the blocks "
    "before its own":
        "fill = (0, 0, 0, -n % size)\nblocks = -(-n // size)\n"
        "shape = (blocks, size)\n"
        "cut_x = torch.nn.functional.pad(x, fill).unflatten(-2, shape)\n"
        "cut_z = torch.nn.functional.pad(z, fill).unflatten(-2, shape)\n"
        "before = torch.arange(blocks, device=x.device) <= block[:, None]",
    "all rows of blocks are seen, later ones too: let a query see those before its own": [
        "before = torch.ones(n, blocks, dtype=torch.bool, device=x.device)"],
    "a query looks ahead in its own block: let it see the tokens up to itself": [
        "near = block == block[:, None]", "near = (block == block[:, None]) & (i >= i[:, None])"],
    "a query does not see itself: its own token is the last that it may see": [
        "near = (block == block[:, None]) & (i < i[:, None])"],
    "all earlier tokens are seen one by one: only those of the query's own block should be": [
        "near = i <= i[:, None]"],
    "the block just before is seen twice, by its row and token by token: only the tokens of the "
    "query's own block should be seen one by one":
        "near = (block[:, None] - block <= 1) & (i <= i[:, None])",
    "the place of a token in its block is taken for the number of the block: that is i // size":
        "block = i % size",
    "in the mask the blocks come first, and in the rows the tokens: take one order for both":
        "seen = torch.cat([before, near], dim=-1)",
    "this is causal attention, token by token: let a row stand for each block before the query's "
    "own":
        "near = i <= i[:, None]\n"
        "before = torch.zeros(n, blocks, dtype=torch.bool, device=x.device)",
    "only the row of the query's own token is seen: let it see the earlier ones of its block, too":
        "near = i == i[:, None]",
    "the last `size` tokens are seen one by one: only those of the query's own block should be": [
        "near = (i <= i[:, None]) & (i > i[:, None] - size)",
        "near = (i <= i[:, None]) & (i >= i[:, None] - size)"],
    "the rows of earlier blocks are never seen: let a query see all blocks before its own": [
        "before = torch.zeros(n, blocks, dtype=torch.bool, device=x.device)",
        "scores = ((q @ x.mT) / d**0.5)\nseen = near\nrows = x"],
    "only the block just before is seen: let a query see all blocks before its own":
        "before = torch.arange(blocks, device=x.device) == block[:, None] - 1",
    "the block just before is not seen: it is complete, so let the query see it":
        "before = torch.arange(blocks, device=x.device) < block[:, None] - 1",
    "the order is reversed: let a query see the blocks before its own":
        "before = torch.arange(blocks, device=x.device) > block[:, None]",
    "the pools are plain means: weight the tokens by the softmax of z":
        "pooled = cut_x.mean(dim=-2)",
    "the keys of blocks are weighted, their values are plain means: let one row be key and value":
        "return weights @ torch.cat([x, cut_x.mean(dim=-2)], dim=-2)",
    "the values of blocks are weighted, their keys are plain means: let one row be key and value":
        "scores = (q @ torch.cat([x, cut_x.mean(dim=-2)], dim=-2).mT) / d**0.5",
    "the softmax of z runs over the channels: in each channel, it should run over the tokens of a "
    "block": "pooled = (cut_z.softmax(dim=-1) * cut_x).sum(dim=-2)",
    "the softmax of z runs over the blocks: it should run over the tokens of each block":
        "pooled = (cut_z.softmax(dim=-3) * cut_x).sum(dim=-2)",
    "the softmax of z runs over the whole text: each block should have one of its own": [
        "cut_z = z[..., : blocks * size, :].softmax(-2).unflatten(-2, shape)\n"
        "pooled = (cut_z * cut_x).sum(dim=-2)",
        "cut_z = z.softmax(-2)[..., : blocks * size, :].unflatten(-2, shape)\n"
        "pooled = (cut_z * cut_x).sum(dim=-2)"],
    "each token of a block has one weight: each of its numbers should have its own": [
        "pooled = (cut_z.mean(-1, keepdim=True).softmax(dim=-2) * cut_x).sum(dim=-2)",
        "pooled = (cut_z.sum(-1, keepdim=True).softmax(dim=-2) * cut_x).sum(dim=-2)",
        "pooled = (cut_z[..., :1].softmax(dim=-2) * cut_x).sum(dim=-2)"],
    "z is multiplied in without a softmax: turn it into weights first":
        "pooled = (cut_z * cut_x).sum(dim=-2)",
    "the weights of a block come from the sigmoid of z: take the softmax over its tokens":
        "pooled = (cut_z.sigmoid() * cut_x).sum(dim=-2)",
    "exp of z is not divided by its sum: take the softmax over the tokens of a block":
        "pooled = (cut_z.exp() * cut_x).sum(dim=-2)",
    "the rows of blocks are only keys: let the weights mix them in as values, too":
        "return weights[..., :n] @ x",
    "the weighted rows are averaged: add them up, since their weights sum to 1":
        "pooled = (cut_z.softmax(dim=-2) * cut_x).mean(dim=-2)",
    "the rows of a block are summed: weight them by the softmax of z":
        "pooled = cut_x.sum(dim=-2)",
    "the weights are pooled, and not the rows: multiply them by x": [
        "pooled = cut_z.softmax(dim=-2).sum(dim=-2)",
        "pooled = cut_z.softmax(dim=-2).mean(dim=-2)"],
    "z is pooled: weight the rows of x": "pooled = (cut_z.softmax(dim=-2) * cut_z).sum(dim=-2)",
    "the query's scores pool the blocks: take z":
        "cut_z = q[..., : blocks * size, :].unflatten(-2, shape)",
    "only the first token of each block stands for it: weight all of them by the softmax of z":
        "pooled = cut_x[..., 0, :]",
    "only the last token of each block stands for it: weight all of them by the softmax of z":
        "pooled = cut_x[..., -1, :]",
    "the largest number of a block is taken: weight all of them by the softmax of z":
        "pooled = cut_x.amax(dim=-2)",
    "the tokens go to the blocks in turn: a block has `size` tokens that follow each other": [
        "cut_x = x[..., : blocks * size, :].unflatten(-2, (size, blocks)).transpose(-2, -3)\n"
        "cut_z = z[..., : blocks * size, :].unflatten(-2, (size, blocks)).transpose(-2, -3)",
        "cut_x = x[..., : blocks * size, :].unflatten(-2, (size, blocks)).transpose(-2, -3)"],
    "the blocks are counted from the end: let the first one begin with the first token": [
        "cut_x = x[..., n - blocks * size :, :].unflatten(-2, shape)\n"
        "cut_z = z[..., n - blocks * size :, :].unflatten(-2, shape)",
        "cut_z = z[..., n - blocks * size :, :].unflatten(-2, shape)"],
    "the axis is cut into `size` blocks: cut it into n // size blocks of `size` tokens": [
        "shape = (size, blocks)"],
    "the tokens left over at the end get no output: leave them out of the blocks, and keep them as "
    "queries and rows":
        "x, q = x[..., : blocks * size, :], q[..., : blocks * size, :]\n"
        "i = torch.arange(x.shape[-2], device=x.device)",
    "`size` is taken for the number of blocks: it is the number of tokens in each":
        "blocks = min(size, n)\nshape = (blocks, n // blocks)\n"
        "cut_x = x[..., : blocks * (n // blocks), :].unflatten(-2, shape)\n"
        "cut_z = z[..., : blocks * (n // blocks), :].unflatten(-2, shape)\n"
        "block = i // (n // blocks)",
    "a text that `size` does not divide fails: leave the tokens at its end out of the blocks": [
        "cut_x = x.unflatten(-2, shape)\ncut_z = z.unflatten(-2, shape)",
        "cut_x = x.reshape(*x.shape[:-2], blocks, size, d)\n"
        "cut_z = z.reshape(*x.shape[:-2], blocks, size, d)",
        "cut_x = x.unflatten(-2, (-1, size))\ncut_z = z.unflatten(-2, (-1, size))"],
    "the tokens left over at the end see nothing of their own: a block that is not complete is "
    "seen token by token, too": [
        "near = (block == block[:, None]) & (i <= i[:, None]) & (block < blocks)"],
    "the tokens left over at the end count as a part of the last block: they form a block of their "
    "own": "block = (i // size).clamp(max=max(blocks - 1, 0))",
    "the two parts have a softmax each: put all rows a query sees into one": [
        "first = (q @ x.mT / d**0.5).masked_fill(~near, -torch.inf).softmax(-1) @ x\n"
        "far = (q @ pooled.mT / d**0.5).masked_fill(~before, -torch.inf).softmax(-1)\n"
        "return first + far @ pooled",
        "first = (q @ x.mT / d**0.5).masked_fill(~near, -torch.inf).softmax(-1) @ x\n"
        "far = (q @ pooled.mT / d**0.5).masked_fill(~before, -torch.inf).softmax(-1)\n"
        "return first + far.masked_fill(~before, 0.0) @ pooled",
        "first = (q @ x.mT / d**0.5).masked_fill(~near, -torch.inf).softmax(-1) @ x\n"
        "far = (q @ pooled.mT / d**0.5).masked_fill(~before, -torch.inf).softmax(-1)\n"
        "far = far.masked_fill(~before, 0.0) @ pooled\n"
        "return torch.where(block[:, None] > 0, (first + far) / 2, first)"],
    "a block weighs as much as its tokens together: let its row count once": [
        "tokens = torch.cat([0 * i + 1, 0 * i[:blocks] + size]).to(x.dtype)\n"
        "scores = (q @ rows.mT) / d**0.5 + tokens.log()"],
    "the scores are not scaled: divide by sqrt(d)": "scores = q @ rows.mT",
    "the scores are divided by d: divide by its square root": "scores = (q @ rows.mT) / d",
    "the scores are divided by sqrt(size): divide them by sqrt(d), the width of a query":
        "scores = (q @ rows.mT) / size**0.5",
    "only the scores of tokens are scaled: divide those of the blocks by sqrt(d), too":
        "scores = torch.cat([q @ x.mT / d**0.5, q @ pooled.mT], dim=-1)",
    "the softmax runs over the queries: each row, over all that a query sees, must sum to one":
        "weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-2).nan_to_num()",
    "the mask comes after the softmax, so the rows no longer sum to one":
        "weights = scores.softmax(dim=-1).masked_fill(~seen, 0.0)",
    "the mask is upside down: True means may attend":
        "weights = scores.masked_fill(seen, -torch.inf).softmax(dim=-1)",
    "a hidden score of 0 still gets weight, since exp(0) = 1: fill with -inf":
        "weights = scores.masked_fill(~seen, 0.0).softmax(dim=-1)",
    "scores may be lower than the number you fill with: fill with -inf": [
        f"weights = scores.masked_fill(~seen, {fill}).softmax(dim=-1)"
        for fill in ("-10.0", "-100.0", "-1e4", "-1e9")],
    "exp of a large score overflows: take torch's softmax, or subtract a row's largest first": [
        "weights = scores.exp() * seen\nreturn weights / weights.sum(-1, True) @ rows"],
    "exp of a large z overflows: take torch's softmax, or subtract the block's largest first":
        "parts = cut_z.exp()\npooled = (parts / parts.sum(-2, True) * cut_x).sum(dim=-2)",
    "no gradient reaches z: don't detach anything": [
        "cut_z = z.detach()[..., : blocks * size, :].unflatten(-2, shape)"],
    "no gradient flows through the rows of blocks: don't detach anything": [
        "pooled = (cut_z.softmax(dim=-2) * cut_x).sum(dim=-2).detach()"],
    messages.BATCH: "cut_x = x[:, : blocks * size].unflatten(-2, shape)",
    messages.FRONT: "n, d = x.shape[1:]",
    messages.CHANGES: "scores = (q.mul_(2) @ rows.mT) / d**0.5 / 2",
    LOOP: [
        "pooled = torch.stack([(w.softmax(-2) * y).sum(-2) for w, y in zip(cut_z.unbind(-3), "
        "cut_x.unbind(-3), strict=True)], dim=-2) if blocks else x[..., :0, :]",
        "rows = torch.cat([x, *pooled.split(1, dim=-2)], dim=-2)\n"
        "starts = [torch.arange(n, device=x.device) // size == b for b in range(blocks)]\n"
        "scores = (q @ rows.mT) / d**0.5"],
})  # fmt: skip
