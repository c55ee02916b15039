"""What a method of attention must do before it is trained; what it does not is one sentence.

Tokens are counted from 0. Layers are checked with noise on their parameters, so that what a
parameter of 0 hides shows too, and in float64 where they compute in it.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

from attncourse.today import auxiliary_loss
from attncourse.train import seeded
from attncourse.workbench.fresh import continue_in_fresh_process
from attncourse.workbench.layers import Method, UnfitError, described, require_state
from attncourse.workbench.protocol import D_MODEL

LENGTHS = (1, 7, 128, 200)
# of a text that is longer than the course's windows and blocks, and no multiple of one
N = 67
# the tokens before which a fresh process takes over: within blocks of 4 and of 16
HANDOVERS = (7, 30)
NOISE, TOLERANCE = 0.1, 1e-4


def run_checks(method: Method) -> Iterator[str]:
    """A line for each check that a method passes; UnfitError says what it does not."""
    layer = prepared(method)
    for name, check in (CHECKS | {"cache step": partial(check_steps, path=method.path)}).items():
        try:
            note = check(layer)
        except UnfitError as error:
            raise UnfitError(f"{name}: {error}") from None
        yield f"{name}: {note or 'ok'}"


def prepared(method: Method) -> nn.Module:
    """A layer with noise on its parameters, in the precision of the checks."""
    with seeded(0), torch.no_grad():
        try:
            layer = method.make().double()
        except Exception as error:
            raise UnfitError(
                f"it cannot be made with d_model and heads: {described(error)}"
            ) from None
        for p in layer.parameters():
            p += NOISE * torch.randn_like(p)
        try:
            layer(torch.zeros(1, 2, D_MODEL, dtype=torch.float64))
        except Exception:
            layer.float()
    return layer.eval()


def text(layer: nn.Module, n: int, batch: int = 1) -> Tensor:
    """Random vectors of n tokens, the same at each call, in the precision of the layer."""
    g = torch.Generator().manual_seed(n)
    dtype = next((p.dtype for p in layer.parameters()), torch.float32)
    return torch.randn(batch, n, D_MODEL, generator=g, dtype=torch.float64).to(dtype)


def output(layer: nn.Module, x: Tensor, *mask: Tensor) -> Tensor:
    """What a layer makes of texts; UnfitError where it raises, or gives another shape."""
    words = f"a text of {x.shape[-2]} token{'s' * (x.shape[-2] > 1)}"
    try:
        z = layer(x, *mask)
    except Exception as error:
        raise UnfitError(f"{words} raises {described(error)}") from None
    if not isinstance(z, Tensor) or z.shape != x.shape:
        shape = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
        raise UnfitError(f"{words} has the shape {tuple(x.shape)}, and its output has {shape}")
    if not z.isfinite().all():
        token = first(~z.isfinite().all(-1).all(0))
        raise UnfitError(f"the output of token {token} in {words} is not finite")
    return z


def differing(a: Tensor, b: Tensor) -> Tensor:
    """Where the last axis of a has other numbers than that of b, but for rounding."""
    # not <=, for what is not a number
    return ~((a - b).abs().amax(-1) <= TOLERANCE * b.abs().max())


def first(where: Tensor) -> int:
    """The index of the first True."""
    return int(where.long().argmax())


@torch.no_grad()
def check_lengths(layer: nn.Module) -> None:
    """A text of any length has outputs, and they do not depend on how long it goes on."""
    x = text(layer, LENGTHS[-1])
    whole = output(layer, x)
    for n in LENGTHS:
        wrong = differing(output(layer, x[:, :n])[0], whole[0, :n])
        if wrong.any():
            raise UnfitError(
                f"token {first(wrong)} has another output in a text of {n} than in one of "
                f"{LENGTHS[-1]} that begins with it"
            )


@torch.no_grad()
def check_texts(layer: nn.Module) -> None:
    """A text's outputs are the same in each call, and beside any other text."""
    x = text(layer, N, 2)
    together, again = output(layer, x), output(layer, x)
    if (wrong := differing(again, together).any(0)).any():
        raise UnfitError(f"a second call gives token {first(wrong)} another output than the first")
    if (wrong := differing(output(layer, x[:1])[0], together[0])).any():
        raise UnfitError(f"token {first(wrong)} has another output beside a second text than alone")


