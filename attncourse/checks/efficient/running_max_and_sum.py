"""Exercise running_max_and_sum: what a softmax must know, block after block of the keys."""

import torch
from torch.nn.functional import pad

from attncourse.checks.around import FLOATING, add_to
from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="running_max_and_sum",
    chapter="efficient",
    title="A softmax that reads its keys once",
    kind="extend",
    difficulty=3,
    minutes=30,
    points=20,
    hints=(
        "Go from block to block and keep two numbers for each row. When the maximum grows, the sum "
        "so far was made with the old one: by which factor is it too large?",
        "Begin with a maximum of -inf and a sum of 0. For each block, take the new maximum first. "
        "Then bring the old sum to it, and add the block's exponentials, made with it as well. A "
        "list of each, stacked on the last axis, is the result.",
        "total = total * (old - top).exp() + (part - top[..., None]).exp().sum(-1), for part in "
        "scores.split(block, dim=-1), with top = torch.maximum(old, part.amax(-1))",
    ),
    differentiable=False,
)


@exercise.reference
def by_hand(scores, block):
    m = scores.shape[-1]
    tops, sums = [], []
    for row in scores.reshape(-1, m).tolist():
        seen = [row[: min(end, m)] for end in range(block, m + block, block)]
        tops.append([max(one) for one in seen])
        shifted = [scores.new_tensor(one) - max(one) for one in seen]
        sums.append([float(one.exp().sum()) for one in shifted])
    shape = *scores.shape[:-1], -1
    return scores.new_tensor(tops).reshape(shape), scores.new_tensor(sums).reshape(shape)


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
    yield Case("all scores far below zero", (scores - 1e5, 3))
    yield Case("all scores far above zero", (scores + 2000, 3))
    yield Case("scores 1000 times larger", (1000 * scores, 3))
    yield Case(
        "rows around 0 and around -3000", (scores - 3000 * (torch.arange(n) % 2)[:, None], 3)
    )
    hidden = scores.masked_fill(~draw.mask(2, n, 8), -torch.inf)
    hidden[..., 0] = scores[..., 0]
    hidden[0, :, 3:6] = hidden[1, 1, 1:] = -torch.inf
    yield Case("masked keys, whole blocks of them, the others far below zero", (hidden - 1e5, 3))
    yield Case("one query and one key", (scores[:, :1, :1], 3))


