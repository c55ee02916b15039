"""Exercise rank_for_share: how many singular values hold most of a matrix."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = (
    "it loops over matrices or over singular values: let svdvals take all matrices at once, and "
    "cumsum give every sum"
)
exercise = Exercise.read(
    __name__, differentiable=False, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP}
)
exercise.valid(variants.worked(exercise))


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
    weights = torch.stack([with_spectrum(draw, values, n, m) for values in spectra])
    # so that a sum of all its numbers says nothing of the first
    weights[0] *= -weights[0].sum().sign()
    longer_inputs = torch.randn(24, 24, 32, generator=draw.generator, dtype=weights.dtype).softmax(
        -1
    )
    sizes = f"n={n}, m={m}"
    yield Case(f"a batch of 2, {sizes}, share=0.8", (weights, 0.8), longer=(longer_inputs, 0.8))
    yield Case(f"no batch, {sizes}, share=0.8", (weights[0], 0.8))
    yield Case(f"{sizes}, share=0.5", (weights, 0.5))
    yield Case(f"{sizes}, share=0.98, weights 10^12 times smaller", (1e-12 * weights, 0.98))
    yield Case(f"a tall matrix, n={m}, m={n}", (weights.mT.contiguous(), 0.9))
    yield Case("two leading axes", (draw.normal(2, 3, 5, 4).softmax(-1), 0.995))
    yield Case("one key for each query, share=0.5", (torch.eye(4, dtype=weights.dtype), 0.5))
    yield Case("the same weights in every row", (weights[:, :1].expand(2, n, m).clone(), 0.99))
    hidden = weights * (torch.arange(2) == 0)[:, None, None]
    yield Case("no query may attend anywhere in the second matrix", (hidden, 0.8))
    first_row = torch.arange(n)[:, None] == 0
    yield Case("one query may attend nowhere", (weights.masked_fill(first_row, 0.0), 0.8))
    # float32 does not see the second one
    nearly_rank_one = with_spectrum(draw, (1.0, 1e-5), n, m)
    yield Case("singular values 1 and 0.00001, share=1 - 1e-11", (nearly_rank_one, 1 - 1e-11))
    yield Case("one query and one key", (weights[:, :1, :1], 0.8))


variants.right(exercise,
    "squares = torch.linalg.eigvalsh(weights @ weights.mT)\n"
    "values = squares.clamp(min=0).flip(-1).sqrt()",
    "values = torch.svd(weights).S\n"
    "below = (held >= share * total).int().argmax(-1) + 1\n"
    "return below * weights.any(-1).any(-1)",
    "below = torch.searchsorted(held, share * total)[..., 0] + 1\n"
    "return below.masked_fill(total[..., 0] == 0, 0)",
    # after the first r, no more than 1 - share may be left
    "values = torch.linalg.svd(weights, full_matrices=False).S\n"
    "held = values.square().flip(-1).cumsum(-1).flip(-1)\n"
    "total = held[..., :1]\n"
    "return (held > (1 - share) * total).sum(-1)",
)  # fmt: skip
SOME = "(total[..., 0] > 0)"
variants.wrong(exercise, {
    "the singular values are not squared: their squares must hold the share":
        "held = values.cumsum(-1)",
    "the sums are squared: square each singular value, then add up":
        "held = values.cumsum(-1).square()",
    "the roots of the sums are compared: compare the sums of squares themselves":
        "below = (held.sqrt() < share * total.sqrt()).sum(-1)",
    "one is missing: these still hold less than the share, so count one more": "return below",
    "it goes on where exactly the share is held: the share should be reached, not passed":
        f"below = (held <= share * total).sum(-1)\nreturn (below + 1) * {SOME}",
    "the smallest come first: begin with the largest singular value":
        "values = torch.linalg.svdvals(weights).flip(-1)",
    "these hold the share already: count those that do not, and one more":
        "return (held >= share * total).sum(-1)",
    "each value is compared by itself: compare the sum of the first ones": [
        "return ((values > (1 - share) * values[..., :1]) & (values > 0)).sum(-1)",
        "return (values**2 > (1 - share) * values[..., :1] ** 2).sum(-1)",
        "return ((values >= share * values[..., :1]) & (values > 0)).sum(-1)",
        "return (values >= share * values[..., :1]).sum(-1)",
        "return (values.square() < share * total).sum(-1)"],
    "a share of the number of singular values is taken: add up their squares":
        f"return -int(-share * min(weights.shape[-2:]) // 1) * {SOME}.long()",
    "this is the rank: count only as many directions as hold the share, which may be far fewer":
        "return torch.linalg.matrix_rank(weights)",
    "the share is a fixed number: take it from the argument":
        "below = (held < 0.9 * total).sum(-1)",
    "the sums are compared with the share itself: it is a share of all squares, so multiply":
        f"below = (held < share).sum(-1)\nreturn (below + 1) * {SOME}",
    "the share is read as what may be lost: it is what should be held":
        "below = (held < (1 - share) * total).sum(-1)",
    "these are lengths of rows, which may point the same way: take singular values":
        "values = weights.norm(dim=-1).sort(descending=True).values",
    "these are eigenvalues, which only a square matrix has: take singular values": [
        "values = torch.linalg.eig(weights).eigenvalues.abs().sort(descending=True).values",
        "values = torch.linalg.eigvalsh(weights).abs().sort(descending=True).values"],
    "the batch makes one number: return one for each matrix": f"return (below + {SOME}).amax()",
    "the running sum goes over the batch: let it go over the singular values, the last axis":
        "held = values.square().cumsum(0)",
    "a small number decides: compare with the share itself, weights may be smaller": [
        "below = (held < share * total - 1e-6).sum(-1)",
        *(f"below = (held / (total + {small}) < share).sum(-1)\nreturn {count}"
          for small in ("1e-6", "1e-12")
          for count in (f"below + {SOME}", f"(below + 1) * {SOME}",
                        f"(below + 1).clamp(max=values.shape[-1]) * {SOME}"))],
    "a matrix of small weights is taken for zeros: ask whether any of them is not 0":
        "return below + (total[..., 0] > 1e-12)",
    "a row of zeros is taken for a matrix of zeros: give 0 only where all rows are zeros":
        "return (below + 1) * weights.any(-1).all(-1)",
    "the squares of the whole batch make one sum: give each matrix its own": [
        "below = (held < share * total.sum()).sum(-1)\nreturn below + 1",
        "below = (held < share * total.sum()).sum(-1)",
        "before = held - values.square()\nreturn (before < share * total.sum()).sum(-1)"],
    "a matrix of zeros gives 1 or more: it needs no direction, so it should give 0": [
        "return below + 1",
        "below = (held / total.clamp(min=1e-30) < share).sum(-1)\nreturn below + 1"],
    "it asks for a sum of the numbers, in which they may cancel: ask whether any of them is not 0":
        "return (below + 1) * (weights.sum((-2, -1)) > 0)",
    "an axis of size 1 is left: return one number for each matrix, without an axis for it":
        "return below[..., None] + (total > 0)",
    "the counts are floating-point numbers: return integers, int64":
        f"return (below + {SOME}).to(weights.dtype)",
    "it gives plain numbers: return a tensor, one count for each matrix":
        f"return (below + {SOME}).tolist()",
    LOOP: [
        "matrices = weights.reshape(-1, *weights.shape[-2:])\n"
        "values = torch.stack([torch.linalg.svdvals(one) for one in matrices])\n"
        "held = values.square().cumsum(-1).reshape(*weights.shape[:-2], -1)",
        "held = torch.stack([values.square()[..., : r + 1].sum(-1) "
        "for r in range(values.shape[-1])], dim=-1)"],
    "it loops over the first axis, which is a batch only if there is one: let svdvals take all "
    "matrices at once": "values = torch.stack([torch.linalg.svdvals(one) for one in weights])",
    "you compute in float32: stay in the dtype of the inputs":
        "values = torch.linalg.svdvals(weights.float())",
    messages.CHANGES: f"weights /= weights.norm()\nreturn below + {SOME}",
})  # fmt: skip
