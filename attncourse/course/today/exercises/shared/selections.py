"""The selections that a learner's test meets: right ones and, made of the first, wrong ones.

Each is handed over as its source, so it stands alone.
"""

import torch

from judge.variants import every


def sorted_twice(scores, count):
    n = scores.shape[-1]
    seen = torch.ones(n, n, dtype=torch.bool).tril()
    hidden = scores.masked_fill(~seen, -torch.inf)
    order = hidden.argsort(dim=-1, descending=True, stable=True)
    rank = order.argsort(dim=-1)
    mask = (rank < count) & seen
    return mask


def counted(scores, count):
    n = scores.shape[-1]
    place = torch.arange(n)
    seen = place <= place[:, None]
    other, own = scores[..., None, :], scores[..., :, None]
    beats = (other > own) | ((other == own) & (place < place[:, None]))
    return ((beats & seen[:, None, :]).sum(-1) < count) & seen


def row_by_row(scores, count):
    n = scores.shape[-1]
    mask = torch.zeros(scores.shape, dtype=torch.bool)
    for rows, chosen in zip(scores.reshape(-1, n, n), mask.view(-1, n, n), strict=True):
        for i in range(n):
            best = sorted(range(i + 1), key=lambda j, row=rows[i]: -row[j].item())
            chosen[i, best[:count]] = True
    return mask


