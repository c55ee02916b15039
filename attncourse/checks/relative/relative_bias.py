"""Exercise RelativeBias: a module that adds a learned number for each offset and head."""

import torch
from torch import nn

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.relative.shared.rows import add_to, offsets, rows

exercise = Exercise(
    name="RelativeBias",
    chapter="relative",
    title="A number for each offset and head",
    kind="build",
    difficulty=2,
    minutes=25,
    points=15,
    hints=(
        "The module has one parameter and one step: find the row of each pair, look it up, add. "
        "What to learn is made in __init__, what depends on the length in forward.",
        "The table has 2 reach + 1 rows and a column for each head. Looked up with the (n, m) row "
        "numbers it gives (n, m, heads), but the scores have the heads in front of n and m.",
        "self.table[rows].movedim(-1, 0) is the bias of shape (heads, n, m), which any leading "
        "axes of the scores take; the queries stand at torch.arange(m - n, m).",
    ),
)


@exercise.reference
class ByHand(nn.Module):
    def __init__(self, heads, reach):
        super().__init__()
        self.reach = reach
        self.table = nn.Parameter(torch.zeros(2 * reach + 1, heads))

    def forward(self, scores):
        (heads, n, m), r = scores.shape[-3:], self.reach
        bias = [
            self.table[[max(-r, min(r, j - (m - n + i))) + r for j in range(m)], h]
            for h in range(heads)
            for i in range(n)
        ]
        return scores + torch.stack(bias).reshape(heads, n, m)


@exercise.cases
def cases(draw):
    reach = draw.integer(2, 3)
    heads = 3 if reach == 2 else 2
    n = 2 * reach + draw.integer(2, 3)
    m = n + draw.integer(2, 4)
    table = {"table": draw.normal(2 * reach + 1, heads)}
    scores, long = draw.normal(2, heads, n, m), draw.normal(2, heads, 40, 50)
    made = {"build": (heads, reach), "weights": table}
    sizes = f"heads={heads}, n={n}, m={m}, reach={reach}"
    yield Case(f"a batch of 2, {sizes}", (scores,), longer=(long,), **made)
    yield Case(f"no batch, {sizes}", (scores[0],), **made)
    # sums that are small beside their terms, as float32 shows
    high = {"build": (heads, reach), "weights": {"table": table["table"] + 1000}}
    yield Case(f"two leading axes, {sizes}", (draw.normal(2, 3, heads, n, m) - 1000,), **high)
    # the same lengths, so that what is kept of them shows
    no_cache, more = draw.normal(2, heads, n, n), draw.normal(24, heads, n, n)
    yield Case(f"no cache, heads={heads}, n=m={n}", (no_cache,), longer=(more,), **made)
    yield Case(f"one query at the end of m={m}", (scores[:, :, :1],), **made)
    yield Case("one query and one key", (scores[:, :, :1, :1],), **made)
    yield Case("two queries, m=2100", (draw.normal(heads, 2, 2100),), **made)
    # all three axes alike
    cube = {"build": (4, 2), "weights": {"table": draw.normal(5, 4)}}
    weights = {"table": draw.normal(5, 48)}
    crowd = Case("48 heads", (draw.normal(2, 48, 4, 4),), build=(48, 2), weights=weights)
    yield Case("heads=n=m=4, reach=2", (draw.normal(2, 4, 4, 4),), longer=crowd, **cube)
    nothing = {"build": (heads, 0), "weights": {"table": draw.normal(1, heads)}}
    yield Case("a reach of 0", (scores,), **nothing)
    far = {"build": (heads, m + 2), "weights": {"table": draw.normal(2 * m + 5, heads)}}
    yield Case(f"a reach of {m + 2}, beyond every offset", (scores,), **far)


class RelativeBias(nn.Module):
    """The right answer, in steps that a wrong one departs from."""

    def __init__(self, heads, reach):
        super().__init__()
        self.reach = reach
        self.table = nn.Parameter(torch.zeros(2 * reach + 1, heads))

    def rows(self, n, m, device):
        return rows(n, m, self.reach, device)

    def bias(self, scores):
        return self.table[self.rows(*scores.shape[-2:], scores.device)].movedim(-1, 0)

    def forward(self, scores):
        return scores + self.bias(scores)


exercise.valid(RelativeBias)


