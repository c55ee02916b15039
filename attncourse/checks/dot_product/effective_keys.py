"""Exercise effective_keys: how many keys a query really looks at."""

import math

import torch

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="effective_keys",
    chapter="dot_product",
    title="How many keys does a query look at?",
    kind="measure",
    difficulty=2,
    minutes=15,
    points=10,
    hints=(
        "Entropy says how spread a row of weights is; its exponential says it in keys. Equal "
        "weight on m keys must give m, all weight on one key must give 1.",
        "Sum -w log w over the last axis and take exp of the sum. The logarithm of 0 is not "
        "finite: torch.where puts a 1 there first (torch.special.xlogy knows the rule as well). A "
        "row of nothing but zeros looks at no key: ask for that at the end, and give it 0.",
        "(w * torch.where(w > 0, w, 1.0).log()).sum(-1) is minus the entropy, and (w > 0).any(-1) "
        "says whether a row has any weight",
    ),
    # at a weight of 0, and off the rows that sum to 1, right answers have different gradients
    differentiable=False,
)


@exercise.reference
def by_hand(weights):
    counts = []
    for row in weights.reshape(-1, weights.shape[-1]):
        some = row[row > 0]
        counts.append((-some @ some.log()).exp() * (len(some) > 0))
    return torch.stack(counts).reshape(weights.shape[:-1])


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 3, 7)
    scores = draw.normal(2, n, m)
    weights, long = scores.softmax(-1), draw.normal(2, 8 * n, 8 * m).softmax(-1)
    yield Case(f"a batch of 2, n={n}, m={m}", (weights,), longer=(long,))
    yield Case(f"one matrix without a batch, n={n}, m={m}", (weights[0],))
    # as many rows as it takes to tell float32 from float64 by its rounding
    yield Case("three leading axes", (draw.normal(8, 8, 8, 6).softmax(-1),))
    yield Case(f"uniform weights over {m} keys", (torch.full_like(weights, 1 / m),))
    yield Case("all weight on one key", (torch.eye(m, dtype=weights.dtype),))
    hidden = scores.masked_fill(~draw.mask(2, n, m), -torch.inf).softmax(-1)
    yield Case("keys that the mask hides", (hidden,))
    small = 0.1 ** torch.arange(8, dtype=weights.dtype)
    yield Case("weights down to a ten-millionth", (small[None] / small.sum(),))
    yield Case("scores 60 times larger", ((60 * scores).softmax(-1),))
    nowhere = hidden.clone()
    nowhere[1, 0] = 0
    yield Case("a query that may attend nowhere", (nowhere,))
    yield Case("one query and one key", (torch.ones_like(weights[:, :1, :1]),))


def entropy(weights, dim=-1):
    return -(weights * torch.where(weights > 0, weights, 1.0).log()).sum(dim)


def counted(weights, *, value=None, empty=0.0):
    """The right answer, with the places where a wrong one departs from it as arguments."""
    value = entropy(weights).exp() if value is None else value
    return torch.where((weights > 0).any(-1), value, empty)


@exercise.valid
def by_xlogy(weights):
    return counted(weights, value=torch.exp(-torch.special.xlogy(weights, weights).sum(dim=-1)))


@exercise.valid
def by_entr(weights):
    empty = weights.sum(-1) == 0
    return torch.special.entr(weights).sum(-1).exp().masked_fill(empty, 0.0)


@exercise.valid
def clamped_inside_the_log(weights):
    bits = -torch.einsum("...m,...m->...", weights, weights.clamp(min=1e-30).log2())
    return 2**bits * weights.any(-1)


@exercise.valid
def a_tiny_epsilon(weights):
    nats = -(weights * (weights + 1e-12).log()).sum(-1)
    return nats.exp() - (weights.amax(-1) == 0).to(weights.dtype)


@exercise.valid
def a_product_of_powers(weights):
    count = weights.masked_fill(weights == 0, 1.0).pow(-weights).prod(-1)
    return torch.where(weights.max(dim=-1).values > 0, count, torch.zeros_like(count))


