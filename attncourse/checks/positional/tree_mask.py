"""Exercise tree_mask: each word attends to itself and to what stands above it in the tree."""

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="tree_mask",
    chapter="positional",
    title="Look up the tree",
    kind="build",
    difficulty=2,
    minutes=20,
    points=20,
    hints=(
        "Every token climbs at the same time: first it stands on itself, then on its head, then on "
        "its head's head, until all have left the tree at a root. Mark each token on the way.",
        "Keep `node`, where each token stands now, (..., n), and begin with 0 to n - 1. Comparing "
        "node[..., None] with all positions gives a mask with one True in a row, or none at -1. "
        "Join it to the mask by |. The next node is the head of this one: gather, but only where "
        "a node is not -1, since there is no head at -1.",
        "heads.gather(-1, node.clamp(min=0)).masked_fill(node < 0, -1) is one step up, and "
        "while (node >= 0).any(): goes on to the top",
    ),
    differentiable=False,
    # one that doubles its reach takes more turns for more tokens, but few
    steps_allowed=3.0,
)


@exercise.reference
def by_hand(heads):
    n, rows = heads.shape[-1], []
    for tree in heads.reshape(-1, n).tolist():
        for i in range(n):
            above, node = set(), i
            while node != -1:
                above.add(node)
                node = tree[node]
            rows.append([j in above for j in range(n)])
    return torch.tensor(rows).reshape(*heads.shape, n)


def tree(draw, n, padding=0):
    """A random tree in which a head may stand on either side, then padding; always 4 deep."""
    order = torch.randperm(n, generator=draw.generator)
    heads = torch.full((n + padding,), -1)
    for place in range(1, n):
        # the first five make a chain, the others hang somewhere below the root
        above = place - 1 if place < 5 else draw.integer(1, 3)
        heads[order[place]] = order[above]
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
    chain = torch.arange(1, 151)
    chain[-1] = -1
    yield Case("a chain of 150 tokens, the root at the end", (chain,))
    yield Case("several roots", (torch.where(draw.mask(3, n), -1, tree(draw, n)),))
    yield Case("nothing but roots", (torch.full((2, n), -1),))
    yield Case("one token", (torch.full((2, 1), -1),))


def place(heads):
    return torch.arange(heads.shape[-1], device=heads.device)


def up(heads, node):
    """The head of each node; -1 stays -1."""
    return heads.gather(-1, node.clamp(min=0)).masked_fill(node < 0, -1)