def check_causal(layer: nn.Module) -> None:
    """No token changes an earlier output, nor has a gradient from it."""
    check_values(layer)
    texts, token = text(layer, N).expand(N, -1, -1).clone().requires_grad_(), torch.arange(N)
    z = output(layer.train(), texts)[token, token]
    (gradient,) = torch.autograd.grad((z * text(layer, N)[0]).sum(), texts)
    layer.eval()
    # row i has the gradients of output i
    size = gradient.abs().amax(-1)
    reached = (size > TOLERANCE * size.max()) & (token > token[:, None])
    if reached.any():
        early = first(reached.any(-1))
        raise UnfitError(
            f"the output of token {early} has a gradient from token {first(reached[early])} "
            "behind it"
        )


@torch.no_grad()
def check_values(layer: nn.Module) -> None:
    """No token changes an earlier output."""
    texts, token = text(layer, N).expand(N, -1, -1).clone(), torch.arange(N)
    changed = texts.clone()
    changed[token, token] = text(layer, 1)[0]
    reached = differing(output(layer, changed), output(layer, texts)) & (token < token[:, None])
    if reached.any():
        late = first(reached.any(-1))
        raise UnfitError(
            f"when token {late} changes, so does the output of token {first(reached[late])} "
            "before it"
        )


@torch.no_grad()
def check_padding(layer: nn.Module) -> str | None:
    """What is masked at the end of a text changes no output before it."""
    if "mask" not in inspect.signature(layer.forward).parameters:
        return "no mask is taken, so texts are padded at their end"
    x, length = text(layer, N, 2), N - 17
    mask = torch.arange(N) < torch.tensor([length, N])[:, None, None]
    z = output(layer, x, mask)
    wrong = differing(z[0, :length], output(layer, x[:1, :length])[0])
    if wrong.any():
        raise UnfitError(
            f"token {first(wrong)} of a text of {length} tokens has another output with padding "
            "behind it"
        )
    if (wrong := differing(z[1], output(layer, x[1:])[0])).any():
        raise UnfitError(
            f"token {first(wrong)} of a text without padding has another output beside one that "
            "is padded"
        )
    return None


def check_learning(layer: nn.Module) -> None:
    """Each parameter has a gradient, of the output or of the layer's own auxiliary loss."""
    layer.train().zero_grad()
    x = text(layer, N, 2)
    z = output(layer, x)
    ((z * text(layer, N, 2).flip(-2)).sum() + auxiliary_loss(layer)).backward()
    layer.eval()
    for name, p in layer.named_parameters():
        if not p.requires_grad:
            continue
        if p.grad is None or not (p.grad != 0).any():
            raise UnfitError(
                f"{name} learns from no token: neither the output nor auxiliary_loss depends on it"
            )
        if not p.grad.isfinite().all():
            raise UnfitError(f"the gradient of {name} is not finite")


@torch.no_grad()
def check_steps(layer: nn.Module, path: Path) -> None:
    """Step by step, each token has the output that it has in the whole text, and the state is all
    that a fresh process needs to go on."""
    if not (hasattr(layer, "step") and hasattr(layer, "empty_state")):
        raise UnfitError(
            "the layer has no empty_state(x) and step(state, x) to write token by token"
        )
    x = text(layer, N, 2)
    whole, states = output(layer, x), [empty_state(layer, x)]
    for i, token in enumerate(x.unbind(-2)):
        try:
            state, z = layer.step(states[-1], token)  # pyright: ignore[reportCallIssue]
            states.append(require_state(state))
        except Exception as error:
            words = str(error) if isinstance(error, UnfitError) else described(error)
            raise UnfitError(f"the step of token {i} fails: {words}") from None
        if z.shape != token.shape or differing(z, whole[:, i]).any():
            raise UnfitError(f"token {i} has another output step by step than in the whole text")
    state = states[HANDOVERS[0]]
    for start, end in pairwise((*HANDOVERS, N)):
        state, outputs = continue_in_fresh_process(path, layer, state, x[:, start:end])
        if (wrong := differing(outputs, whole[:, start:end]).any(0)).any():
            raise UnfitError(
                f"token {start + first(wrong)} has another output in a fresh process that has the "
                f"weights and the state from before token {start}: the state lacks something"
            )


def empty_state(layer: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
    """The state before the first token."""
    try:
        return require_state(layer.empty_state(x[..., 0, :]))  # pyright: ignore[reportCallIssue]
    except UnfitError:
        raise
    except Exception as error:
        raise UnfitError(f"empty_state raises {described(error)}") from None


# with a layer, a note or none
CHECKS: dict[str, Callable[[nn.Module], str | None]] = {
    "texts": check_texts,
    "causal": check_causal,
    "any length": check_lengths,
    "padding": check_padding,
    "learning": check_learning,
}
