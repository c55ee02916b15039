"""Exercise chunked_attention: the chunked form, with a state that is updated too early."""

import torch

from attncourse.checks.around import USUAL, add_to, batch_axis_assumed
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.linear.causal_by_cumsum import by_hand
from attncourse.checks.linear.reordered_attention import features

exercise = Exercise(
    name="chunked_attention",
    chapter="linear",
    title="Chunks that look ahead",
    kind="debug",
    difficulty=2,
    minutes=10,
    points=15,
    hints=(
        "Let everything be 1 but the last value, and take one chunk of two tokens. What does the "
        "first token get, and what should it? Then count how often each token is in its sum.",
        "A token's sum has two parts: the chunks before its own, which are in the state, and the "
        "tokens of its own chunk up to itself, which are in the small matrix. While a chunk is "
        "read, what may the state hold of it?",
        "The lines that add to S and to z are right, and stand at the wrong place in the loop",
    ),
)


@exercise.stub
def chunked_attention(phi_q, phi_k, v, chunk):
    s = phi_k.new_zeros(*phi_k.shape[:-2], phi_k.shape[-1], v.shape[-1])
    z = phi_k.new_zeros(*phi_k.shape[:-2], phi_k.shape[-1], 1)
    out = []
    for q, k, x in zip(*(a.split(chunk, dim=-2) for a in (phi_q, phi_k, v)), strict=True):
        s = s + k.mT @ x
        z = z + k.sum(dim=-2)[..., None]
        near = (q @ k.mT).tril()
        sums = q @ s + near @ x
        out.append(sums / (q @ z + near.sum(dim=-1, keepdim=True)))
    return torch.cat(out, dim=-2)


@exercise.reference
def without_chunks(phi_q, phi_k, v, chunk):
    return by_hand(phi_q, phi_k, v)


@exercise.cases
def cases(draw):
    chunk = 3
    n = 2 * chunk + draw.integer(1, 2)
    d, e = draw.sizes(2, 2, 5)
    q, k, v = features(draw, 2, n, d), features(draw, 2, n, d), draw.normal(2, n, e)
    # as many chunks, each longer
    longer = *(x.repeat_interleave(8, dim=1) for x in (q, k, v)), 8 * chunk
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}, chunks of {chunk}", (q, k, v, chunk), longer=longer)
    yield Case(f"without a batch, {sizes}, chunks of {chunk}", (q[0], k[0], v[0], chunk))
    heads = features(draw, 2, 3, 6, 2), features(draw, 2, 3, 6, 2), draw.normal(2, 3, 6, 4)
    yield Case("two leading axes (batch, heads), n=6, chunks of 2", (*heads, 2))
    yield Case(f"n={n}, one chunk of {n}", (q, k, v, n))
    yield Case(f"n={n}, chunks of {n + 3}", (q, k, v, n + 3))
    yield Case("n=4, chunks of 1", (q[:, :4], k[:, :4], v[:, :4], 1))
    yield Case("features 100000 times smaller", (q / 1e5, k / 1e5, v, chunk))
    yield Case("one token", (q[:, :1], k[:, :1], v[:, :1], chunk))
    many = features(draw, 20, 2), features(draw, 20, 2), draw.normal(20, 3)
    yield Case("n=20, chunks of 5", (*many, 5), gradient=False, max_elements=20 * 20 - 1)


def chunks(phi_q, phi_k, v, chunk):
    return zip(*(x.split(chunk, dim=-2) for x in (phi_q, phi_k, v)), strict=True)


def grown(state, q, k, x):
    return state + k.mT @ x


def with_one(x):
    """The values with a column of ones: what is read from it is the normaliser."""
    return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1)


def same(total):
    return total


def both(state, z):
    return torch.cat([state, z], dim=-1)


