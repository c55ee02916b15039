"""Exercise cached_attention: decoding with a cache, under a mask aligned at the wrong corner."""

import torch
from torch.nn.functional import pad

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="cached_attention",
    chapter="dot_product",
    title="The mask that forgets the cache",
    kind="debug",
    difficulty=2,
    minutes=10,
    points=15,
    hints=(
        "Ask the code for one new token, n = 1, with five keys in the cache. Which keys may it "
        "see, and which does it see? Then try n = m: there the code is right.",
        "The n queries are the last of the m positions, so the first of them stands at m - n. The "
        "diagonal of the mask has to end in the lower right corner, and tril takes the number of "
        "the diagonal as `diagonal`: larger is further to the right.",
        ".tril(diagonal=...): it is 0 when n = m, and one more for every position in the cache",
    ),
)


@exercise.stub
def cached_attention(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    mask = torch.ones(n, m, dtype=torch.bool, device=q.device).tril()
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ v


@exercise.reference
def by_hand(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    out = []
    for i in range(n):
        seen = m - n + i + 1
        scores = [(q[..., i, :] * k[..., j, :]).sum(-1) / q.shape[-1] ** 0.5 for j in range(seen)]
        top = torch.stack(scores).detach().amax(0)
        parts = [(s - top).exp() for s in scores]
        out.append(sum((p / sum(parts))[..., None] * v[..., j, :] for j, p in enumerate(parts)))
    return torch.stack(out, dim=-2)


@exercise.cases
def cases(draw):
    n = draw.integer(2, 4)
    # a cache of more than n + 1 positions, and m of more than 7: no other diagonal fits by chance
    m = 2 * n + draw.integer(4, 6)
    d_k, d_v = [size for size in draw.sizes(4, 2, 8) if size not in (n, m)][:2]
    q, k, v = draw.normal(2, n, d_k), draw.normal(2, m, d_k), draw.normal(2, m, d_v)
    long = tuple(x.repeat(1, 8, 1) for x in (q, k, v))
    sizes = f"{n} new tokens, {m} positions, d_k={d_k}, d_v={d_v}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=long)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    heads = draw.normal(2, 3, 2, 5), draw.normal(2, 3, 6, 5), draw.normal(2, 3, 6, 4)
    yield Case("two leading axes (batch, heads)", heads)
    yield Case(f"one new token, {m} positions", (q[:, :1], k, v))
    yield Case(f"no cache yet, {m} new tokens", (draw.normal(2, m, d_k), k, v))
    yield Case("the very first token", (q[:, :1], k[:, :1], v[:, :1]))
    yield Case(f"scores thousands of times larger, {sizes}", (60 * q, 60 * k, v))
    # a fill that is not small enough outweighs the cache, and so does a score left to the softmax
    signs = q.new_full((m, 1), -1e3)
    signs[-1] = 1e3
    opposite = 1e3 * (1 + q.abs()), signs * (1 + k.abs()), v
    yield Case("scores below -1000000, and above 1000000 at the last position", opposite)
    # too many digits for float32; a gradient would lose some in float64, too
    common = torch.cat([k[..., :1] + 1e5, k[..., 1:]], dim=-1)
    yield Case("100000 added to the first number of every key", (q, common, v), gradient=False)


def lower_right(q, k, moved=0):
    """Which keys each query may attend to; `moved` shifts the diagonal to the right."""
    n, m = q.shape[-2], k.shape[-2]
    return torch.ones(n, m, dtype=torch.bool, device=q.device).tril(m - n + moved)


def attend(q, k, v, mask=None, *, scale=None, fill=-torch.inf, axis=-1):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    mask = lower_right(q, k) if mask is None else mask
    scores = q @ k.mT / (q.shape[-1] ** 0.5 if scale is None else scale)
    return scores.masked_fill(~mask, fill).softmax(axis) @ v


@exercise.valid
def diagonal_at_the_lower_right(q, k, v):
    return attend(q, k, v)


@exercise.valid
def positions_compared(q, k, v):
    n, m = q.size(-2), k.size(-2)
    key = torch.arange(m, device=k.device)
    return attend(q, k, v, key <= key[m - n :, None], fill=-1e30)


@exercise.valid
def last_rows_of_the_square_mask(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    future = torch.full((m, m), -torch.inf, dtype=q.dtype, device=q.device).triu(1)
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5 + future[-n:], dim=-1) @ v


@exercise.valid
def queries_filled_up(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    return attend(pad(q, (0, 0, m - n, 0)), k, v)[..., m - n :, :]


@exercise.valid
def counted_from_the_end(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    mask = torch.ones(n, m, device=q.device).triu().flip(0, 1).bool()
    return attend(q, k, v, mask)


@exercise.valid
def masked_after_the_softmax_with_renormalisation(q, k, v):
    mask = lower_right(q, k)
    scores = torch.einsum("...id,...jd->...ij", q, k) / q.size(-1) ** 0.5
    weights = torch.softmax(torch.where(mask, scores, torch.finfo(q.dtype).min), dim=-1) * mask
    return torch.einsum("...ij,...jd->...id", weights / weights.sum(-1, keepdim=True), v)


@exercise.valid
def cache_and_new_tokens_apart(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    future = torch.full((n, n), -torch.inf, dtype=q.dtype, device=q.device).triu(1)
    new = scores[..., m - n :] + future
    return torch.cat([scores[..., : m - n], new], dim=-1).softmax(-1) @ v


@exercise.mutant("a query does not see itself: its own position is allowed too")
def diagonal_one_short(q, k, v):
    return attend(q, k, v, lower_right(q, k, -1))


@exercise.mutant("a query sees one position ahead: it sees up to its own position")
def diagonal_one_ahead(q, k, v):
    return attend(q, k, v, lower_right(q, k, 1))


@exercise.mutant("the diagonal moves the wrong way: the new tokens come after the cache")
def diagonal_moved_back(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    return from_diagonal(q, k, v, n - m)


def from_diagonal(q, k, v, diagonal):
    """The given code with a diagonal of its own."""
    n, m = q.shape[-2], k.shape[-2]
    return attend(q, k, v, lower_right(q, k, diagonal - (m - n)))


OFF = "the diagonal does not follow the cache: how many positions come before the new tokens?"


@exercise.mutant(OFF)
def diagonal_at_n(q, k, v):
    return from_diagonal(q, k, v, q.shape[-2])


@exercise.mutant(OFF)
def diagonal_before_n(q, k, v):
    return from_diagonal(q, k, v, q.shape[-2] - 1)


@exercise.mutant(OFF)
def diagonal_after_n(q, k, v):
    return from_diagonal(q, k, v, q.shape[-2] + 1)


@exercise.mutant(OFF)
def diagonal_at_half_of_m(q, k, v):
    return from_diagonal(q, k, v, k.shape[-2] // 2)


@exercise.mutant(
    "the diagonal is right for the example only: it moves with the length of the cache"
)
def diagonal_of_the_example(q, k, v):
    return from_diagonal(q, k, v, 3)


@exercise.mutant("one new token is right, more are not: one diagonal serves any number of them")
def only_one_new_token(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    return from_diagonal(q, k, v, m - 1 if n == 1 else 0)


@exercise.mutant("n and m are counted from the front: count axes from the end, shape[-2]")
def axes_counted_from_the_front(q, k, v):
    return from_diagonal(q, k, v, k.shape[1] - q.shape[1])


@exercise.mutant("all new tokens see the same keys: each sees one more than the one before it")
def same_keys_for_all(q, k, v):
    return attend(q, k, v, lower_right(q, k)[:1])


@exercise.mutant(
    "mirrored, the mask shows the last keys instead of the first: leave it, and move its diagonal"
)
def mirrored(q, k, v):
    return attend(q, k, v, lower_right(q, k, q.shape[-2] - k.shape[-2]).flip(-1))


UNMASKED = "nothing is masked: with several new tokens the earlier ones see the later ones"


@exercise.mutant(UNMASKED)
def diagonal_moved_by_m(q, k, v):
    return attend(q, k, v, lower_right(q, k, q.shape[-2]))


@exercise.mutant(UNMASKED)
def mask_removed(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1) @ v


@exercise.mutant("each query sees the new tokens only: the cache is allowed as well")
def cache_left_out(q, k, v):
    n = q.shape[-2]
    return attend(q, k[..., -n:, :], v[..., -n:, :])


@exercise.mutant("each query sees the cache only: the new tokens up to itself are allowed as well")
def new_tokens_left_out(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    return attend(q, k[..., : m - n, :], v[..., : m - n, :], torch.tensor(True, device=q.device))


@exercise.mutant("the new tokens do not see each other: each sees the ones before it as well")
def new_tokens_apart(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    key = torch.arange(m, device=q.device)
    return attend(q, k, v, (key < m - n) | (key == key[m - n :, None]))


@exercise.mutant("a query sees no more than n keys: the window may not move along with it")
def window_of_n_keys(q, k, v):
    return attend(q, k, v, lower_right(q, k) & ~lower_right(q, k, -q.shape[-2]))


@exercise.mutant("the order is turned round: a query sees earlier keys, not later ones")
def later_keys(q, k, v):
    return attend(q, k, v, ~lower_right(q, k, -1))


@exercise.mutant("the order is turned round: a query sees earlier keys, not later ones")
def transposed(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    return attend(q, k, v, torch.ones(m, n, dtype=torch.bool, device=q.device).tril().mT)


UPSIDE_DOWN = "the mask is upside down: True means may attend"


@exercise.mutant(UPSIDE_DOWN)
def mask_inverted(q, k, v):
    return attend(q, k, v, ~lower_right(q, k))


@exercise.mutant(UPSIDE_DOWN)
def large_number_at_what_may_be_seen(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5 - 1e9 * lower_right(q, k)).softmax(-1) @ v


@exercise.mutant("the mask comes after the softmax, so the rows no longer sum to one")
def mask_after_the_softmax(q, k, v):
    return ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * lower_right(q, k)) @ v


@exercise.mutant("a masked score of 0 still gets weight, since exp(0) = 1: fill with -inf")
def zero_fill(q, k, v):
    return attend(q, k, v, fill=0.0)


FINITE_FILL = "scores may be smaller than the number you fill with: fill with -inf"


@exercise.mutant(FINITE_FILL)
def fill_with_minus_ten(q, k, v):
    return attend(q, k, v, fill=-10.0)


@exercise.mutant(FINITE_FILL)
def fill_with_minus_ten_thousand(q, k, v):
    return attend(q, k, v, fill=-1e4)


@exercise.mutant(
    "a hidden key with a large score leaves nothing to the others: mask the scores before the "
    "softmax"
)
def renormalised_after_the_softmax(q, k, v):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * lower_right(q, k)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9) @ v


@exercise.mutant("the largest score of all is taken away: take away the largest that a row may see")
def largest_score_of_all(q, k, v):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    parts = (scores - scores.max()).exp() * lower_right(q, k)
    return parts / parts.sum(-1, keepdim=True) @ v


@exercise.mutant("the scores are no longer scaled: divide by sqrt(d_k), as the given code does")
def unscaled(q, k, v):
    return attend(q, k, v, scale=1)


@exercise.mutant("the scores are divided by d_k, not by its square root")
def scaled_by_d_k(q, k, v):
    return attend(q, k, v, scale=q.shape[-1])


@exercise.mutant("the softmax runs over the queries: each row, over the keys, must sum to one")
def softmax_over_queries(q, k, v):
    return attend(q, k, v, axis=-2)


@exercise.mutant(
    "the softmax overflows or divides 0 by 0: take the largest score of a row away first"
)
def unstable_softmax(q, k, v):
    parts = (q @ k.mT / q.shape[-1] ** 0.5).exp() * lower_right(q, k)
    return parts / parts.sum(-1, keepdim=True) @ v


@exercise.mutant("only the last token's output comes back: there is one for each new token")
def last_output_only(q, k, v):
    return attend(q[..., -1:, :], k, v)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(q, k, v):
    _, _, d_k = q.shape
    return attend(q, k, v, scale=d_k**0.5)


@exercise.mutant("it loops over the new tokens: one mask serves all of them")
def loop_over_new_tokens(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    rows = []
    for i in range(n):
        seen = m - n + i + 1
        rows.append(attend(q[..., i : i + 1, :], k[..., :seen, :], v[..., :seen, :]))
    return torch.cat(rows, dim=-2)


@exercise.mutant("no gradient reaches the cache: nothing may be detached")
def cache_detached(q, k, v):
    return attend(q, k.detach(), v.detach())


@exercise.mutant("the input changes: scale a copy, not q itself")
def scaled_in_place(q, k, v):
    q /= q.shape[-1] ** 0.5
    return attend(q, k, v, scale=1)


@exercise.mutant("you compute in float32: stay in the dtype of the inputs")
def float32_inside(q, k, v):
    return attend(q.float(), k.float(), v.float()).to(v.dtype)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
def always_float32(q, k, v):
    return attend(q.float(), k.float(), v.float())


@exercise.mutant("the result is always float64: keep the dtype of the inputs")
def always_float64(q, k, v):
    return attend(q.double(), k.double(), v.double())


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def mask_on_the_cpu(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    return attend(q, k, v, torch.ones(n, m, dtype=torch.bool, device="cpu").tril(m - n))
