"""A method of attention that somebody wrote into a file, as a layer in place of a GPT's attention.

The file has a function `attend(q, k, v, mask=None)`, or a class that is made with
`(d_model, heads)`: of several, the last. The page `reference/workbench.md` says what it must do.
"""

import ast
import importlib.util
import inspect
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor, nn

from attncourse.language_model import language_model
from attncourse.multi_head import join_heads
from attncourse.today import CausalLayer, append_row, replace_attention
from attncourse.transformer import LanguageModel, LayerState
from attncourse.workbench.protocol import D_MODEL, DEPTH, HEADS

MEASURES = ("bits", "recall", "state", "operations")
# of a file, what may end this process is an error like others
ENDING = (Exception, SystemExit)
MOST_EXPECTED = 10**15
State = tuple[Tensor, ...]


class UnfitError(Exception):
    """Says in one sentence why a method cannot stand in place of attention."""


class AttendLayer(CausalLayer):
    """Heads that attend with a function; the state is their keys and values."""

    def __init__(self, attend: Callable[..., Tensor]):
        super().__init__(D_MODEL, HEADS)
        # one that has parameters is another in each layer
        self.attend = deepcopy(attend)

    def whole(self, x: Tensor, mask: Tensor | None) -> Tensor:
        mask = None if mask is None else mask.unsqueeze(-3)
        return self.w_o(join_heads(self.attend(*self.projected(x), mask)))

    def empty_state(self, x: Tensor) -> tuple[Tensor, ...]:
        return self.rows(x, self.d_h, self.d_h)

    def step(self, state: tuple[Tensor, ...], x: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
        q, k, v = self.projected(x[..., None, :])
        keys, values = append_row(state[0], k.squeeze(-2)), append_row(state[1], v.squeeze(-2))
        z = self.attend(q, keys, values, None)
        return (keys, values), self.w_o(join_heads(z)).squeeze(-2)


class InPlace(nn.Module):
    """A layer where a block calls its attention."""

    cache = LayerState

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(
        self, x: Tensor, mask: Tensor | None = None, cache: LayerState | None = None
    ) -> Tensor:
        """The layer's output, or that of its steps."""
        if cache is not None:
            return cache.extend(self.layer, x)  # pyright: ignore[reportArgumentType]
        return self.layer(x) if mask is None else self.layer(x, mask)


@dataclass(frozen=True)
class Method:
    """The layers that a file describes: `make(i)` gives that of block i."""

    path: Path
    make: Callable[[int], nn.Module]
    expected: dict[str, float]
    # of the blocks, those whose layers may differ
    distinct: range = range(1)

    @property
    def name(self) -> str:
        return self.path.stem

    def model(self, vocabulary: int) -> LanguageModel:
        """The protocol's GPT with new layers in place of its attention."""
        model = language_model(vocabulary, D_MODEL, HEADS, DEPTH)
        return replace_attention(model, lambda i: InPlace(self.make(i)))


def load_method(path: str | Path) -> Method:
    """The method in a file; raises UnfitError where there is none."""
    path = Path(path)
    module = load_module(path)
    expected = expectation(path.read_text("utf-8"))
    if attend := getattr(module, "attend", None):
        return Method(path, lambda i: AttendLayer(attend), expected)
    classes = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, nn.Module)
        and value.__module__ == module.__name__
    ]
    if not classes:
        raise UnfitError(
            f"{path.name} has neither a function attend(q, k, v, mask=None) nor a class that "
            "derives from torch.nn.Module and is made with (d_model, heads)"
        )
    kind = classes[-1]
    if "layer" in inspect.signature(kind).parameters:
        return Method(path, lambda i: kind(D_MODEL, HEADS, layer=i), expected, range(DEPTH))
    return Method(path, lambda i: kind(D_MODEL, HEADS), expected)


def load_module(path: Path) -> ModuleType:
    """The module that a file holds, run anew."""
    if not path.is_file():
        raise UnfitError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"workbench_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UnfitError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ENDING as error:
        raise UnfitError(f"{path.name} cannot be imported: {described(error)}") from None
    return module