def attend(phi_q, phi_k, v, chunk, *, near=torch.tril, grow=grown, seen=None, divisor=same):
    """The right answer, with the places where a wrong one departs from it as arguments.

    `seen` says what a chunk reads of the state before it and the state after it. The last column
    of a state, and of what is read, is the normaliser's.
    """
    state = phi_k.new_zeros(*phi_k.shape[:-2], phi_k.shape[-1], v.shape[-1] + 1)
    out = []
    for q, k, x in chunks(phi_q, phi_k, with_one(v), chunk):
        after = grow(state, q, k, x)
        read = q @ (seen(state, after) if seen else state) + near(q @ k.mT) @ x
        out.append(read[..., :-1] / divisor(read[..., -1:]))
        state = after
    return torch.cat(out, dim=-2)


@exercise.valid
def read_then_updated(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk)


@exercise.valid
def given_code_mended(phi_q, phi_k, v, chunk):
    s, z, out = 0.0, 0.0, []
    for q, k, x in chunks(phi_q, phi_k, v, chunk):
        near = (q @ k.mT).tril()
        s_new, z_new = s + k.mT @ x, z + k.sum(-2, keepdim=True).mT
        sums = q @ (s_new - k.mT @ x) + near @ x
        out.append(sums / (q @ (z_new - k.sum(-2)[..., None]) + near.sum(-1, keepdim=True)))
        s, z = s_new, z_new
    return torch.cat(out, dim=-2)


@exercise.valid
def later_tokens_subtracted(phi_q, phi_k, v, chunk):
    # the state holds the whole chunk: take its later tokens out of what is read
    return attend(
        phi_q, phi_k, v, chunk, near=lambda x: -x.triu(1), seen=lambda before, after: after
    )


@exercise.valid
def running_sum_within_a_chunk(phi_q, phi_k, v, chunk):
    out, s, z = [], 0.0, 0.0
    for q, k, x in chunks(phi_q, phi_k, v, chunk):
        states = s + (k[..., :, None] * x[..., None, :]).cumsum(-3)
        totals = z + k.cumsum(-2)
        sums = (q[..., None, :] @ states)[..., 0, :]
        out.append(sums / (q * totals).sum(-1, keepdim=True))
        s, z = states[..., -1:, :, :], totals[..., -1:, :]
    return torch.cat(out, dim=-2)


@exercise.valid
def cut_by_hand(phi_q, phi_k, v, chunk):
    n, x = phi_q.size(-2), with_one(v)
    pieces = []
    for start in range(0, n, chunk):
        q, k = (a[..., start : start + chunk, :] for a in (phi_q, phi_k))
        before = phi_k[..., :start, :].transpose(-2, -1) @ x[..., :start, :]
        near = torch.tril(q @ k.transpose(-2, -1)) @ x[..., start : start + chunk, :]
        pieces.append(q @ before + near)
    whole = torch.cat(pieces, dim=-2)
    return whole[..., :-1] / whole[..., -1:]


def values_of(a, b):
    """The columns of the values of one, and the normaliser of the other."""
    return both(a[..., :-1], b[..., -1:])


@exercise.mutant("z still counts the chunk twice: it, too, is updated once the chunk has been read")
def only_s_mended(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, seen=values_of)


@exercise.mutant("S still counts the chunk twice: it, too, is updated once the chunk has been read")
def only_z_mended(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, seen=lambda before, after: values_of(after, before))


LATER = (
    "a token sees the later ones of its own chunk: the state that it reads ends before the chunk, "
    "and of the small matrix it reads the lower triangle"
)


@exercise.mutant(LATER)
def small_matrix_left_out(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, near=torch.zeros_like, seen=lambda before, after: after)


@exercise.mutant(LATER)
def diagonal_left_out_of_the_given_code(phi_q, phi_k, v, chunk):
    return attend(
        phi_q, phi_k, v, chunk, near=lambda x: x.tril(-1), seen=lambda before, after: after
    )


@exercise.mutant(LATER)
def mask_removed(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, near=lambda x: x)


@exercise.mutant("a token does not see itself: the diagonal of the small matrix belongs to it")
def diagonal_left_out(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, near=lambda x: x.tril(-1))


@exercise.mutant("a token sees one ahead within its chunk: the diagonal is the last that it sees")
def one_token_ahead(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, near=lambda x: x.tril(1))


