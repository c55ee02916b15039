"""Exercise gradient_by_lag: how strongly the last output depends on the token some steps before."""

import torch

from judge import variants
from judge.exercise import Case, Exercise, Source

LOOP = (
    "it loops over the lags, or takes the gradients of all n outputs: take those of the last one, "
    "and all lags in one norm over two axes"
)
CHANGES = (
    "x changes, or requires a gradient from now on, wherever it is used: mark a copy of x instead"
)
exercise = Exercise.read(
    __name__, differentiable=False, generic_hints={"changes_its_input": CHANGES, "loops": LOOP}
)
exercise.valid(variants.worked(exercise))


# where the layers below say SEED, what a check hands out has a number of its own; the cosines of
# its multiples are weights that need no generator, which forward mode would refuse
SEED = 0.0


def recurrent_layer(x):
    places = torch.arange(x.shape[-1] ** 2, dtype=x.dtype, device=x.device)
    w = (SEED * places.square()).cos().unflatten(0, (x.shape[-1], -1)) * 0.7
    state, states = x[0], []
    for token in x:
        state = torch.tanh(0.5 * token + state @ w)
        states.append(state)
    return torch.stack(states)


def convolution_layer(x):
    """A convolution over the token at hand and the two before."""
    places = torch.arange(3 * x.shape[-1] ** 2, dtype=x.dtype, device=x.device)
    taps = (SEED * places.square()).cos().unflatten(0, (x.shape[-1], -1, 3))
    padded = torch.nn.functional.pad(x.mT, (2, 0))
    return torch.nn.functional.conv1d(padded[None], taps)[0].mT


def attention_layer(x):
    """Attention without a mask, and no two positions alike."""
    places = torch.arange(x.numel(), dtype=x.dtype, device=x.device)
    q = x * (1 + (SEED * places.square()).cos().view_as(x))
    return (q @ x.mT / x.shape[-1] ** 0.5).softmax(dim=-1) @ x + x


def cumulative_layer(x):
    """Waves of the sum so far: as the sum is large, so are errors of its rounding."""
    places = torch.arange(x.shape[-1] ** 2, dtype=x.dtype, device=x.device)
    w = (SEED * places.square()).cos().unflatten(0, (x.shape[-1], -1))
    growth = 1 + torch.arange(len(x), dtype=x.dtype, device=x.device)[:, None]
    return ((growth * x).cumsum(0) @ w).sin()


def weighted_layer(x):
    def refuse(weights):
        raise RuntimeError("a gradient was left in the weights of the layer")

    places = torch.arange(x.shape[-1] ** 2, dtype=x.dtype, device=x.device)
    w = torch.nn.Parameter((SEED * places.square()).cos().unflatten(0, (x.shape[-1], -1)))
    w.register_post_accumulate_grad_hook(refuse)
    return (x.cumsum(0) @ w).sin()


def reversing_layer(x):
    return SEED * x.flip(0) - x


@exercise.reference
def number_by_number(layer, x):
    n, norms = len(x), []
    x = x.detach().requires_grad_()
    grads = [torch.autograd.grad(number, x, retain_graph=True)[0] for number in layer(x)[-1]]
    for lag in range(n):
        norms.append(sum((grad[n - 1 - lag] ** 2).sum() for grad in grads) ** 0.5)
    return torch.stack(norms)


@exercise.cases
def cases(draw):
    n, d = draw.integer(6, 7), draw.integer(3, 4)
    x, sizes = draw.normal(n, d), f"n={n}, d={d}"

    def seeded(function):
        seed = 1 + draw.integer(1, 10**6) / 10**6
        return Source(variants.replaced(function, "SEED", f"{seed:.6f}"), "layer")

    yield Case(f"attention, {sizes}", (seeded(attention_layer), x))
    yield Case(f"a recurrent layer, {sizes}", (seeded(recurrent_layer), x))
    yield Case(f"a convolution of width 3, {sizes}", (seeded(convolution_layer), x))
    yield Case(f"a layer with weights, {sizes}", (seeded(weighted_layer), x))
    # few operations of its own, so that one for each lag shows
    reversing, longer_x = seeded(reversing_layer), draw.normal(12 * n, d)
    about = f"a layer that turns its tokens round, {sizes}"
    yield Case(about, (reversing, x), longer=(reversing, longer_x))
    yield Case("a layer that adds up tokens of 100000", (seeded(cumulative_layer), 1e5 * x))
    yield Case("attention over one token", (seeded(attention_layer), x[:1]))
    yield Case("attention over tokens of width 1", (seeded(attention_layer), x[:, :1]))


variants.right(exercise,
    # a loop over the width is none over the positions
    "x = x.detach().requires_grad_()\n"
    "rows = [torch.autograd.grad(one, x, retain_graph=True)[0] for one in layer(x)[-1]]\n"
    "jacobian = torch.stack(rows)",
    "x, units = x.detach().requires_grad_(), torch.eye(x.shape[-1]).to(x)\n"
    "jacobian = torch.autograd.grad(layer(x)[-1], x, units, is_grads_batched=True)[0]",
    "jacobian = torch.func.jacrev(lambda tokens: layer(tokens)[-1])(x)\n"
    "norms = torch.linalg.matrix_norm(jacobian.movedim(0, 1))",
    "jacobian = torch.func.jacfwd(lambda tokens: layer(tokens)[-1])(x)\n"
    "norms = jacobian.transpose(0, 1).flatten(1).norm(dim=-1)",
)  # fmt: skip


