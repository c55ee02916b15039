"""Exercise merge_parts: attention to all keys from attention to two parts of them."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over rows or sentences: the formula holds for all of them at once"
exercise = Exercise.read(
    __name__, differentiable=False, usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP}
)


@exercise.reference
def by_hand(out_a, log_sum_a, out_b, log_sum_b):
    rows, totals = [], []
    outs = torch.stack([out_a, out_b], dim=-2).reshape(-1, 2, out_a.shape[-1])
    for out, logs in zip(outs, torch.stack([log_sum_a, log_sum_b], -1).reshape(-1, 2), strict=True):
        # of two parts without keys, neither has a share
        rows.append(logs.softmax(0).nan_to_num(0.0) @ out)
        totals.append(logs.logsumexp(0))
    return torch.stack(rows).reshape(out_a.shape), torch.stack(totals).reshape(log_sum_a.shape)


def part(draw, *batch, n, m, d_v):
    """Attention to m keys of their own, and the logarithm of what it divided by."""
    scores = draw.normal(*batch, n, m)
    return scores.softmax(-1) @ draw.normal(*batch, m, d_v), scores.logsumexp(-1)


def without_keys(out, log_sum, rows):
    out, log_sum = out.clone(), log_sum.clone()
    out[..., rows, :], log_sum[..., rows] = 0.0, -torch.inf
    return out, log_sum


@exercise.cases
def cases(draw):
    n, d_v = draw.sizes(2, 4, 6)
    a, b = part(draw, 2, n=n, m=3, d_v=d_v), part(draw, 2, n=n, m=9, d_v=d_v)
    long = (*part(draw, 12, n=16 * n, m=3, d_v=d_v), *part(draw, 12, n=16 * n, m=9, d_v=d_v))
    yield Case(f"a batch of 2, n={n}, d_v={d_v}", (*a, *b), longer=long)
    yield Case(f"no batch, n={n}, d_v={d_v}", tuple(x[0] for x in (*a, *b)))
    heads = part(draw, 2, 3, n=4, m=2, d_v=5), part(draw, 2, 3, n=4, m=6, d_v=5)
    yield Case("two leading axes (batch, heads)", (*heads[0], *heads[1]))
    yield Case("scores 2000 higher", (a[0], a[1] + 2000, b[0], b[1] + 2000))
    yield Case("scores 2000 lower", (a[0], a[1] - 2000, b[0], b[1] - 2000))
    yield Case("one part 3000 above the other", (a[0], a[1] + 1500, b[0], b[1] - 1500))
    yield Case("the other 3000 above", (a[0], a[1] - 1500, b[0], b[1] + 1500))
    yield Case("one part 12 above the other", (a[0], a[1] + 6, b[0], b[1] - 6))
    large = a[0], 1e25 * a[1], b[0], 1e25 * b[1]
    yield Case("scores 10^25 times larger", large, gradient=False)
    rows = 2000.0 * (torch.arange(n) % 2)
    yield Case("rows that are 2000 apart", (a[0], a[1] + rows, b[0], b[1] + rows))
    yield Case("no key in the first part of rows 0 and 2", (*without_keys(*a, [0, 2]), *b))
    yield Case("no key in the second part of row 1", (*a, *without_keys(*b, [1])))
    for low in (3000, 1e5):
        below = a[0], a[1] - low, *without_keys(b[0], b[1], [0, 1])
        yield Case(f"scores {low} lower, no key in the second part of rows 0 and 1", below)
    neither = (*without_keys(*a, [0, 1]), *without_keys(*b, [1, 2]))
    yield Case("no key in either part of row 1", neither)
    yield Case("one query", tuple(x[:, :1] for x in (*a, *b)))


@exercise.valid
def plain(out_a, log_sum_a, out_b, log_sum_b):
    total = torch.logaddexp(log_sum_a, log_sum_b)
    finite = total.where(total > -torch.inf, 0.0)
    share_a, share_b = (log_sum_a - finite).exp(), (log_sum_b - finite).exp()
    out = share_a[..., None] * out_a + share_b[..., None] * out_b
    return out, total


ADDED = "torch.logaddexp(log_sum_a, log_sum_b)"
FINITE = "finite = total.where(total > -torch.inf, 0.0)"
SHARES = "(log_sum_a - finite).exp(), (log_sum_b - finite).exp()"
OUT = "share_a[..., None] * out_a + share_b[..., None] * out_b"
MAX, RESULT = "torch.maximum(log_sum_a, log_sum_b)", "out, total"
TOP = f"""top = {MAX}.clamp(min=-1e30)
    a, b = (log_sum_a - top).exp(), (log_sum_b - top).exp()"""
variants.right(
    exercise,
    (FINITE, "finite = total", OUT, f"({OUT}).where(total[..., None] > -torch.inf, 0.0)"),
    # the larger one taken away
    (FINITE, TOP, SHARES, "a, b", OUT, f"({OUT}) / (a + b).clamp(min=1e-9)[..., None]",
     RESULT, "out, (a + b).log() + top"),
    (OUT, "torch.lerp(out_b, out_a, (log_sum_a - log_sum_b).nan_to_num(0.0).sigmoid()[..., None])"),
    # the two parts stacked
    (ADDED, "torch.stack([log_sum_a, log_sum_b], dim=-1).logsumexp(-1)",
     OUT, 'torch.einsum("...p,...pe->...e", torch.stack([share_a, share_b], dim=-1), '
     "torch.stack([out_a, out_b], dim=-2))"),
)  # fmt: skip
CLAMPED = "log_sum_a, log_sum_b = (x.clamp(min={}) for x in (log_sum_a, log_sum_b))"
EXP = "a, b = log_sum_a.exp(), log_sum_b.exp()"
NO_NAN = "(a / (a + b)).nan_to_num(0.0), (b / (a + b)).nan_to_num(0.0)"
NO_ZERO = "a / (a + b).where(a + b > 0, 1.0), b / (a + b).where(a + b > 0, 1.0)"
LOG = "out, (log_sum_a.exp() + log_sum_b.exp()).log()"
OF_ALL = TOP.replace(MAX, f"{MAX}.max()")
HAS_A, HAS_B = (f"(log_sum_{one} > -torch.inf)[..., None]" for one in "ab")
OF_LOGS = "log_sum_a / (log_sum_a + log_sum_b)"
LOG_OR_NAN = f"out, {MAX} + ((log_sum_a - {MAX}).exp() + (log_sum_b - {MAX}).exp()).log()"
variants.wrong(exercise, {
    "the parts count alike: each counts by what its softmax divided by": [
        (OUT, "(out_a + out_b) / 2"),
        (OUT, f"((out_a + out_b) / 2).where({HAS_A}, out_b).where({HAS_B}, out_a)")],
    "the outputs are added up: each is a mean, and so is the result": (OUT, "out_a + out_b"),
    "the part with the larger log sum takes all: each has its share": (
        OUT, "out_a.where((log_sum_a >= log_sum_b)[..., None], out_b)"),
    "the shares are swapped: that of a part comes from its own log_sum": (
        "share_a, share_b =", "share_b, share_a ="),
    "the logarithms serve as weights: take exp, they are logarithms of sums": [
        (FINITE, EXP.replace("exp()", "clamp(min=-1e30)"), SHARES, "a / (a + b), b / (a + b)"),
        (SHARES, f"{OF_LOGS}, log_sum_b / (log_sum_a + log_sum_b)"),
        (SHARES, f"({OF_LOGS}).nan_to_num(), (log_sum_b / (log_sum_a + log_sum_b)).nan_to_num()"),
        (SHARES, f"(a := ({OF_LOGS}).nan_to_num()), 1 - a")],
    "the sum is not divided: the shares of the two parts add up to 1": (
        FINITE, f"finite = {MAX}.clamp(min=-1e30)"),
    "the log sums are added: that multiplies the sums, and they should be added": (
        RESULT, "out, log_sum_a + log_sum_b"),
    "the larger log sum is returned: the smaller sum belongs to the total as well": (
        RESULT, f"out, {MAX}"),
    "this is the sum: its logarithm is asked for": (RESULT, "out, total.exp()"),
    "the maximum is taken away and not put back: add it to the logarithm again": (
        RESULT, f"out, total - {MAX}.clamp(min=-1e30)"),
    "exp of a log sum overflows or vanishes: take the larger of the two away first": [
        (FINITE, EXP, SHARES, "a / (a + b), b / (a + b)"),
        (FINITE, EXP, SHARES, "a / (a + b), b / (a + b)", RESULT, LOG),
        (FINITE, EXP, SHARES, NO_NAN), (FINITE, EXP, SHARES, NO_NAN, RESULT, LOG),
        (FINITE, EXP, SHARES, NO_ZERO), (FINITE, EXP, SHARES, NO_ZERO, RESULT, LOG),
        (RESULT, LOG), (RESULT, "out, log_sum_a + (log_sum_b - log_sum_a).exp().log1p()")],
    "one maximum is taken away from all rows: each row has its own": [
        (FINITE, OF_ALL, SHARES, "a / (a + b), b / (a + b)", RESULT, "out, (a + b).log() + top"),
        (FINITE, OF_ALL, SHARES, NO_ZERO, RESULT, "out, (a + b).log() + top")],
    "a part without keys gets a log sum, and those of the other may be lower: its share is 0": [
        (ADDED, f"{ADDED}\n    log_sum_a, log_sum_b = (x.{floor} for x in (log_sum_a, log_sum_b))")
        for floor in ("nan_to_num(neginf=-1000)", "nan_to_num(neginf=-1e4)")],
    "the log sums are cut off from below: -inf means no key, and -100000 a key that counts": (
        "    total", "    log_sum_a, log_sum_b = "
        "(x.clamp(min=-1e4) for x in (log_sum_a, log_sum_b))\n    total"),
    "one query without keys decides for all: in its row alone the part has no share": (
        "    total", f"    if not {HAS_A}.all():\n        return out_b + 0, log_sum_b + 0\n"
        f"    if not {HAS_B}.all():\n        return out_a + 0, log_sum_a + 0\n    total"),
    "without a key on either side it gives NaN: it should give zeros and -inf": [
        (FINITE, "finite = total"), (FINITE, "finite = total", RESULT, LOG_OR_NAN),
        (RESULT, LOG_OR_NAN)],
    "without a key on either side log_sum is a number: it should be -inf": [
        (RESULT, "out, total.nan_to_num(neginf=0.0)"), (RESULT, "out, total.nan_to_num()"),
        *(("    total", f"    {CLAMPED.format(low)}\n    total") for low in ("-1e9", "-1e30"))],
    "without a key on either side log_sum is +inf: it should be -inf": (
        RESULT, "out, total.where(total > -torch.inf, torch.inf)"),
    "an epsilon is added to the sum, and without a key its logarithm is a number: it should be "
    "-inf": [
        (FINITE, TOP, SHARES, "a, b", OUT, f"({OUT}) / (a + b + {small})[..., None]",
         RESULT, f"out, (a + b + {small}).log() + {MAX}.nan_to_num(neginf=0.0)")
        for small in ("1e-8", "1e-9", "1e-10", "1e-12", "1e-20", "1e-30")],
    "a share has no axis for the width: give it one of size 1, the last": (
        every("[..., None]"), ""),
    "the results have changed places: the output comes first": (RESULT, "total, out"),
    "only the output comes back: the next part will need the log sum": (RESULT, "out"),
    LOOP: (ADDED, "torch.stack([torch.logaddexp(a, b) for a, b in "
                  "zip(log_sum_a.unbind(-1), log_sum_b.unbind(-1), strict=True)], dim=-1)"),
    hints.CHANGES: ("share_a[..., None] * out_a", "out_a.mul_(share_a[..., None])"),
})  # fmt: skip
