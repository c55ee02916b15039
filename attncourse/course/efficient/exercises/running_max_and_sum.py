"""Exercise running_max_and_sum: what a softmax must know, block after block of the keys."""

import torch
from torch.nn.functional import pad

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over keys or rows: a loop over the blocks is enough"
LOGARITHM = (
    "the logarithm of a sum, less a maximum as large, has lost its digits: keep the sum itself"
)
exercise = Exercise.read(
    __name__, differentiable=False, usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP}
)


@exercise.reference
def by_hand(scores, block):
    m, tops, sums = scores.shape[-1], [], []
    for end in range(block, m + block, block):
        seen = scores[..., :end].double()
        tops.append(seen.amax(-1))
        sums.append((seen - tops[-1][..., None]).exp().sum(-1))
    return torch.stack(tops, dim=-1).to(scores), torch.stack(sums, dim=-1).to(scores)


@exercise.cases
def cases(draw):
    n = draw.integer(5, 6)
    # the maximum moves at least once: the largest of each row is in the second block
    scores = draw.normal(2, n, 8)
    scores[..., 4] = scores.amax(-1) + 0.5
    # as many blocks as before: a loop over the blocks is right
    long = draw.normal(12, 8 * n, 8 * 16)
    yield Case(f"a batch of 2, n={n}, m=8, block=3", (scores, 3), longer=(long, 3 * 16))
    yield Case(f"no batch, n={n}, m=8, block=3", (scores[0], 3))
    yield Case("one row of scores, block=2", (scores[0, 0], 2))
    yield Case("two leading axes, m=9, block=4", (draw.normal(2, 3, 4, 9), 4))
    yield Case("m=8, block=4, so no key is left over", (scores, 4))
    yield Case("m=8, block=20: a single block", (scores, 20))
    yield Case("m=8, block=1", (scores, 1))
    shared = scores.clone()
    shared[..., 6] = scores[..., 4]
    yield Case("two keys that share the largest score", (shared, 3), gradient=False)
    yield Case("all scores far below zero", (scores - 1e5, 3))
    # near a number so large, a logarithm of the sum keeps too few digits
    yield Case("all scores around -10^12", (scores - 1e12, 3), gradient=False)
    yield Case("all scores around 10^12", (scores + 1e12, 3), gradient=False)
    yield Case("all scores far above zero", (scores + 2000, 3))
    yield Case("scores 10^25 times larger", (1e25 * scores, 3), gradient=False)
    low = 1000 * (torch.arange(n) % 2)[:, None]
    yield Case("rows around 0 and around -1000", (scores - low, 3))
    hidden = scores.masked_fill(~draw.mask(2, n, 8), -torch.inf)
    hidden[..., 0] = scores[..., 0]
    hidden[0, :, 3:6] = hidden[1, 1, 1:] = -torch.inf
    yield Case("masked keys, whole blocks of them, the others far below zero", (hidden - 1e5, 3))
    yield Case("one query and one key", (scores[:, :1, :1], 3))


@exercise.valid
def plain(scores, block):
    top = scores.new_full(scores.shape[:-1], -torch.inf)
    total = torch.zeros_like(top)
    tops, sums = [], []
    for keys in scores.split(block, dim=-1):
        old, top = top, torch.maximum(top, keys.amax(-1))
        part = (keys - top[..., None]).exp().sum(-1)
        total = total * (old - top).exp() + part
        tops.append(top)
        sums.append(total)
    tops, sums = torch.stack(tops, dim=-1), torch.stack(sums, dim=-1)
    return tops, sums


def blocks(scores, block):
    """(..., blocks, block), the last one filled up."""
    return pad(scores, (0, -scores.shape[-1] % block), value=-torch.inf).unflatten(-1, (-1, block))


@exercise.valid
def each_block_with_all_before(scores, block):
    parts = blocks(scores, block)
    top = torch.cummax(parts.amax(-1), dim=-1)[0]
    sums = (parts - top[..., None]).exp().sum(-1)
    # rows are blocks so far, columns the blocks that they add up
    factor = (top[..., None, :] - top[..., :, None]).tril().exp().tril()
    return top, (factor * sums[..., None, :]).sum(-1)


