"""What a method of attention must do before it is trained; what it does not is one sentence.

Tokens are counted from 0. Layers are checked with noise on their parameters, so that what a
parameter of 0 hides shows too, and in float64 where they compute in it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn

from attncourse.today import auxiliary_loss
from attncourse.train import seeded
from attncourse.workbench.fresh import continue_in_fresh_process
from attncourse.workbench.layers import (
    ENDING,
    AttendLayer,
    Method,
    State,
    UnfitError,
    described,
    new_layer,
    require_output,
    run_steps,
    takes_mask,
)
from attncourse.workbench.protocol import D_MODEL

LENGTHS = (1, 7, 128, 200)
# of texts in which tokens are changed; of a longer one, not each token
CHANGED_LENGTHS, MOST_CHANGED = (7, 120), 60
# of a text that is longer than the course's windows and blocks, and no multiple of one
N = 67
# the tokens before which a fresh process takes over: within blocks of 4 and of 16
HANDOVERS = (7, 30)
NOISE, TOLERANCE = 0.1, 1e-4
GoOn = Callable[[State | None, Tensor, int], tuple[State, Tensor]]


def run_checks(method: Method) -> Iterator[str]:
    """A line for each check that a method passes; UnfitError says what it does not."""
    layers = [prepared(method, i) for i in method.distinct]
    places = [f"layer {i}" if len(layers) > 1 else "" for i in method.distinct]
    for name, check in CHECKS.items():
        note = None
        for place, layer in zip(places, layers, strict=True):
            with naming(place, name):
                note = check(layer)
        yield f"{name}: {note or 'ok'}"
    for i, place, layer in zip(method.distinct, places, layers, strict=True):
        with naming(place, "cache step"):
            # a copy, so that nothing can be kept among them
            weights = {name: x.clone() for name, x in layer.state_dict().items()}
            fresh = partial(continue_in_fresh_process, method.path, i, weights)
            check_steps(layer, partial(run_steps, layer), fresh, text(layer, N, 2), HANDOVERS)
    yield "cache step: ok"


@contextmanager
def naming(*names: str) -> Iterator[None]:
    """Put the names of what is checked before the sentence of an UnfitError."""
    try:
        yield
    except UnfitError as error:
        raise UnfitError(": ".join(filter(None, (*names, str(error))))) from None


def prepared(method: Method, i: int) -> nn.Module:
    """The layer of block i with noise on its parameters, in the precision of the checks."""
    with seeded(0):
        layer = new_layer(method, i).double()
        add_noise(dict(layer.named_parameters()))
        x = torch.zeros(1, 2, D_MODEL, dtype=torch.float64)
        try:
            is_double = layer.eval()(x).dtype == x.dtype
        except ENDING:
            is_double = False
    return layer if is_double else layer.float()


@torch.no_grad()
def add_noise(weights: dict[str, Tensor]) -> None:
    """Let no weight be 0."""
    for x in weights.values():
        if x.is_floating_point():
            x += NOISE * torch.randn_like(x)


def text(layer: nn.Module, n: int, batch: int = 1) -> Tensor:
    """Random vectors of n tokens, the same at each call, in the precision of the layer."""
    g = torch.Generator().manual_seed(n)
    dtype = next((p.dtype for p in layer.parameters()), torch.float32)
    return torch.randn(batch, n, D_MODEL, generator=g, dtype=torch.float64).to(dtype)


def output(layer: nn.Module, x: Tensor, *mask: Tensor) -> Tensor:
    """What a layer makes of texts; UnfitError where it raises, or gives another shape."""
    words = f"a text of {x.shape[-2]} token{'s' * (x.shape[-2] > 1)}"
    try:
        # in training, the same numbers are dropped in each call
        with seeded(0) if layer.training else nullcontext():
            z = layer(x, *mask)
    except UnfitError:
        raise
    except ENDING as error:
        raise UnfitError(f"{words} raises {described(error)}") from None
    z = require_output(z, x, words)
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
    """No token changes an earlier output, nor has a gradient from it, in training neither."""
    check_values(layer)
    with training_mode(layer):
        with naming("in training"):
            check_values(layer)
        check_gradients(layer)


@contextmanager
def training_mode(layer: nn.Module) -> Iterator[None]:
    """Within it, a layer is in training."""
    layer.train()
    try:
        yield
    finally:
        layer.eval()


def check_values(layer: nn.Module) -> None:
    """No token changes an earlier output."""
    for n in CHANGED_LENGTHS:
        check_text_of(layer, n)


@torch.no_grad()
def check_text_of(layer: nn.Module, n: int) -> None:
    """No token changes an earlier output in a text of n."""
    changed_tokens = torch.arange(n)[:: -(-n // MOST_CHANGED)]
    row, x = torch.arange(len(changed_tokens)), text(layer, n)
    changed = x.repeat(len(changed_tokens), 1, 1)
    changed[row, changed_tokens] = text(layer, 1)[0]
    is_earlier = torch.arange(n) < changed_tokens[:, None]
    # what is dropped in training depends on the shape
    unchanged = output(layer, x.expand_as(changed) if layer.training else x)
    reached = differing(output(layer, changed), unchanged) & is_earlier
    if reached.any():
        late = first(reached.any(-1))
        raise UnfitError(
            f"when token {changed_tokens[late]} changes, so does the output of token "
            f"{first(reached[late])} before it"
        )


def check_gradients(layer: nn.Module) -> None:
    """No output has a gradient from a later token."""
    texts, token = text(layer, N).repeat(N, 1, 1).requires_grad_(), torch.arange(N)
    z = output(layer, texts)[token, token]
    # row i has the gradients of output i
    (gradient,) = gradients((z * text(layer, N)[0]).sum(), [texts])
    if gradient is None:
        return
    size = gradient.abs().amax(-1)
    reached = (size > TOLERANCE * size.max()) & (token > token[:, None])
    if reached.any():
        early = first(reached.any(-1))
        raise UnfitError(
            f"the output of token {early} has a gradient from token {first(reached[early])} "
            "behind it"
        )


def gradients(loss: Tensor, of: Sequence[Tensor]) -> Sequence[Tensor | None]:
    """The gradients of a loss, None for what it does not depend on."""
    if not loss.requires_grad:
        return [None for _ in of]
    try:
        return torch.autograd.grad(loss, of, allow_unused=True)
    except UnfitError:
        raise
    except ENDING as error:
        raise UnfitError(f"its gradients raise {described(error)}") from None


@torch.no_grad()
def check_padding(layer: nn.Module) -> str | None:
    """What is masked at the end of a text changes no output before it."""
    if not takes_mask(layer):
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


def check_learning(layer: nn.Module) -> str | None:
    """Each parameter has a gradient, of the output or of the layer's own auxiliary loss."""
    learned = {name: p for name, p in layer.named_parameters() if p.requires_grad}
    if not learned:
        return "there is nothing to learn"
    x = text(layer, N, 2)
    with training_mode(layer):
        z = output(layer, x)
        loss = (z * text(layer, N, 2).flip(-2)).sum() + auxiliary_loss(layer)
        found = gradients(loss, [*learned.values()])
    for name, gradient in zip(learned, found, strict=True):
        if gradient is None or not (gradient != 0).any():
            raise UnfitError(
                f"{name} learns from no token: neither the output nor auxiliary_loss depends on it"
            )
        if not gradient.isfinite().all():
            raise UnfitError(f"the gradient of {name} is not finite")
    return None