@exercise.valid
def nan_replaced_within_the_sum(weights):
    terms = (weights * weights.log()).nan_to_num(0.0)
    return torch.where(weights.sum(-1) > 0, (-terms.sum(-1)).exp(), 0.0)


@exercise.valid
@torch.no_grad()
def normalised_first(weights):
    total = weights.sum(-1, keepdim=True)
    return counted(weights / torch.where(total > 0, total, 1.0))


@exercise.valid
def by_the_divergence_from_uniform(weights):
    uniform = 1 / weights.shape[-1]
    divergence = torch.special.xlogy(weights, weights / uniform).sum(-1)
    return counted(weights, value=weights.shape[-1] * (-divergence).exp())


@exercise.valid
def by_the_distribution_of_torch(weights):
    empty = weights.sum(-1) == 0
    safe = weights.masked_fill(empty[..., None], 1.0)
    entropies = torch.distributions.Categorical(probs=safe).entropy()
    return entropies.exp().masked_fill(empty, 0.0)


@exercise.valid
def times_the_sum(weights):
    return entropy(weights).exp() * weights.sum(-1)


@exercise.mutant("this is the entropy: its exponential is the number of keys")
def entropy_only(weights):
    return entropy(weights)


@exercise.mutant("the minus sign is missing: entropy is minus the sum of w log w")
def sign_missing(weights):
    return counted(weights, value=(-entropy(weights)).exp())


@exercise.mutant("two bases are mixed: exp belongs to the natural logarithm, not to log2")
def exp_of_bits(weights):
    return counted(weights, value=(entropy(weights) / math.log(2)).exp())


@exercise.mutant("two bases are mixed: exp belongs to the natural logarithm, not to log10")
def exp_of_decimals(weights):
    return counted(weights, value=(entropy(weights) / math.log(10)).exp())


@exercise.mutant("two bases are mixed: 2 to the power of an entropy needs log2")
def two_to_the_nats(weights):
    return counted(weights, value=2 ** entropy(weights))


@exercise.mutant(
    "the entropy is divided by log m: that gives a share from 0 to 1, not a number of keys"
)
def normalised_entropy(weights):
    # with a single key the share would be 0 / 0
    return counted(weights, value=(entropy(weights) / max(math.log(weights.shape[-1]), 1.0)).exp())


@exercise.mutant("this is 1 over the sum of squares: it counts keys as well, but not by entropy")
def inverse_of_squares(weights):
    return counted(weights, value=1 / weights.square().sum(-1))


@exercise.mutant("this is 1 over the largest weight: every weight of the row should count")
def inverse_of_the_largest(weights):
    return counted(weights, value=1 / weights.amax(-1))


@exercise.mutant("keys with any weight at all are counted: a small weight should count little")
def keys_above_zero(weights):
    return (weights > 0).sum(-1).to(weights.dtype)


@exercise.mutant("all logarithms count alike: multiply each with its own weight, then add up")
def mean_of_the_logarithms(weights):
    return counted(weights, value=(-torch.where(weights > 0, weights, 1.0).log().mean(-1)).exp())


@exercise.mutant("the exponential comes too early: add up -w log w first, then take exp")
def exp_before_the_sum(weights):
    return counted(weights, value=(entropy(weights[..., None])).exp().sum(-1))


@exercise.mutant("w log w is averaged over the keys: add it up")
def mean_over_the_keys(weights):
    return counted(weights, value=(entropy(weights) / weights.shape[-1]).exp())


@exercise.mutant(
    "the sum runs over the queries: a row holds the weights of one query over its keys"
)
def sum_over_the_queries(weights):
    return torch.where((weights > 0).any(-2), entropy(weights, -2).exp(), 0.0)


@exercise.mutant("the rows are merged into one number: each query has a count of its own")
def averaged_over_the_rows(weights):
    return entropy(weights).mean(-1).exp()


@exercise.mutant("the last axis is kept: one number for each query is asked for")
def last_axis_kept(weights):
    return counted(weights)[..., None]


@exercise.mutant("a softmax is taken once more: these are weights already")
def softmax_again(weights):
    return counted(weights, value=entropy(weights.softmax(-1)).exp())


