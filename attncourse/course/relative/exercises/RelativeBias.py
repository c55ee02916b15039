"""Exercise RelativeBias: a module that adds a learned number for each offset and head."""

import torch

from attncourse.course.relative.exercises.shared.rows import CACHED_WAYS, WAYS
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions, heads or sentences: look all rows up at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
Worked = variants.worked(exercise)


@exercise.reference
class ByHand(Worked):
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
    scores, longer_scores = draw.normal(2, heads, n, m), draw.normal(2, heads, 40, 50)
    layer = {"build": (heads, reach), "weights": table}
    sizes = f"heads={heads}, n={n}, m={m}, reach={reach}"
    yield Case(f"a batch of 2, {sizes}", (scores,), longer=(longer_scores,), **layer)
    yield Case(f"no batch, {sizes}", (scores[0],), **layer)
    # sums that are small beside their terms, as float32 shows
    high_layer = {"build": (heads, reach), "weights": {"table": table["table"] + 1000}}
    yield Case(f"two leading axes, {sizes}", (draw.normal(2, 3, heads, n, m) - 1000,), **high_layer)
    # the same lengths, so that what is kept of them shows
    no_cache, longer_square = draw.normal(2, heads, n, n), draw.normal(24, heads, n, n)
    yield Case(f"no cache, heads={heads}, n=m={n}", (no_cache,), longer=(longer_square,), **layer)
    last_query = scores[:, :, :1]
    yield Case(f"one query at the end of m={m}", (last_query,), before=(scores,), **layer)
    more_keys = draw.normal(2, heads, n, m + 2)
    yield Case(f"as many queries, two keys more, {sizes}", (more_keys,), before=(scores,), **layer)
    fewer_keys = scores[..., 2:]
    yield Case(
        f"as many queries, two keys fewer, {sizes}", (fewer_keys,), before=(scores,), **layer
    )
    yield Case("one query and one key", (scores[:, :, :1, :1],), **layer)
    one_head = {"build": (1, 2), "weights": {"table": draw.normal(5, 1)}}
    yield Case("one query, one head, m=8200", (draw.normal(1, 1, 8200),), **one_head)
    # all three axes alike
    cube = {"build": (4, 2), "weights": {"table": draw.normal(5, 4)}}
    weights = {"table": draw.normal(5, 48)}
    many_heads = Case("48 heads", (draw.normal(2, 48, 4, 4),), build=(48, 2), weights=weights)
    yield Case("heads=n=m=4, reach=2", (draw.normal(2, 4, 4, 4),), longer=many_heads, **cube)
    no_reach = {"build": (heads, 0), "weights": {"table": draw.normal(1, heads)}}
    yield Case("a reach of 0", (scores,), **no_reach)
    wide_reach = {"build": (heads, m + 2), "weights": {"table": draw.normal(2 * m + 5, heads)}}
    yield Case(f"a reach of {m + 2}, beyond every offset", (scores,), **wide_reach)


