"""Exercise relative_scores: scores with relative keys, and no key for each pair."""

import torch

from attncourse.course.relative.exercises.shared.rows import CLIP, WAYS
from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or sentences: one product and one lookup serve all pairs"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, k, a_k):
    n, d = q.shape[-2:]
    reach = (len(a_k) - 1) // 2
    scores = [
        (q[..., i, :] * (k[..., j, :] + a_k[max(-reach, min(reach, j - i)) + reach])).sum(-1)
        for i in range(n)
        for j in range(n)
    ]
    return torch.stack(scores, dim=-1).reshape(*q.shape[:-1], n) / d**0.5


@exercise.cases
def cases(draw):
    reach = draw.integer(2, 3)
    n = 2 * reach + 4
    # widths for which no wrong scale of those below is another wrong one, or the right one
    d = draw.integer(11, 13)
    q, k, a_k = draw.normal(2, n, d), draw.normal(2, n, d), draw.normal(2 * reach + 1, d)
    longer_inputs = draw.normal(12, 40, d), draw.normal(12, 40, d), a_k
    sizes = f"n={n}, d={d}, reach={reach}"
    yield Case(f"a batch of 2, {sizes}", (q, k, a_k), longer=longer_inputs)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], a_k))
    heads = draw.normal(2, 3, 8, 5), draw.normal(2, 3, 8, 5), draw.normal(7, 5)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("a reach of 0, so a table of one row", (q, k, a_k[:1]))
    yield Case("a reach of 1", (q, k, a_k[:3]))
    large = draw.normal(2 * n + 5, d)
    yield Case(f"a reach of {n + 2}, beyond every offset", (q, k, large))
    yield Case("one query and one key", (q[:, :1], k[:, :1], a_k))
    yield Case("queries 60 times larger", (60 * q, k, a_k))
    wide = draw.normal(2, 24, 96), draw.normal(2, 24, 96), draw.normal(5, 96)
    yield Case("a batch of 2, n=24, d=96, reach=2", wide, max_elements=24 * 24 * 96 - 1)