@exercise.valid
class ByEmbedding(nn.Module):
    def __init__(self, heads, reach):
        super().__init__()
        self.table = nn.Parameter(torch.randn(2 * reach + 1, heads) * 0.02)

    def forward(self, scores):
        n, m = scores.size(-2), scores.size(-1)
        reach = (self.table.size(0) - 1) // 2
        j = torch.arange(m, device=scores.device)
        index = (j.unsqueeze(0) - j[m - n :].unsqueeze(1) + reach).clamp(0, 2 * reach)
        found = torch.nn.functional.embedding(index, self.table)
        return torch.add(scores, found.permute(2, 0, 1))


@exercise.valid
class ByOneHot(RelativeBias):
    def bias(self, scores):
        at = self.rows(*scores.shape[-2:], scores.device)
        which = torch.nn.functional.one_hot(at, len(self.table)).to(scores.dtype)
        return torch.einsum("rh,ijr->hij", self.table, which)


@exercise.valid
class ByWindows(RelativeBias):
    # query i sees m entries of one line, each query from one place further to the left
    def bias(self, scores):
        n, m = scores.shape[-2:]
        line = torch.arange(1 - m, n, device=scores.device).clamp(-self.reach, self.reach)
        return self.table.T[:, line + self.reach].unfold(-1, m, 1).flip(-2)


@exercise.valid
class RowByRow(RelativeBias):
    # a loop over the table is none over the positions
    def forward(self, scores):
        at = self.rows(*scores.shape[-2:], scores.device)
        for r, row in enumerate(self.table):
            scores = scores + row[:, None, None] * (at == r)
        return scores


def with_rows(way):
    class Answer(RelativeBias):
        def rows(self, n, m, device):
            return way(n, m, self.reach, device)

    return Answer


add_to(exercise, with_rows, cached=True)

COLUMNS = "the table has a row for each offset and a column for each head: (2 reach + 1, heads)"


