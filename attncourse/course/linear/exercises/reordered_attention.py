"""Exercise reordered_attention: keys meet values first, and no n x m matrix is built."""

import torch

from attncourse.course.linear.exercises.shared.sums import FEATURES_AGAIN, draw_inputs
from judge import messages, variants
from judge.exercise import FINITE, Case, Exercise

LOOP = "it loops over keys or queries: take all of them at once, by products of matrices"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(phi_q, phi_k, v, padding=None):
    m = phi_k.shape[-2]
    real = torch.ones(m, dtype=torch.bool) if padding is None else padding
    keys = [torch.where(real[..., j, None], phi_k[..., j, :], 0.0) for j in range(m)]
    rows = []
    for i in range(phi_q.shape[-2]):
        parts = [(phi_q[..., i, :] * key).sum(-1) for key in keys]
        total = sum(parts)
        shares = [part / total.masked_fill(total == 0, 1.0) for part in parts]
        rows.append(sum(share[..., None] * v[..., j, :] for j, share in enumerate(shares)))
    return torch.stack(rows, dim=-2)


@exercise.unread(*FINITE)
def padding_entries(phi_q, phi_k, v, padding=None):
    return {} if padding is None else {name: ~padding[..., None] for name in ("phi_k", "v")}


@exercise.cases
def cases(draw):
    n, m, d, e = draw.sizes(4, 2, 7)
    q, k, v = draw_inputs(draw, 2, n=n, m=m, d=d, e=e)
    longer_inputs = draw_inputs(draw, 2, n=56, m=48, d=d, e=e)
    sizes = f"n={n}, m={m}, d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}", (q, k, v), longer=longer_inputs)
    yield Case(f"two matrices without a batch, {sizes}", (q[0], k[0], v[0]))
    heads = draw_inputs(draw, 2, 3, n=4, m=6, d=2, e=5)
    yield Case("two leading axes (batch, heads)", heads)
    padding = draw.mask(2, m)
    large_batch = *draw_inputs(draw, 24, n=56, m=48, d=d, e=e), draw.mask(24, 48)
    yield Case(f"padding, {sizes}", (q, k, v, padding), longer=large_batch)
    yield Case(f"padding without a batch, {sizes}", (q[0], k[0], v[0], padding[0]))
    yield Case("padding of shape (2, 1, m) for all heads", (*heads, draw.mask(2, 1, 6)))
    one_empty = padding.clone()
    one_empty[1] = False
    yield Case("a sentence of nothing but padding", (q, k, v, one_empty))
    yield Case("nothing but padding", (q, k, v, padding & False))
    yield Case("padding by name", (q, k, v), {"padding": padding})
    yield Case("padding of shape (3, m) for all sentences", (*heads, draw.mask(3, 6)))
    yield Case("features 100000 times smaller", (q / 1e5, k / 1e5, v))
    small_features = q[..., :1] / 2e6, k[:, :2, :1] / 2e6, v[:, :2]
    yield Case("products of features around 1e-11, m=2, d=1", small_features, gradient=False)
    yield Case("one query and one key", (q[:, :1], k[:, :1], v[:, :1]))
    long_inputs = draw_inputs(draw, n=16, m=18, d=2, e=3)
    yield Case("n=16, m=18, d=2, e=3", long_inputs, gradient=False, max_elements=16 * 18 - 1)