def walk(scores, block, *, first=-torch.inf, total=0.0, rescale=None, part=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    top = scores.new_full(scores.shape[:-1], first)
    total = torch.full_like(top, total)
    tops, sums = [], []
    for keys in scores.split(block, dim=-1):
        old, top = top, torch.maximum(top, keys.amax(-1))
        factor = (old - top).exp() if rescale is None else rescale(old, top)
        added = (keys - top[..., None]).exp().sum(-1) if part is None else part(keys, top)
        total = total * factor + added
        tops.append(top)
        sums.append(total)
    return torch.stack(tops, dim=-1), torch.stack(sums, dim=-1)


def blocks(scores, block, fill=-torch.inf):
    """(..., blocks, block), the last one filled up."""
    return pad(scores, (0, -scores.shape[-1] % block), value=fill).unflatten(-1, (-1, block))


@exercise.valid
def block_after_block(scores, block):
    return walk(scores, block)


@exercise.valid
def beginning_at_the_smallest_number(scores, block):
    return walk(scores, block, first=torch.finfo(scores.dtype).min)


@exercise.valid
def by_running_logarithms(scores, block):
    parts = blocks(scores, block)
    top = parts.amax(-1).cummax(-1).values
    return top, (parts.logsumexp(-1).logcumsumexp(-1) - top).exp()


@exercise.valid
def each_block_with_all_before(scores, block):
    parts = blocks(scores, block)
    top = torch.cummax(parts.amax(-1), dim=-1)[0]
    sums = (parts - top[..., None]).exp().sum(-1)
    # rows are blocks so far, columns the blocks that they add up
    factor = (top[..., None, :] - top[..., :, None]).tril().exp().tril()
    return top, (factor * sums[..., None, :]).sum(-1)


@exercise.valid
def the_logarithm_kept(scores, block):
    tops, logs = [], []
    for keys in scores.split(block, dim=-1):
        tops.append(keys.max(-1).values if not tops else torch.maximum(tops[-1], keys.amax(-1)))
        new = keys.logsumexp(-1)
        logs.append(new if not logs else torch.logaddexp(logs[-1], new))
    top, log = torch.stack(tops, -1), torch.stack(logs, -1)
    return top, (log - top).exp()


@exercise.valid
def every_prefix_anew(scores, block):
    ends = range(block, scores.shape[-1] + block, block)
    seen = [scores[..., :end] for end in ends]
    tops = [one.amax(-1, keepdim=True) for one in seen]
    sums = [(one - top).exp().sum(-1) for one, top in zip(seen, tops, strict=True)]
    return torch.cat(tops, dim=-1), torch.stack(sums, dim=-1)


@exercise.mutant(
    "the old sum keeps its scale: when the maximum grows, it shrinks by exp(old - new)"
)
def not_rescaled(scores, block):
    return walk(scores, block, rescale=lambda old, now: 1)


@exercise.mutant("the old sum is rescaled the wrong way: the factor is exp(old - new), at most 1")
def rescaled_the_wrong_way(scores, block):
    return walk(scores, block, rescale=lambda old, now: (now - old).exp().where(old > -1e300, 0.0))


@exercise.mutant("a block's own maximum is used for its part: both sums need the new maximum")
def part_with_its_own_maximum(scores, block):
    def part(keys, now):
        return (keys - keys.amax(-1, keepdim=True).clamp(min=-1e30)).exp().sum(-1)

    return walk(scores, block, part=part)


@exercise.mutant("each block stands for itself: maximum and sum are of all keys so far")
def each_block_by_itself(scores, block):
    parts = blocks(scores, block)
    top = parts.amax(-1, keepdim=True)
    return top[..., 0], (parts - top.clamp(min=-1e30)).exp().sum(-1)


@exercise.mutant("the sums start anew in each block: the old sum, rescaled, belongs to them")
def sums_start_anew(scores, block):
    return walk(scores, block, rescale=lambda old, now: 0)


@exercise.mutant(
    "the maximum of the whole row is used: after a block only the keys so far are known"
)
def final_maximum(scores, block):
    top = scores.amax(-1, keepdim=True)
    sums = (blocks(scores, block) - top[..., None]).exp().sum(-1).cumsum(-1)
    return top.expand_as(sums).clone(), sums


WITHOUT = "the sums are taken without the maximum: they overflow, or vanish"


@exercise.mutant(WITHOUT)
def without_the_maximum(scores, block):
    parts = blocks(scores, block)
    return parts.amax(-1).cummax(-1).values, parts.exp().sum(-1).cumsum(-1)


@exercise.mutant(WITHOUT)
def maximum_only_afterwards(scores, block):
    top, sums = without_the_maximum(scores, block)
    return top, sums * (-top).exp()


@exercise.mutant("the keys left over are dropped: the last block may be shorter")
def last_block_dropped(scores, block):
    whole = scores.shape[-1] // block * block
    return walk(scores[..., :whole], block) if whole else (scores[..., :0], scores[..., :0])


@exercise.mutant("the last block is filled up with zeros, which count as scores: fill with -inf")
def filled_up_with_zeros(scores, block):
    return walk(blocks(scores, block, fill=0.0).flatten(-2), block)


TOO_HIGH = "the maximum begins too high: all scores may be lower, so begin with -inf"


@exercise.mutant(TOO_HIGH)
def maximum_begins_at_zero(scores, block):
    return walk(scores, block, first=0.0)


@exercise.mutant(
    "a block in which all is masked gives NaN: its own maximum is -inf, so use the new one"
)
def nan_where_a_block_is_masked(scores, block):
    def part(keys, now):
        own = keys.amax(-1)
        return (keys - own[..., None]).exp().sum(-1) * (own - now).exp()

    return walk(scores, block, part=part)


@exercise.mutant(TOO_HIGH)
def maximum_begins_at_minus_ten_thousand(scores, block):
    return walk(scores, block, first=-1e4)


@exercise.mutant("the maximum is the block's alone: it never falls, keep the larger of old and new")
def maximum_of_the_block(scores, block):
    parts = blocks(scores, block)
    tops, total, sums = parts.amax(-1), 0.0, []
    old = torch.full_like(tops[..., 0], -torch.inf)
    for keys, top in zip(parts.unbind(-2), tops.unbind(-1), strict=True):
        total = total * (old - top).exp() + (keys - top[..., None]).exp().sum(-1)
        old = top
        sums.append(total)
    return tops, torch.stack(sums, dim=-1)


@exercise.mutant("every sum is the last one: the list holds one tensor, changed again and again")
def one_tensor_for_all_sums(scores, block):
    tops, sums = walk(scores, block)
    return tops, sums[..., -1:].expand_as(tops).clone()


@exercise.mutant("the blocks are evened out: each has block keys, only the last may be shorter")
def blocks_evened_out(scores, block):
    m = scores.shape[-1]
    return walk(scores, -(-m // -(-m // block)))


@exercise.mutant("the sums are returned first: the maxima come first")
def exchanged(scores, block):
    return walk(scores, block)[::-1]


@exercise.mutant("only the last block's numbers come back: there is one pair for each block")
def last_block_only(scores, block):
    tops, sums = walk(scores, block)
    return tops[..., -1], sums[..., -1]


@exercise.mutant("these are logarithms of the sums: return the sums themselves")
def logarithms(scores, block):
    tops, sums = walk(scores, block)
    return tops, sums.log()


@exercise.mutant("block counts the blocks here: it is how many keys a block has")
def number_of_blocks(scores, block):
    return walk(scores, -(-scores.shape[-1] // block))


@exercise.mutant("one maximum serves the whole tensor: each row has its own")
def one_maximum_for_all(scores, block):
    top = scores.amax()
    sums = (blocks(scores, block) - top).exp().sum(-1).cumsum(-1)
    return top.expand_as(sums).clone(), sums


@exercise.mutant("it loops over keys or rows: a loop over the blocks is enough")
def loop_over_the_keys(scores, block):
    tops, sums = walk(scores, 1)
    at = torch.arange(scores.shape[-1] + block - 1, device=scores.device)[block - 1 :: block]
    at = at.clamp(max=scores.shape[-1] - 1)
    return tops[..., at], sums[..., at]


@exercise.mutant("the input changes: subtract into a new tensor")
def subtracted_in_place(scores, block):
    found = walk(scores, block)
    scores -= scores.amax(-1, keepdim=True)
    return found


add_to(exercise, walk, *FLOATING)