FIRST, TOP, TAKEN = "-torch.inf", "torch.maximum(top, keys.amax(-1))", "keys - top[..., None]"
OLD, FACTOR, RESULT = "total * (old - top).exp() + ", "(old - top).exp()", "return tops, sums"
variants.right(
    exercise,
    (FIRST, "torch.finfo(scores.dtype).min"),
    # every prefix anew
    (f"{OLD}part", "(scores[..., : block * (len(sums) + 1)] - top[..., None]).exp().sum(-1)"),
)  # fmt: skip
variants.wrong(exercise, {
    "the old sum keeps its scale: when the maximum grows, it shrinks by exp(old - new)": (
        FACTOR, "1"),
    "the old sum is rescaled the wrong way: the factor is exp(old - new), at most 1": (
        FACTOR, "(top - old).exp().where(old > -1e300, 0.0)"),
    "a block's own maximum is used for its part: both sums need the new maximum": (
        TAKEN, "keys - keys.amax(-1, keepdim=True).clamp(min=-1e30)"),
    "each block stands for itself: maximum and sum are of all keys so far": [
        (TOP, "keys.amax(-1)", TAKEN, f"{TAKEN}.clamp(min=-1e30)", OLD, ""),
        (TOP, "keys.amax(-1)", OLD, "")],
    "the sums start anew in each block: the old sum, rescaled, belongs to them": (OLD, ""),
    "the maximum of the whole row is used: after a block only the keys so far are known": (
        TOP, "scores.amax(-1)"),
    "the sums are taken without the maximum: they overflow, or vanish": [
        (TAKEN, "keys", FACTOR, "1"),
        (TAKEN, "keys", FACTOR, "1", "append(total)", "append(total * (-top).exp())")],
    "the sums belong to the largest score of the whole row: each is relative to the largest so far":
        ("append(total)", "append(total * (top - scores.amax(-1)).exp())"),
    "exp(last maximum - maximum so far) overflows, and 0 times inf is NaN: keep each sum relative "
    "to the maximum so far": (
        TAKEN, "keys - scores.amax(-1, True)", FACTOR, "1",
        "append(total)", "append(total * (scores.amax(-1) - top).exp())"),
    "the keys left over are dropped: the last block may be shorter": [(
        RESULT, f"m = {blocks}\n    return tops[..., :m], sums[..., :m]")
        for blocks in ("scores.shape[-1] // block", "max(1, scores.shape[-1] // block)")],
    "the last block is filled up with zeros, which count as scores: fill with -inf": (
        "scores.split", "pad(scores, (0, -scores.shape[-1] % block)).split"),
    "the last block is filled up with a number that may be above all scores: fill with -inf": (
        "scores.split", "pad(scores, (0, -scores.shape[-1] % block), value=-1e9).split"),
    "the old sum is brought to the maximum of the block, which may be lower: use the new maximum": [
        (FACTOR, "(old - keys.amax(-1)).exp()"),
        (FACTOR, "(-(old - keys.amax(-1)).abs()).exp()")],
    "the blocks are stacked along another axis: there is one number for each on the last": (
        "dim=-1), torch.stack(sums, dim=-1)", "dim=0), torch.stack(sums, dim=0)"),
    "the maximum begins too high: all scores may be lower, so begin with -inf": [
        (FIRST, "0.0"), (FIRST, "-1e4"), (FIRST, "-1e9")],
    "a block in which all is masked gives NaN: its own maximum is -inf, so use the new one": (
        f"({TAKEN}).exp().sum(-1)", "(keys - keys.amax(-1, keepdim=True)).exp().sum(-1)",
        "+ part", "+ part * (keys.amax(-1) - top).exp()"),
    "the maximum is the block's alone: it never falls, keep the larger of old and new": (
        TOP, "keys.amax(-1)"),
    "every sum is the last one: the list holds one tensor, changed again and again": (
        RESULT, "return tops, sums[..., -1:].expand_as(tops).clone()"),
    "the blocks are evened out: each has block keys, only the last may be shorter": (
        "split(block,", "chunk(-(-scores.shape[-1] // block),"),
    "the sums are returned first: the maxima come first": (RESULT, "return sums, tops"),
    "only the last block's numbers come back: there is one pair for each block": (
        RESULT, "return tops[..., -1], sums[..., -1]"),
    "these are logarithms of the sums: return the sums themselves": (
        RESULT, "return tops, sums.log()"),
    "block counts the blocks here: it is how many keys a block has": (
        "split(block,", "split(-(-scores.shape[-1] // block),"),
    "one maximum serves the whole tensor: each row has its own": [
        (TOP, "scores.amax().expand_as(top)"), (TOP, "torch.maximum(top, keys.amax())")],
    "keys that share the maximum count as one: each of them adds exp(0) = 1": (
        f"{OLD}part", "1 + (x := scores[..., : block * (len(sums) + 1)] - top[..., None])"
        ".exp().where(x < 0, 0.0).sum(-1)"),
    LOGARITHM: [
        ("torch.zeros_like(top)", "top", f"{OLD}part",
         "torch.logaddexp(total, keys.logsumexp(-1))", RESULT, "return tops, (sums - tops).exp()"),
        (RESULT, "last = [*range(block - 1, scores.shape[-1] - 1, block), -1]\n"
         "    return tops, (scores.logcumsumexp(-1)[..., last] - tops).exp()")],
    LOOP: (f"({TAKEN}).exp().sum(-1)", "sum((one - top).exp() for one in keys.unbind(-1))"),
    hints.CHANGES: (RESULT, f"scores -= scores.amax(-1, keepdim=True)\n    {RESULT}"),
})  # fmt: skip


@exercise.mutant(LOGARITHM)
def by_running_logarithms(scores, block):
    parts = blocks(scores, block)
    top = parts.amax(-1).cummax(-1).values
    return top, (parts.logsumexp(-1).logcumsumexp(-1) - top).exp()
