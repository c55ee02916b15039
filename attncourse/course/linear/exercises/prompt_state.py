"""Exercise prompt_state: what a batch of prompts of different lengths leaves in the state."""

import torch

from attncourse.course.linear.exercises.shared.sums import features
from judge import hints, variants
from judge.exercise import FINITE, Case, Exercise

LOOP = "it loops over the tokens: set padding to 0, then sum over all positions"
exercise = Exercise.read(__name__, differentiable=False, usual_hints={"loops": LOOP})


@exercise.reference
def by_hand(phi_k, v, lengths):
    s = z = 0
    for j in range(phi_k.shape[-2]):
        key = torch.where((j < lengths)[..., None], phi_k[..., j, :], 0.0)
        s, z = s + key[..., :, None] * v[..., j, None, :], z + key
    return s, z


@exercise.unread(*FINITE)
def padding(phi_k, v, lengths):
    unreal = (torch.arange(phi_k.shape[-2]) >= lengths[..., None])[..., None]
    return {"phi_k": unreal, "v": unreal}


@exercise.cases
def cases(draw):
    n, d, e = draw.sizes(3, 3, 7)
    # the padding is like any token, so that it shows wherever it is counted
    k, v = features(draw, 4, n, d), draw.normal(4, n, e)
    lengths = torch.tensor([n - 1, n, 1, 2])
    long = features(draw, 4, 64, d), draw.normal(4, 64, e), torch.tensor([60, 3, 64, 0])
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 4, {sizes}", (k, v, lengths), longer=long)
    yield Case(f"one prompt without a batch, {sizes}", (k[0], v[0], torch.tensor(2)))
    heads = features(draw, 2, 3, 5, 2), draw.normal(2, 3, 5, 4)
    several = torch.tensor([[1, 5, 2], [3, 4, 2]])
    yield Case("two leading axes, a length for each", (*heads, several))
    yield Case("lengths of shape (2, 1) for all heads", (*heads, torch.tensor([[2], [4]])))
    yield Case("lengths of shape (3,) for all sentences", (*heads, torch.tensor([2, 5, 0])))
    yield Case("prompts of length 0", (k, v, torch.tensor([0, 3, 0, 1])))
    yield Case("no padding at all", (k, v, torch.full((4,), n)))
    yield Case("all sizes 4", (features(draw, 4, 4, 4), draw.normal(4, 4, 4), lengths.clamp(max=4)))
    yield Case("one token", (k[:, :1], v[:, :1], torch.tensor([1, 0, 1, 1])))


@exercise.valid
def plain(phi_k, v, lengths):
    j = torch.arange(phi_k.shape[-2], device=lengths.device)
    real = j < lengths[..., None]
    keys = phi_k * real[..., None]
    s = keys.mT @ v
    z = keys.sum(-2)
    return s, z


@exercise.valid
def picked_from_running_sums(phi_k, v, lengths):
    def at_the_end(x):
        # a 0 in front is the sum of no token
        x = torch.nn.functional.pad(x.cumsum(-2), (0, 0, 1, 0))
        index = lengths.expand(x.shape[:-2])[..., None, None].expand(*x.shape[:-2], 1, x.shape[-1])
        return x.gather(-2, index)[..., 0, :]

    s = at_the_end((phi_k[..., :, None] * v[..., None, :]).flatten(-2))
    return s.unflatten(-1, (phi_k.shape[-1], v.shape[-1])), at_the_end(phi_k)