def difference_quotients(layer, x):
    steps, before = [], layer(x)[-1]
    for number in (number for row in x for number in row):
        number += 1e-7
        steps.append((layer(x)[-1] - before) / 1e-7)
        number -= 1e-7
    return torch.stack(steps, -1).unflatten(-1, x.shape).square().sum((0, 2)).sqrt().flip(0)


def by_backward(layer, x):
    x, squares = x.detach().requires_grad_(), 0
    for number in layer(x)[-1]:
        x.grad = None
        number.backward(retain_graph=True)
        squares = squares + x.grad.square().sum(-1)
    return squares.sqrt().flip(0)


variants.wrong(exercise, {
    "gradients are left in the layer's weights: use torch.autograd.grad, which gives that of x "
    "alone":
        by_backward,
    "the order is that of the positions: lag 0 is the last one, so turn it round": "return norms",
    "the numbers of the last output are added up first, and their gradients may cancel: take the "
    "gradient of each": "norms = jacobian.sum(dim=0).norm(dim=1)",
    "only one number of the last output is looked at: take all d of them":
        "norms = jacobian[0].norm(dim=1)",
    "the gradients of all outputs are counted: take the last output alone, layer(x)[-1]":
        "jacobian = torch.func.jacrev(layer)(x)\n"
        "norms = jacobian.square().sum(dim=(0, 1, 3)).sqrt()",
    "this takes the first output: take the last one, layer(x)[-1]": ("[-1]", "[0]"),
    "the first input is fixed and the output moves: fix the last output, and let the input move":
        "jacobian = torch.func.jacrev(layer)(x)[:, :, 0]\n"
        "return jacobian.square().sum(dim=(1, 2)).sqrt()",
    "the root is missing: a norm is the root of the sum of squares": (".sqrt()", ""),
    "the squares are averaged: add them up": ("sum(dim", "mean(dim"),
    "the norms of rows are added up: square all numbers of a lag, add them, and take one root": [
        "norms = jacobian.norm(dim=2).sum(dim=0)", "norms = jacobian.norm(dim=0).sum(dim=1)"],
    "all numbers of a token are moved together: take the derivative for each of them, "
    "with autograd": [
        "norms = jacobian.sum(dim=2).norm(dim=0)",
        *("units = torch.eye(len(x))[:, :, None].to(x)\n"
          f"moves = [layer(x + {step} * unit)[-1] - layer(x)[-1] for unit in units]\n"
          f"jacobian = torch.stack(moves) / {step}\nnorms = jacobian.norm(dim=-1)"
          for step in ("1e-3", "1e-6"))],
    "the first entry is that of lag 1: it should be lag 0, the last position itself": [
        "return norms.flip(0).roll(-1)", "return torch.cat([norms.flip(0)[1:], 0 * norms[:1]])"],
    "each row of gradients holds those before it: backward adds to .grad, so empty it in between":
        "norms = jacobian.cumsum(dim=0).square().sum(dim=(0, 2)).sqrt()",
    "these are sums of absolute values: square, add up, and take the root":
        "norms = jacobian.abs().sum(dim=(0, 2))",
    "the norm runs over the positions: let it run over the numbers of the output and of "
    "the input": [
        ("(0, 2)", "(0, 1)"), ("(0, 2)", "(1, 2)")],
    "this is the spectral norm, which is the largest singular value: take the norm of all entries":
        "norms = torch.linalg.matrix_norm(jacobian.movedim(0, 1), 2)",
    "it is divided by the norm at lag 0: return the norms as they are":
        "return norms.flip(0) / norms[-1]",
    "the norm of the last output is differentiated: take the gradient of each of its numbers "
    "first, and the norm after that":
        "jacobian = torch.func.grad(lambda tokens: layer(tokens)[-1].norm())(x)[None]",
    "a difference quotient is only near the derivative: take the derivative itself, "
    "with autograd": [
        "units = torch.eye(x.numel()).to(x).unflatten(-1, x.shape)\n"
        f"moves = [layer(x + {step} * unit)[-1] - layer(x)[-1] for unit in units]\n"
        f"jacobian = torch.stack(moves, dim=-1).unflatten(-1, x.shape) / {step}"
        for step in ("0.1", "0.01", "1e-3", "1e-4")],
    "the first gradient frees the graph that the next one needs: pass retain_graph=True":
        "x = x.detach().requires_grad_()\n"
        "jacobian = torch.stack([torch.autograd.grad(one, x)[0] for one in layer(x)[-1]])",
    LOOP: "norms = torch.stack([one.norm() for one in jacobian.unbind(1)])",
    CHANGES: ("    jacobian", "    x.requires_grad_()\n    jacobian"),
    "x changes while you measure: leave it as it is, and take the gradient with autograd":
        difference_quotients,
})  # fmt: skip
