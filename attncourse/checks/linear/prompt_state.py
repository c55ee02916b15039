"""Exercise prompt_state: what a batch of prompts of different lengths leaves in the state."""

import torch

from attncourse.checks.around import BATCH, USUAL, add_to, batch_axis_assumed
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.linear.reordered_attention import features

exercise = Exercise(
    name="prompt_state",
    chapter="linear",
    title="The state after a prompt",
    kind="extend",
    difficulty=2,
    minutes=15,
    points=10,
    hints=(
        "The state is two sums over the tokens of a prompt. What does a token have to look like "
        "to change neither of them?",
        "A token whose features are 0 adds nothing to S and nothing to z. Compare the positions "
        "with each prompt's length, and set the features of the padding to 0; after that, one "
        "product and one sum serve the whole batch.",
        "torch.arange(n, device=lengths.device) < lengths[..., None] is True at the real tokens; "
        "it needs one more axis before it meets phi_k",
    ),
    # two tensors come back, and a gradient is taken of one
    differentiable=False,
)


@exercise.reference
def by_hand(phi_k, v, lengths):
    *batch, _, d = phi_k.shape
    e = v.shape[-1]
    lengths = lengths.broadcast_to(batch).reshape(-1).tolist()
    flat = (x.reshape(-1, *x.shape[-2:]) for x in (phi_k, v))
    s, z = [], []
    for keys, values, length in zip(*flat, lengths, strict=True):
        s.append(keys.new_zeros(d, e))
        z.append(keys.new_zeros(d))
        for j in range(length):
            s[-1] = s[-1] + keys[j][:, None] * values[j]
            z[-1] = z[-1] + keys[j]
    return torch.stack(s).reshape(*batch, d, e), torch.stack(z).reshape(*batch, d)


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
    yield Case(
        "two leading axes, a length for each", (*heads, torch.tensor([[1, 5, 2], [3, 4, 2]]))
    )
    yield Case("lengths of shape (2, 1) for all heads", (*heads, torch.tensor([[2], [4]])))
    yield Case("lengths of shape (3,) for all sentences", (*heads, torch.tensor([2, 5, 0])))
    yield Case("prompts of length 0", (k, v, torch.tensor([0, 3, 0, 1])))
    yield Case("no padding at all", (k, v, torch.full((4,), n)))
    yield Case("all sizes 4", (features(draw, 4, 4, 4), draw.normal(4, 4, 4), lengths.clamp(max=4)))
    yield Case("one token", (k[:, :1], v[:, :1], torch.tensor([1, 0, 1, 1])))


def real(x, lengths, moved=0):
    """1 where a token belongs to its prompt; `moved` gives that many tokens more."""
    j = torch.arange(x.shape[-2], device=x.device)
    return (j < lengths[..., None] + moved)[..., None]


def kept(x, mask):
    return torch.where(mask, x, 0.0)


def state(phi_k, v, lengths, *, mask=None, s=None, z=None):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    keys = kept(phi_k, real(phi_k, lengths) if mask is None else mask)
    return keys.mT @ v if s is None else s, keys.sum(-2) if z is None else z


def picked(phi_k, v, place, *, zeros=0):
    """Both running sums at one place, with that many zeros put before them."""

    def at_place(x):
        x = torch.nn.functional.pad(x.cumsum(-2), (0, 0, zeros, 0))
        index = place.expand(x.shape[:-2])[..., None, None].expand(*x.shape[:-2], 1, x.shape[-1])
        return x.gather(-2, index)[..., 0, :]

    s = at_place((phi_k[..., :, None] * v[..., None, :]).flatten(-2))
    return s.unflatten(-1, (phi_k.shape[-1], v.shape[-1])), at_place(phi_k)


@exercise.valid
def padding_without_features(phi_k, v, lengths):
    return state(phi_k, v, lengths)


@exercise.valid
def by_einsum(phi_k, v, lengths):
    position = torch.arange(phi_k.size(-2), device=lengths.device)
    mask = (position < lengths.unsqueeze(-1)).to(phi_k.dtype)
    s = torch.einsum("...nd,...ne,...n->...de", phi_k, v, mask.expand(phi_k.shape[:-1]))
    return s, torch.einsum("...nd,...n->...d", phi_k, mask.expand(phi_k.shape[:-1]))


@exercise.valid
def picked_from_running_sums(phi_k, v, lengths):
    # a 0 in front is the sum of no token
    return picked(phi_k, v, lengths, zeros=1)


@exercise.valid
def both_masked(phi_k, v, lengths):
    n = phi_k.shape[-2]
    padding = torch.arange(n, device=phi_k.device) >= lengths[..., None]
    phi_k = phi_k.masked_fill(padding[..., None], 0.0)
    v = v.masked_fill(padding[..., None], 0.0)
    return [(phi_k[..., None] * v[..., None, :]).sum(dim=-3), phi_k.sum(dim=-2)]


@exercise.valid
def ones_beside_the_values(phi_k, v, lengths):
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1) * real(v, lengths)
    whole = phi_k.transpose(-2, -1) @ v
    return whole[..., :-1], whole[..., -1]


@exercise.mutant("the lengths change nothing: the padding may be in neither sum")
def lengths_ignored(phi_k, v, lengths):
    return state(phi_k, v, lengths, mask=torch.ones_like(phi_k).bool())


