"""Exercise gated_heads: a sigmoid gate on what each head has read, before the heads are joined."""

import torch

from attncourse.multi_head import join_heads, split_heads
from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over heads or tokens: they are axes, so gate all of them at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.valid(variants.worked(exercise))


@exercise.reference
def number_by_number(z, x, w_gate, w_o):
    h, n, d = z.shape[-3:]
    each = w_gate.shape[-1] // h
    rows = []
    for i in range(n):
        gates = (x[..., i, :, None] * w_gate).sum(-2).sigmoid()
        numbers = [
            gates[..., head * each + c % each] * z[..., head, i, c]
            for head in range(h)
            for c in range(d)
        ]
        rows.append((torch.stack(numbers, dim=-1)[..., None] * w_o).sum(-2))
    return torch.stack(rows, dim=-2)


def draw_layer(draw, *batch, h, n, d, e, each):
    """What heads have read, the tokens, the matrix of `each` gates a head, and that of outputs."""
    return (
        draw.normal(*batch, h, n, d),
        draw.normal(*batch, n, e),
        draw.normal(e, h * each),
        draw.normal(h * d, e),
    )


@exercise.cases
def cases(draw):
    h, n, d, e = draw.sizes(4, 2, 7)
    sizes = {"h": h, "n": n, "d": d, "e": e}
    text = f"h={h}, n={n}, d={d}, e={e}"
    args = draw_layer(draw, 2, **sizes, each=d)
    longer = draw_layer(draw, 2, **sizes | {"n": 40 + n, "h": 64}, each=d)
    yield Case(f"a batch of 2, {text}, a gate for each number", args, longer=longer)
    heads = draw_layer(draw, 2, **sizes, each=1)
    many = draw_layer(draw, 2, **sizes | {"n": 40 + n, "h": 64}, each=1)
    yield Case(f"a batch of 2, {text}, a gate for each head", heads, longer=many)
    yield Case(f"no batch, {text}, a gate for each number", (args[0][0], args[1][0], *args[2:]))
    yield Case(f"no batch, {text}, a gate for each head", (heads[0][0], heads[1][0], *heads[2:]))
    axes = {"h": 4, "n": 3, "d": 2, "e": 5}
    yield Case("two leading axes, a gate for each number", draw_layer(draw, 2, 3, **axes, each=2))
    yield Case("two leading axes, a gate for each head", draw_layer(draw, 2, 3, **axes, each=1))
    z, x, w_gate, w_o = args
    yield Case("gates of nearly 0 and nearly 1", (z, 30 * x, w_gate, w_o))
    # exp overflows on both sides; 1 / (1 + exp(-x)) is right there, and its gradient NaN
    both = torch.stack([x[0], -x[0]])
    far = 1000 / (both @ w_gate).max() * both
    yield Case("numbers up to 1000 and down to -1000 before the sigmoid",
               (z, far, w_gate, w_o), gradient=False)  # fmt: skip
    # abs has no slope at 0, and a right sigmoid may be made of it
    yield Case("gates of one half", (z, 0 * x, w_gate, w_o), gradient=False)
    yield Case("the heads together as wide as x",
               draw_layer(draw, 2, h=2, n=5, d=3, e=6, each=3))  # fmt: skip
    yield Case("one head", draw_layer(draw, 2, **sizes | {"h": 1}, each=d))
    yield Case("as many tokens as heads", draw_layer(draw, 2, **sizes | {"n": h}, each=1))
    yield Case("one token", draw_layer(draw, 2, **sizes | {"n": 1}, each=d))


@exercise.valid
def by_the_functions_of_multi_head(z, x, w_gate, w_o):
    gate = split_heads(torch.sigmoid(x @ w_gate), z.shape[-3])
    return join_heads(gate * z) @ w_o