@exercise.mutant("a weight of 0 gives NaN: 0 log 0 counts as 0")
def nan_at_zero(weights):
    return counted(weights, value=(-(weights * weights.log()).sum(-1)).exp())


@exercise.mutant("nan_to_num comes too late: 0 log 0 must count as 0 within the sum")
def nan_replaced_at_the_end(weights):
    return (-(weights * weights.log()).sum(-1)).exp().nan_to_num(0.0)


EPSILON = "the epsilon is large enough to show: make it far smaller, or ask where the weight is 0"


def with_an_epsilon(weights, epsilon):
    return counted(weights, value=(-(weights * (weights + epsilon).log()).sum(-1)).exp())


@exercise.mutant(EPSILON)
def epsilon_of_a_thousandth(weights):
    return with_an_epsilon(weights, 1e-3)


@exercise.mutant(EPSILON)
def epsilon_of_a_ten_thousandth(weights):
    return with_an_epsilon(weights, 1e-4)


@exercise.mutant(EPSILON)
def epsilon_of_a_millionth(weights):
    return with_an_epsilon(weights, 1e-6)


@exercise.mutant(EPSILON)
def clamped_at_a_millionth(weights):
    return counted(weights, value=entropy(weights.clamp(min=1e-6)).exp())


@exercise.mutant(EPSILON)
def epsilon_in_the_denominator(weights):
    return counted(weights / (weights.sum(-1, keepdim=True) + 1e-6))


CUT_OFF = "small weights are cut off: only a weight of exactly 0 is left out"


@exercise.mutant(CUT_OFF)
def cut_off_below_a_hundredth(weights):
    return counted(weights, value=entropy(weights.masked_fill(weights < 0.01, 0.0)).exp())


@exercise.mutant(CUT_OFF)
def cut_off_below_a_ten_thousandth(weights):
    return counted(weights, value=entropy(weights.masked_fill(weights < 1e-4, 0.0)).exp())


@exercise.mutant("one key also has entropy 0: ask whether the weights are zero")
def zero_where_the_entropy_is(weights):
    spread = entropy(weights)
    return torch.where(spread == 0, 0.0, spread.exp())


@exercise.mutant("rounding keeps many rows from a sum of exactly 1: ask whether a row is all zeros")
def zero_unless_the_sum_is_one(weights):
    return torch.where(weights.sum(-1) == 1, entropy(weights).exp(), 0.0)


@exercise.mutant("a row of zeros counts as one key, since exp(0) = 1: it should give 0")
def one_for_an_empty_row(weights):
    return counted(weights, empty=1.0)


@exercise.mutant("a row of zeros gives NaN: it looks at no key and should give 0")
def nan_for_an_empty_row(weights):
    return counted(weights, empty=torch.nan)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
def batch_axis_assumed(weights):
    batch, n, m = weights.shape
    return counted(weights.view(batch * n, m)).view(batch, n)


@exercise.mutant("it loops over positions: treat all rows at once")
def loop_over_rows(weights):
    rows = []
    for row in weights.unbind(-2):
        rows.append(counted(row))
    return torch.stack(rows, dim=-1)


@exercise.mutant("the input changes: guard the logarithm on a copy, not on weights itself")
def changed_in_place(weights):
    weights += 1e-12
    return entropy(weights).exp() * (weights > 1e-9).any(-1)


@exercise.mutant("it gives a list: return a tensor, one number for each query")
def plain_list(weights):
    return counted(weights).tolist()


@exercise.mutant("you compute in float32: stay in the dtype of the weights")
def float32_inside(weights):
    return counted(weights.float()).to(weights.dtype)


@exercise.mutant("the result is always float32: keep the dtype of the weights")
def always_float32(weights):
    return counted(weights.float())


@exercise.mutant("the result is always float64: keep the dtype of the weights")
def always_float64(weights):
    return counted(weights.double())


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
def tensor_on_the_cpu(weights):
    return counted(weights) + torch.zeros(weights.shape[:-1], dtype=weights.dtype, device="cpu")
