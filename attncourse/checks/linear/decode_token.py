"""Exercise decode_token: one token more, at a cost that does not grow."""

import torch

from attncourse.checks.around import BATCH, USUAL, add_to, batch_axis_assumed
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.linear.reordered_attention import features

exercise = Exercise(
    name="decode_token",
    chapter="linear",
    title="One token more",
    kind="build",
    difficulty=1,
    minutes=10,
    points=10,
    hints=(
        "What the state holds is two sums over the tokens so far. Which term does this token add "
        "to each? And is it there already when the query reads?",
        "The key's features and the value, as a column and a row, give the (d, e) matrix to add "
        "to S; the features alone are added to z. The query's features times the new S are e "
        "numbers, their dot product with the new z is the one to divide by.",
        "s + phi_k[..., :, None] * v[..., None, :] is the new S; a row phi_q[..., None, :] times "
        "it has an axis of size 1 to take away: [..., 0, :]",
    ),
    # three tensors come back, and a gradient is taken of one
    differentiable=False,
)


@exercise.reference
def by_hand(s, z, phi_q, phi_k, v):
    d, e = s.shape[-2:]
    entries = [s[..., c, x] + phi_k[..., c] * v[..., x] for c in range(d) for x in range(e)]
    s = torch.stack(entries, dim=-1).unflatten(-1, (d, e))
    z = torch.stack([z[..., c] + phi_k[..., c] for c in range(d)], dim=-1)
    total = sum(phi_q[..., c] * z[..., c] for c in range(d))
    parts = [sum(phi_q[..., c] * s[..., c, x] for c in range(d)) / total for x in range(e)]
    return s, z, torch.stack(parts, dim=-1)


def drawn(draw, *batch, d, e):
    """A state as some tokens leave it, and one token more."""
    k, v = features(draw, *batch, 5, d), draw.normal(*batch, 5, e)
    token = features(draw, *batch, d), features(draw, *batch, d), draw.normal(*batch, e)
    return k.mT @ v, k.sum(-2), *token


@exercise.cases
def cases(draw):
    d, e = draw.sizes(2, 3, 6)
    s, z, q, k, v = args = drawn(draw, 2, d=d, e=e)
    sizes = f"d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}", args, longer=drawn(draw, 32, d=d, e=e))
    yield Case(f"one token, without a batch, {sizes}", tuple(x[0] for x in args))
    yield Case("two leading axes (batch, heads), d=4, e=5", drawn(draw, 2, 3, d=4, e=5))
    yield Case("all sizes 3", drawn(draw, 3, 3, d=3, e=3))
    yield Case("the very first token", (0 * s, 0 * z, q, k, v))
    yield Case("features 100000 times smaller", (s / 1e5, z / 1e5, q / 1e5, k / 1e5, v))
    yield Case("a key of another direction than the query", (s, z, q, k.flip(-1), v))
    yield Case("d=1, e=1", drawn(draw, 2, d=1, e=1))


def outer(phi_k, v):
    return phi_k[..., :, None] * v[..., None, :]


def read(s, z, phi_q):
    return (phi_q[..., None, :] @ s)[..., 0, :] / (phi_q * z).sum(-1, keepdim=True)


def decode(s, z, phi_q, phi_k, v, *, read=read):
    """The right answer, with the place where a wrong one departs from it as an argument."""
    s, z = s + outer(phi_k, v), z + phi_k
    return s, z, read(s, z, phi_q)


@exercise.valid
def update_then_read(s, z, phi_q, phi_k, v):
    return decode(s, z, phi_q, phi_k, v)


@exercise.valid
def by_einsum(s, z, phi_q, phi_k, v):
    s = s + torch.einsum("...d,...e->...de", phi_k, v)
    z = torch.add(z, phi_k)
    total = torch.einsum("...d,...d->...", phi_q, z)
    return s, z, torch.einsum("...d,...de->...e", phi_q, s) / total.unsqueeze(-1)


