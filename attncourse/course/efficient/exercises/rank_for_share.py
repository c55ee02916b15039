"""Exercise rank_for_share: how many singular values hold most of a matrix."""

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

LOOP = (
    "it loops over matrices or over singular values: svdvals takes all matrices at once, and "
    "cumsum gives every sum at once"
)
exercise = Exercise.read(
    __name__, differentiable=False, usual_hints={"loops": LOOP, "loops_over_a_batch": LOOP}
)


@exercise.reference
def by_hand(weights, share):
    *batch, n, m = weights.shape
    counts = []
    for matrix in weights.reshape(-1, n, m):
        # the squares of the singular values are the eigenvalues of the smaller product
        small = matrix @ matrix.T if n < m else matrix.T @ matrix
        squares = sorted(torch.linalg.eigvalsh(small).tolist(), reverse=True)
        count, wanted = 0, share * float(matrix.square().sum())
        # rounded sums may stay below the whole
        while count < len(squares) and sum(squares[:count]) < wanted - 1e-13 * abs(wanted):
            count += 1
        counts.append(count)
    return torch.tensor(counts).reshape(batch)


def with_spectrum(draw, values, n, m):
    """A matrix of that size with these singular values, turned at random."""
    left = torch.linalg.qr(draw.normal(n, n)).Q[:, : len(values)]
    right = torch.linalg.qr(draw.normal(m, m)).Q[: len(values)]
    return left * torch.tensor(values, dtype=left.dtype) @ right


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 6, 8)
    # what the first 1, 2, ... hold: 52 82 96 99 100 %, and 31 62 93 97 100 %; none is half of
    # the largest, where rounding decides what a comparison with that finds
    spectra = (40.0, 30.0, 21.0, 10.0, 5.0), (0.3, 0.3, 0.3, 0.1, 0.1)
    weights = torch.stack([with_spectrum(draw, one, n, m) for one in spectra])
    # so that a sum of all its numbers says nothing of the first
    weights[0] *= -weights[0].sum().sign()
    long = torch.randn(24, 24, 32, generator=draw.generator, dtype=weights.dtype).softmax(-1)
    said = f"n={n}, m={m}"
    yield Case(f"a batch of 2, {said}, share=0.8", (weights, 0.8), longer=(long, 0.8))
    yield Case(f"no batch, {said}, share=0.8", (weights[0], 0.8))
    yield Case(f"{said}, share=0.5", (weights, 0.5))
    yield Case(f"{said}, share=0.98, weights 10^12 times smaller", (1e-12 * weights, 0.98))
    yield Case(f"a tall matrix, n={m}, m={n}", (weights.mT.contiguous(), 0.9))
    yield Case("two leading axes", (draw.normal(2, 3, 5, 4).softmax(-1), 0.995))
    yield Case("one key for each query, share=0.5", (torch.eye(4, dtype=weights.dtype), 0.5))
    yield Case("the same weights in every row", (weights[:, :1].expand(2, n, m).clone(), 0.99))
    hidden = weights * (torch.arange(2) == 0)[:, None, None]
    yield Case("no query may attend anywhere in the second matrix", (hidden, 0.8))
    first = torch.arange(n)[:, None] == 0
    yield Case("one query may attend nowhere", (weights.masked_fill(first, 0.0), 0.8))
    # float32 does not see the second one
    fine = with_spectrum(draw, (1.0, 1e-5), n, m)
    yield Case("singular values 1 and 0.00001, share=1 - 1e-11", (fine, 1 - 1e-11))
    yield Case("one query and one key", (weights[:, :1, :1], 0.8))


@exercise.valid
def plain(weights, share):
    values = torch.linalg.svdvals(weights)
    held = values.square().cumsum(-1)
    total = held[..., -1:]
    below = (held < share * total).sum(-1)
    return below + (total[..., 0] > 0)


