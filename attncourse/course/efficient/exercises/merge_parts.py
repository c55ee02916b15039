"""Exercise merge_parts: attention to all keys from attention to two parts of them."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over rows or sentences: apply the formula to all of them at once"
exercise = Exercise.read(
    __name__, differentiable=False, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP}
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(out_a, log_sum_a, out_b, log_sum_b):
    rows, totals = [], []
    outs = torch.stack([out_a, out_b], dim=-2).reshape(-1, 2, out_a.shape[-1])
    for out, logs in zip(outs, torch.stack([log_sum_a, log_sum_b], -1).reshape(-1, 2), strict=True):
        # of two parts without keys, neither has a share
        rows.append(logs.softmax(0).nan_to_num(0.0) @ out)
        totals.append(logs.logsumexp(0))
    return torch.stack(rows).reshape(out_a.shape), torch.stack(totals).reshape(log_sum_a.shape)


def draw_part(draw, *batch, n, m, d_v):
    """Attention to m keys of their own, and the logarithm of what it divided by."""
    scores = draw.normal(*batch, n, m)
    return scores.softmax(-1) @ draw.normal(*batch, m, d_v), scores.logsumexp(-1)


def without_keys(out, log_sum, rows):
    """The same part, in which these rows have no key."""
    out, log_sum = out.clone(), log_sum.clone()
    out[..., rows, :], log_sum[..., rows] = 0.0, -torch.inf
    return out, log_sum


@exercise.cases
def cases(draw):
    n, d_v = draw.sizes(2, 4, 6)
    a, b = draw_part(draw, 2, n=n, m=3, d_v=d_v), draw_part(draw, 2, n=n, m=9, d_v=d_v)
    longer_inputs = (
        *draw_part(draw, 12, n=16 * n, m=3, d_v=d_v),
        *draw_part(draw, 12, n=16 * n, m=9, d_v=d_v),
    )
    yield Case(f"a batch of 2, n={n}, d_v={d_v}", (*a, *b), longer=longer_inputs)
    yield Case(f"no batch, n={n}, d_v={d_v}", tuple(x[0] for x in (*a, *b)))
    heads = draw_part(draw, 2, 3, n=4, m=2, d_v=5), draw_part(draw, 2, 3, n=4, m=6, d_v=5)
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
        lowered = a[0], a[1] - low, *without_keys(b[0], b[1], [0, 1])
        yield Case(f"scores {low} lower, no key in the second part of rows 0 and 1", lowered)
    without_any_key = (*without_keys(*a, [0, 1]), *without_keys(*b, [1, 2]))
    yield Case("no key in either part of row 1", without_any_key)
    yield Case("one query", tuple(x[:, :1] for x in (*a, *b)))


MAX, BOTH = "torch.maximum(log_sum_a, log_sum_b)", "for x in (log_sum_a, log_sum_b))"
# the maximum of each row taken away, or another
TOP = f"top = {{}}.clamp(min=-1e30)\na, b = ((x - top).exp()[..., None] {BOTH}\n"
SHARES = "share_a = a / (a + b)\nshare_b = b / (a + b)\n"
BACK = "return out, (a + b)[..., 0].log() + top"
variants.right(exercise,
    "known = log_sum\n"
    "out = (share_a * out_a + share_b * out_b).where(log_sum[..., None] > -torch.inf, 0.0)",
    f"{TOP.format(MAX)}out = (a * out_a + b * out_b) / (a + b).clamp(min=1e-9)\n{BACK}",
    "apart = (log_sum_a - log_sum_b).nan_to_num(0.0)\n"
    "out = torch.lerp(out_b, out_a, apart.sigmoid()[..., None])",
    # the two parts stacked
    "log_sum = torch.stack([log_sum_a, log_sum_b], dim=-1).logsumexp(-1)\n"
    "shares, outs = torch.cat([share_a, share_b], dim=-1), torch.stack([out_a, out_b], dim=-2)\n"
    'out = torch.einsum("...p,...pe->...e", shares, outs)',
)  # fmt: skip
EXP = f"a, b = (x.exp()[..., None] {BOTH}\n"
NO_NAN = "share_a = (a / (a + b)).nan_to_num(0.0)\nshare_b = (b / (a + b)).nan_to_num(0.0)\n"
NO_ZERO = "both = (a + b).where(a + b > 0, 1.0)\nshare_a = a / both\nshare_b = b / both\n"
LOG = "return out, (log_sum_a.exp() + log_sum_b.exp()).log()"
LOG_OR_NAN = (
    f"top = {MAX}\nreturn out, top + ((log_sum_a - top).exp() + (log_sum_b - top).exp()).log()"
)
LOGS = "a, b = log_sum_a[..., None], log_sum_b[..., None]\n"
CHANGED = f"    log_sum_a, log_sum_b = (x.{{}} {BOTH}\n"
variants.wrong(exercise, {
    "the parts count alike: let each count by what its softmax divided by": [
        "out = (out_a + out_b) / 2",
        f"has_a, has_b = ((x > -torch.inf)[..., None] {BOTH}\n"
        "out = ((out_a + out_b) / 2).where(has_a, out_b).where(has_b, out_a)"],
    "the outputs are added up: each is a mean, and the result should be one, too":
        "out = out_a + out_b",
    "the part with the larger log sum takes all: give each its share":
        "out = out_a.where((log_sum_a >= log_sum_b)[..., None], out_b)",
    "the shares are swapped: that of a part should come from its own log_sum":
        "out = share_b * out_a + share_a * out_b",
    "the logarithms serve as weights: take exp, they are logarithms of sums": [
        f"a, b = (x.clamp(min=-1e30)[..., None] {BOTH}\n{SHARES}",
        f"{LOGS}{SHARES}", f"{LOGS}{NO_NAN}",
        f"{LOGS}share_a = (a / (a + b)).nan_to_num()\nshare_b = 1 - share_a"],
    "the sum is not divided: the shares of the two parts should add up to 1":
        f"known = {MAX}.clamp(min=-1e30)",
    "the log sums are added: that multiplies the sums, and they should be added":
        "return out, log_sum_a + log_sum_b",
    "the larger log sum is returned: count the smaller sum in the total as well":
        f"return out, {MAX}",
    "this is the sum: return its logarithm": "return out, log_sum.exp()",
    "the maximum is taken away and not put back: add it to the logarithm again":
        f"return out, log_sum - {MAX}.clamp(min=-1e30)",
    "exp of a log sum overflows or vanishes: take the larger of the two away first": [
        *(f"{EXP}{shares}{result}"
          for shares in (SHARES, NO_NAN, NO_ZERO) for result in ("", LOG)),
        LOG, "return out, log_sum_a + (log_sum_b - log_sum_a).exp().log1p()"],
    "one maximum is taken away from all rows: take each row's own": [
        f"{TOP.format(f'{MAX}.max()')}{shares}{BACK}" for shares in (SHARES, NO_ZERO)],
    "a part without keys gets a log sum, and those of the other may be lower: its share should "
    "be 0": [
        ("    known", f"{CHANGED.format(floor)}    known")
        for floor in ("nan_to_num(neginf=-1000)", "nan_to_num(neginf=-1e4)")],
    "the log sums are cut off from below: keep them, since -inf means no key, but -100000 one that "
    "counts": (
        "    log_sum =", f"{CHANGED.format('clamp(min=-1e4)')}    log_sum ="),
    "one query without keys decides for all: only in its row should the part have no share": (
        "    log_sum =",
        "    if (log_sum_a == -torch.inf).any():\n        return out_b + 0, log_sum_b + 0\n"
        "    if (log_sum_b == -torch.inf).any():\n        return out_a + 0, log_sum_a + 0\n"
        "    log_sum ="),
    "without a key on either side it gives NaN: it should give zeros and -inf": [
        "known = log_sum", f"known = log_sum\n{LOG_OR_NAN}", LOG_OR_NAN],
    "without a key on either side log_sum is a number: it should be -inf": [
        "return out, log_sum.nan_to_num(neginf=0.0)", "return out, log_sum.nan_to_num()",
        *(("    log_sum =", f"{CHANGED.format(f'clamp(min={low})')}    log_sum =")
          for low in ("-1e9", "-1e30"))],
    "without a key on either side log_sum is +inf: it should be -inf":
        "return out, log_sum.where(log_sum > -torch.inf, torch.inf)",
    "an epsilon is added to the sum, and without a key its logarithm is a number: it should be "
    "-inf": [
        f"{TOP.format(MAX)}total = a + b + {small}\n"
        "out = (a * out_a + b * out_b) / total\n"
        f"return out, total[..., 0].log() + {MAX}.nan_to_num(neginf=0.0)"
        for small in ("1e-8", "1e-9", "1e-10", "1e-12", "1e-20", "1e-30")],
    "a share has no axis for the width: give it one of size 1, the last": (
        every("[..., None]"), ""),
    "the results are swapped: return the output first": "return log_sum, out",
    "only the output comes back: return the log sum, too, which the next part will need":
        "return out",
    LOOP: "rows = zip(log_sum_a.unbind(-1), log_sum_b.unbind(-1), strict=True)\n"
        "log_sum = torch.stack([torch.logaddexp(a, b) for a, b in rows], dim=-1)",
    messages.CHANGES: "out = out_a.mul_(share_a) + share_b * out_b",
})  # fmt: skip