variants.right(exercise,
    # the heads behind the tokens from the start
    "parts = gate.unflatten(-1, (h, -1))\ngated = parts * z.transpose(-2, -3)\n"
    "joined = gated.flatten(-2)",
    # joined first, a gate for each number then
    "joined = z.transpose(-2, -3).flatten(-2)\n"
    "return (joined * gate.repeat_interleave(joined.shape[-1] // gate.shape[-1], -1)) @ w_o",
    "gate = 1 / (1 + torch.exp(-(x @ w_gate)))\n"
    'return torch.einsum("...hnd,hde->...ne", gated, w_o.unflatten(0, (h, -1)))',
    'gate = torch.sigmoid(torch.einsum("...ne,eg->...ng", x, w_gate))\n'
    "parts = torch.stack(gate.chunk(h, dim=-1), dim=-3)\n"
    "gated = z - z * (1 - parts)",
    "gate = 0.5 * (1 + torch.tanh((x @ w_gate) / 2))",
    "number = x @ w_gate\n"
    "e = (-number.abs()).exp()\n"
    "gate = torch.where(number >= 0, 1 / (1 + e), e / (1 + e))",
    # its gradient is NaN where exp overflows
    "number = x @ w_gate\n"
    "gate = torch.where(number >= 0, 1 / (1 + (-number).exp()), number.exp() / (1 + number.exp()))",
)  # fmt: skip
JOINED = "joined = z.transpose(-2, -3).flatten(-2)\n"
variants.wrong(exercise, {
    "the gates have no sigmoid: each should lie between 0 and 1": "gate = x @ w_gate",
    "the gates come from tanh, which goes below 0: take the sigmoid": "gate = (x @ w_gate).tanh()",
    "the gates come from a softmax, so they share out 1: take the sigmoid of each by itself": [
        "gate = (x @ w_gate).softmax(-1)",
        "parts = (x @ w_gate).unflatten(-1, (h, -1)).transpose(-2, -3).softmax(-1)",
        "parts = (x @ w_gate).unflatten(-1, (h, -1)).transpose(-2, -3).softmax(-3)"],
    "the gates are SiLU, a number times its sigmoid: take the sigmoid alone":
        "gate = torch.nn.functional.silu(x @ w_gate)",
    "exp of a large number is infinite, and infinity divided by infinity is NaN: use "
    "torch.sigmoid, or divide 1 by 1 + exp(-x)": [
        "gate = (x @ w_gate).exp() / (1 + (x @ w_gate).exp())",
        "gate = (x @ w_gate).exp() / ((x @ w_gate).exp() + 1)"],
    "the gates come from exp: take the sigmoid, which stays below 1": "gate = (x @ w_gate).exp()",
    "the gates come from ReLU: take the sigmoid": "gate = (x @ w_gate).relu()",
    "the gates are twice the sigmoid: leave them between 0 and 1":
        "gate = 2 * (x @ w_gate).sigmoid()",
    "the gates are cut to 0 or 1: multiply by the sigmoid itself": [
        "gate = (x @ w_gate).sigmoid().round()", "gate = (x @ w_gate > 0).to(x.dtype)"],
    "the sigmoid is taken twice: once is enough": "gate = (x @ w_gate).sigmoid().sigmoid()",
    "the gates work the wrong way round: a gate of 1 should let everything through": [
        "gate = 1 - (x @ w_gate).sigmoid()", "gate = (-(x @ w_gate)).sigmoid()"],
    "the gates come from a line that is cut off at 0 and 1: take the sigmoid":
        "gate = torch.nn.functional.hardsigmoid(x @ w_gate)",
    "x times w_gate is divided by a root: the gates are no scores, so take its sigmoid as it is": [
        "gate = (x @ w_gate / z.shape[-1] ** 0.5).sigmoid()",
        "gate = (x @ w_gate / x.shape[-1] ** 0.5).sigmoid()"],
    "the gates alone are projected: multiply what the heads have read by them":
        "gated = parts.expand(z.shape)",
    "it is gated twice: multiply by the gates once": "gated = parts * parts * z",
    "nothing is gated: multiply what the heads have read by the gates": "gated = z",
    "the gates are added: multiply by them": "gated = parts + z",
    "what is gated is added to what was read: return the gated part alone": "gated = z + parts * z",
    "the gate stands behind the output's matrix: put it before the heads are joined": [
        f"{JOINED}"
        "out = joined @ w_o\n"
        "return out * gate if gate.shape[-1] == out.shape[-1] else out * gate.mean(-1, True)",
        f"{JOINED}return (joined @ w_o) * gate", f"{JOINED}return gate * (joined @ w_o)"],
    "one gate serves all heads: let each head have its own": [
        "parts = gate.unflatten(-1, (h, -1)).transpose(-2, -3).mean(-3, keepdim=True)",
        "parts = gate.unflatten(-1, (h, -1)).transpose(-2, -3)[..., :1, :, :]"],
    "a head's gates are averaged: multiply each number by its own gate": [
        "parts = gate.unflatten(-1, (h, -1)).transpose(-2, -3).mean(-1, keepdim=True)",
        "parts = (x @ w_gate).unflatten(-1, (h, -1)).mean(-1, True).transpose(-2, -3).sigmoid()"],
    "one gate serves all tokens: let each token have its own": [
        "gate = (x.mean(-2, keepdim=True) @ w_gate).sigmoid()",
        "gate = (x @ w_gate).sigmoid().mean(-2, keepdim=True)"],
    "a token is gated by the one before it: make its gates from its own row of x":
        "gate = (x.roll(1, -2) @ w_gate).sigmoid()",
    "the gates come from what was read: make them from x": [
        "read = z.transpose(-2, -3).flatten(-2)\n"
        "gate = ((read if read.shape[-1] == x.shape[-1] else x) @ w_gate).sigmoid()"],
    "what the heads have read is its own gate: make the gates from x": "gated = z.sigmoid() * z",
    "the columns of the gates go to the heads in turn: the first ones should all be those of the "
    "first head":
        "parts = gate.unflatten(-1, (-1, h)).movedim(-1, -3)",
    "the gates of all heads still lie side by side: cut the columns into h parts first, and bring "
    "the heads to the front": ["gated = gate * z", "gated = z * gate"],
    "the gates are cut across tokens and heads: split the columns into h parts, then bring the "
    "heads to the front": [
        "parts = gate.reshape(*gate.shape[:-2], h, gate.shape[-2], -1)"],
    "the heads are not brought behind the tokens before they are joined: transpose first": [
        "joined = gated.reshape(*x.shape[:-1], -1)",
        "joined = z.reshape(*x.shape[:-1], -1)\n"
        "return (joined * gate.repeat_interleave(joined.shape[-1] // gate.shape[-1], -1)) @ w_o"],
    "one gate a head is repeated in turn: repeat each d times in a row, as repeat_interleave does":
        f"{JOINED}return (joined * gate.repeat(*[1] * (x.dim() - 1), "
        "joined.shape[-1] // gate.shape[-1])) @ w_o",
    "the numbers of the heads are joined in turn: join them side by side, the first head first":
        "joined = gated.movedim(-3, -1).flatten(-2)",
    "the heads come in reverse: join the first one first":
        "joined = gated.flip(-3).transpose(-2, -3).flatten(-2)",
    "the heads are averaged or summed: join them side by side": [
        'return torch.einsum("...hnd,hde->...ne", gated.mean(-3, True).expand(z.shape), '
        "w_o.unflatten(0, (h, -1)))",
        'return torch.einsum("...hnd,hde->...ne", gated.sum(-3, True).expand(z.shape), '
        "w_o.unflatten(0, (h, -1)))"],
    "the heads are joined, but not projected: multiply by w_o": "return joined",
    "the heads are still apart: join them, and multiply by w_o": "return gated",
    "one gate a head does not fit: cut the columns into h parts of any width, such as 1": [
        "parts = gate.unflatten(-1, (h, z.shape[-1])).transpose(-2, -3)",
        "parts = gate.reshape(*x.shape[:-1], h, z.shape[-1]).transpose(-2, -3)",
        f"{JOINED}return (joined * gate) @ w_o", f"{JOINED}return (gate * joined) @ w_o"],
    "a gate for each number does not fit: cut the columns into h parts, which may be d wide": [
        "parts = gate.mT[..., None]",
        "parts = gate.mT[..., None]\n"
        "joined = gated.transpose(-2, -3).reshape(*x.shape[:-1], w_o.shape[0])"],
    "the residual stream is added: return what the layer adds to it": "return x + joined @ w_o",
    "the outputs are divided by sqrt(d): the scores were scaled before":
        "gated = parts * z / z.shape[-1] ** 0.5",
    "w_o is used transposed: multiply the joined heads by w_o as it is": [
        "return joined @ (w_o.mT.reshape(w_o.shape))", "return joined @ w_o.mT"],
    "w_gate is used transposed: multiply x by w_gate as it is": "gate = (x @ w_gate.mT).sigmoid()",
    messages.BATCH: "parts = gate.unflatten(-1, (h, -1)).permute(0, 2, 1, 3)",
    messages.CHANGES: "gated = z.mul_(2) * parts / 2",
    "no gradient reaches x: let it flow through the gates": [
        "gate = (x.detach() @ w_gate).sigmoid()", "gate = (x @ w_gate).sigmoid().detach()"],
    LOOP: [
        "gated = torch.stack([parts[..., i, :, :] * z[..., i, :, :] for i in range(h)], dim=-3)",
        "parts = torch.stack([one for one in gate.chunk(h, dim=-1)], dim=-3)\n"
        "joined = torch.cat([gated[..., i, :, :] for i in range(h)], dim=-1)"],
})  # fmt: skip
