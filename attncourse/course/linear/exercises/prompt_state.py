"""Exercise prompt_state: what a batch of prompts of different lengths leaves in the state."""

import torch

from attncourse.course.linear.exercises.shared.sums import features
from judge import messages, variants
from judge.exercise import FINITE, Case, Exercise

LOOP = "it loops over the tokens: set padding to 0, then sum over all positions"
exercise = Exercise.read(__name__, differentiable=False, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(phi_k, v, lengths):
    s = z = 0
    for j in range(phi_k.shape[-2]):
        key = torch.where((j < lengths)[..., None], phi_k[..., j, :], 0.0)
        s, z = s + key[..., :, None] * v[..., j, None, :], z + key
    return s, z


@exercise.unread(*FINITE)
def padding(phi_k, v, lengths):
    padded = (torch.arange(phi_k.shape[-2]) >= lengths[..., None])[..., None]
    return {"phi_k": padded, "v": padded}


@exercise.cases
def cases(draw):
    n, d, e = draw.sizes(3, 3, 7)
    # the padding is like any token, so that it shows wherever it is counted
    k, v = features(draw, 4, n, d), draw.normal(4, n, e)
    lengths = torch.tensor([n - 1, n, 1, 2])
    longer_inputs = features(draw, 4, 64, d), draw.normal(4, 64, e), torch.tensor([60, 3, 64, 0])
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 4, {sizes}", (k, v, lengths), longer=longer_inputs)
    yield Case(f"one prompt without a batch, {sizes}", (k[0], v[0], torch.tensor(2)))
    heads = features(draw, 2, 3, 5, 2), draw.normal(2, 3, 5, 4)
    head_lengths = torch.tensor([[1, 5, 2], [3, 4, 2]])
    yield Case("two leading axes, a length for each", (*heads, head_lengths))
    yield Case("lengths of shape (2, 1) for all heads", (*heads, torch.tensor([[2], [4]])))
    yield Case("lengths of shape (3,) for all sentences", (*heads, torch.tensor([2, 5, 0])))
    yield Case("prompts of length 0", (k, v, torch.tensor([0, 3, 0, 1])))
    yield Case("no padding at all", (k, v, torch.full((4,), n)))
    yield Case("all sizes 4", (features(draw, 4, 4, 4), draw.normal(4, 4, 4), lengths.clamp(max=4)))
    yield Case("one token", (k[:, :1], v[:, :1], torch.tensor([1, 0, 1, 1])))


@exercise.valid
def picked_from_running_sums(phi_k, v, lengths):
    def at_the_end(x):
        # a 0 in front is the sum of no token
        x = torch.nn.functional.pad(x.cumsum(-2), (0, 0, 1, 0))
        index = lengths.expand(x.shape[:-2])[..., None, None].expand(*x.shape[:-2], 1, x.shape[-1])
        return x.gather(-2, index)[..., 0, :]

    s = at_the_end((phi_k[..., :, None] * v[..., None, :]).flatten(-2))
    return s.unflatten(-1, (phi_k.shape[-1], v.shape[-1])), at_the_end(phi_k)


variants.right(exercise,
    's = torch.einsum("...nd,...ne->...de", keys, v)\n'
    "counts = real.to(phi_k).expand(phi_k.shape[:-1])\n"
    'z = torch.einsum("...nd,...n->...d", phi_k, counts)',
    "keys = phi_k.masked_fill(~real[..., None], 0.0)\n"
    "values = v.masked_fill(~real[..., None], 0.0)\n"
    "s = (keys[..., None] * values[..., None, :]).sum(dim=-3)\n"
    "return [s, z]",
    # ones beside the values
    "values = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)\n"
    "s = keys.transpose(-2, -1) @ values\n"
    "return s[..., :-1], s[..., -1]",
)  # fmt: skip
EMPTY = "a prompt of length 0 is treated as if it had a token: give it a state of zeros"
AT_THE_LAST = ("(0, 0, 1, 0)", "(0, 0, 0, 0)", "lengths.expand", "(lengths - 1).expand")
variants.wrong(exercise, {EMPTY: AT_THE_LAST}, of=picked_from_running_sums)
variants.wrong(exercise, {
    "the lengths change nothing: keep the padding out of both sums": "keys = phi_k",
    "z counts the padding: only S is without it, so keep it out of both": "z = phi_k.sum(-2)",
    "S counts the padding: only z is without it, so keep it out of both": "s = phi_k.mT @ v",
    "one token too many is counted: positions begin at 0, so position `length` is padding":
        ("<", "<="),
    "the last token of each prompt is left out: keep position length - 1, too":
        "real = j < lengths[..., None] - 1",
    "the padding is summed, and the prompt is not: keep the positions below the length":
        ("<", ">="),
    "the padding is looked for in front: cut it off after the prompt":
        "real = (j < lengths[..., None]).flip(-1)",
    "all prompts are cut at the longest length: cut each at its own": "real = j < lengths.max()",
    "all prompts are cut at the shortest length: cut each at its own": "real = j < lengths.min()",
    "only the last token of a prompt is kept: sum over all of them":
        "real = j == lengths[..., None] - 1",
    EMPTY: [
        "real = j < torch.where(lengths == 0, len(j), lengths)[..., None]",
        "real = j < lengths.clamp(min=1)[..., None]"],
    "what is added and taken off again is lost beside huge padding: set its features to 0 first":
        "padding = phi_k - keys\n"
        "s = phi_k.mT @ v - padding.mT @ v\n"
        "z = phi_k.sum(-2) - padding.sum(-2)",
    "the padding is multiplied by 0 after its features have met its values, and their product may "
    "be infinite: set the features to 0 first": [
        "s = (phi_k[..., None] * v[..., None, :] * real[..., None, None]).sum(-3)",
        "counts = real.to(phi_k).expand(phi_k.shape[:-1])\n"
        's = torch.einsum("...nd,...ne,...n->...de", phi_k, v, counts)'],
    "the sums are divided by the lengths: keep them as they are":
        "count = lengths.clamp(min=1)[..., None]\nreturn s / count[..., None], z / count",
    "S is divided by z already: keep both sums as they are":
        "return s / torch.where(z > 0, z, 1.0)[..., None], z",
    "z sums over the features: sum over the tokens, which gives a number for each feature":
        "z = keys.sum(-1)",
    "z is the number of tokens: it should be the sum of their features":
        "z = 0 * keys.sum(-2) + lengths[..., None]",
    "S is transposed: its rows should belong to the features, its columns to the values":
        "s = v.mT @ keys",
    "the results come in another order: return first S, then z": "return z, s",
    # of positive numbers, elu(x) + 1 is x + 1
    "the feature map is applied again: phi_k holds features already":
        "keys = (phi_k + 1) * real[..., None]",
    "the whole batch makes one state: give each prompt its own": "return s.sum(0), z.sum(0)",
    LOOP: "s = sum(keys[..., [i], :].mT @ v[..., [i], :] for i in range(len(j)))",
    messages.BATCH: "real = j < lengths[:, None]",
    "lengths may have all leading axes, or none: compare positions with lengths[..., None]":
        "real = j < lengths.reshape(-1, *[1] * (phi_k.dim() - 3), 1)",
    "the axes of lengths are aligned from the left: let them broadcast from the right": (
        "    real", "    while lengths.dim() < phi_k.dim() - 2:\n"
        "        lengths = lengths[..., None]\n    real"),
})  # fmt: skip