@exercise.valid
def a_copy_changed_in_place(s, z, phi_q, phi_k, v):
    s, z = s.clone(), z.clone()
    s += phi_k.unsqueeze(-1) @ v.unsqueeze(-2)
    z += phi_k
    out = (s.mT @ phi_q.unsqueeze(-1)).squeeze(-1)
    return s, z, out / (phi_q * z).sum(dim=-1).unsqueeze(-1)


@exercise.valid
def its_own_part_apart(s, z, phi_q, phi_k, v):
    # what was read before the update, and the token's own term
    own = (phi_q * phi_k).sum(-1, keepdim=True)
    sums = (phi_q[..., None] * s).sum(-2) + own * v
    out = sums / ((phi_q * z).sum(-1, keepdim=True) + own)
    return s + outer(phi_k, v), z + phi_k, out


@exercise.valid
def state_and_normaliser_in_one(s, z, phi_q, phi_k, v):
    whole = torch.cat([s, z[..., None]], dim=-1)
    whole = whole + outer(phi_k, torch.cat([v, torch.ones_like(v[..., :1])], dim=-1))
    out = (phi_q[..., None, :] @ whole).squeeze(-2)
    return [whole[..., :-1], whole[..., -1], out[..., :-1] / out[..., -1:]]


@exercise.mutant("the state is read before it is updated: the token sees itself, too")
def read_before_the_update(s, z, phi_q, phi_k, v):
    return s + outer(phi_k, v), z + phi_k, read(s, z, phi_q)


@exercise.mutant("S is read before it is updated, and z after: the token is part of both")
def state_read_before_the_update(s, z, phi_q, phi_k, v):
    return decode(s, z, phi_q, phi_k, v, read=lambda _, after, q: read(s, after, q))


@exercise.mutant("z is read before it is updated, and S after: the token is part of both")
def normaliser_read_before_the_update(s, z, phi_q, phi_k, v):
    return decode(s, z, phi_q, phi_k, v, read=lambda after, _, q: read(after, z, q))


@exercise.mutant("z comes back as it went in: it is a sum as well, and this token's key is in it")
def normaliser_forgotten(s, z, phi_q, phi_k, v):
    s = s + outer(phi_k, v)
    return s, z, read(s, z, phi_q)


@exercise.mutant("the old state comes back: the next token needs the new one")
def old_state_returned(s, z, phi_q, phi_k, v):
    return s, z, decode(s, z, phi_q, phi_k, v)[2]


@exercise.mutant("the earlier tokens are forgotten: the new term is added to the old state")
def state_overwritten(s, z, phi_q, phi_k, v):
    return decode(0 * s, 0 * z, phi_q, phi_k, v)


@exercise.mutant("the output is not normalised: divide by the dot product of the query and z")
def not_normalised(s, z, phi_q, phi_k, v):
    return decode(s, z, phi_q, phi_k, v, read=lambda s, z, q: (q[..., None, :] @ s)[..., 0, :])


@exercise.mutant("it is divided by the sum of z: the normaliser is its dot product with the query")
def divided_by_the_sum(s, z, phi_q, phi_k, v):
    def reads(s, z, q):
        return (q[..., None, :] @ s)[..., 0, :] / z.sum(-1, keepdim=True)

    return decode(s, z, phi_q, phi_k, v, read=reads)


@exercise.mutant("one number divides the whole batch: each token has a normaliser of its own")
def one_normaliser_for_the_batch(s, z, phi_q, phi_k, v):
    def reads(s, z, q):
        return (q[..., None, :] @ s)[..., 0, :] / (q * z).sum()

    return decode(s, z, phi_q, phi_k, v, read=reads)


@exercise.mutant("the key reads the state: it is the query that reads, and the key that writes")
def read_by_the_key(s, z, phi_q, phi_k, v):
    return decode(s, z, phi_k, phi_k, v)