@exercise.mutant("z counts the padding: only S is without it")
def padding_in_z(phi_k, v, lengths):
    return state(phi_k, v, lengths, z=phi_k.sum(-2))


@exercise.mutant("S counts the padding: only z is without it")
def padding_in_s(phi_k, v, lengths):
    return state(phi_k, v, lengths, s=phi_k.mT @ v)


@exercise.mutant("one token too many: positions count from 0, so position `length` is padding")
def one_token_too_many(phi_k, v, lengths):
    return state(phi_k, v, lengths, mask=real(phi_k, lengths, 1))


@exercise.mutant(
    "the last token of each prompt is left out: position length - 1 still belongs to it"
)
def one_token_too_few(phi_k, v, lengths):
    return state(phi_k, v, lengths, mask=real(phi_k, lengths, -1))


@exercise.mutant("it is the padding that is summed: keep the positions below the length")
def padding_alone(phi_k, v, lengths):
    return state(phi_k, v, lengths, mask=~real(phi_k, lengths))


@exercise.mutant("the padding is cut off in front: it comes after the prompt")
def padding_in_front(phi_k, v, lengths):
    return state(phi_k, v, lengths, mask=real(phi_k, lengths).flip(-2))


@exercise.mutant("all prompts are cut at the longest: each has a length of its own")
def longest_for_all(phi_k, v, lengths):
    return state(phi_k, v, lengths, mask=real(phi_k, lengths.max()))


@exercise.mutant("all prompts are cut at the shortest: each has a length of its own")
def shortest_for_all(phi_k, v, lengths):
    return state(phi_k, v, lengths, mask=real(phi_k, lengths.min()))


@exercise.mutant("only the last token of a prompt is kept: the state is the sum over all of them")
def last_token_only(phi_k, v, lengths):
    last = real(phi_k, lengths) & ~real(phi_k, lengths, -1)
    return state(phi_k, v, lengths, mask=last)


EMPTY = "a prompt of length 0 has no token at length - 1: its state is zeros"


@exercise.mutant(EMPTY)
def wraps_around_at_length_0(phi_k, v, lengths):
    return state(phi_k, v, torch.where(lengths == 0, phi_k.shape[-2], lengths))


@exercise.mutant(EMPTY)
def picked_at_the_last_token(phi_k, v, lengths):
    return picked(phi_k, v, lengths - 1)


@exercise.mutant(EMPTY)
def first_token_at_length_0(phi_k, v, lengths):
    return state(phi_k, v, lengths.clamp(min=1))


@exercise.mutant("the sums are divided by the lengths: keep them as they are, z will divide")
def means(phi_k, v, lengths):
    s, z = state(phi_k, v, lengths)
    count = lengths.clamp(min=1).expand(phi_k.shape[:-2])
    return s / count[..., None, None], z / count[..., None]


@exercise.mutant("S is divided by z already: keep both sums, the query will meet them")
def divided_by_z(phi_k, v, lengths):
    s, z = state(phi_k, v, lengths)
    return s / torch.where(z > 0, z, 1.0)[..., None], z


@exercise.mutant("z sums over the features: it has a number for each feature, a sum over tokens")
def z_over_the_features(phi_k, v, lengths):
    return state(phi_k, v, lengths, z=kept(phi_k, real(phi_k, lengths)).sum(-1))


@exercise.mutant("z is the number of tokens: it is the sum of their features")
def z_counts_the_tokens(phi_k, v, lengths):
    count = lengths.to(phi_k.dtype).expand(phi_k.shape[:-2])
    return state(phi_k, v, lengths, z=count[..., None].expand(phi_k[..., 0, :].shape))


@exercise.mutant("S is transposed: its rows belong to the features, its columns to the values")
def s_transposed(phi_k, v, lengths):
    s, z = state(phi_k, v, lengths)
    return s.mT, z


@exercise.mutant("the order of the results is another: first S, then z")
def z_first(phi_k, v, lengths):
    return state(phi_k, v, lengths)[::-1]


@exercise.mutant("the feature map is applied once more: phi_k holds features already")
def features_of_features(phi_k, v, lengths):
    # of positive numbers, elu(x) + 1 is x + 1
    return state(phi_k + 1, v, lengths)


@exercise.mutant("the whole batch makes one state: each prompt has its own")
def one_state_for_the_batch(phi_k, v, lengths):
    s, z = state(phi_k, v, lengths)
    return s.sum(0), z.sum(0)


@exercise.mutant("it loops over the tokens: set padding to 0, then sum over all positions")
def loop_over_tokens(phi_k, v, lengths):
    keys = kept(phi_k, real(phi_k, lengths))
    s = z = 0
    for j in range(phi_k.shape[-2]):
        s = s + keys[..., j, :, None] * v[..., j, None, :]
        z = z + keys[..., j, :]
    return s, z


@exercise.mutant(BATCH)
def lengths_of_one_axis(phi_k, v, lengths):
    real = torch.arange(phi_k.shape[-2], device=lengths.device) < lengths[:, None]
    return state(phi_k, v, lengths, mask=real[..., None])


@exercise.mutant("the axes of lengths are aligned from the left: they broadcast from the right")
def lengths_aligned_from_the_left(phi_k, v, lengths):
    while lengths.dim() < phi_k.dim() - 2:
        lengths = lengths[..., None]
    phi_k = phi_k * real(phi_k, lengths)
    return phi_k.mT @ v, phi_k.sum(-2)


add_to(exercise, state, *USUAL, batch_axis_assumed)