exercise.valid(Worked)
variants.right(exercise,
    "self.table = nn.Parameter(torch.randn(2 * reach + 1, heads) * 0.02)\n"
    "reach = len(self.table) // 2\n"
    "rows = (key - key[m - n :].unsqueeze(1) + reach).clamp(0, 2 * reach)\n"
    "bias = torch.nn.functional.embedding(rows, self.table).permute(2, 0, 1)\n"
    "return torch.add(scores, bias)",
    "units = torch.nn.functional.one_hot(rows, len(self.table)).to(scores.dtype)\n"
    'bias = torch.einsum("rh,ijr->hij", self.table, units)',
    # query i sees m entries of one line, each query from one place further to the left
    "line = torch.cat([rows[-1], rows[:-1, -1].flip(0)])\n"
    "bias = self.table.T[:, line].unfold(-1, m, 1).flip(-2)",
    # a loop over the table is none over the positions
    "return scores + sum(x[:, None, None] * (rows == r) for r, x in enumerate(self.table))",
)  # fmt: skip
variants.calling(
    exercise, "row_numbers", WAYS | CACHED_WAYS,
    instead="rows = row_numbers(n, m, self.reach, scores.device)",
)  # fmt: skip
CLIPPED = "(offset.clamp(-self.reach, self.reach) + self.reach)"
variants.wrong(exercise, {
    "the table has another shape: give it a row for each offset and a column for each head, (2 "
    "reach + 1, heads)": [
        "self.table = nn.Parameter(torch.zeros(heads, 2 * reach + 1))\n"
        "bias = self.table[:, rows]",
        ("+ 1, heads", "+ 1, 1")],
    "the table has too few rows: from -reach to reach there are 2 reach + 1 offsets": [
        ("2 * reach + 1", "2 * reach"), ("2 * reach + 1", "reach + 1")],
    "heads and reach are swapped in __init__: it should be RelativeBias(heads, reach)": (
        "heads: int, reach: int", "reach: int, heads: int"),
    "the table must learn: make it an nn.Parameter called `table`": [
        "self.table = nn.Parameter(torch.zeros(2 * reach + 1, heads), requires_grad=False)",
        "self.table = torch.zeros(2 * reach + 1, heads)"],
    "`table` must itself be an nn.Parameter, not a module that holds one":
        "self.table = nn.Embedding(2 * reach + 1, heads)",
    "the table has a fixed size: its rows should follow reach, its columns heads": (
        "2 * reach + 1, heads", "33, 8"),
    "view cuts the numbers anew: move the axis of the heads to the front instead":
        "bias = self.table[rows].reshape(scores.shape[-3:])",
    "the heads stand last in what is looked up: move that axis in front of n and m":
        "bias = self.table[rows]",
    "queries and keys are swapped: move only the axis of the heads to the front":
        "bias = self.table[rows].movedim(-1, 0).mT",
    "all heads get the column of the first: use each one's own":
        "bias = self.table[rows].movedim(-1, 0)[:1]",
    "all heads get the same number: use each one's own column": "bias = self.table[rows].mean(-1)",
    "the bias alone comes back: add it to the scores": [
        "return bias.expand(scores.shape)", "return bias"],
    "the bias of an earlier call is kept: the table changes as it learns, so look it up anew":
        'kept = self.__dict__.setdefault("kept", {})\n'
        "bias = kept.setdefault((n, m), self.table[rows].movedim(-1, 0))",
    "later keys are masked: no mask is asked for, so let a query see all keys":
        "return (scores + bias).masked_fill(offset > 0, -torch.inf)",
    "the scores come back as they were: add the bias": "return scores + 0 * bias",
    "the bias multiplies the scores: add it": "return scores * bias",
    "a softmax is taken: return the scores, other parts may still be added":
        "return (scores + bias).softmax(-1)",
    "it takes no batch axis: any leading axes, or none, should work": (
        "n, m = scores.shape[-2:]", "_, n, m = scores.shape"),
    "n is taken for m: there may be more keys than queries":
        "key = torch.arange(n, device=scores.device)\noffset = key - key[:, None]",
    "row numbers of an earlier call serve one of another size: make them for the n and m at hand":
        "self.rows = torch.empty(0, 0)\n"
        "self.reach = reach\n"
        "if self.rows.shape[1] < m:\n"
        f"    self.rows = {CLIPPED}\n"
        "rows = self.rows[:n, :m]",
    "a table of row numbers of a fixed size runs out: make it for the length at hand": [
        "key = torch.arange(64, device=scores.device)\n"
        "offset = key - key[:, None]\n"
        f"rows = {CLIPPED}[:m, :m][-n:]",
        *(f"rows = {CLIPPED}[:, :{most}]" for most in (128, 256, 512, 1024, 2048, 4096, 8192))],
    LOOP: [
        "return torch.stack([x + y for x, y in zip(scores.unbind(-3), bias)], dim=-3)",
        "sums = [x + bias for x in scores.reshape(-1, *bias.shape)]\n"
        "return torch.cat(sums).reshape(scores.shape)",
        "bias = torch.stack([row.T for row in self.table[rows]], dim=-2)"],
    "no gradient reaches the table: don't detach anything": "return scores + bias.detach()",
    messages.FLOAT32_INSIDE: "return scores + bias.float()",
})  # fmt: skip