RIGHT = {
    "a right selection": sorted_twice,
    "a right selection that counts": counted,
    "a right selection, row by row": row_by_row,
    "a right selection whose mask is not contiguous": (
        "return mask", "return mask.mT.contiguous().mT"),
}  # fmt: skip
SEEN, HIDDEN = "torch.ones(n, n, dtype=torch.bool).tril()", "scores.masked_fill(~seen, -torch.inf)"
ORDER, RANK = "hidden.argsort(dim=-1, descending=True, stable=True)", "order.argsort(dim=-1)"
MASK = "(rank < count) & seen"
LEAST = "hidden.sort(dim=-1, descending=True).values[..., min(count, n) - 1, None]"
# what each wrong one does, and the edits that make it of the one that sorts
WRONG = {
    "chooses later keys as well": (SEEN, "torch.ones(n, n, dtype=torch.bool)"),
    "lets later keys take places, and strikes them out": (HIDDEN, "scores"),
    "fills up the first rows with later keys": (MASK, "rank < count"),
    "leaves a row empty that has fewer keys than it may read": (
        MASK, f"{MASK} & (seen.sum(-1, keepdim=True) >= count)"),
    "gives later keys the score 0": (HIDDEN, "scores * seen"),
    "gives later keys the score -10": (HIDDEN, "scores.masked_fill(~seen, -10.0)"),
    "does not let a query read its own key": (MASK, f"{MASK} & (torch.eye(n) == 0)"),
    "lets a query read one key ahead": (SEEN, f"{SEEN[:-1]}1)"),
    "always reads a query's own key": (
        HIDDEN, f"{HIDDEN}.masked_fill(torch.eye(n, dtype=torch.bool), torch.inf)"),
    "reads a query's own key beside the others": (MASK, f"({MASK}) | (torch.eye(n) > 0)"),
    "always reads the first key": (MASK, f"({MASK}) | (torch.arange(n) == 0)"),
    "never reads the first key, but in the first row": (
        MASK, f"{MASK} & ((torch.arange(n) > 0) | (torch.arange(n)[:, None] == 0))"),
    "never reads the last key": (MASK, f"{MASK} & (torch.arange(n) < max(n - 1, 1))"),
    "chooses the lowest scores": (
        HIDDEN, "scores.masked_fill(~seen, torch.inf)", ", descending=True", ""),
    "ranks the scores without their sign": (HIDDEN, HIDDEN.replace("scores", "scores.abs()")),
    "takes scores below 0 for 0": (HIDDEN, HIDDEN.replace("scores", "scores.relu()")),
    "leaves out scores of 0": (MASK, f"{MASK} & (scores != 0)"),
    "leaves out scores below 0": (MASK, f"{MASK} & (scores >= 0)"),
    "reads one key too many": (MASK, "(rank <= count) & seen"),
    "reads one key too few": (MASK, "(rank < max(1, count - 1)) & seen"),
    "reads at most two keys": (MASK, "(rank < min(2, count)) & seen"),
    "reads at most three keys": (MASK, "(rank < min(3, count)) & seen"),
    "reads at most four keys": (MASK, "(rank < min(4, count)) & seen"),
    "reads two keys at least": (MASK, "(rank < max(2, count)) & seen"),
    "of equal scores chooses the later": (
        ORDER, "hidden.flip(-1).argsort(dim=-1, descending=True, stable=True)",
        RANK, "order.argsort(dim=-1).flip(-1)"),
    "reads all keys as good as the last one chosen": (MASK, f"(hidden >= {LEAST}) & seen"),
    "of equal scores reads count, whatever is above them": (
        MASK, f"((hidden > {LEAST}) | (hidden == {LEAST}) & ((hidden == {LEAST}).cumsum(-1) "
              "<= count)) & seen"),
    "drops the keys as good as the first one left out": (
        MASK, "(hidden > hidden.sort(dim=-1, descending=True).values[..., min(count, n - 1), None])"
              " & seen if count < n else seen.expand(scores.shape)"),
    "leaves it to chance which of equal scores it chooses": (
        ORDER, "(hidden + 1e-9 * (7 * torch.arange(n) % 5))"
               ".argsort(dim=-1, descending=True, stable=True)"),
    "rounds the scores to whole numbers": (HIDDEN, HIDDEN.replace("scores", "scores.round()")),
    "fails where it may read more keys than there are": (
        RANK, "order.argsort(dim=-1) + 0 * hidden.topk(count, dim=-1).indices[..., :1]"),
    "takes the order for the places": (RANK, "order"),
    "ranks the queries": (
        ORDER, ORDER.replace("-1", "-2"), RANK, RANK.replace("-1", "-2")),
    "transposes the mask": ("return mask", "return mask.mT"),
    "ranks all scores of a matrix together": (
        ORDER, "hidden.flatten(-2).argsort(dim=-1, descending=True, stable=True)",
        RANK, f"{RANK}.unflatten(-1, (n, n))"),
    "lets the last query choose for all": (MASK, "(rank[..., -1:, :] < count) & seen"),
    "lets the first sentence choose for all": (
        MASK, "((rank.reshape(-1, n, n)[0] < count) & seen).expand(scores.shape)"),
    "lets the last sentence choose for all": (
        MASK, "((rank.reshape(-1, n, n)[-1] < count) & seen).expand(scores.shape)"),
    "lets the first head choose for all": (
        MASK, f"({MASK} if scores.dim() < 4 else ({MASK})[:, :1].expand(scores.shape))"),
    "reads the latest keys": (
        MASK, "(seen & (torch.arange(n)[:, None] - torch.arange(n) < count)).expand(scores.shape)"),
    "reads the first keys": (MASK, "(seen & (torch.arange(n) < count)).expand(scores.shape)"),
    "chooses among the last 16 keys alone": (SEEN, f"{SEEN}.triu(-15)"),
    "chooses among the last 20 keys alone": (SEEN, f"{SEEN}.triu(-19)"),
    "reads all earlier keys": (MASK, "seen.expand(scores.shape)"),
    "reads all earlier keys in float32": (
        MASK, f"({MASK} if scores.dtype == torch.float64 else seen.expand(scores.shape))"),
    "reads all earlier keys in float64": (
        MASK, f"({MASK} if scores.dtype == torch.float32 else seen.expand(scores.shape))"),
    "gives True where nothing is read": ("return mask", "return ~mask"),
    "gives True at later keys, too": (MASK, "(rank < count) | ~seen"),
    "gives nothing but False": ("return mask", "return mask & False"),
    "gives numbers": ("return mask", "return mask.to(scores.dtype)"),
    "gives integers": ("return mask", "return mask.int()"),
    "gives the indices of the keys": ("return mask", "return order[..., :count]"),
    "gives the scores of the chosen keys": ("return mask", "return scores * mask"),
    "has a leading axis too many": ("return mask", "return mask[None]"),
    "gives the rows in reverse": ("return mask", "return mask.flip(-2)"),
    "gives each row in reverse": ("return mask", "return mask.flip(-1)"),
    "is wrong in its first row": (
        "return mask", "return mask ^ (torch.arange(n) == 0)[:, None]"),
    "is wrong in its last row": (
        "return mask", "return mask ^ (torch.arange(n) == n - 1)[:, None]"),
    "is right only without a batch": (
        ORDER, ORDER.replace("-1", "1"), RANK, RANK.replace("-1", "1")),
    "is right only with one batch axis": (
        ORDER, ORDER.replace("-1", "2"), RANK, RANK.replace("-1", "2")),
    "is right with at most one leading axis": (
        every("dim=-1"), "dim=-1 if scores.dim() < 4 else -2"),
    "cannot do without a batch": ("n = scores.shape[-1]", "*_, _, n, _ = scores.shape"),
    "changes the scores": (HIDDEN, "scores.masked_fill_(~seen, -torch.inf)"),
    "changes the scores of the keys that are read": (
        "return mask", "scores.masked_fill_(mask, 0.0)\n    return mask"),
}  # fmt: skip