@exercise.mutant("the query writes into the state: the key writes, and the query reads")
def written_by_the_query(s, z, phi_q, phi_k, v):
    return decode(s, z, phi_q, phi_q, v)


@exercise.mutant(
    "the outer product is transposed: the key goes down the rows, the value along them"
)
def outer_product_transposed(s, z, phi_q, phi_k, v):
    s, z = s + outer(v, phi_k), z + phi_k
    return s, z, read(s, z, phi_q)


@exercise.mutant("S is read across: the query meets its rows, the axis of the features")
def read_transposed(s, z, phi_q, phi_k, v):
    return decode(s, z, phi_q, phi_k, v, read=lambda s, z, q: read(s.mT, z, q))


@exercise.mutant("the feature map is applied once more: phi_q and phi_k are features already")
def features_of_features(s, z, phi_q, phi_k, v):
    # of positive numbers, elu(x) + 1 is x + 1
    return decode(s, z, phi_q + 1, phi_k + 1, v)


@exercise.mutant("the value is added without its key: the state gains an outer product")
def value_without_its_key(s, z, phi_q, phi_k, v):
    s, z = s + v[..., None, :], z + phi_k
    return s, z, read(s, z, phi_q)


@exercise.mutant("what is stored is divided already: keep the sums, and divide what is read")
def normalised_state_stored(s, z, phi_q, phi_k, v):
    s, z, out = decode(s, z, phi_q, phi_k, v)
    return s / z.sum(-1)[..., None, None], z, out


@exercise.mutant("the order of the results is another: first S, then z, then the output")
def output_first(s, z, phi_q, phi_k, v):
    s, z, out = decode(s, z, phi_q, phi_k, v)
    return out, s, z


@exercise.mutant("the output has an axis of size 1 left over: it has the shape of v")
def axis_left_over(s, z, phi_q, phi_k, v):
    s, z, out = decode(s, z, phi_q, phi_k, v)
    return s, z, out[..., None, :]


@exercise.mutant("an epsilon in the denominator shows where features are small: leave it out")
def epsilon_in_the_denominator(s, z, phi_q, phi_k, v):
    def reads(s, z, q):
        return (q[..., None, :] @ s)[..., 0, :] / ((q * z).sum(-1, keepdim=True) + 1e-6)

    return decode(s, z, phi_q, phi_k, v, read=reads)


@exercise.mutant("a least value for the denominator shows where features are small: leave it out")
def at_least_a_millionth(s, z, phi_q, phi_k, v):
    def reads(s, z, q):
        return (q[..., None, :] @ s)[..., 0, :] / (q * z).sum(-1, keepdim=True).clamp(min=1e-6)

    return decode(s, z, phi_q, phi_k, v, read=reads)


@exercise.mutant("the state that came in changes: whoever keeps it needs it as it was")
def normaliser_changed_in_place(s, z, phi_q, phi_k, v):
    z += phi_k
    s = s + outer(phi_k, v)
    return s, z, read(s, z, phi_q)


@exercise.mutant("it works without leading axes only: torch.outer takes two vectors")
def by_torch_outer(s, z, phi_q, phi_k, v):
    s, z = s + torch.outer(phi_k, v), z + phi_k
    return s, z, read(s, z, phi_q)


@exercise.mutant(BATCH)
def einsum_with_one_batch_axis(s, z, phi_q, phi_k, v):
    s, z = s + torch.einsum("bd,be->bde", phi_k, v), z + phi_k
    return s, z, read(s, z, phi_q)


@exercise.mutant("it loops over the sentences: one product serves all of them")
def loop_over_sentences(s, z, phi_q, phi_k, v):
    if s.dim() == 2:
        return decode(s, z, phi_q, phi_k, v)
    parts = [decode(*one) for one in zip(s, z, phi_q, phi_k, v, strict=True)]
    return tuple(torch.stack(x) for x in zip(*parts, strict=True))


add_to(exercise, decode, *USUAL, batch_axis_assumed)