REAL, KEYS = "j < lengths[..., None]", "phi_k * real[..., None]"
S, Z = "keys.mT @ v", "keys.sum(-2)"
variants.right(exercise,
    (S, 'torch.einsum("...nd,...ne->...de", keys, v)',
     Z, 'torch.einsum("...nd,...n->...d", phi_k, real.to(phi_k).expand(phi_k.shape[:-1]))'),
    (KEYS, "phi_k.masked_fill(~real[..., None], 0.0)\n    v = v.masked_fill(~real[..., None], 0.0)",
     S, "(keys[..., None] * v[..., None, :]).sum(dim=-3)", "return s, z", "return [s, z]"),
    # ones beside the values
    (S, "keys.transpose(-2, -1) @ torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)",
     Z, "s[..., -1]", "return s, z", "return s[..., :-1], z"),
)  # fmt: skip
EMPTY = "a prompt of length 0 has no token at length - 1: its state is zeros"
AT_THE_LAST = ("(0, 0, 1, 0)", "(0, 0, 0, 0)", "lengths.expand", "(lengths - 1).expand")
variants.wrong(exercise, {EMPTY: AT_THE_LAST}, of=picked_from_running_sums)
variants.wrong(exercise, {
    "the lengths change nothing: the padding may be in neither sum": (REAL, "j >= 0"),
    "z counts the padding: only S is without it": (Z, "phi_k.sum(-2)"),
    "S counts the padding: only z is without it": (S, "phi_k.mT @ v"),
    "one token too many: positions count from 0, so position `length` is padding": ("<", "<="),
    "the last token of each prompt is left out: position length - 1 still belongs to it": (
        REAL, f"1 + {REAL}"),
    "it is the padding that is summed: keep the positions below the length": ("<", ">="),
    "the padding is cut off in front: it comes after the prompt": (REAL, f"({REAL}).flip(-1)"),
    "all prompts are cut at the longest: each has a length of its own": (REAL, "j < lengths.max()"),
    "all prompts are cut at the shortest: each has a length of its own": (
        REAL, "j < lengths.min()"),
    "only the last token of a prompt is kept: the state is the sum over all of them": (
        REAL, "j == lengths[..., None] - 1"),
    EMPTY: [
        (REAL, "j < torch.where(lengths == 0, len(j), lengths)[..., None]"),
        (REAL, "j < lengths.clamp(min=1)[..., None]")],
    "what is added and taken off again is lost beside huge padding: set its features to 0 first": (
        S, "phi_k.mT @ v - (phi_k - keys).mT @ v", Z, "phi_k.sum(-2) - (phi_k - keys).sum(-2)"),
    "the padding is multiplied by 0 after its features have met its values, and their product may "
    "be infinite: set the features to 0 first": [
        (S, "(phi_k[..., None] * v[..., None, :] * real[..., None, None]).sum(-3)"),
        (S, 'torch.einsum("...nd,...ne,...n->...de", phi_k, v, real.to(phi_k)'
         ".expand(phi_k.shape[:-1]))")],
    "the sums are divided by the lengths: keep them as they are, z will divide": (
        "return s, z",
        "count = lengths.clamp(min=1)[..., None]\n    return s / count[..., None], z / count"),
    "S is divided by z already: keep both sums, the query will meet them": (
        "return s", "return s / torch.where(z > 0, z, 1.0)[..., None]"),
    "z sums over the features: it has a number for each feature, a sum over tokens": (
        Z, "keys.sum(-1)"),
    "z is the number of tokens: it is the sum of their features": (
        Z, "0 * keys.sum(-2) + lengths[..., None]"),
    "S is transposed: its rows belong to the features, its columns to the values": (
        S, "v.mT @ keys"),
    "the order of the results is another: first S, then z": ("return s, z", "return z, s"),
    # of positive numbers, elu(x) + 1 is x + 1
    "the feature map is applied once more: phi_k holds features already": (
        KEYS, "(phi_k + 1) * real[..., None]"),
    "the whole batch makes one state: each prompt has its own": (
        "return s, z", "return s.sum(0), z.sum(0)"),
    LOOP: (S, "sum(keys[..., [i], :].mT @ v[..., [i], :] for i in range(len(j)))"),
    hints.BATCH: (REAL, "j < lengths[:, None]"),
    "lengths may have all leading axes, or none: compare positions with lengths[..., None]": (
        REAL, "j < lengths.reshape(-1, *[1] * (phi_k.dim() - 3), 1)"),
    "the axes of lengths are aligned from the left: they broadcast from the right": (
        "    real", "    while lengths.dim() < phi_k.dim() - 2:\n"
        "        lengths = lengths[..., None]\n    real"),
})  # fmt: skip