def check_steps(
    layer: nn.Module, here: GoOn, fresh: GoOn, x: Tensor, handovers: Sequence[int]
) -> list[State]:
    """Step by step, each token has the output that it has in the whole text, and the state is all
    that a fresh process needs to take over; the states before the tokens where one does.

    `here` and `fresh` go on with a state, tokens and the number of the first.
    """
    with torch.no_grad():
        whole = output(layer, x)
    _, outputs = here(None, x, 0)
    if (wrong := differing(outputs, whole).any(0)).any():
        raise UnfitError(
            f"token {first(wrong)} has another output step by step than in the whole text"
        )
    states = [here(None, x[:, : handovers[0]], 0)[0]]
    for start, end in pairwise((*handovers, x.shape[-2])):
        with naming("in a fresh process"):
            state, outputs = fresh(states[-1], x[:, start:end], start)
        if (wrong := differing(outputs, whole[:, start:end]).any(0)).any():
            lack = (
                "attend keeps something besides keys and values"
                if isinstance(layer, AttendLayer)
                else "the state lacks something"
            )
            raise UnfitError(
                f"token {start + first(wrong)} has another output in a fresh process that has the "
                f"weights and the state from before token {start}: {lack}"
            )
        states.append(state)
    return states[:-1]


# a layer's note, or none
CHECKS: dict[str, Callable[[nn.Module], str | None]] = {
    "texts": check_texts,
    "causal": check_causal,
    "any length": check_lengths,
    "padding": check_padding,
    "learning": check_learning,
}