VALUES, HELD, BELOW = "torch.linalg.svdvals(weights)", "values.square().cumsum(-1)", "held < share"
COUNT, RESULT = "(held < share * total).sum(-1)", "below + (total[..., 0] > 0)"
variants.right(
    exercise,
    (VALUES, "torch.linalg.eigvalsh(weights @ weights.mT).clamp(min=0).flip(-1).sqrt()"),
    (VALUES, "torch.svd(weights).S", COUNT, "(held >= share * total).int().argmax(-1) + 1",
     RESULT, "below * weights.any(-1).any(-1)"),
    (COUNT, "torch.searchsorted(held, share * total)[..., 0] + 1",
     RESULT, "below.masked_fill(total[..., 0] == 0, 0)"),
    # after the first r, no more than 1 - share may be left
    (VALUES, "torch.linalg.svd(weights, full_matrices=False).S",
     HELD, "values.square().flip(-1).cumsum(-1).flip(-1)", "held[..., -1:]", "held[..., :1]",
     COUNT, "(held > (1 - share) * total).sum(-1)", RESULT, "below"),
)  # fmt: skip
variants.wrong(exercise, {
    "the singular values are not squared: their squares must hold the share": (".square()", ""),
    "the sums are squared: square each singular value, then add up": (
        HELD, "values.cumsum(-1).square()"),
    "the roots of the sums are compared: it is the sums of squares that hold the share": (
        "held < share * total", "held.sqrt() < share * total.sqrt()"),
    "one is missing: those that hold less than the share are one too few": (RESULT, "below"),
    "what holds exactly the share is enough: the share is reached, not passed": (
        RESULT, "(below + 1) * (total[..., 0] > 0)", BELOW, "held <= share"),
    "the smallest come first: begin with the largest singular value": (
        VALUES, f"{VALUES}.flip(-1)"),
    "these hold the share already: count those that do not, and one more": (
        BELOW, "held >= share", RESULT, "below"),
    "each value is compared by itself: it is the sum of the first ones that holds a share": [
        (COUNT, "((values > (1 - share) * values[..., :1]) & (values > 0)).sum(-1)",
         RESULT, "below"),
        (COUNT, "(values**2 > (1 - share) * values[..., :1] ** 2).sum(-1)", RESULT, "below"),
        (COUNT, "((values >= share * values[..., :1]) & (values > 0)).sum(-1)", RESULT, "below"),
        (COUNT, "(values >= share * values[..., :1]).sum(-1)", RESULT, "below"),
        (BELOW, "values.square() < share", RESULT, "below")],
    "a share of the number of singular values is taken: add up their squares": (
        COUNT, "-int(-share * min(weights.shape[-2:]) // 1)",
        RESULT, "below * (total[..., 0] > 0).long()"),
    "this is the rank: most of a matrix may lie in far fewer directions": (
        RESULT, "torch.linalg.matrix_rank(weights)"),
    "the share is a fixed number: it is an argument": (BELOW, "held < 0.9"),
    "the sums are compared with the share itself: it is a share of all squares, so multiply": (
        f"{BELOW} * total", BELOW, RESULT, "(below + 1) * (total[..., 0] > 0)"),
    "the share is read as what may be lost: it is what should be held": (
        BELOW, "held < (1 - share)"),
    "these are lengths of rows, not singular values: rows may point the same way": (
        VALUES, "weights.norm(dim=-1).sort(descending=True).values"),
    "these are eigenvalues, which only a square matrix has: take singular values": [
        (VALUES, "torch.linalg.eig(weights).eigenvalues.abs().sort(descending=True).values"),
        (VALUES, "torch.linalg.eigvalsh(weights).abs().sort(descending=True).values")],
    "the batch makes one number: each matrix has its own": (RESULT, f"({RESULT}).amax()"),
    "the running sum goes over the batch: it goes over the singular values, the last axis": (
        "cumsum(-1)", "cumsum(0)"),
    "a small number decides: compare with the share itself, weights may be smaller": [
        ("share * total", "share * total - 1e-6"),
        *((f"{BELOW} * total", f"held / (total + {small}) < share", RESULT, count)
          for small in ("1e-6", "1e-12")
          for count in (
              RESULT, "(below + 1) * (total[..., 0] > 0)",
              "(below + 1).clamp(max=values.shape[-1]) * (total[..., 0] > 0)"))],
    "a matrix of small weights is taken for zeros: ask whether any of them is not 0": (
        "> 0", "> 1e-12"),
    "a row of zeros is taken for a matrix of zeros: only where all of them are is nothing held": (
        RESULT, "(below + 1) * weights.any(-1).all(-1)"),
    "the squares of the whole batch make one sum: each matrix has its own": [
        ("share * total", "share * total.sum()", RESULT, "below + 1"),
        ("share * total", "share * total.sum()"),
        ("share * total", "share * total.sum()", HELD, f"{HELD} - values.square()",
         "held[..., -1:]", "values.square().sum(-1, True)", RESULT, "below")],
    "a matrix of zeros needs no direction: it should give 0": [
        (RESULT, "below + 1"),
        (f"{BELOW} * total", "held / total.clamp(min=1e-30) < share", RESULT, "below + 1")],
    "the numbers of a matrix may cancel in a sum: ask whether any of them is not 0": (
        RESULT, "(below + 1) * (weights.sum((-2, -1)) > 0)"),
    "an axis of size 1 is left: there is one number for each matrix, and no axis for it": (
        RESULT, f"({RESULT})[..., None]"),
    "a count is an integer: give int64": (RESULT, f"({RESULT}).to(weights.dtype)"),
    "it gives plain numbers: return a tensor, one count for each matrix": (
        RESULT, f"({RESULT}).tolist()"),
    LOOP: [
        (VALUES, "torch.stack([torch.linalg.svdvals(one) for one in weights.reshape("
                 "-1, *weights.shape[-2:])]).reshape(*weights.shape[:-2], -1)"),
        (HELD, "torch.stack([values.square()[..., : r + 1].sum(-1) "
               "for r in range(values.shape[-1])], dim=-1)")],
    "it loops over the first axis, which is a batch only if there is one: svdvals takes all "
    "matrices at once": (VALUES, "torch.stack([torch.linalg.svdvals(one) for one in weights])"),
    "you compute in float32: stay in the dtype of the inputs": (VALUES, f"{VALUES[:-1]}.float())"),
    hints.CHANGES: (RESULT, f"{RESULT} + 0 * weights.div_(weights.norm()).sum((-2, -1)).long()"),
})  # fmt: skip
