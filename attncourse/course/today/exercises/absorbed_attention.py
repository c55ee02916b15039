"""Exercise absorbed_attention: one token attends to latents, and no key or value is made."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over heads or tokens: they are axes, so take one product for all of them"
exercise = Exercise.read(
    __name__,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def with_keys_and_values(q, latents, w_k, w_v, q_rotary, k_rotary):
    (h, d), d_v, d_r = q.shape[-2:], w_v.shape[-1] // q.shape[-2], q_rotary.shape[-1]
    heads = []
    for i in range(h):
        k = latents @ w_k[:, i * d : (i + 1) * d]
        v = latents @ w_v[:, i * d_v : (i + 1) * d_v]
        scores = (k * q[..., i, None, :]).sum(-1) + (k_rotary * q_rotary[..., i, None, :]).sum(-1)
        weights = (scores / (d + d_r) ** 0.5).softmax(-1)
        heads.append((weights[..., None] * v).sum(-2))
    return torch.stack(heads, dim=-2)


def draw_token(draw, *batch, h, m, d, d_c, d_v, d_r):
    """The queries of one token, m latents, and the matrices of all heads."""
    return (
        draw.normal(*batch, h, d),
        draw.normal(*batch, m, d_c),
        draw.normal(d_c, h * d) / d_c**0.5,
        draw.normal(d_c, h * d_v),
        draw.normal(*batch, h, d_r),
        draw.normal(*batch, m, d_r),
    )


@exercise.cases
def cases(draw):
    (h, d, d_c, d_v, d_r), m = draw.sizes(5, 2, 8), draw.integer(9, 11)
    sizes = {"h": h, "m": m, "d": d, "d_c": d_c, "d_v": d_v, "d_r": d_r}
    args = draw_token(draw, 2, **sizes)
    text = f"h={h}, m={m}, d={d}, d_c={d_c}, d_v={d_v}, d_r={d_r}"
    longer = draw_token(draw, 2, **sizes | {"h": 64, "m": 64 + m})
    yield Case(f"a batch of 2, {text}", args, longer=longer)
    q, latents, w_k, w_v, q_rotary, k_rotary = args
    one = q[0], latents[0], w_k, w_v, q_rotary[0], k_rotary[0]
    yield Case(f"no batch, {text}", one)
    axes = draw_token(draw, 2, 3, h=4, m=5, d=3, d_c=6, d_v=2, d_r=5)
    yield Case("two leading axes", axes)
    # the scores are the largest tensor with a number for each pair
    many = draw_token(draw, h=4, m=96, d=8, d_c=6, d_v=7, d_r=3)
    yield Case("96 latents, no key or value made", many, max_elements=4 * 96 + 96 * 6)
    yield Case("the rotated parts all 0", (q, latents, w_k, w_v, 0 * q_rotary, k_rotary))
    yield Case("scores near 1000", (1e3 * q, latents, w_k, w_v, q_rotary, k_rotary))
    far = 30 * q_rotary, k_rotary
    yield Case("rotated parts that decide", (q, latents, w_k, w_v, *far))
    yield Case("one head", draw_token(draw, 2, **sizes | {"h": 1}))
    yield Case("one latent", draw_token(draw, 2, **sizes | {"m": 1}))
    yield Case("all widths and the number of heads 3",
               draw_token(draw, 2, h=3, m=5, d=3, d_c=3, d_v=3, d_r=3))  # fmt: skip


variants.right(exercise,
    # by einsum
    'moved = torch.einsum("...hd,chd->...hc", q, w_k.unflatten(-1, (h, -1)))\n'
    'return torch.einsum("...hc,chv->...hv", mean, w_v.unflatten(-1, (h, -1)))',
    # both parts side by side
    "scores = torch.cat([moved, q_rotary], -1) @ torch.cat([latents, k_rotary], -1).mT",
    # each head times its rows, summed
    "moved = (q[..., None, :] * keys).sum(-1)\n"
    "return (mean[..., None] * values).sum(-2)",
    "keys = w_k.reshape(-1, h, d).permute(1, 0, 2)\n"
    "values = torch.stack(w_v.chunk(h, dim=-1))\n"
    "width = q.size(-1) + k_rotary.size(-1)",
    "keys = w_k.mT.reshape(h, d, -1).mT\n"
    "scale = (d + q_rotary.shape[-1]) ** -0.5\n"
    "scores = moved @ latents.transpose(-1, -2) * scale + (scale * q_rotary) @ k_rotary.mT\n"
    "weights = torch.softmax(scores, -1)",
    "parts = (scores / width**0.5)\nparts = (parts - parts.amax(-1, keepdim=True)).exp()\n"
    "mean = parts @ latents / parts.sum(-1, keepdim=True)",
)  # fmt: skip
MADE = (
    "a key or a value is made for each head and token: move the query to the latents instead, and "
    "move their mean back out"
)
TURNS = (
    "the columns go to the heads in turn: the first d of w_k and the first d_v of w_v should be "
    "those of the first head"
)
KEYS = '"...mc,chd->...hmd", latents, w_k.unflatten(-1, (h, -1))'
VALUES = '"...mc,chv->...hmv", latents, w_v.unflatten(-1, (h, -1))'
PLAIN = f"scores = (torch.einsum({KEYS}) @ q[..., None])[..., 0] + q_rotary @ k_rotary.mT"
PLAIN_VALUES = f"return (weights[..., None, :] @ torch.einsum({VALUES}))[..., 0, :]"
variants.wrong(exercise, {
    MADE: [PLAIN, PLAIN_VALUES, f"{PLAIN}\n{PLAIN_VALUES}",
           f"k = torch.einsum({KEYS})\nk_all = k_rotary.unsqueeze(-3).expand(*k.shape[:-1], -1)\n"
           "scores = (torch.cat([k, k_all], -1) @ torch.cat([q, q_rotary], -1)[..., None])[..., 0]",
           "scores = (q[..., None, :] * (latents @ w_k).unflatten(-1, (h, -1)).transpose(-2, -3))"
           ".sum(-1) + q_rotary @ k_rotary.mT"],
    "the scores are not scaled: divide the sum of both products by sqrt(d + d_r)":
        "weights = scores.softmax(dim=-1)",
    "the scale is sqrt(d), which forgets the rotated part: divide by sqrt(d + d_r)": "width = d",
    "the scale is sqrt(d_r), which forgets the first part: divide by sqrt(d + d_r)":
        "width = q_rotary.shape[-1]",
    "the scale follows the latents: a query has d + d_r numbers, so divide by the root of that": [
        "width = latents.shape[-1] + q_rotary.shape[-1]", "width = latents.shape[-1]"],
    "the scores are divided by d + d_r: divide by the root of it": (
        "width**0.5", "width"),
    "the scale is a sum of two roots: add the widths first, then take the root": (
        "width**0.5", "(d**0.5 + q_rotary.shape[-1] ** 0.5)"),
    "each part is divided by the root of its own width: add the parts, then divide by "
    "sqrt(d + d_r)": (
        "moved @ latents.mT + q_rotary @ k_rotary.mT",
        "moved @ latents.mT / d**0.5 + q_rotary @ k_rotary.mT / q_rotary.shape[-1] ** 0.5",
        "scores / width**0.5", "scores"),
    "only the products of the latents are scaled: divide those of the rotated parts as well": [
        ("moved @ latents.mT + q_rotary", f"moved @ latents.mT / ({width}) ** 0.5 + q_rotary",
         "scores / width**0.5", "scores")
        for width in ("d + q_rotary.shape[-1]", "d")],
    "only the products of the rotated parts are scaled: divide those of the latents as well": (
        "k_rotary.mT\n    width = d + q_rotary.shape[-1]",
        "k_rotary.mT / (d + q_rotary.shape[-1]) ** 0.5", "scores / width**0.5", "scores"),
    "the rotated parts are left out: add their products to those of the latents": [
        "scores = moved @ latents.mT", "scores = moved @ latents.mT\nwidth = d"],
    "the rotated parts alone decide: add the products of the queries with the latents":
        "scores = q_rotary @ k_rotary.mT",
    "the products of the two parts are multiplied: add them":
        "scores = (moved @ latents.mT) * (q_rotary @ k_rotary.mT)",
    "the rotated parts are subtracted: add their products":
        "scores = moved @ latents.mT - q_rotary @ k_rotary.mT",
    "each part has a softmax of its own: add the products, and take one softmax of the sum": [
        "weights = (moved @ latents.mT / width**0.5).softmax(-1) "
        "+ (q_rotary @ k_rotary.mT / width**0.5).softmax(-1)",
        "weights = ((moved @ latents.mT / width**0.5).softmax(-1) "
        "+ (q_rotary @ k_rotary.mT / width**0.5).softmax(-1)) / 2"],
    "all heads share the first rotated query: only the keys are shared, so let each head keep its "
    "own query": (
        "q_rotary @ k_rotary", "q_rotary[..., :1, :] @ k_rotary"),
    TURNS: [
        "keys = w_k.unflatten(-1, (-1, h)).permute(2, 0, 1)",
        "values = w_v.unflatten(-1, (-1, h)).permute(2, 0, 1)",
        "keys = w_k.unflatten(-1, (-1, h)).permute(2, 0, 1)\n"
        "values = w_v.unflatten(-1, (-1, h)).permute(2, 0, 1)"],
    "the matrices are cut across: reshape would mix rows and heads, so split the columns into h "
    "parts, then bring the heads to the front": [
        "keys = w_k.reshape(h, -1, d)", "values = w_v.reshape(h, w_k.shape[0], -1)",
        "keys = w_k.reshape(h, -1, d)\nvalues = w_v.reshape(h, w_k.shape[0], -1)",
        "keys = w_k.reshape(h, d, -1).mT",
        "keys = w_k.reshape(h, d, -1).mT\nvalues = w_v.reshape(h, w_k.shape[0], -1)"],
    "all heads have the first one's matrices: cut w_k and w_v into h parts, one for each head": [
        "keys = w_k[:, :d]", "values = w_v[:, : w_v.shape[-1] // h]",
        "keys = w_k[:, :d]\nvalues = w_v[:, : w_v.shape[-1] // h]"],
    "the heads' matrices are averaged: let each head use its own": [
        "keys = w_k.unflatten(-1, (h, -1)).mean(1)", "values = w_v.unflatten(-1, (h, -1)).mean(1)",
        "keys = w_k.unflatten(-1, (h, -1)).mean(1)\nvalues = w_v.unflatten(-1, (h, -1)).mean(1)"],
    "every latent counts the same: mix them with the weights": [
        "mean = latents.mean(-2, keepdim=True).expand(*weights.shape[:-1], -1)"],
    "this is the mean of the latents: multiply that of each head by the head's part of w_v":
        "return mean",
    "the mean is multiplied by w_k: keys have done their part, so take the head's part of w_v":
        "values = w_k.unflatten(-1, (h, -1)).transpose(0, 1)",
    "each head's mean meets all heads' matrices: multiply it by the head's own part of w_v": [
        "return mean @ w_v", "return mean @ values"],
    "each query meets all heads' matrices: multiply it by the head's own part of w_k, transposed": [
        "moved = q @ w_k.mT", "moved = q @ keys.mT", "moved = q @ w_k"],
    "the moved queries of all heads are added up: move each with its own head's part of w_k":
        "moved = (q.flatten(-2) @ w_k.mT)[..., None, :]",
    "the heads' matrices are not transposed: from d numbers to d_c, a query goes through the "
    "transpose of a head's part of w_k": (
        "keys.mT", "keys"),
    "the parts of w_v are taken to be d wide: each is w_v.shape[-1] // h wide": [
        "values = w_v.unflatten(-1, (h, d)).transpose(0, 1)",
        "values = w_v.reshape(-1, h, d).transpose(0, 1)"],
    "k_rotary gets an axis for the heads: q_rotary has a row for each head already, so multiply "
    "it by k_rotary.mT":
        "scores = moved @ latents.mT + q_rotary @ k_rotary[..., None, :, :].mT",
    "a causal mask hides tokens from some heads: the new token is the last, and sees all": [
        "seen = torch.ones_like(scores, dtype=torch.bool).tril()\n"
        "weights = (scores / width**0.5).masked_fill(~seen, -torch.inf).softmax(dim=-1)"],
    "the outputs of the heads come joined: leave them apart, as (..., h, d_v)":
        "return (mean[..., None, :] @ values)[..., 0, :].flatten(-2)",
    "an axis of size 1 is left over: return (..., h, d_v)":
        "return mean[..., None, :] @ values",
    "the heads are averaged: return one row for each head":
        "return (mean[..., None, :] @ values)[..., 0, :].mean(-2, keepdim=True)",
    "the softmax runs over the heads: for each head, the weights of all tokens must sum to one": (
        "softmax(dim=-1)", "softmax(dim=-2)"),
    "the softmax is missing: turn the scores into weights": [
        (".softmax(dim=-1)", ""), "weights = scores / scores.sum(dim=-1, keepdim=True)"],
    "the new token is hidden from itself: it should see all latents, its own included": [
        "mean = weights[..., :-1] @ latents[..., :-1, :]",
        "gone = torch.zeros_like(scores)\ngone[..., -1] = -1e30\n"
        "weights = ((scores + gone) / width**0.5).softmax(dim=-1)"],
    "exp of a large score overflows: take torch's softmax, or subtract a row's largest first":
        "parts = (scores / width**0.5).exp()\nmean = parts @ latents / parts.sum(-1, keepdim=True)",
    "no gradient reaches the latents: don't detach anything": [
        "mean = weights @ latents.detach()",
        (every("latents.mT"), "latents.detach().mT", "@ latents\n", "@ latents.detach()\n")],
    messages.SQUEEZES: [
        "moved = (q[..., None, :] @ keys.mT).squeeze()",
        "return (mean[..., None, :] @ values).squeeze()",
        "moved = (q[..., None, :] @ keys.mT).squeeze()\n"
        "return (mean[..., None, :] @ values).squeeze()"],
    messages.BATCH: 'moved = torch.einsum("bhd,hcd->bhc", q, keys)',
    messages.FRONT: "h, d = q.shape[1], q.shape[2]",
    messages.CHANGES: "scores = moved @ latents.mul_(2).mT / 2 + q_rotary @ k_rotary.mT",
    LOOP: [
        "moved = torch.stack([q[..., i, None, :] @ keys[i].mT for i in range(h)], -3)[..., 0, :]",
        "parts = [mean[..., i, None, :] @ values[i] for i in range(h)]\n"
        "return torch.cat(parts, dim=-2)"],
})  # fmt: skip