PADDED, HIDDEN = "phi_k * padding[..., None]", "phi_k.masked_fill(~padding[..., None], 0.0)"
variants.right(exercise,
    # feature by feature: a loop over the width is none over the positions
    "pairs = [(phi_q[..., [c]], keys[..., [c]]) for c in range(keys.shape[-1])]\n"
    "total = sum(q * k.sum(-2, keepdim=True) for q, k in pairs)\n"
    "return sum(q * (k * v).sum(-2, keepdim=True) for q, k in pairs) / divisor",
    # a column of ones
    "s = keys.mT @ torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)\n"
    "total = (phi_q @ s)[..., -1:]\n"
    "return (phi_q @ s)[..., :-1] / divisor",
    "keys = phi_k if padding is None else phi_k.masked_fill(~padding.unsqueeze(-1), 0.0)\n"
    's = torch.einsum("...jd,...je->...de", keys, v)\n'
    'total = torch.einsum("...id,...jd->...i", phi_q, keys).unsqueeze(-1)\n'
    "divisor = total.clamp(min=1e-12)",
    # (..., m, d, e) numbers
    "keys = phi_k if padding is None else torch.where(padding[..., None], phi_k, 0.0)\n"
    "s = (keys[..., :, None] * v[..., None, :]).sum(-3)\n"
    "total = (phi_q * z[..., None, :]).sum(-1, keepdim=True)\n"
    "divisor = total + (total == 0)",
)  # fmt: skip
variants.wrong(exercise, {
    "the n x m matrix is built: multiply keys with values first, then the queries":
        "return (phi_q @ keys.mT) @ v / divisor",
    "the normaliser is missing: divide by the sum of the weights": "return phi_q @ s",
    "it is multiplied by the normaliser: divide by it": "return phi_q @ s * total",
    "it is divided by the number of keys: divide by the sum of a row's weights":
        "total = (keys > 0).to(v.dtype).sum(-2)[..., :1, None]",
    "z is the mean of the keys, and each number is m times the right one: take their sum":
        "z = keys.mean(-2)",
    "the queries are left out of the normaliser: multiply them with the sum of the keys":
        "total = z.sum(-1)[..., None, None]",
    "query and keys are each summed up before they are multiplied: take a dot product, feature by "
    "feature":
        "total = phi_q.sum(-1, keepdim=True) * z.sum(-1)[..., None, None]",
    "the state is divided by z: multiply the query with each of the two first, and then divide":
        "total = z[..., None]\nreturn phi_q @ (s / divisor)",
    "the normaliser sums over the queries: give each query its own, a sum over keys":
        "total = (phi_q @ z[..., None]).sum(-2, keepdim=True)",
    "padding counts in the normaliser: leave the padded keys out of both sums":
        "z = phi_k.sum(-2)",
    "padding counts in the state: leave the padded keys out of both sums": "s = phi_k.mT @ v",
    "what is added and taken off again is lost beside huge padding: set its features to 0 first":
        "padded = phi_k - keys\n"
        "s = phi_k.mT @ v - padded.mT @ v\n"
        "z = phi_k.sum(-2) - padded.sum(-2)",
    "the padding is multiplied by 0 after its features have met its values, and their product may "
    "be infinite: set the features to 0 first":
        "real = 1 if padding is None else padding[..., None, None]\n"
        "s = (phi_k[..., None] * v[..., None, :] * real).sum(-3)",
    "the padding is the wrong way round: True should mean a real token":
        ("* padding", "* ~padding"),
    "the padding changes nothing: don't count padded keys": "keys = phi_k",
    "it fails without padding: where it is None, take every token for a real one":
        f"keys = {PADDED}",
    "-inf, or nearly, is for a softmax: here the features of padding must be 0": [
        (PADDED, "phi_k.masked_fill(~padding[..., None], -torch.inf)"),
        (PADDED, "phi_k.masked_fill(~padding[..., None], -torch.inf)",
         "masked_fill(total == 0, 1.0)", "where(total > 0, 1.0)"),
        (PADDED, "phi_k.masked_fill(~padding[..., None], -1e9)")],
    "a sentence of nothing but padding gives NaN: it should give zeros": "divisor = total",
    "the NaN of 0 / 0 is replaced after the division, and its gradient stays NaN: make the divisor "
    "safe first": [
        *(f"keys = phi_k if padding is None else {keys}\ndivisor = total\nreturn {result}"
          for keys in (PADDED, HIDDEN)
          for result in ("(phi_q @ s / divisor).nan_to_num(0.0)",
                         "(phi_q @ keys.mT / divisor).nan_to_num(0.0) @ v")),
        "weights = phi_q @ phi_k.mT\nif padding is not None:\n"
        "    weights = weights * padding[..., None, :]\n"
        "return (weights / weights.sum(-1, keepdim=True)).nan_to_num(0.0) @ v"],
    "an epsilon in the denominator shows where features are small: ask where the sum is 0": [
        f"divisor = total + {epsilon}" for epsilon in ("1e-6", "1e-8", "1e-9")],
    "a least value for the denominator shows where features are small: ask where the sum is 0": [
        f"divisor = total.clamp(min={least})" for least in ("1e-6", "1e-8", "1e-10")],
    "a divisor as small as can be makes a gradient NaN: where the sum is 0, divide by 1":
        "divisor = total.clamp(min=torch.finfo(total.dtype).tiny)",
    messages.CUT_OFF: (
        "    s =", "    if padding is not None and not padding.any():\n"
        "        return v.new_zeros(*phi_q.shape[:-1], v.shape[-1])\n    s ="),
    # of positive numbers, elu(x) + 1 is x + 1
    FEATURES_AGAIN: ("    keys", "    phi_q, phi_k = phi_q + 1, phi_k + 1\n    keys"),
    "the state is transposed: its rows should belong to the features, its columns to v":
        "s = v.mT @ keys",
    LOOP: [
        "s = sum(keys[..., [j], :].mT @ v[..., [j], :] for j in range(v.shape[-2]))",
        "return torch.cat([q @ s for q in phi_q.split(1, dim=-2)], dim=-2) / divisor"],
    "it loops over sentences: hide the keys of all of them by one product with the mask": (
        PADDED, "torch.stack([one * words[:, None] for one, words in zip(phi_k, padding)]) "
        f"if padding.dim() == phi_k.dim() - 1 == 2 else {PADDED}"),
    "no gradient passes through the normaliser: don't detach anything":
        "return phi_q @ s / divisor.detach()",
    messages.BATCH: (PADDED, "phi_k * padding[:, :, None]"),
    "the axes of padding are aligned from the left: let them broadcast from the right": [
        ("    keys", "    while padding is not None and padding.dim() < phi_k.dim() - 1:\n"
         "        padding = padding.unsqueeze(1)\n    keys", PADDED, hidden)
        for hidden in (PADDED, HIDDEN)],
    # the features of padding are 0
    "this is the softmax: take the products of the features as they are":
        "scores = (phi_q @ keys.mT / phi_q.shape[-1] ** 0.5).masked_fill(\n"
        "    keys.sum(-1)[..., None, :] == 0, -torch.inf)\n"
        "return scores.softmax(-1).nan_to_num(0.0) @ v",
})  # fmt: skip
