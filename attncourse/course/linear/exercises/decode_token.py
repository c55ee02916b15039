"""Exercise decode_token: one token more, at a cost that does not grow."""

import torch

from attncourse.course.linear.exercises.shared.sums import EPSILON, FEATURES_AGAIN, LEAST, features
from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the sentences: take one product for all of them"
CHANGED = "the state that came in changes: leave it as it was for whoever keeps it"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP, "changes_its_input": CHANGED},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(s, z, phi_q, phi_k, v):
    d, e = s.shape[-2:]
    entries = [s[..., c, x] + phi_k[..., c] * v[..., x] for c in range(d) for x in range(e)]
    s = torch.stack(entries, dim=-1).unflatten(-1, (d, e))
    z = torch.stack([z[..., c] + phi_k[..., c] for c in range(d)], dim=-1)
    total = sum(phi_q[..., c] * z[..., c] for c in range(d))
    parts = [sum(phi_q[..., c] * s[..., c, x] for c in range(d)) / total for x in range(e)]
    return s, z, torch.stack(parts, dim=-1)


def draw_state_and_token(draw, *batch, d, e):
    """A state as some tokens leave it, and one token more."""
    k, v = features(draw, *batch, 5, d), draw.normal(*batch, 5, e)
    token = features(draw, *batch, d), features(draw, *batch, d), draw.normal(*batch, e)
    return k.mT @ v, k.sum(-2), *token


@exercise.cases
def cases(draw):
    d, e = draw.sizes(2, 3, 6)
    s, z, q, k, v = args = draw_state_and_token(draw, 2, d=d, e=e)
    sizes = f"d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}", args, longer=draw_state_and_token(draw, 32, d=d, e=e))
    yield Case(f"one token, without a batch, {sizes}", tuple(x[0] for x in args))
    yield Case(
        "two leading axes (batch, heads), d=4, e=5", draw_state_and_token(draw, 2, 3, d=4, e=5)
    )
    yield Case("all sizes 3", draw_state_and_token(draw, 3, 3, d=3, e=3))
    yield Case("the very first token", (0 * s, 0 * z, q, k, v))
    yield Case("features 100000 times smaller", (s / 1e5, z / 1e5, q / 1e5, k / 1e5, v))
    *sums, value = draw_state_and_token(draw, 2, d=1, e=2)
    small_features = *(x / 5e6 for x in sums), value
    yield Case("products of features around 1e-11, d=1, e=2", small_features)
    yield Case("a key of another direction than the query", (s, z, q, k.flip(-1), v))
    yield Case("d=1, e=1", draw_state_and_token(draw, 2, d=1, e=1))


@exercise.valid
def state_and_normaliser_in_one(s, z, phi_q, phi_k, v):
    whole = torch.cat([s, z[..., None]], dim=-1)
    whole = whole + phi_k[..., None] * torch.cat([v, torch.ones_like(v[..., :1])], -1)[..., None, :]
    out = (phi_q[..., None, :] @ whole).squeeze(-2)
    return [whole[..., :-1], whole[..., -1], out[..., :-1] / out[..., -1:]]


variants.right(exercise,
    's_new = s + torch.einsum("...d,...e->...de", phi_k, v)\n'
    "z_new = torch.add(z, phi_k)\n"
    'sums = torch.einsum("...d,...de->...e", phi_q, s_new)\n'
    'total = torch.einsum("...d,...d->...", phi_q, z_new).unsqueeze(-1)',
    # a copy changed in place
    ("s + phi_k[..., :, None] * v[..., None, :]",
     "s.clone()\n    s_new += phi_k.unsqueeze(-1) @ v.unsqueeze(-2)",
     "z + phi_k", "z.clone()\n    z_new += phi_k",
     "(phi_q[..., None, :] @ s_new)[..., 0, :]", "(s_new.mT @ phi_q.unsqueeze(-1)).squeeze(-1)"),
    # a function of one token, mapped over all leading axes
    ("return", "read = lambda q, a, b: (q @ a) / (q @ b)\n"
     "    for _ in range(v.dim() - 1):\n        read = torch.vmap(read)\n    return",
     "sums / total", "read(phi_q, s_new, z_new)"),
    # what was read before the update, and the token's own term
    "own = (phi_q * phi_k).sum(-1, keepdim=True)\n"
    "sums = (phi_q[..., None] * s).sum(-2) + own * v\n"
    "total = (phi_q * z).sum(-1, keepdim=True) + own",
)  # fmt: skip
variants.wrong(exercise, {
    "the state is read before it is updated: let the token see itself, too": (
        "@ s_new", "@ s", "* z_new", "* z"),
    "S is read before it is updated, and z after: read both with the token in them":
        ("@ s_new", "@ s"),
    "z is read before it is updated, and S after: read both with the token in them":
        ("* z_new", "* z"),
    "z comes back as it went in: it is a sum as well, so return it with this token's key added": [
        "z_new = z", "return s_new, z, sums / total"],
    "the old state comes back: return the new one, which the next token needs":
        "return s, z, sums / total",
    "the earlier tokens are forgotten: add the new term to the old state": (
        "s + phi", "phi", "z + phi", "phi"),
    "the output is not normalised: divide by the dot product of the query and z":
        "return s_new, z_new, sums",
    "the output is multiplied by the normaliser: divide by it":
        "return s_new, z_new, sums * total",
    "it is divided by the sum of z: divide by its dot product with the query":
        "total = z_new.sum(-1, keepdim=True)",
    "one number divides the whole batch: give each token a normaliser of its own":
        "total = (phi_q * z_new).sum()",
    "the key reads the state: let the query read, and the key write": (
        "(phi_q[", "(phi_k[", "(phi_q *", "(phi_k *"),
    "the query writes into the state: let the key write, and the query read": (
        every("+ phi_k"), "+ phi_q"),
    "the outer product is transposed: let the key go down the rows, the value along them": [
        "s_new = s + v[..., :, None] * phi_k[..., None, :]",
        "s_new = s + v[..., :, None] * phi_k[..., None, :]\n"
        "sums = (s_new @ phi_q[..., None])[..., 0]"],
    "z begins at 1: let it begin at 0, because the token's own key is in it before you divide":
        "z_new = torch.where((z == 0).all(-1, keepdim=True), 1.0, z) + phi_k",
    "S is read across: multiply the query with its rows, along the axis of the features": (
        "@ s_new", "@ s_new.mT"),
    # of positive numbers, elu(x) + 1 is x + 1
    FEATURES_AGAIN: ("    s_new", "    phi_q, phi_k = phi_q + 1, phi_k + 1\n    s_new"),
    "the value is added without its key: add their outer product":
        "s_new = s + v[..., None, :]",
    "the stored state is divided already: keep the sums, and divide what is read":
        "return s_new / z_new.sum(-1)[..., None, None], z_new, sums / total",
    "the results come in another order: return first S, then z, then the output":
        "return sums / total, s_new, z_new",
    "the output has an axis of size 1 left over: give it the shape of v":
        "return s_new, z_new, (sums / total)[..., None, :]",
    EPSILON: [("/ total", f"/ (total + {epsilon})") for epsilon in ("1e-6", "1e-9")],
    LEAST: [("/ total", f"/ total.clamp(min={least})") for least in ("1e-6", "1e-8", "1e-10")],
    CHANGED: "z_new = z.add_(phi_k)",
    "it works only without leading axes: torch.outer takes no more than two vectors":
        "s_new = s + torch.outer(phi_k, v)",
    messages.BATCH: 's_new = s + torch.einsum("bd,be->bde", phi_k, v)',
})  # fmt: skip
