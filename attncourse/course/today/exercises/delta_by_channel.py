"""Exercise delta_by_channel: one token of the delta rule, with a gate for each channel."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over sentences or channels: take one product for all of them"
CHANGED = "the state that came in changes: leave it as it was for whoever keeps it"
exercise = Exercise.read(
    __name__,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP, "changes_its_input": CHANGED},
    without={"ties": "rounded to halves, a short key may be 0, which the text rules out"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(s, q, k, v, a, b):
    d, e = s.shape[-2:]
    q, k = (x / sum(x[..., c] ** 2 for c in range(d)).sqrt()[..., None] for x in (q, k))
    alpha, beta = (1 / (1 + (-x).exp()) for x in (a, b))
    columns = []
    for x in range(e):
        column = alpha * s[..., x]
        missing = v[..., x] - (k * column).sum(-1)
        columns.append(column + k * (beta * missing)[..., None])
    out = torch.stack([(q * column).sum(-1) for column in columns], dim=-1)
    return torch.stack(columns, dim=-1), out


def draw_state_and_token(draw, *batch, d, e):
    """A state, and one token more."""
    vectors = (draw.normal(*batch, d) for _ in range(3))
    q, k, a = vectors
    # no length near 1 or 0
    q, k = (x * (2 + draw.normal(*batch, 1).abs()) / x.norm(dim=-1, keepdim=True) for x in (q, k))
    return draw.normal(*batch, d, e), q, k, draw.normal(*batch, e), a, draw.normal(*batch)


@exercise.cases
def cases(draw):
    d, e = draw.sizes(2, 3, 6)
    s, q, k, v, a, b = args = draw_state_and_token(draw, 2, d=d, e=e)
    text = f"d={d}, e={e}"
    yield Case(f"a batch of 2, {text}", args, longer=draw_state_and_token(draw, 32, d=8 * d, e=e))
    yield Case(f"one token, without a batch, {text}", tuple(x[0] for x in args))
    yield Case("two leading axes (batch, heads), d=4, e=5",
               draw_state_and_token(draw, 2, 3, d=4, e=5))  # fmt: skip
    wide = draw_state_and_token(draw, d=32, e=2)
    yield Case("d=32, e=2, nothing of size d x d made", wide, max_elements=256)
    yield Case("all sizes 3", draw_state_and_token(draw, 3, 3, d=3, e=3))
    yield Case("the very first token, so the state is 0", (0 * s, q, k, v, a, b))
    yield Case("everything is kept, and the token written whole", (s, q, k, v, a + 60, b + 60))
    yield Case("half is kept of each channel", (s, q, k, v, 0 * a, b))
    opened = 8 * (torch.arange(d) % 2 == 0).double() - 4
    yield Case("every other channel is almost forgotten", (s, q, k, v, 0 * a + opened, b))
    yield Case("a query along the key", (s, 2 * k, k, v, a, b))
    yield Case("keys and queries 1000 times shorter", (s, q / 1e3, k / 1e3, v, a, b))
    yield Case("large values", (s, q, k, 1e6 * v, a, b))
    yield Case("d=1, e=1", draw_state_and_token(draw, 2, d=1, e=1))


variants.right(exercise,
    "query = torch.nn.functional.normalize(q, dim=-1)\n"
    "key = torch.nn.functional.normalize(k, dim=-1)\n"
    'recalled = torch.einsum("...d,...de->...e", key, faded)\n'
    's_new = faded + torch.einsum("...d,...e->...de", key, change)\n'
    'out = torch.einsum("...d,...de->...e", query, s_new)',
    # what is erased, and what is written
    "query = q / q.square().sum(-1, keepdim=True).sqrt()\n"
    "key = k * (k * k).sum(-1, keepdim=True).rsqrt()\n"
    "kept = faded - beta[..., None, None] * (key.unsqueeze(-1) * recalled.unsqueeze(-2))\n"
    "s_new = kept + (beta[..., None] * key)[..., None] * v[..., None, :]",
    # what the query reads, without the new state
    "share = (query * key).sum(-1, keepdim=True)\n"
    "out = (query[..., None, :] @ faded).squeeze(-2) + share * change",
    # the gate on the key, not on the state
    "recalled = ((alpha * key)[..., None] * s).sum(-2)\nout = (query[..., None] * s_new).sum(-2)\n"
    "return [s_new, out]",
    "faded = torch.mul(s, alpha.unsqueeze(-1))\n"
    "recalled = (faded.mT @ key.unsqueeze(-1))[..., 0]\n"
    "s_new = torch.addcmul(faded, key.unsqueeze(-1), change.unsqueeze(-2))",
)  # fmt: skip
SQUARE = (
    "a matrix of size d x d is made, and the state may be far smaller: multiply the key with the "
    "state first"
)
MATRIX = "key[..., :, None] * key[..., None, :]"
variants.wrong(exercise, {
    "nothing fades: multiply the rows of the state by alpha first": "faded = s",
    "the state fades after the token has written: let it fade before": (
        "faded = alpha[..., :, None] * s", "faded = s",
        "s_new = faded + key[..., :, None] * change[..., None, :]",
        "s_new = alpha[..., :, None] * (faded + key[..., :, None] * change[..., None, :])"),
    "what was there is erased before the state fades: let it fade first, then ask and write": [
        "recalled = (key[..., None, :] @ s)[..., 0, :]\n"
        "erased = alpha[..., :, None] * key[..., :, None] * (beta[..., None] * recalled)"
        "[..., None, :]\n"
        "s_new = faded - erased + key[..., :, None] * (beta[..., None] * v)[..., None, :]"],
    "all that is in the state is weakened by 1 - beta: only what lies under the key should change":
        "s_new = (1 - beta)[..., None, None] * faded "
        "+ key[..., :, None] * (beta[..., None] * v)[..., None, :]",
    "the key looks into the state before it fades: look for what is there afterwards": (
        "@ faded", "@ s"),
    "the new state is made of the one that has not faded: add the change to the faded state": (
        "s_new = faded", "s_new = s"),
    "one gate serves all channels: multiply each row by a gate of its own": [
        "faded = alpha.mean(-1)[..., None, None] * s", "faded = alpha[..., :1, None] * s"],
    "the gates multiply the columns: those are the values' channels, so multiply the rows": [
        "faded = (alpha if s.shape[-1] == s.shape[-2] else alpha.mean(-1, True))[..., None, :] "
        "* s", "faded = alpha[..., None, :] * s"],
    "the gates have no sigmoid: alpha is the sigmoid of a": "faded = a[..., :, None] * s",
    "the gates come from exp: alpha is the sigmoid of a": [
        "faded = a.exp()[..., :, None] * s", "faded = (-a).exp()[..., :, None] * s",
        "faded = (-a.exp())[..., :, None].exp() * s"],
    "the gates come from a softmax: take the sigmoid of each number by itself":
        "faded = a.softmax(-1)[..., :, None] * s",
    "the gates work the wrong way round: a large a should keep the row": [
        "faded = (1 - alpha)[..., :, None] * s"],
    "the fading counts twice for what is recalled: the state has faded already, so look with the "
    "key alone":
        "recalled = ((alpha * key)[..., None, :] @ faded)[..., 0, :]",
    "what the token writes fades, too: alpha is for the old state alone":
        "s_new = faded + (alpha * key)[..., :, None] * change[..., None, :]",
    "1 - alpha takes the place of beta: multiply what is missing by beta":
        "s_new = faded + ((1 - alpha) * key)[..., :, None] * (v - recalled)[..., None, :]",
    "beta shortens the key that looks: multiply what is missing by it, and nothing before": [
        "weak = beta[..., None] * key\nrecalled = (weak[..., None, :] @ faded)[..., 0, :]\n"
        "change = v - recalled\ns_new = faded + weak[..., :, None] * change[..., None, :]",
        "recalled = ((beta[..., None] * key)[..., None, :] @ faded)[..., 0, :]"],
    "beta has no sigmoid: it is the sigmoid of b": "change = b[..., None] * (v - recalled)",
    "both gates have no sigmoid: alpha is that of a, and beta that of b":
        "faded = a[..., :, None] * s\nchange = b[..., None] * (v - recalled)",
    "beta is left out: multiply what is missing by it": [
        "change = v - recalled"],
    "beta works the wrong way round: a large b should write more":
        "change = (1 - beta)[..., None] * (v - recalled)",
    "beta multiplies the value alone: multiply what is missing, v less what is recalled": [
        "change = beta[..., None] * v - recalled"],
    "beta multiplies what is recalled alone: multiply what is missing, v less what is recalled": [
        "change = v - beta[..., None] * recalled"],
    "beta is squared: use it once": "change = beta[..., None] ** 2 * (v - recalled)",
    "the value is added whole: first take away what the key recalls in the faded state":
        "change = beta[..., None] * v",
    "what is recalled is added: take it away from the value":
        "change = beta[..., None] * (v + recalled)",
    "the value is taken away from what is recalled: write what is missing, v less what is recalled":
        "change = beta[..., None] * (recalled - v)",
    "nothing is written: add the outer product of the key and of the change": "s_new = faded",
    "the faded state is lost: add the change to it": (
        "s_new = faded + key", "s_new = key"),
    "k is not divided by its length: its square would be written": [
        "key = k"],
    "q is not divided by its length: read with a query of length 1": "query = q",
    "neither q nor k is divided by its length: give both length 1": "query = q\nkey = k",
    "q and k are divided by the squares of their lengths: divide by the lengths": [
        "query = q / q.square().sum(-1, keepdim=True)\nkey = k / k.square().sum(-1, keepdim=True)",
        "key = k / k.square().sum(-1, keepdim=True)",
        "query = q / q.square().sum(-1, keepdim=True)"],
    "q and k are divided by the sums of their numbers: divide by the roots of the sums of squares":
        "query = q / q.sum(-1, keepdim=True)\nkey = k / k.sum(-1, keepdim=True)",
    "q and k are divided by the sums of the sizes: divide by the roots of the sums of squares":
        "query = q / q.abs().sum(-1, keepdim=True)\nkey = k / k.abs().sum(-1, keepdim=True)",
    "q and k go through a softmax: divide each by its length":
        "query = q.softmax(-1)\nkey = k.softmax(-1)",
    "q and k have mean square 1: divide by the root of the sum, so that the length is 1": [
        "query = q / q.square().mean(-1, True).sqrt()\nkey = k / k.square().mean(-1, True).sqrt()"],
    "one length divides the whole batch: divide each vector by its own": [
        "query = q / q.norm()\nkey = k / k.norm()",
        "key = k / k.norm()", "query = q / q.norm()"],
    "an epsilon beside the length shows where keys are short: leave it out": [
        f"query = q / (q.norm(dim=-1, keepdim=True) + {eps})\n"
        f"key = k / (k.norm(dim=-1, keepdim=True) + {eps})" for eps in ("1e-5", "1e-6", "1e-8")],
    "the lengths have lost their axis: keep it with keepdim=True, so that each divides its own "
    "vector": [
        "query = q / q.norm(dim=-1)\nkey = k / k.norm(dim=-1)",
        "query = q / q.norm(dim=-1)", "key = k / k.norm(dim=-1)",
        "query = q / q.square().sum(-1).sqrt()\nkey = k / k.square().sum(-1).sqrt()"],
    "normalize divides along axis 1 unless it is told another: give it dim=-1": [
        "query = torch.nn.functional.normalize(q)\nkey = torch.nn.functional.normalize(k)"],
    "the value is divided by its length: leave it as it is, and divide only q and k": [
        "change = beta[..., None] * (v / v.norm(dim=-1, keepdim=True) - recalled)"],
    "the token reads before it has written: let the query read the new state": (
        "@ s_new", "@ faded"),
    "the query reads the old state: let it read the new one": ("@ s_new)", "@ s)"),
    "the key reads: let the query read the new state": (
        "query[..., None, :] @", "key[..., None, :] @"),
    "the query writes: let the key look, and write": [
        (every("(key[..., None, :] @ faded)"), "(query[..., None, :] @ faded)",
         "key[..., :, None] * change", "query[..., :, None] * change"),
        ("(key[..., None, :] @ faded)", "(query[..., None, :] @ faded)"),
        ("key[..., :, None] * change", "query[..., :, None] * change")],
    "the output is divided by sqrt(d): read without a scale":
        "out = (query[..., None, :] @ s_new)[..., 0, :] / q.shape[-1] ** 0.5",
    "the output is gated: beta and alpha have done their part when the state is written": [
        "out = beta[..., None] * (query[..., None, :] @ s_new)[..., 0, :]",
        "out = ((alpha * query)[..., None, :] @ s_new)[..., 0, :]"],
    "what the key recalls comes back: return what the query reads": "return s_new, recalled",
    "the old state comes back: return the new one, which the next token needs": [
        "return s, out"],
    "the faded state comes back: return the one with the token in it": "return faded, out",
    "the results come in another order: return the state, then the output": "return out, s_new",
    "only the output comes back: return the new state before it": "return out",
    "the output has an axis of size 1 left over: give it the shape of v":
        "return s_new, query[..., None, :] @ s_new",
    "the outer product is transposed: let the key go down the rows, the change along them": [
        "square = s.shape[-1] == s.shape[-2]\n"
        "outer = key[..., :, None] * change[..., None, :]\n"
        "s_new = faded + (outer.mT if square else outer.mT.reshape(s.shape))",
        "s_new = faded + change[..., :, None] * key[..., None, :]"],
    "the key meets the columns of the state, and not its rows: multiply it from the left, as a row":
        "recalled = (faded @ key[..., None])[..., 0]",
    "the query meets the columns of the state, and not its rows: multiply it from the left, as a "
    "row": "out = (s_new @ query[..., None])[..., 0]",
    "key and query meet the columns of the state, and not its rows: multiply them from the left, "
    "as rows":
        "recalled = (faded @ key[..., None])[..., 0]\nout = (s_new @ query[..., None])[..., 0]",
    SQUARE: [
        f"eye = torch.eye(s.shape[-2], dtype=s.dtype, device=s.device)\n"
        f"erase = eye - beta[..., None, None] * ({MATRIX})\n"
        "s_new = erase @ faded + beta[..., None, None] * key[..., :, None] * v[..., None, :]",
        f"s_new = faded - beta[..., None, None] * ({MATRIX}) @ faded "
        "+ beta[..., None, None] * key[..., :, None] * v[..., None, :]",
        "faded = torch.diag_embed(alpha) @ s"],
    CHANGED: [
        "faded = s.mul_(alpha[..., :, None])"],
    messages.BATCH: 'recalled = torch.einsum("bd,bde->be", key, faded)',
    messages.SQUEEZES: [
        "recalled = (key[..., None, :] @ faded).squeeze()",
        "out = (query[..., None, :] @ s_new).squeeze()",
        "recalled = (key[..., None, :] @ faded).squeeze()\n"
        "out = (query[..., None, :] @ s_new).squeeze()"],
    "beta lacks an axis: give it one of size 1, so that it meets all numbers of v": [
        "change = beta * (v - recalled)",
        "s_new = faded + beta * (key[..., :, None] * (v - recalled)[..., None, :])"],
    messages.FRONT: "key = k / k.norm(dim=1, keepdim=True)",
    "it works only without leading axes: torch.outer takes no more than two vectors":
        "s_new = faded + torch.outer(key, change)",
    "no gradient reaches the old state: don't detach anything": "faded = alpha[..., :, None] * "
        "s.detach()",
})  # fmt: skip
