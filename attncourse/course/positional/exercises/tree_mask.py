"""Exercise tree_mask: each word attends to itself and to what stands above it in the tree."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

NO_BATCH = "your code expects a fixed number of axes: heads may have any leading axes, or none"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    steps_allowed=3.0,
    generic_hints={"batch_axis_assumed": NO_BATCH},
    without={
        "loops": "it goes over rows, and the longer trees have no more of them",
    },
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(heads):
    n, rows = heads.shape[-1], []
    for tree in heads.reshape(-1, n).tolist():
        for i in range(n):
            ancestors, node = set(), i
            while node != -1:
                ancestors.add(node)
                node = tree[node]
            rows.append([j in ancestors for j in range(n)])
    return torch.tensor(rows).reshape(*heads.shape, n)


def tree(draw, n, padding=0):
    """A random tree in which a head may stand on either side, then padding; always 4 deep."""
    order = torch.randperm(n, generator=draw.generator)
    heads = torch.full((n + padding,), -1)
    for place in range(1, n):
        # the first five make a chain, the others hang somewhere below the root
        head_index = place - 1 if place < 5 else draw.integer(1, 3)
        heads[order[place]] = order[head_index]
    return heads


@exercise.cases
def cases(draw):
    n = draw.integer(7, 9)
    heads = torch.stack([tree(draw, n), tree(draw, n - 2, padding=2)])
    # many trees side by side: longer, and no deeper
    copies = torch.arange(16)[:, None] * n
    longer = torch.where(heads[:, None] < 0, -1, heads[:, None] + copies).flatten(1)
    yield Case(f"a tree and one with padding, n={n}", (heads,), longer=(longer,))
    yield Case(f"one tree without a batch, n={n}", (heads[0],))
    yield Case("two leading axes", (torch.stack([heads, heads.flip(0)] * 2),))
    yield Case("a chain of 5 tokens, the root in front", (torch.arange(-1, 4),))
    # deeper than a number of steps that somebody may think is enough
    chain = torch.arange(1, 301)
    chain[-1] = -1
    yield Case("a chain of 300 tokens, the root at the end", (chain,))
    flat, deep = torch.tensor([-1, 0, 0, 0, 0, 0]), torch.arange(-1, 5)
    yield Case("a flat sentence, then a deep one", (torch.stack([flat, deep]),))
    yield Case("a deep sentence, then a flat one", (torch.stack([deep, flat]),))
    yield Case("several roots", (torch.where(draw.mask(3, n), -1, tree(draw, n)),))
    yield Case("nothing but roots", (torch.full((2, n), -1),))
    yield Case("one token", (torch.full((2, 1), -1),))


def first_steps(heads):
    """True on the diagonal; and True where key j is the head of token i."""
    place = torch.arange(heads.shape[-1], device=heads.device)
    return place == place[:, None], heads[..., None] == place


@exercise.valid
def paths_doubled(heads):
    itself, parent = first_steps(heads)
    reach = itself.float() + parent.float()
    for _ in range(heads.shape[-1].bit_length()):
        reach = (reach @ reach).clamp(max=1)
    return reach > 0


@exercise.valid
def jumps_twice_as_far(heads):
    itself, parent = first_steps(heads)
    mask, jump = itself | parent, heads
    for _ in range(heads.shape[-1].bit_length()):
        rows = mask.gather(-2, jump.clamp(min=0)[..., None].expand_as(mask))
        mask = mask | (rows & (jump >= 0)[..., None])
        jump = jump.gather(-1, jump.clamp(min=0)).masked_fill(jump < 0, -1)
    return mask


@exercise.valid
def inverse_of_identity_less_heads(heads):
    # 1 + A + A^2 + ..., and A to the power of the depth is zero
    itself, parent = (one.double() for one in first_steps(heads))
    return torch.linalg.solve(itself - parent, itself.expand_as(parent)) > 0.5


@exercise.valid
def a_place_above_the_roots(heads):
    n = heads.shape[-1]
    above = torch.cat([heads.where(heads >= 0, n), torch.full_like(heads[..., :1], n)], dim=-1)
    node = torch.arange(n, device=heads.device).expand_as(heads)
    mask = torch.zeros(*heads.shape, n + 1, dtype=torch.bool, device=heads.device)
    while True:
        mask = mask.scatter(-1, node[..., None], True)
        if (node == n).all():
            return mask[..., :n]
        node = above.gather(-1, node)


@exercise.valid
def rows_of_the_heads_until_nothing_is_new(heads):
    itself, parent = first_steps(heads)
    mask = itself | parent
    while True:
        rows = mask.gather(-2, heads.clamp(min=0)[..., None].expand_as(mask))
        wider = mask | (rows & (heads >= 0)[..., None])
        if (wider == mask).all():
            return mask
        mask = wider


SQUARE = "(reach @ reach).clamp(max=1)"
variants.right(exercise,
    ("itself.float() + parent.float()", "itself | parent", SQUARE,
     "(reach.double() @ reach.double()) > 0", "reach > 0\n", "reach\n"), of=paths_doubled,
)  # fmt: skip

WHILE, TURNS = "while (node >= 0).any():", "for _ in place:"
variants.wrong(exercise, {
    "a token doesn't see itself: let it attend to itself, too":
        "return mask & (place != place[:, None])",
    "a token sees only itself and its head: go on while any token is below a root": (
        WHILE, "for _ in range(1):"),
    "a token sees only itself: climb while any token is below a root": (
        WHILE, "for _ in range(0):"),
    "a token sees only its head: it should also see itself and all tokens above its head":
        "return heads[..., None] == place",
    "a token sees its children: it should see its head and all tokens above that one": (
        WHILE, "for _ in range(1):", "return mask", "return mask.mT"),
    "a root doesn't see itself: every token should see itself":
        "return mask & (heads >= 0)[..., None]",
    "the path ends at token 0: only -1 should end it, so compare with >= 0": [
        "return mask & ((place == place[:, None]) | (place > 0))", ("node < 0", "node < 1")],
    "you climb a fixed number of steps: go on until all tokens have reached a root": [
        (WHILE, f"for _ in range({steps}):") for steps in (8, 10, 16, 20, 32, 50, 64, 100)],
    "the loop stops when one sentence has reached its roots: another may be deeper, so go on until "
    "all have": [
        (WHILE, "while (node.reshape(-1, len(place))[0] >= 0).any():"),
        (WHILE, "while (node.reshape(-1, len(place))[-1] >= 0).any():"),
        (WHILE, "while (node >= 0).any(-1).all():")],
    "the root is left out: include it, because it is above all other tokens of its tree":
        "return mask & ((place == place[:, None]) | (heads >= 0)[..., None, :])",
    "rows and columns are swapped: row i should be True at the tokens above token i":
        "return mask.mT",
    "a token also sees the tokens below it: it should see only itself and those above it":
        "return mask | mask.mT",
    "a token sees its whole tree: it should see only the tokens on its path up":
        "root = (mask & (heads < 0)[..., None, :]).int().argmax(-1, keepdim=True)\n"
        "return root == root.mT",
    "tokens with the same head see each other: each should see only itself and those above it":
        "same = heads[..., None] == heads[..., None, :]\n"
        "return mask | (same & (heads >= 0)[..., None])",
    "gather can't take -1 as an index: a token that has passed a root should stay at -1": (
        "node.clamp(min=0)).masked_fill(node < 0, -1)", "node)"),
    "after clamp, a token that has passed a root goes on from token 0: it should stay at -1": (
        ".masked_fill(node < 0, -1)", "", WHILE, TURNS),
    "the index -1 is taken for the last token, but nothing is above a root: stop at -1": (
        WHILE, f"heads = heads.where(heads >= 0, len(place) - 1)\n    {TURNS}"),
    "clamp turns -1 into token 0, but nothing is above a root: stop at -1": [
        (WHILE, f"heads = heads.clamp(min=0)\n    {TURNS}"),
        ("| (node[..., None] == place)", "| (node.clamp(min=0)[..., None] == place)"),
        ("| (node[..., None] == place)",
         "| ((node.clamp(min=0)[..., None] == place) & (node >= 0).any())")],
    # there may be circles now: nobody climbs for ever
    "you read the heads as if they counted from 1: they count from 0": (
        WHILE, f"heads = torch.where(heads > 0, heads - 1, -1)\n    {TURNS}\n"
        "        if (node < 0).all():\n            break"),
    "roots see each other, because -1 equals -1: a root has no head to share":
        "return mask | ((heads < 0)[..., None] & (heads < 0)[..., None, :])",
    "later tokens are hidden: a token above in the tree may come earlier or later in the sentence":
        "return mask.tril()",
    "the mask is inverted: True should mean that a token may attend": "return ~mask",
    "the first sentence's tree is used for all sentences: use each sentence's own tree":
        "heads = heads.reshape(-1, len(place))[0].expand_as(heads)\nnode = place.expand_as(heads)",
    NO_BATCH: "(n,) = heads.shape\nnode = place.expand_as(heads)",
    "the mask isn't boolean: return True where a token may attend, and False where it may not": [
        "return mask.long()", "return mask.float()"],
    "you return numbers of paths or steps: return True where there is a path":
        "return mask * mask.sum(-1, keepdim=True)",
    messages.DEVICE: ("device=heads.device", 'device="cpu"'),
    "the loop takes more steps for more tokens: let all tokens climb at once, and stop when none "
    "is below a root": [
        (WHILE, TURNS),
        "rows = []\nfor row in mask.unbind(-2):\n    rows.append(row)\n"
        "return torch.stack(rows, -2)"],
})  # fmt: skip
variants.wrong(exercise, {
    "the numbers of paths outgrow int64: after each product, keep only whether there is a path": (
        "reach > 0", "torch.matrix_power((itself | parent).long(), heads.shape[-1]) > 0"),
    "the numbers of paths become infinite, and infinity times 0 is NaN: after each product, keep "
    "only whether there is a path": (
        SQUARE, "reach @ reach"),
    "you double the reach too few times to get to the top of a long chain: double it more often": [
        ("bit_length()", "bit_length() - 1"), ("bit_length()", "bit_length() - 2")],
}, of=paths_doubled)  # fmt: skip
