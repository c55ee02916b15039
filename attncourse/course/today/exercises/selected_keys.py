"""Exercise selected_keys: the mask of the highest scores up to each query's own position."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over queries or keys: sort all rows at once"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def row_by_row(scores, count):
    n = scores.shape[-1]
    rows = []
    for place, row in enumerate(scores.reshape(-1, n).tolist()):
        # Python's sort is stable
        best = sorted(range(place % n + 1), key=lambda j, row=row: -row[j])[:count]
        rows.append([j in best for j in range(n)])
    return torch.tensor(rows, device=scores.device).reshape(scores.shape)


@exercise.cases
def cases(draw):
    n = draw.integer(7, 9)
    scores = draw.normal(2, n, n)
    yield Case(f"a batch of 2, n={n}, count=3", (scores, 3), longer=(draw.normal(2, 48, 48), 5))
    yield Case(f"no batch, n={n}, count=2", (scores[0], 2))
    yield Case("two leading axes, n=5, count=2", (draw.normal(2, 3, 5, 5), 2))
    # ReLU leaves zeros
    yield Case(f"many scores of 0, n={n}, count=3", (scores.relu(), 3))
    yield Case("all scores equal, count=2", (0 * scores - 1, 2))
    # a sort that is not stable shows in long rows alone
    equal = draw.integers(0, 2, 40, 40).double()
    yield Case("scores of 0, 1 and 2, n=40, count=9", (equal, 9))
    yield Case("all scores below 0, count=3", (-scores.exp(), 3))
    later = scores + 100.0 * torch.arange(n)
    yield Case("later keys score higher, count=3", (later, 3))
    yield Case("earlier keys score higher, count=3", (later.flip(-1), 3))
    yield Case("scores up to 10^38, count=3", (1e38 * scores.tanh(), 3))
    yield Case("scores that differ in the 12th digit, count=3", (1 + 1e-12 * scores, 3))
    yield Case("count=1", (scores, 1))
    yield Case(f"count is n, {n}", (scores, n))
    yield Case("count is larger than n", (scores, n + 3))
    yield Case("one token", (scores[:, :1, :1], 2))


@exercise.valid
def counted(scores, count):
    n = scores.shape[-1]
    place = torch.arange(n, device=scores.device)
    seen = place <= place[:, None]
    # those that beat a key: higher ones, and equal ones before it
    other, own = scores[..., None, :], scores[..., :, None]
    beats = (other > own) | ((other == own) & (place < place[:, None]))
    better = (beats & seen[:, None, :]).sum(-1)
    return (better < count) & seen


@exercise.valid
def above_the_least_and_some_of_its_equals(scores, count):
    n = scores.shape[-1]
    seen = torch.ones_like(scores, dtype=torch.bool).tril()
    hidden = torch.where(seen, scores, -torch.inf)
    best = hidden.topk(min(count, n), dim=-1).values
    least = best[..., -1:]
    above, equal = hidden > least, hidden == least
    left = count - above.sum(-1, keepdim=True)
    return (above | (equal & (equal.cumsum(-1) <= left))) & seen


variants.right(exercise,
    "index = order[..., :count]\n"
    "return torch.zeros_like(seen).expand(scores.shape).scatter(-1, index, True) & seen",
    "order = (-hidden).sort(dim=-1, stable=True).indices\n"
    "ranks = torch.arange(n, device=scores.device).expand(scores.shape)\n"
    "rank = torch.empty_like(order).scatter(-1, order, ranks)",
    "seen = torch.tril(torch.ones_like(scores)) > 0\n"
    "hidden = torch.where(seen, scores, torch.finfo(scores.dtype).min)\n"
    "return (rank + 1 <= count).logical_and(seen)",
    # the last of the order turned round is the first
    "order = n - 1 - hidden.flip(-1).argsort(dim=-1, stable=True).flip(-1)",
)  # fmt: skip
EQUAL_LAST = "of equal scores, the later key is chosen: sort so that the earlier one comes first"
LEAST = "hidden.sort(dim=-1, descending=True).values[..., min(count, n) - 1, None]"
TIES = (
    "every key as good as the last chosen one is read, so equal scores give more than count keys: "
    "choose the earlier ones"
)
variants.wrong(exercise, {
    "later keys are chosen: a query should read keys up to its own position only": [
        "hidden = scores\nreturn rank < count",
        "seen = torch.ones(n, n, dtype=torch.bool, device=scores.device)"],
    "later keys take places and are then struck out, so too few are left: hide them before you "
    "sort": "hidden = scores",
    "where there are fewer than count keys, later ones fill up the row: strike them out in the "
    "end": [
        "return rank < count",
        f"return hidden >= {LEAST}",
        "index = hidden.topk(min(count, n), dim=-1).indices\n"
        "return torch.zeros_like(seen).expand(scores.shape).scatter(-1, index, True)"],
    "the last of the chosen keys is left out: compare with >=, and of equal ones choose the "
    "earlier":
        f"return (hidden > {LEAST}) & seen",
    "argsort takes its axis by name where it is asked to be stable: write dim=-1":
        "order = hidden.argsort(-1, descending=True, stable=True)",
    "where there are fewer than count keys, none is read: read all of them": [
        "return (rank < count) & seen & (seen.sum(-1, keepdim=True) >= count)",
        "index = order[..., :count]\n"
        "enough = hidden.gather(-1, index).isfinite().all(-1, keepdim=True)\n"
        "return (rank < count) & seen & enough"],
    "later keys get the score 0, which is above the negative ones: give them -inf":
        "hidden = scores * seen",
    "a score may be lower than the number that you give to later keys: give them -inf": [
        f"hidden = scores.masked_fill(~seen, {fill})" for fill in ("-10.0", "-1e4", "-1e9")],
    "a query does not read its own key: its own position should be among those it may choose": [
        "seen = torch.ones(n, n, dtype=torch.bool, device=scores.device).tril(-1)",
        "return (rank < count) & seen.tril(-1)",
        "i = torch.arange(n, device=scores.device)\n"
        "seen = (i < i[:, None]) | (i + i[:, None] == 0)"],
    "a query reads one key ahead: let it choose up to its own position":
        "seen = torch.ones(n, n, dtype=torch.bool, device=scores.device).tril(1)",
    "a query chooses among later keys and itself: choose among itself and earlier ones": [
        "seen = torch.ones(n, n, dtype=torch.bool, device=scores.device).triu()"],
    "a query's own key is always read, whatever its score is: let it compete like the others": [
        "own = torch.eye(n, dtype=torch.bool, device=scores.device)\n"
        "return ((rank < count) & seen) | own",
        "own = torch.eye(n, dtype=torch.bool, device=scores.device)\n"
        "hidden = scores.masked_fill(~seen, -torch.inf).masked_fill(own, torch.inf)"],
    "the first key is always read, whatever its score is: let it compete like the others":
        "return ((rank < count) & seen) | (torch.arange(n, device=scores.device) == 0)",
    "the lowest scores are chosen: choose the highest": [
        "hidden = scores.masked_fill(~seen, torch.inf)\n"
        "order = hidden.argsort(dim=-1, stable=True)",
        "hidden = (-scores).masked_fill(~seen, -torch.inf)"],
    "the scores are ranked without their sign: a score far below 0 is low": [
        "hidden = scores.abs().masked_fill(~seen, -torch.inf)",
        "hidden = scores.square().masked_fill(~seen, -torch.inf)"],
    "scores below 0 are taken for 0: rank them as they are":
        "hidden = scores.relu().masked_fill(~seen, -torch.inf)",
    "keys with a score of 0 or less are left out: read count keys, whatever their scores are": [
        "return (rank < count) & seen & (scores > 0)",
        "return (rank < count) & seen & (scores != 0)"],
    "keys with a score below 0 are left out: read count keys, whatever their scores are":
        "return (rank < count) & seen & (scores >= 0)",
    "it reads one key too many: the places begin at 0, so compare with <":
        "return (rank <= count) & seen",
    "it reads one key too few: the places begin at 0, so those below count are read":
        "return (rank < count - 1) & seen",
    "the order is taken for the places: it says which key comes first, so turn it round": [
        "return (order < count) & seen", "rank = order"],
    EQUAL_LAST: [
        "order = hidden.flip(-1).argsort(dim=-1, descending=True, stable=True)\n"
        "rank = order.argsort(dim=-1).flip(-1)",
        "order = hidden.argsort(dim=-1, stable=True).flip(-1)"],
    TIES: [
        f"return (hidden >= {LEAST}) & seen",
        "least = hidden.sort(dim=-1).values[..., -min(count, n), None]\n"
        "return torch.where(hidden < least, False, seen)"],
    "keys as good as the best one left out are dropped: of equal scores, choose the earlier ones": [
        "ranked = hidden.sort(dim=-1, descending=True).values\n"
        "best_out = ranked[..., min(count, n - 1), None]\n"
        "best_out = best_out if count < n else torch.full_like(best_out, -torch.inf)\n"
        "return (hidden > best_out) & seen"],
    "of equal scores it is chance which come first: take a stable sort, since topk has no such "
    "order": [
        "chosen = torch.zeros_like(scores, dtype=torch.bool)\n"
        "for i in range(n):\n"
        "    best = scores[..., i, : i + 1].topk(min(count, i + 1), dim=-1).indices\n"
        "    chosen[..., i, :].scatter_(-1, best, True)\n"
        "return chosen",
        "order = hidden.argsort(dim=-1, descending=True)",
        "index = hidden.topk(min(count, n), dim=-1).indices\n"
        "return torch.zeros_like(seen).expand(scores.shape).scatter(-1, index, True) & seen"],
    "with fewer than count keys in the text it fails: take no more places than there are": [
        "index = hidden.topk(count, dim=-1).indices\n"
        "return torch.zeros_like(hidden).scatter(-1, index, 1.0).bool() & seen"],
    "the rows and columns are swapped: rank the keys, along the last axis": [
        "order = hidden.argsort(dim=-2, descending=True, stable=True)\n"
        "rank = order.argsort(dim=-2)",
        "return ((rank < count) & seen).mT"],
    "the scores of the whole matrix are ranked together: each row chooses for itself":
        "order = hidden.flatten(-2).argsort(dim=-1, descending=True, stable=True)\n"
        "rank = order.argsort(dim=-1).unflatten(-1, (n, n))",
    "the last query chooses for all: let each row rank its own scores": [
        "return (rank[..., -1:, :] < count) & seen"],
    "the first sentence chooses for all: each matrix of scores has a choice of its own":
        "return ((rank.reshape(-1, n, n)[0] < count) & seen).expand(scores.shape)",
    "the choice is a window: take the highest scores, not the latest keys": [
        "i = torch.arange(n, device=scores.device)\n"
        "return (seen & (i[:, None] - i < count)).expand(scores.shape)"],
    "the first count keys are read: take those with the highest scores":
        "i = torch.arange(n, device=scores.device)\n"
        "return (seen & (i < count)).expand(scores.shape)",
    "the best key alone is read: read count of them": [
        "return (rank < 1) & seen", "return (hidden == hidden.amax(-1, keepdim=True)) & seen"],
    "the places of all rows are taken for those of each: scatter True along the last axis, and "
    "every row gets its own": [
        "mask = torch.zeros_like(scores, dtype=torch.bool)\n"
        f"mask[{index}] = True\n"
        "return mask & seen" for index in ("..., order[..., :count]", "order[..., :count]")],
    "the mask has no leading axes, so the places don't fit in: make it in the shape of scores":
        "return torch.zeros_like(seen).scatter(-1, order[..., :count], True) & seen",
    "nothing is chosen, and all keys up to the query are read: keep the best count of them":
        "return seen.expand(scores.shape)",
    "the mask is upside down: True should stand at the keys that are read":
        "return ~((rank < count) & seen)",
    "later keys are True as well: read none of them": "return (rank < count) | ~seen",
    "these are the indices of the keys: return a boolean mask": "return order[..., :count]",
    "the mask is not boolean: return True for a key that is read, and False for the others": [
        "return ((rank < count) & seen).to(scores.dtype)", "return ((rank < count) & seen).int()",
        "return ((rank < count) & seen).long()"],
    "these are scores: return True for a key that is read, and False for the others": [
        "return scores.masked_fill(~((rank < count) & seen), -torch.inf)",
        "return scores * ((rank < count) & seen)"],
    "scores that differ only a little count as equal, or change their order: compare them as they "
    "are, and let a stable sort choose among equal ones": [
        "hidden = scores.float().masked_fill(~seen, -torch.inf)",
        "hidden = scores.mul(1e6).round().masked_fill(~seen, -torch.inf)",
        *(f"hidden = (scores - {eps} * torch.arange(n, device=scores.device))"
          ".masked_fill(~seen, -torch.inf)" for eps in ("1e-4", "1e-6", "1e-8"))],
    "the softmax rounds large differences to equal weights: rank the scores themselves":
        "hidden = scores.masked_fill(~seen, -torch.inf).softmax(-1).masked_fill(~seen, -1.0)",
    messages.CHANGES: "hidden = scores.masked_fill_(~seen, -torch.inf)",
    LOOP:
        "order = torch.stack([row.argsort(dim=-1, descending=True, stable=True) "
        "for row in hidden.unbind(-2)], dim=-2)",
})  # fmt: skip