def new_layer(method: Method, i: int) -> nn.Module:
    """A new layer of block i; UnfitError where there is none."""
    try:
        return method.make(i)
    except ENDING as error:
        raise UnfitError(f"it cannot be made with d_model and heads: {described(error)}") from None


def takes_mask(layer: nn.Module) -> bool:
    """Whether a layer can be told what is padding."""
    known = getattr(layer, "takes_mask", None)
    return "mask" in inspect.signature(layer.forward).parameters if known is None else known


@torch.no_grad()
def run_steps(
    layer: nn.Module, state: State | None, x: Tensor, start: int = 0
) -> tuple[State, Tensor]:
    """The state after the tokens of x, (batch, n, d_model), and their outputs.

    The first has the number `start`, and the state before it; None begins a text.
    """
    if not (hasattr(layer, "step") and hasattr(layer, "empty_state")):
        raise UnfitError(
            "the layer has no empty_state(x) and step(state, x) to write token by token"
        )
    state, outputs = empty_state(layer, x) if state is None else state, []
    for i, token in enumerate(x.unbind(-2), start):
        try:
            state, z = layer.step(state, token)  # pyright: ignore[reportCallIssue]
            state = require_state(state)
            outputs.append(require_output(z, token, "the token"))
        except ENDING as error:
            raise UnfitError(f"the step of token {i} fails: {described(error)}") from None
    return state, torch.stack(outputs, dim=-2)


def empty_state(layer: nn.Module, x: Tensor) -> State:
    """The state before the first token."""
    try:
        return require_state(layer.empty_state(x[..., 0, :]))  # pyright: ignore[reportCallIssue]
    except ENDING as error:
        raise UnfitError(f"empty_state raises {described(error)}") from None


def described(error: BaseException) -> str:
    """The name and the first line of an error; of one that says all by itself, the sentence."""
    if isinstance(error, UnfitError):
        return str(error)
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def expectation(code: str) -> dict[str, float]:
    """What code expects; UnfitError unless it is a number for some of the measures.

    The code is not run, because the grader reads this outside of the sandbox.
    """
    try:
        expected = assigned("EXPECTED", code)
    except (ValueError, TypeError):
        raise UnfitError(
            "EXPECTED is read without running your code, so write its numbers out: 768, and not "
            "3 * 256"
        ) from None
    if not isinstance(expected, dict) or not expected.keys() <= {*MEASURES}:
        raise UnfitError(f"EXPECTED is a dictionary with some of {', '.join(MEASURES)}")
    if wrong := [
        name
        for name, x in expected.items()
        if not (isinstance(x, int | float) and abs(x) < MOST_EXPECTED)
    ]:
        raise UnfitError(f"EXPECTED[{wrong[0]!r}] is not a number")
    return expected


def assigned(name: str, code: str) -> object:
    """The value that code, which is not run, assigns to a name; an empty dictionary for none."""
    value: object = {}
    with warnings.catch_warnings(action="ignore"):
        statements = ast.parse(code).body
    for node in statements:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = ast.literal_eval(node.value)
    return value


def require_output(z: object, x: Tensor, words: str) -> Tensor:
    """The output of x, which the words name; UnfitError unless it is a tensor like x."""
    if not isinstance(z, Tensor) or z.shape != x.shape:
        shape = tuple(z.shape) if isinstance(z, Tensor) else type(z).__name__
        raise UnfitError(f"{words} has the shape {tuple(x.shape)}, and its output has {shape}")
    if z.dtype != x.dtype:
        raise UnfitError(f"{words} has the dtype {x.dtype}, and its output has {z.dtype}")
    return z


def require_state(state: object) -> State:
    """A copy of a state's numbers alone; UnfitError unless it is a tuple of tensors."""
    if not isinstance(state, tuple) or not all(isinstance(part, Tensor) for part in state):
        raise UnfitError(f"a state is a tuple of tensors, and this is {state!r:.60}")
    return tuple(part.detach().clone() for part in state)