@exercise.mutant(COLUMNS)
class TableTransposed(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(heads, reach)
        self.table = nn.Parameter(torch.zeros(heads, 2 * reach + 1))

    def bias(self, scores):
        return self.table[:, self.rows(*scores.shape[-2:], scores.device)]


@exercise.mutant(COLUMNS)
class OneColumn(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(1, reach)


ROWS = "there are 2 reach + 1 offsets from -reach to reach, so as many rows"


@exercise.mutant(ROWS)
class OneRowMissing(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(heads, reach)
        self.table = nn.Parameter(torch.zeros(2 * reach, heads))


@exercise.mutant(ROWS)
class OneSideOnly(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(heads, reach)
        self.table = nn.Parameter(torch.zeros(reach + 1, heads))


@exercise.mutant("heads and reach have changed places in __init__: RelativeBias(heads, reach)")
class HeadsAndReachSwapped(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(reach, heads)


PARAMETER = "the table must learn: make it an nn.Parameter called `table`"


@exercise.mutant(PARAMETER)
class Frozen(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(heads, reach)
        self.table.requires_grad_(False)


@exercise.mutant(PARAMETER)
class PlainTensor(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(heads, reach)
        del self.table
        self.table = torch.zeros(2 * reach + 1, heads)


@exercise.mutant("`table` must itself be an nn.Parameter, not a module that holds one")
class EmbeddingLayer(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(heads, reach)
        self.table = nn.Embedding(2 * reach + 1, heads)


@exercise.mutant("the table has a fixed size: its rows follow reach, its columns heads")
class FixedSize(RelativeBias):
    def __init__(self, heads, reach):
        super().__init__(8, 16)


@exercise.mutant("view cuts the numbers anew: move the axis of the heads to the front instead")
class HeadsByView(RelativeBias):
    def bias(self, scores):
        found = self.table[self.rows(*scores.shape[-2:], scores.device)]
        return found.reshape(scores.shape[-3:])


@exercise.mutant("the heads stand last in what is looked up: move that axis in front of n and m")
class HeadsLast(RelativeBias):
    def bias(self, scores):
        return self.table[self.rows(*scores.shape[-2:], scores.device)]


@exercise.mutant("queries and keys change places: only the axis of the heads moves to the front")
class AllAxesTurned(RelativeBias):
    def bias(self, scores):
        return super().bias(scores).mT


@exercise.mutant("all heads get the column of the first: each has its own")
class FirstHeadForAll(RelativeBias):
    def bias(self, scores):
        return super().bias(scores)[:1]


@exercise.mutant("all heads get the same number: each has its own column")
class MeanOverHeads(RelativeBias):
    def bias(self, scores):
        return super().bias(scores).mean(0)


@exercise.mutant("the bias alone comes back: add it to the scores")
class BiasOnly(RelativeBias):
    def forward(self, scores):
        return self.bias(scores).expand(scores.shape)


@exercise.mutant("the bias alone comes back: add it to the scores")
class BiasOfItsOwnShape(RelativeBias):
    def forward(self, scores):
        return self.bias(scores)


KEPT = "the bias of an earlier call is kept: the table changes as it learns, so look it up anew"


@exercise.mutant(KEPT)
class BiasKept(RelativeBias):
    def bias(self, scores):
        kept = self.__dict__.setdefault("kept", {})
        if scores.shape[-2:] not in kept:
            kept[scores.shape[-2:]] = super().bias(scores)
        return kept[scores.shape[-2:]]


@exercise.mutant("later keys are masked: no mask is asked for, so a query sees all keys")
class Causal(RelativeBias):
    def forward(self, scores):
        later = offsets(*scores.shape[-2:], scores.device) > 0
        return super().forward(scores).masked_fill(later, -torch.inf)


@exercise.mutant("the scores come back as they were: add the bias")
class NothingAdded(RelativeBias):
    def forward(self, scores):
        return scores + 0 * self.bias(scores)


@exercise.mutant("the bias multiplies the scores: add it")
class Multiplied(RelativeBias):
    def forward(self, scores):
        return scores * self.bias(scores)


@exercise.mutant("a softmax is taken: return the scores, other parts may still be added")
class SoftmaxTaken(RelativeBias):
    def forward(self, scores):
        return super().forward(scores).softmax(-1)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
class BatchAxisAssumed(RelativeBias):
    def forward(self, scores):
        batch, _, _, _ = scores.shape
        return scores + self.bias(scores).expand(batch, -1, -1, -1)


@exercise.mutant("it takes no batch axis: any leading axes, or none, should work")
class BatchAxisForgotten(RelativeBias):
    def forward(self, scores):
        heads, n, m = scores.shape
        return scores + self.bias(scores).reshape(heads, n, m)


@exercise.mutant("n is taken for m: there may be more keys than queries")
class AsManyKeysAsQueries(RelativeBias):
    def rows(self, n, m, device):
        return rows(n, n, self.reach, device)


@exercise.mutant("a table of row numbers of a fixed size runs out: make it for the length at hand")
class RowsOfAFixedSize(RelativeBias):
    def rows(self, n, m, device):
        return rows(64, 64, self.reach, device)[:m, :m][-n:]


LOOP = "it loops over positions, heads or sentences: look all rows up at once"


@exercise.mutant(LOOP)
class LoopOverHeads(RelativeBias):
    def forward(self, scores):
        at = self.rows(*scores.shape[-2:], scores.device)
        pairs = zip(scores.unbind(-3), self.table.unbind(-1), strict=True)
        return torch.stack([one + column[at] for one, column in pairs], dim=-3)


@exercise.mutant(LOOP)
class LoopOverSentences(RelativeBias):
    def forward(self, scores):
        flat = scores.reshape(-1, *scores.shape[-3:])
        return torch.stack([one + self.bias(one) for one in flat]).reshape(scores.shape)


@exercise.mutant(LOOP)
class LoopOverQueries(RelativeBias):
    def bias(self, scores):
        at = self.rows(*scores.shape[-2:], scores.device)
        return torch.stack([self.table[row].T for row in at], dim=-2)


@exercise.mutant("no gradient reaches the table: nothing may be detached")
class TableDetached(RelativeBias):
    def bias(self, scores):
        return super().bias(scores).detach()


@exercise.mutant("the input changes: add to a new tensor, scores + bias")
class AddedInPlace(RelativeBias):
    def forward(self, scores):
        scores += self.bias(scores)
        return scores


@exercise.mutant("the result is always float32: keep the dtype of the scores")
class AlwaysFloat32(RelativeBias):
    def forward(self, scores):
        return super().forward(scores).float()


@exercise.mutant("the result is always float64: keep the dtype of the scores")
class AlwaysFloat64(RelativeBias):
    def forward(self, scores):
        return super().forward(scores).double()


FLOAT32 = "you compute in float32: stay in the dtype of the scores"


@exercise.mutant(FLOAT32)
class BiasInFloat32(RelativeBias):
    def bias(self, scores):
        return super().bias(scores).float()


@exercise.mutant(FLOAT32)
class SumInFloat32(RelativeBias):
    def forward(self, scores):
        return super().forward(scores.float()).float().to(scores.dtype)


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
class MadeOnTheCpu(RelativeBias):
    def forward(self, scores):
        n, m = scores.shape[-2:]
        return super().forward(scores) + torch.zeros(n, m, dtype=scores.dtype, device="cpu")