@exercise.mutant("a chunk does not see itself: the tokens before it in its own chunk count as well")
def earlier_chunks_only(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, near=torch.zeros_like)


@exercise.mutant("the state never grows: after a chunk has been read, its keys and values go in")
def state_never_updated(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, grow=lambda state, q, k, x: state)


@exercise.mutant("each chunk replaces the state: it is added to what the earlier ones left")
def state_replaced(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, grow=lambda state, q, k, x: k.mT @ x)


@exercise.mutant("of a chunk only the last token goes into the state: all of them do")
def last_token_kept(phi_q, phi_k, v, chunk):
    def grow(state, q, k, x):
        return state + k[..., -1:, :].mT @ x[..., -1:, :]

    return attend(phi_q, phi_k, v, chunk, grow=grow)


@exercise.mutant("the normaliser leaves out the chunk itself: it has both parts, as the sum has")
def normaliser_of_the_state_only(phi_q, phi_k, v, chunk):
    state, out = 0.0, []
    for q, k, x in chunks(phi_q, phi_k, with_one(v), chunk):
        read = q @ (state + 0 * k.mT @ x)
        sums = read + (q @ k.mT).tril() @ x
        out.append(sums[..., :-1] / read[..., -1:])
        state = state + k.mT @ x
    return torch.cat(out, dim=-2)


@exercise.mutant("the normaliser leaves out the earlier chunks: it has both parts, as the sum has")
def normaliser_of_the_chunk_only(phi_q, phi_k, v, chunk):
    state, out = 0.0, []
    for q, k, x in chunks(phi_q, phi_k, with_one(v), chunk):
        near = (q @ k.mT).tril() @ x
        sums = q @ (state + 0 * k.mT @ x) + near
        out.append(sums[..., :-1] / near[..., -1:])
        state = state + k.mT @ x
    return torch.cat(out, dim=-2)


@exercise.mutant("an epsilon in the denominator shows where features are small: leave it out")
def epsilon_in_the_denominator(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, divisor=lambda total: total + 1e-6)


@exercise.mutant("a least value for the denominator shows where features are small: leave it out")
def at_least_a_millionth(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, divisor=lambda total: total.clamp(min=1e-6))


@exercise.mutant("the last chunk is lost where it is a short one: chunk need not divide n")
def short_chunk_dropped(phi_q, phi_k, v, chunk):
    whole = phi_q.shape[-2] // chunk * chunk or phi_q.shape[-2]
    return attend(*(x[..., :whole, :] for x in (phi_q, phi_k, v)), chunk)


@exercise.mutant("it fails where chunk does not divide n: the last chunk may be a short one")
def cut_without_a_rest(phi_q, phi_k, v, chunk):
    for x in (phi_q, phi_k, v):
        x.unflatten(-2, (-1, chunk))
    return attend(phi_q, phi_k, v, chunk)


@exercise.mutant("the whole n x n matrix is built: within a chunk only, and the rest by the state")
def one_matrix_for_all(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, phi_q.shape[-2])


@exercise.mutant("it goes token by token: a chunk is read at once, by products of matrices")
def token_by_token(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, 1)


@exercise.mutant("no gradient reaches the earlier chunks: the state may not be detached")
def state_detached(phi_q, phi_k, v, chunk):
    return attend(phi_q, phi_k, v, chunk, seen=lambda before, after: before.detach())


@exercise.mutant("the state changes in place, but the backward pass needs it: make a new one")
def state_changed_in_place(phi_q, phi_k, v, chunk):
    state = phi_k.new_zeros(*phi_k.shape[:-2], phi_k.shape[-1], v.shape[-1] + 1)
    out = []
    for q, k, x in chunks(phi_q, phi_k, with_one(v), chunk):
        read = q @ state + (q @ k.mT).tril() @ x
        out.append(read[..., :-1] / read[..., -1:])
        state += k.mT @ x
    return torch.cat(out, dim=-2)


add_to(exercise, attend, *USUAL, batch_axis_assumed)
