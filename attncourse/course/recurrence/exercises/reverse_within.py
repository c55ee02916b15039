"""Exercise reverse_within: each sequence turned round in its own length, padding left in place."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over the sequences or the positions: pick them all at once, with one index"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def one_by_one(x, lengths):
    n, d = x.shape[-2:]
    reversed_sequences = [
        torch.cat([sequence[:length].flip(0), sequence[length:]])
        for sequence, length in zip(x.reshape(-1, n, d), lengths.flatten().tolist(), strict=True)
    ]
    return torch.stack(reversed_sequences).reshape(x.shape)


@exercise.cases
def cases(draw):
    n, d = draw.integer(6, 7), draw.integer(3, 4)
    x = draw.normal(5, n, d)
    # two words at least of padding, and one sequence without any
    lengths = torch.tensor([n - 2, n, 0, 1, 3])
    sizes = f"n={n}, d={d}"
    longer_inputs = draw.normal(20, 4 * n, d), torch.arange(20) % (4 * n + 1)
    yield Case(f"lengths {lengths.tolist()}, {sizes}", (x, lengths), longer=longer_inputs)
    yield Case(f"one sequence without a batch, {n - 2} of {n} tokens", (x[0], lengths[0]))
    two_axes = draw.normal(2, 3, n, d), torch.tensor([[n, 2, 4], [0, n - 1, 1]])
    yield Case(f"two leading axes, {sizes}", two_axes)
    yield Case("no padding", (x, torch.full((5,), n)))
    yield Case("nothing but padding", (x, torch.zeros(5, dtype=torch.int64)))
    scaled = x * 10.0 ** (12 - 24 * torch.arange(n)[:, None] / n)
    yield Case("vectors of very different sizes", (scaled, lengths), gradient=False)
    yield Case("one token", (x[:, :1], torch.tensor([1, 0, 1, 1, 0])))
    yield Case("one token of width 1 without a batch", (x[0, :1, :1], torch.tensor(1)))


variants.right(exercise,
    "place = (lengths - 1 - t) * inside + t * ~inside\n"
    "return torch.take_along_dim(x, place.unsqueeze(-1), dim=-2)",
    "return (place[..., None] == t).to(x.dtype) @ x",
    "return torch.zeros_like(x).scatter(-2, place[..., None].expand(x.shape), x)",
    "place = torch.where(inside, -1 - t, t).argsort(dim=-1)",
)  # fmt: skip

WHOLE = "the padding comes to the front: turn round only as many tokens as `lengths` says"
OFF = "it is off by one: the first token of the result should be the one at length - 1"
COUNTED = "it counts the axes from the front: any leading axes, or none, should work"
END = ".expand(x.shape))"
variants.wrong(exercise, {
    WHOLE: [
        "return x.flip(-2)", "return torch.where(inside[..., None], x.flip(-2), x)",
        "return torch.where(inside[..., None], (x * inside[..., None]).flip(-2), x)",
        ("lengths[..., None]", "(x != 0).any(-1).sum(-1, keepdim=True)")],
    "the result ends with the longest sequence: keep all n positions, with the padding": (
        END, f"{END}[..., : int(lengths.max()), :]"),
    "the padding is turned round, too: after the length each token should keep its place":
        "place = (lengths - 1 - t) % x.shape[-2]",
    "a small number vanishes beside a large one: pick one of the two with where, and add none":
        "place = (lengths - 1 - t).clamp(min=0)\n"
        "turned = x.gather(-2, place[..., None].expand(x.shape))\n"
        "return x + inside[..., None] * (turned - x)",
    "the padding is filled with the first token: after the length each token should keep its place":
        "place = (lengths - 1 - t).clamp(min=0)",
    "the padding is set to zero: after the length each token should keep its place": (
        END, f"{END}.masked_fill(~inside[..., None], 0)"),
    "the padding is no longer in place: after the length each token should keep its place":
        "order = torch.where(inside, -t, 1).argsort(dim=-1)\n"
        "place = torch.where(inside, order, order.flip(-1))",
    "a sequence of length 0 loses its vectors: all of them are padding, so keep them": (
        END, f"{END} * (lengths > 0)[..., None]"),
    "after the length the index is negative: there it should be the position itself":
        "place = lengths - 1 - t",
    OFF: [
        "place = torch.where(inside, lengths - t, t)",
        "place = torch.where(inside, lengths - t, t).clamp(max=x.shape[-2] - 1)",
        "place = torch.where(inside, lengths - t, t) % x.shape[-2]"],
    "the last token of each sequence stays: its place should be that of the first one":
        "place = torch.where(t < lengths - 1, lengths - 1 - t, t)",
    "a sequence of one token, or of none, changes: leave all in place at lengths 0 and 1": (
        "lengths[..., None]", "lengths[..., None].clamp(min=min(2, x.shape[-2]))"),
    "one length is used for all: turn each sequence round in its own": (
        "lengths[..., None]", "lengths.max().expand_as(lengths)[..., None]"),
    "every index is used on every sequence: pair them, with gather or with two indices":
        "return x[..., place, :]",
    COUNTED: [
        ("lengths[..., None]", "lengths[:, None]"),
        "return x[torch.arange(len(x), device=x.device)[:, None], place]"],
    "one number comes out of each token: gather gives one for each entry of its index, so give the "
    "index an axis of width d":
        "return x.gather(-2, place[..., None])",
    LOOP: [
        f"ends = lengths.squeeze(-1)\npairs = zip(x, {each}, strict=True)\n"
        "return torch.stack([torch.cat([one[:end].flip(0), one[end:]]) for one, end in pairs])"
        for each in ("ends", "ends.tolist()", "[ends[i] for i in range(len(x))]")],
})  # fmt: skip