variants.right(exercise,
    "q = q / q.size(-1) ** 0.5\n"
    "reach = len(a_k) // 2\n"
    'products = torch.einsum("...id,rd->...ir", q, a_k)\n'
    "places = rows.view(*[1] * (q.dim() - 2), n, n)\n"
    "relative = torch.take_along_dim(products, places, dim=-1)\n"
    'content = torch.einsum("...id,...jd->...ij", q, k)\n'
    "return content + relative",
    # the table stretched to all 2n - 1 offsets, then every row moved one place further
    "pad = torch.nn.functional.pad\n"
    "every = torch.arange(1 - n, n, device=q.device).clamp(-reach, reach) + reach\n"
    "flat = pad(q @ a_k[every].mT, (0, 1)).flatten(-2)[..., n - 1 : -1]\n"
    "flat = pad(flat, (0, n * (2 * n - 1) - flat.shape[-1]))\n"
    "relative = flat.unflatten(-1, (n, 2 * n - 1))[..., :n]",
    "units = torch.nn.functional.one_hot(rows, len(a_k)).to(q.dtype)\n"
    'relative = torch.einsum("...ir,ijr->...ij", q @ a_k.mT, units)',
    # a loop over the table is none over the positions
    "relative = sum((q @ row)[..., None] * (rows == r) for r, row in enumerate(a_k))",
    # (..., n, 2 reach + 1, d) numbers
    "products = (q[..., None, :] * a_k).sum(-1)\n"
    "relative = products.gather(-1, rows.expand(*q.shape[:-1], n))",
    "relative = (q @ a_k.mT)[..., j[:, None], rows]",
)  # fmt: skip
variants.calling(exercise, "row_numbers", WAYS, instead="rows = row_numbers(n, n, reach, q.device)")
variants.wrong(exercise, {
    "the scores are not scaled: divide by sqrt(d)": (" / d**0.5", ""),
    "the scores are divided by d, not by its square root": ("d**0.5", "d"),
    "the square root is rounded: divide by it as it is": ("d**0.5", "int(d**0.5)"),
    "the scale comes from the length: it should be the square root of the width": (
        "d**0.5", "n**0.5"),
    "the width is counted from the front: any axes may lead, so d is the last one, shape[-1]": (
        "d**0.5", "q.shape[1] ** 0.5"),
    "the scale comes from the table's length: it should be the square root of the width": (
        "d**0.5", "len(a_k) ** 0.5"),
    "the scale is a fixed number: it should follow the width": ("d**0.5", "8"),
    "the relative term is not scaled: divide the whole sum":
        "return content / d**0.5 + relative",
    "only the relative term is scaled: divide the whole sum":
        "return content + relative / d**0.5",
    "the relative term is scaled twice: divide the sum, once": (
        "+ relative", "+ relative / d**0.5"),
    "the relative term is missing: add to every key the row of its offset": (
        "+ relative", "+ 0 * relative"),
    "the content is missing: the query should also meet the key itself": (
        "content +", "0 * content +"),
    # (q + a) k: of a pair's key, the column of its query
    "the keys meet the table: it should be the query that meets it": [
        "relative = (k @ a_k.mT).gather(-1, rows.mT.expand(*q.shape[:-1], n)).mT",
        ("q @ a_k", "k @ a_k")],
    "query and key are swapped: row i is the query, column j the key": (
        "q @ k.mT", "k @ q.mT", "q @ a_k", "k @ a_k"),
    "the result is transposed: row i is the query, column j the key":
        "return ((content + relative) / d**0.5).mT",
    "a row's numbers are added up without the query: take the dot product of the two":
        "relative = a_k.sum(-1)[rows]",
    "the relative term is subtracted: add the row to the key": ("+ relative", "- relative"),
    "the reach is a fixed number: take it from the table, which has 2 reach + 1 rows":
        "rows = ((j - j[:, None]).clamp(-1, 1) + 1).clamp(max=len(a_k) - 1)",
    "the number of rows is taken for reach: a table of 2 reach + 1 rows goes reach each way":
        "reach = len(a_k)",
    CLIP: "reach = len(a_k) // 2 + 1",
    "the reach is one too small: a table of 2 reach + 1 rows goes reach each way":
        "reach = len(a_k) // 2 - 1",
    "gather wants an index with as many axes: expand the (n, n) index to the leading axes of q": (
        "rows.expand(*q.shape[:-1], n)", "rows"),
    "keys beyond the reach get no relative term: they should share the first or last row": (
        "+ relative", "+ relative * ((j - j[:, None]).abs() <= reach)"),
    "later keys are masked: no mask is asked for, so let a query see all keys":
        "later = j > j[:, None]\n"
        "return ((content + relative) / d**0.5).masked_fill(later, -torch.inf)",
    "a softmax is taken: return the scores themselves":
        "return ((content + relative) / d**0.5).softmax(-1)",
    "a_k[rows] holds n x n x d numbers: multiply by the table first, and look up afterwards": [
        "return (q[..., None, :] * (k[..., None, :, :] + a_k[rows])).sum(-1) / d**0.5",
        'relative = torch.einsum("...id,ijd->...ij", q, a_k[rows])',
        "relative = (q[..., None, :] @ a_k[rows].mT).squeeze(-2)"],
    "it takes no leading axes: any, or none, should work": ("q.shape[-2:]", "q.shape"),
    LOOP: "relative = torch.stack([(q * a_k[row]).sum(-1) for row in rows.T], -1)",
    "no gradient reaches the table: don't detach anything": ("a_k.mT", "a_k.detach().mT"),
    "the relative term sends no gradient to the queries: don't detach anything": (
        "(q @ a_k", "(q.detach() @ a_k"),
})  # fmt: skip
