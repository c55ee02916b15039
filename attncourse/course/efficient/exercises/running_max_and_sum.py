"""Exercise running_max_and_sum: what a softmax must know, block after block of the keys."""

import torch
from torch.nn.functional import pad

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over keys or rows: a loop over the blocks is enough"
LOGARITHM = (
    "the logarithm of a sum, less a maximum as large, has lost its digits: keep the sum itself"
)
exercise = Exercise.read(
    __name__, differentiable=False, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP}
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(scores, block):
    m, tops, sums = scores.shape[-1], [], []
    for end in range(block, m + block, block):
        scores_so_far = scores[..., :end].double()
        tops.append(scores_so_far.amax(-1))
        sums.append((scores_so_far - tops[-1][..., None]).exp().sum(-1))
    return torch.stack(tops, dim=-1).to(scores), torch.stack(sums, dim=-1).to(scores)


@exercise.cases
def cases(draw):
    n = draw.integer(5, 6)
    # the maximum moves at least once: the largest of each row is in the second block
    scores = draw.normal(2, n, 8)
    scores[..., 4] = scores.amax(-1) + 0.5
    # as many blocks as before: a loop over the blocks is right
    longer_inputs = draw.normal(12, 8 * n, 8 * 16)
    yield Case(f"a batch of 2, n={n}, m=8, block=3", (scores, 3), longer=(longer_inputs, 3 * 16))
    yield Case(f"no batch, n={n}, m=8, block=3", (scores[0], 3))
    yield Case("one row of scores, block=2", (scores[0, 0], 2))
    yield Case("two leading axes, m=9, block=4", (draw.normal(2, 3, 4, 9), 4))
    yield Case("m=8, block=4, so no key is left over", (scores, 4))
    yield Case("m=8, block=20: a single block", (scores, 20))
    yield Case("m=8, block=1", (scores, 1))
    tied = scores.clone()
    tied[..., 6] = scores[..., 4]
    yield Case("two keys that share the largest score", (tied, 3), gradient=False)
    yield Case("all scores far below zero", (scores - 1e5, 3))
    # near a number so large, a logarithm of the sum keeps too few digits
    yield Case("all scores around -10^12", (scores - 1e12, 3), gradient=False)
    yield Case("all scores around 10^12", (scores + 1e12, 3), gradient=False)
    yield Case("all scores far above zero", (scores + 2000, 3))
    yield Case("scores 10^25 times larger", (1e25 * scores, 3), gradient=False)
    row_offsets = 1000 * (torch.arange(n) % 2)[:, None]
    yield Case("rows around 0 and around -1000", (scores - row_offsets, 3))
    hidden = scores.masked_fill(~draw.mask(2, n, 8), -torch.inf)
    hidden[..., 0] = scores[..., 0]
    hidden[0, :, 3:6] = hidden[1, 1, 1:] = -torch.inf
    yield Case("masked keys, whole blocks of them, the others far below zero", (hidden - 1e5, 3))
    yield Case("one query and one key", (scores[:, :1, :1], 3))


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