def climbed(heads, *, most=None, start=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    node = place(heads).expand_as(heads) if start is None else start
    mask = node[..., None] == place(heads)
    steps = 0
    while steps != most and (node >= 0).any():
        node = up(heads, node)
        mask = mask | (node[..., None] == place(heads))
        steps += 1
    return mask


def parent(heads):
    """True where key j is the head of token i."""
    return heads[..., None] == place(heads)


@exercise.valid
def all_climb_together(heads):
    return climbed(heads)


@exercise.valid
def paths_doubled(heads):
    n = heads.shape[-1]
    reach = parent(heads).float() + torch.eye(n, device=heads.device)
    for _ in range(n.bit_length()):
        reach = (reach @ reach).clamp(max=1)
    return reach > 0


@exercise.valid
def reach_squared(heads):
    n = heads.shape[-1]
    mask = parent(heads) | torch.eye(n, dtype=torch.bool, device=heads.device)
    for _ in range(n.bit_length()):
        mask = (mask.double() @ mask.double()) > 0
    return mask


@exercise.valid
def jumps_twice_as_far(heads):
    n, jump, reach = heads.shape[-1], heads, 1
    mask = parent(heads) | torch.eye(n, dtype=torch.bool, device=heads.device)
    while reach < n:
        rows = mask.gather(-2, jump.clamp(min=0)[..., None].expand(*heads.shape, n))
        mask = mask | (rows & (jump >= 0)[..., None])
        jump, reach = up(jump, jump), 2 * reach
    return mask


@exercise.valid
def inverse_of_identity_less_heads(heads):
    # 1 + A + A^2 + ..., and A to the power of the depth is zero
    n = heads.shape[-1]
    eye = torch.eye(n, dtype=torch.float64, device=heads.device)
    return torch.linalg.solve(eye - parent(heads).double(), eye.expand(*heads.shape, n)) > 0.5


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
    n = heads.shape[-1]
    eye = torch.eye(n, dtype=torch.bool, device=heads.device)
    mask = eye | parent(heads)
    while True:
        rows = mask.gather(-2, heads.clamp(min=0)[..., None].expand(*heads.shape, n))
        wider = mask | (rows & (heads >= 0)[..., None])
        if (wider == mask).all():
            return mask
        mask = wider


@exercise.mutant("a token does not see itself: it is allowed, too")
def ancestors_only(heads):
    return climbed(heads) & ~torch.eye(heads.shape[-1], dtype=torch.bool, device=heads.device)


@exercise.mutant("a token sees no more than its head: go on while any is below a root")
def head_only(heads):
    return climbed(heads, most=1)


@exercise.mutant("a token sees only itself: go on while any is below a root")
def only_itself(heads):
    return climbed(heads, most=0)


@exercise.mutant("a token sees its head only: it sees itself, and what is above its head, too")
def head_without_itself(heads):
    return parent(heads)


@exercise.mutant("a token sees its children: it should see its head, and what is above that")
def children_for_heads(heads):
    return climbed(heads, most=1).mT


@exercise.mutant("a root does not see itself: every token does")
def roots_see_nothing(heads):
    return climbed(heads) & (heads >= 0)[..., None]


ZERO = "token 0 is taken for the end of the way: only -1 is, so ask for >= 0"


@exercise.mutant(ZERO)
def token_zero_not_marked(heads):
    eye = torch.eye(heads.shape[-1], dtype=torch.bool, device=heads.device)
    return climbed(heads) & (eye | (place(heads) > 0))


@exercise.mutant(ZERO)
def nothing_above_token_zero(heads):
    return climbed(heads.where(place(heads) > 0, -1))


FIXED = "the path ends after a fixed number of steps: go on until all are at a root"


@exercise.mutant(FIXED)
def thirty_two_steps(heads):
    return climbed(heads, most=32)


@exercise.mutant(FIXED)
def fifty_steps(heads):
    return climbed(heads, most=50)


@exercise.mutant(FIXED)
def sixty_four_steps(heads):
    return climbed(heads, most=64)


@exercise.mutant(FIXED)
def a_hundred_steps(heads):
    return climbed(heads, most=100)


@exercise.mutant(
    "numbers of paths outgrow int64: after each product keep only whether there is one"
)
def power_in_whole_numbers(heads):
    steps = climbed(heads, most=1)
    return torch.matrix_power(steps.long(), heads.shape[-1]) > 0


@exercise.mutant("the root is left out: it is an ancestor of all the others in its tree")
def without_the_root(heads):
    eye = torch.eye(heads.shape[-1], dtype=torch.bool, device=heads.device)
    return climbed(heads) & (eye | (heads >= 0)[..., None, :])


@exercise.mutant("rows and columns are exchanged: a row is a token, and sees those above it")
def descendants(heads):
    return climbed(heads).mT


@exercise.mutant("a token sees those below it as well: only those above it are asked for")
def both_directions(heads):
    return climbed(heads) | climbed(heads).mT


@exercise.mutant("all of its tree is seen: only the tokens on the way up are allowed")
def same_tree(heads):
    mask = climbed(heads)
    root = (mask & (heads < 0)[..., None, :]).int().argmax(-1)
    return root[..., None] == root[..., None, :]


@exercise.mutant("tokens with the same head are seen: only those above, and itself")
def siblings_too(heads):
    same = (heads[..., None] == heads[..., None, :]) & (heads >= 0)[..., None]
    return climbed(heads) | same


@exercise.mutant("-1 is no index for gather: whoever has passed a root stays at -1")
def gathered_at_minus_one(heads):
    node = place(heads).expand_as(heads)
    mask = node[..., None] == place(heads)
    while (node >= 0).any():
        node = heads.gather(-1, node)
        mask = mask | (node[..., None] == place(heads))
    return mask


@exercise.mutant("clamp sends whoever has passed a root on from token 0: stay at -1")
def on_from_token_zero(heads):
    node = place(heads).expand_as(heads)
    mask = node[..., None] == place(heads)
    for _ in range(heads.shape[-1]):
        node = heads.gather(-1, node.clamp(min=0))
        mask = mask | (node[..., None] == place(heads))
    return mask


@exercise.mutant("an index of -1 is the last token, and nothing stands above a root: stop at -1")
def last_token_above_the_roots(heads):
    n = heads.shape[-1]
    return climbed(heads.where(heads >= 0, n - 1), most=n)


@exercise.mutant("clamp makes token 0 of -1, and nothing stands above a root: stop at -1")
def first_token_above_the_roots(heads):
    return climbed(heads.clamp(min=0), most=heads.shape[-1])


@exercise.mutant("the heads are taken as counted from 1: here they count from 0")
def heads_counted_from_one(heads):
    # there may be circles now: nobody climbs for ever
    return climbed(torch.where(heads > 0, heads - 1, -1), most=heads.shape[-1])


@exercise.mutant("roots see each other, since -1 equals -1: a root has no head")
def roots_together(heads):
    roots = heads < 0
    return climbed(heads) | (roots[..., None] & roots[..., None, :])


@exercise.mutant("later tokens are hidden: in a tree, what is above may stand on either side")
def causal_as_well(heads):
    return climbed(heads).tril()


@exercise.mutant("the mask is upside down: True means may attend")
def inverted(heads):
    return ~climbed(heads)


@exercise.mutant("the first sentence's tree is used for all: each has one of its own")
def first_tree_for_all(heads):
    n = heads.shape[-1]
    return climbed(heads.reshape(-1, n)[0]).expand(*heads.shape, n)


NO_BATCH = "it wants one fixed number of axes: heads may have any leading axes, or none"


@exercise.mutant(NO_BATCH)
def batch_axis_assumed(heads):
    batch, n = heads.shape
    return climbed(heads.view(batch, n))


@exercise.mutant(NO_BATCH)
def one_sentence_assumed(heads):
    (n,) = heads.shape
    return climbed(heads.view(n))


@exercise.mutant("the mask is not boolean: True = may attend, False = may not")
def of_integers(heads):
    return climbed(heads).long()


@exercise.mutant("these are the numbers of paths or steps: return True where there is a way")
def depths(heads):
    mask = climbed(heads)
    return mask * mask.sum(-1, keepdim=True)


@exercise.mutant("a new tensor is made on the CPU: give it the device of heads")
def positions_on_the_cpu(heads):
    node = torch.arange(heads.shape[-1]).expand(heads.shape)
    return climbed(heads, start=node)


LOOP = "the loop grows with n: let all tokens climb at once, and stop when none is below a root"


@exercise.mutant(LOOP)
def loop_over_tokens(heads):
    rows = []
    for row in climbed(heads).unbind(-2):
        rows.append(row.clone())
    return torch.stack(rows, dim=-2)


@exercise.mutant(LOOP)
def as_many_steps_as_tokens(heads):
    node = place(heads).expand_as(heads)
    mask = node[..., None] == place(heads)
    for _ in range(heads.shape[-1]):
        node = up(heads, node)
        mask = mask | (node[..., None] == place(heads))
    return mask


@exercise.mutant("the input changes: let a copy climb, and leave heads as it is")
def roots_written_into_heads(heads):
    mask = climbed(heads)
    heads[heads < 0] = 0
    return mask
