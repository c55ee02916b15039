"""Exercise projected_attention: keys and values are projected along the length (Linformer)."""

import torch

from attncourse.dot_product import attention
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops: make all r keys at once, in a product with the whole of e"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(q, k, v, e, f):
    r, m = e.shape
    keys = [sum(e[s, j] * k[..., j, :] for j in range(m)) for s in range(r)]
    values = [sum(f[s, j] * v[..., j, :] for j in range(m)) for s in range(r)]
    scores = [(q * key[..., None, :]).sum(-1) / q.shape[-1] ** 0.5 for key in keys]
    pairs = zip(torch.stack(scores).softmax(0), values, strict=True)
    return sum(weight[..., None] * value[..., None, :] for weight, value in pairs)


def draw_inputs(draw, *batch, n, m, r, d_k, d_v):
    q, k, v = draw.normal(*batch, n, d_k), draw.normal(*batch, m, d_k), draw.normal(*batch, m, d_v)
    return q, k, v, draw.normal(r, m), draw.normal(r, m)


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 6, 8)
    # widths for which no wrong scale of those below is another wrong one, or the right one
    sizes = {"n": n, "m": m, "r": 3, "d_k": 5, "d_v": 2}
    q, k, v, e, f = draw_inputs(draw, 2, **sizes)
    longer_inputs = draw_inputs(draw, 8, n=n + 24, m=m + 24, r=24, d_k=5, d_v=2)
    size_text = f"n={n}, m={m}, r=3"
    yield Case(f"a batch of 2, {size_text}", (q, k, v, e, f), longer=longer_inputs)
    yield Case(f"no batch, {size_text}", (q[0], k[0], v[0], e, f))
    heads = draw_inputs(draw, 2, 3, n=4, m=5, r=2, d_k=3, d_v=6)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case("a square e and f", draw_inputs(draw, 2, n=5, m=5, r=5, d_k=3, d_v=4))
    yield Case("more projections than keys", draw_inputs(draw, 2, n=4, m=3, r=6, d_k=5, d_v=2))
    yield Case("one projection", (q, k, v, e[:1], f[:1]))
    large = 1e12 * q, 1e13 * k, v, e, f
    yield Case("scores 10^25 times larger", large, gradient=False)
    # one number of the queries, and its keys, take the same from every score
    low_q, low_k, mean_e = q.clone(), k.clone(), e.softmax(-1)
    low_q[..., 0], low_k[..., 0] = 1.0, -3000.0
    yield Case("all scores near -1000", (low_q, low_k, v, mean_e, f))
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1], e[:, :1], f[:, :1]))
    long_inputs = draw_inputs(draw, 2, n=40, m=41, r=3, d_k=4, d_v=5)
    # less than n x m numbers for one sentence
    name = "a batch of 2, n=40, m=41, r=3, where n x m is 1640"
    yield Case(name, long_inputs, max_elements=40 * 41 - 1)


@exercise.valid
def by_attention(q, k, v, e, f):
    return attention(q, e @ k, f @ v)


variants.right(exercise,
    "keys = (k.mT @ e.mT).mT\nvalues = (v.mT @ f.T).mT\n"
    "scores = (q * q.shape[-1] ** -0.5) @ keys.mT",
    'keys = torch.einsum("rj,...jd->...rd", e, k)\n'
    'values = torch.einsum("rj,...jd->...rd", f, v)',
    "keys = torch.nn.functional.linear(k.mT, e).mT\n"
    "values = torch.nn.functional.linear(v.mT, f).mT",
    "weights = (scores - scores.amax(-1, keepdim=True)).exp()\n"
    "return weights @ values / weights.sum(-1, keepdim=True)",
)  # fmt: skip
variants.wrong(exercise, {
    "e and f are swapped: take e for the keys, f for the values":
        "keys = f @ k\nvalues = e @ v",
    "e projects the values as well: project them with f": "values = e @ v",
    "f projects the keys as well: project them with e": "keys = f @ k",
    "nothing is projected: let e and f make r keys and values of m": "keys = k\nvalues = v",
    "the values are not projected: let f make r of them, one for each of the r keys": "values = v",
    "n x m numbers are made on the way: make the r keys first, and the r values by themselves": [
        "scores = q @ k.mT @ e.mT / q.shape[-1] ** 0.5", "return (weights @ f) @ v"],
    "the softmax comes before the projection: let it run over the r projected keys":
        "keys = k\nweights = scores.softmax(dim=-1) @ e.mT",
    "a softmax makes means of the projections: use e and f as they are": [
        "keys = e.softmax(-1) @ k\nvalues = f.softmax(-1) @ v",
        "keys = e.softmax(-1) @ k", "values = f.softmax(-1) @ v"],
    "the rows of e and f are divided by their sums: use them as they are, which need not "
    "make means":
        "keys = e / e.sum(-1, keepdim=True) @ k\nvalues = f / f.sum(-1, keepdim=True) @ v",
    "the projections are divided by m: use e and f as they are":
        "keys = e @ k / k.shape[-2]\nvalues = f @ v / k.shape[-2]",
    "e and f stand on the wrong side or are turned: (r, m) times (m, d) is (r, d)":
        "keys = e.mT @ k\nvalues = f.mT @ v",
    "the scores are not scaled: divide by sqrt(d_k)": "scores = q @ keys.mT",
    "the scores are divided by d_k: divide once, by its square root":
        "scores = q @ keys.mT / q.shape[-1]",
    "the scale comes from the number of projections: take the root of the width d_k":
        "scores = q @ keys.mT / len(e) ** 0.5",
    "the scale comes from the number of keys: take the root of the width d_k":
        "scores = q @ keys.mT / k.shape[-2] ** 0.5",
    "the scale comes from the width of the values: take the root of d_k, the keys' width":
        "scores = q @ keys.mT / v.shape[-1] ** 0.5",
    "the scale comes after the softmax, so the rows no longer sum to one: divide the scores":
        "scores = q @ keys.mT\nweights = scores.softmax(dim=-1) / q.shape[-1] ** 0.5",
    "the softmax runs over the queries: each row, over the r keys, must sum to one":
        "weights = scores.softmax(dim=-2)",
    "exp of the scores is too large or too small: take the largest of a row away first":
        "weights = scores.exp() / scores.exp().sum(-1, keepdim=True)",
    "large scores are cut off: shift all scores of a row by the same number instead":
        "weights = scores.clamp(-1e6, 1e6).softmax(dim=-1)",
    "where all scores are far below 0, each exp is 0: take the largest of a row away, whatever its "
    "sign is":
        "parts = (scores - scores.detach().amax(-1, keepdim=True).clamp(min=0)).exp()\n"
        "weights = parts / parts.sum(-1, keepdim=True).clamp(min=1e-30)",
    messages.BATCH: "keys = torch.bmm(e.expand(len(k), -1, -1), k)",
    LOOP: "keys = torch.stack([(row[:, None] * k).sum(-2) for row in e], dim=-2)",
    "no gradient reaches e and f: they are learned, so don't detach anything": [
        "keys = e.detach() @ k\nvalues = f.detach() @ v",
        "keys = e.detach() @ k", "values = f.detach() @ v"],
    messages.CHANGES: ("q @ keys.mT", "q.mul_(2) @ keys.mT / 2"),
})  # fmt: skip