TOP, FACTOR, TAKEN = "torch.maximum(top, part.amax(dim=-1))", "(old - top)", "part - top[..., None]"
OLD, NEW = "total * (old - top).exp() + ", "(part - top[..., None]).exp().sum(dim=-1)"
SO_FAR = "scores[..., : block * (len(totals) + 1)] - top[..., None]"
variants.right(
    exercise,
    ("-torch.inf", "torch.finfo(scores.dtype).min"),
    # every prefix anew
    (f"{OLD}{NEW}", f"({SO_FAR}).exp().sum(dim=-1)"),
)  # fmt: skip
variants.wrong(exercise, {
    "the old sum keeps its scale: when the maximum grows, shrink it by exp(old - new)": (
        OLD, "total + "),
    "the old sum is rescaled the wrong way: the factor should be exp(old - new), at most 1": (
        OLD, "total * (top - old).exp().where(old > -1e300, 0.0) + "),
    "a block's own maximum is used for its part: use the new maximum for both sums": (
        TAKEN, "part - part.amax(-1, keepdim=True).clamp(min=-1e30)"),
    "each block stands for itself: take maximum and sum over all keys so far": [
        (TOP, "part.amax(-1)", TAKEN, f"{TAKEN}.clamp(min=-1e30)", OLD, ""),
        (TOP, "part.amax(-1)", OLD, "")],
    "the sums start anew in each block: add the old sum, rescaled": (OLD, ""),
    "the maximum of the whole row is used: take that of the keys so far, which alone are known": (
        TOP, "scores.amax(-1)"),
    "the sums are taken without the maximum, so they overflow or vanish: take the maximum away "
    "first": [
        (TAKEN, "part", OLD, "total + "),
        (TAKEN, "part", OLD, "total + ", "append(total)", "append(total * (-top).exp())")],
    "the sums belong to the largest score of the whole row: make each relative to the largest so "
    "far":
        ("append(total)", "append(total * (top - scores.amax(-1)).exp())"),
    "exp(last maximum - maximum so far) overflows, and 0 times inf is NaN: keep each sum relative "
    "to the maximum so far": (
        TAKEN, "part - scores.amax(-1, True)", OLD, "total + ",
        "append(total)", "append(total * (scores.amax(-1) - top).exp())"),
    "the keys left over are dropped: let the last block be shorter": [
        f"m = {full}\n"
        "return torch.stack(tops, dim=-1)[..., :m], torch.stack(totals, dim=-1)[..., :m]"
        for full in ("scores.shape[-1] // block", "max(1, scores.shape[-1] // block)")],
    "the last block is filled up with zeros, which count as scores: fill with -inf": (
        "scores.split", "pad(scores, (0, -scores.shape[-1] % block)).split"),
    "the last block is filled up with a number that may be above all scores: fill with -inf": (
        "scores.split", "pad(scores, (0, -scores.shape[-1] % block), value=-1e9).split"),
    "the old sum is brought to the maximum of the block, which may be lower: use the new maximum": [
        (FACTOR, "(old - part.amax(-1))"), (FACTOR, "(-(old - part.amax(-1)).abs())")],
    "the blocks are stacked along another axis: stack them along the last, one number for each":
        "return torch.stack(tops, dim=0), torch.stack(totals, dim=0)",
    "the maximum begins too high: all scores may be lower, so begin with -inf": [
        ("-torch.inf", "0.0"), ("-torch.inf", "-1e4"), ("-torch.inf", "-1e9")],
    "a block in which all is masked gives NaN: its own maximum is -inf, so use the new one": (
        NEW, "(part - part.amax(-1, keepdim=True)).exp().sum(dim=-1) "
        "* (part.amax(-1) - top).exp()"),
    "the maximum is the block's alone, and may fall: keep the larger of old and new": (
        TOP, "part.amax(-1)"),
    "every sum is the last one, as if one tensor were changed again and again: note a new one in "
    "each block":
        "return torch.stack(tops, dim=-1), torch.stack([total] * len(totals), dim=-1)",
    "the blocks are evened out: give each `block` keys, and only the last may have fewer": (
        "split(block,", "chunk(-(-scores.shape[-1] // block),"),
    "the sums are returned first: return the maxima first":
        "return torch.stack(totals, dim=-1), torch.stack(tops, dim=-1)",
    "only the last block's numbers come back: return one pair for each block":
        "return top, total",
    "these are logarithms of the sums: return the sums themselves":
        "return torch.stack(tops, dim=-1), torch.stack(totals, dim=-1).log()",
    "`block` is taken for the number of blocks: it is how many keys a block has": (
        "split(block,", "split(-(-scores.shape[-1] // block),"),
    "one maximum is used for the whole tensor: give each row its own": [
        (TOP, "scores.amax().expand_as(top)"), (TOP, "torch.maximum(top, part.amax())")],
    "keys that share the maximum count as one: let each of them add exp(0) = 1": (
        f"{OLD}{NEW}", f"1 + (x := {SO_FAR}).exp().where(x < 0, 0.0).sum(-1)"),
    LOGARITHM: [
        ("torch.zeros_like(top)", "top",
         f"{OLD}{NEW}", "torch.logaddexp(total, part.logsumexp(-1))",
         "append(total)", "append((total - top).exp())"),
        "last = [*range(block - 1, scores.shape[-1] - 1, block), -1]\n"
        "largest = torch.stack(tops, dim=-1)\n"
        "return largest, (scores.logcumsumexp(-1)[..., last] - largest).exp()"],
    LOOP: (NEW, "sum((one - top).exp() for one in part.unbind(-1))"),
    messages.CHANGES: ("    return", "    scores -= scores.amax(-1, keepdim=True)\n    return"),
})  # fmt: skip


@exercise.mutant(LOGARITHM)
def by_running_logarithms(scores, block):
    parts = blocks(scores, block)
    top = parts.amax(-1).cummax(-1).values
    return top, (parts.logsumexp(-1).logcumsumexp(-1) - top).exp()
