"""The contract of every mechanism with annotated shapes, on inputs drawn from its signature.

The result has the annotated shape and the dtype of the inputs, and these are unchanged. The meta
device gives the same shapes and dtypes. Where an axis has two sizes, the error names both.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

import pytest
import torch
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attncourse import device
from attncourse.dot_product import attention
from attncourse.language_model import language_model
from attncourse.tasks import Classifier, Tagger, Translator, TreeAttention, WordEmbedding
from attncourse.train import seeded
from attncourse.transformer import (
    Causal,
    Decoder,
    DecoderBlock,
    Decoding,
    Embedding,
    Encoder,
    EncoderBlock,
    PostNorm,
    PreNorm,
    Transformer,
    beam_search,
)
from tests import ROOT
from tests.conftest import CHAPTERS, SEED

Sizes = dict[str, Any]
SIZES, LEADING_AXES, MISFIT = (1, 7, 8), ((), (2,), (2, 3)), 10
# each dtype, and torch's default while tensors of it are computed with: what is made without a
# dtype then gives the result another one
DTYPES = {
    torch.float32: torch.float64,
    torch.float64: torch.float32,
    torch.bfloat16: torch.float32,
}
VOCABULARY = 9
# the numbers that are not drawn from SIZES
NUMBERS = {
    **dict.fromkeys(("vocabulary", "words", "suffixes", "count"), (VOCABULARY,)),
    **dict.fromkeys(("width", "heads_width", "rows"), (1, 7)),
    "depth": (2,),
    "max_n": (16,),
    "num_buckets": (2, 8),
}
# what is drawn although it has a default, which is longer than the inputs
BLOCKS = ("block", "chunk")
# what a mechanism demands of its sizes, besides its annotations and `fits`
DEMANDS = {
    "LinearState.attend": lambda s: not s["mask"],
    "RotaryAttention.forward": lambda s: s["d"] % 2 == 0,
    "bigbird_mask": lambda s: s["random"] <= s["n"],
    "first_token_weight": lambda s: s["n"] > 1,
    "grouped_query_attention": lambda s: s["heads"] % s["groups"] == 0,
    "key_value_attention": lambda s: s["d"] % 2 == 0,
    "induction_score": lambda s: s["period"] < s["n"],
    "nystrom_attention": lambda s: s["landmarks"] <= min(s["n"], s["m"]),
    "offset_score": lambda s: s["n"] > 1,
    "pool_step": lambda s: s["open"] < s["size"],
    "pooled_attention": lambda s: s["blocks"] == s["n"] // s["size"],
    "pooled_attention_step": lambda s: s["open"] < s["size"],
    "rope": lambda s: s["d"] % 2 == 0,
    "segment_means": lambda s: s["segments"] <= s["n"],
    # a head's columns are rotated in pairs
    **dict.fromkeys(
        [f"{layer}Attention.forward" for layer in ("Gated", "Selected", "Pooled", "ChosenPooled")],
        lambda s: s["d_model"] % (2 * s["heads"]) == 0,
    ),
    "three_branches": lambda s: s["blocks"] == s["n"] // s["size"],
    **dict.fromkeys(
        [f"relative_attention{form}" for form in ("", "_dense", "_gather", "_loops")],
        lambda s: s["n"] <= s["m"] and (s["a_k"] or s["a_v"]),
    ),
}
# what is not gone through
EXCEPTIONS = {
    "BiasedAttention.bias": "is written by its subclasses",
    "BiasedAttention.forward": "is gone through with its subclasses",
    "CausalLayer.forward": "is gone through with its subclasses",
    "both_tables": "is a step of relative attention",
    "convolution_as_attention": "gives a layer, and no tensor",
    "grid": "takes an iterable, and is a step of tap_weights",
    "LayerState.extend": "takes a layer, and is gone through in test_today",
    "mask_of_groups": "is a step of grouped_query_attention",
    "require_roots": "is a step of ancestors",
}
# what depends on the numbers in the inputs
NOT_ON_META = {
    "BackOff.__call__": "looks its counts up by token",
    "Translator.translate": "ends when each text has its stop",
    "beam_search": "ends when each text has its stop",
    "bootstrap_interval": "gives Python's numbers",
    "confusion": "leaves out labels",
    "perplexity": "gives Python's number",
}
# what is float32 at least, or sums up too much for eight bits
NOT_IN_BFLOAT16 = (
    "bootstrap_interval",
    "head_weights",
    "linear_attention_state",
    "linear_attention_step",
)
# what gets no gradient through a choice, a loss for another part, or a block that is not complete
NO_GRADIENT = {
    "indexer_loss": ["weights"],
    "pool_step": ["bias"],
    "pooled_attention_step": ["bias"],
    "selected_attention_step": ["index_q", "index_w"],
}
# without `shaped`, so that the error is torch's
NAMED_BY_TORCH = (
    "Decoder.forward",
    "Tagger.forward",
    "TreeAttention.forward",
    "WordEmbedding.forward",
    "exact_matches",
    "mean_of_tokens",
    "only_stop",
)


def encoder(d_model: int, heads: int, attend: Callable = attention) -> Encoder:
    return Encoder([EncoderBlock(d_model, heads, 5, attend)], nn.LayerNorm(d_model))


def decoder(d_model: int, heads: int) -> Decoder:
    return Decoder([DecoderBlock(d_model, heads, 5)], nn.LayerNorm(d_model))


def text_model(d_model: int, heads: int) -> nn.Module:
    return language_model(VOCABULARY, d_model, heads, 2, Causal)


def tree_attention(d_h: int, max_distance: int, batch: int, n: int) -> TreeAttention:
    attend = TreeAttention(d_h, max_distance)
    attend.parents = torch.arange(n).expand(batch, n) - 1
    return attend


def translator(kind: type[Transformer]) -> Callable[..., Transformer]:
    return lambda d_model, heads: kind(
        Embedding(VOCABULARY, d_model),
        encoder(d_model, heads),
        Embedding(VOCABULARY, d_model),
        decoder(d_model, heads),
    )


def tagger(d_model: int, heads: int, labels: int) -> Tagger:
    words = WordEmbedding(VOCABULARY, VOCABULARY, d_model)
    attend = TreeAttention(d_model // heads, max_distance=2)
    return Tagger(words, encoder(d_model, heads, attend), d_model, labels)


# how a class is made whose arguments are no numbers
MAKERS = {
    "Classifier": lambda d_model, heads, labels: Classifier(
        Embedding(VOCABULARY, d_model), encoder(d_model, heads), d_model, labels
    ),
    "Decoder": decoder,
    "Decoding": lambda d_model, heads: text_model(d_model, heads).decode(),
    "Encoder": encoder,
    "LanguageModel": text_model,
    "PostNorm": lambda d_model: PostNorm(d_model, nn.Linear(d_model, d_model)),
    "PreNorm": lambda d_model: PreNorm(d_model, nn.Linear(d_model, d_model)),
    "Tagger": tagger,
    "Transformer": translator(Transformer),
    "Translator": translator(Translator),
    "TreeAttention": tree_attention,
}
# the arguments by name that are neither annotated nor numbers
OBJECTS = {
    "alpha": lambda s: 0.5,
    "attend": lambda s: Causal(),
    "batches": lambda s: [2 * (torch.zeros(2, 7, dtype=torch.int64),)],
    "context": lambda s: (0,),
    "decoding": lambda s: text_model(8, 2).decode(),
    "g": lambda s: torch.Generator(),
    "generator": lambda s: torch.Generator(device()),
    "global_tokens": lambda s: [0],
    "layer": lambda s: lambda x: x.cumsum(-2),
    "like": lambda s: torch.randn(()),
    "memory": lambda s: torch.randn(*s["leading"], s["m"], s["d"]),
    "model": lambda s: text_model(8, 2),
    "part": lambda s: torch.tanh,
    "power": lambda s: 0.6,
    "size": lambda s: (2,) * s["axes"],
    "taps": lambda s: (3,),
}


class Mechanism(NamedTuple):
    """A function, or a method and what makes its object."""

    name: str
    function: Callable
    make: Any


class Axis(NamedTuple):
    """An axis of an annotated shape, or all its leading axes."""

    name: str
    is_leading: bool
    may_be_1: bool
    is_own: bool


class Input(NamedTuple):
    """A tensor among the arguments; the item is its index in a tuple."""

    parameter: str
    item: int | None
    annotation: Any


def annotations_in(annotation: Any) -> list[Any]:
    """The annotated shapes in an annotation, such as those in a tuple or a union."""
    if hasattr(annotation, "dim_str"):
        return [annotation]
    return [shape for option in get_args(annotation) for shape in annotations_in(option)]


def is_annotated(function: Any) -> bool:
    """Whether it is a public function with an annotated shape."""
    name = getattr(function, "__name__", "_")
    if not inspect.isfunction(function) or (name.startswith("_") and name != "__call__"):
        return False
    signature = inspect.signature(function)
    annotations = [parameter.annotation for parameter in signature.parameters.values()]
    return any(map(annotations_in, [*annotations, signature.return_annotation]))


def annotated_mechanisms() -> Iterator[Mechanism]:
    """Every public function and method of the chapters' modules with an annotated shape."""
    for slug in CHAPTERS:
        package = importlib.import_module(f"attncourse.{slug}")
        files = pkgutil.iter_modules(getattr(package, "__path__", []), f"{package.__name__}.")
        for module in (package, *(importlib.import_module(file.name) for file in files)):
            for name, value in vars(module).items():
                if getattr(value, "__module__", "") != module.__name__:
                    continue
                if is_annotated(value):
                    yield Mechanism(name, value, None)
                elif inspect.isclass(value):
                    for method, function in inspect.getmembers(value, is_annotated):
                        yield Mechanism(f"{name}.{method}", function, MAKERS.get(name, value))


MECHANISMS = {mechanism.name: mechanism for mechanism in annotated_mechanisms()}
CHECKED = [name for name in MECHANISMS if name not in EXCEPTIONS]


@cache
def parameters_of(function: Callable) -> dict[str, inspect.Parameter]:
    """The parameters that have a name, but for self."""
    parameters = inspect.signature(function).parameters
    variadic = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {name: p for name, p in parameters.items() if name != "self" and p.kind not in variadic}


@cache
def required(function: Callable) -> list[str]:
    """The names of the parameters without a default."""
    return [name for name, p in parameters_of(function).items() if p.default is p.empty]


def is_optional(parameter: inspect.Parameter) -> bool:
    """Whether it is an annotated tensor that may be None."""
    annotation = parameter.annotation
    return bool(annotations_in(annotation)) and type(None) in get_args(annotation)


@cache
def axes_of(annotation: Any) -> list[Axis]:
    """The axes of an annotated shape."""
    return [
        Axis(text.strip("*#{}").removeprefix("self."), "*" in text, "#" in text, "self." in text)
        for text in annotation.dim_str.split()
    ]


def inputs_of(mechanism: Mechanism, sizes: Sizes) -> list[Input]:
    """The annotated tensors among the arguments, without those that `sizes` leaves out."""
    return [
        Input(name, item if len(annotations_in(parameter.annotation)) > 1 else None, annotation)
        for name, parameter in parameters_of(mechanism.function).items()
        if sizes.get(name, True)
        for item, annotation in enumerate(annotations_in(parameter.annotation))
    ]


def draw_sizes(data: st.DataObject, mechanism: Mechanism) -> Sizes:
    """Sizes of axes and other numbers, flags, leading axes, and which optional tensors there are.

    Those of the axes `broadcast` that may be 1 are.
    """
    parameters = parameters_of(mechanism.function)
    axes = [axis for x in inputs_of(mechanism, {}) for axis in axes_of(x.annotation)]
    numbers = {axis.name for axis in axes if not axis.is_leading and not axis.name.isdigit()}
    numbers |= {name for name in required(mechanism.function) if parameters[name].annotation is int}
    numbers |= {*required(mechanism.make)} if mechanism.make else set()
    numbers |= parameters.keys() & {*BLOCKS}
    flags = [name for name, p in parameters.items() if p.annotation is bool or is_optional(p)]
    may_be_1 = sorted({axis.name for axis in axes if axis.may_be_1})
    strategies = {name: st.sampled_from(NUMBERS.get(name, SIZES)) for name in sorted(numbers)}
    strategies |= dict.fromkeys(flags, st.booleans())
    strategies["leading"] = st.sampled_from(LEADING_AXES)
    strategies["broadcast"] = st.sets(st.sampled_from(may_be_1)) if may_be_1 else st.just(set())
    strategy = st.fixed_dictionaries(strategies)
    strategy = strategy.filter(lambda sizes: fits(mechanism, with_derived(mechanism, sizes)))
    return with_derived(mechanism, data.draw(strategy, "sizes"))


def draw_dtype(data: st.DataObject, mechanism: Mechanism) -> torch.dtype:
    """One of the dtypes that a mechanism takes."""
    left_out = {torch.bfloat16} if mechanism.name in NOT_IN_BFLOAT16 else set()
    return data.draw(st.sampled_from([x for x in DTYPES if x not in left_out]), "dtype")


def with_derived(mechanism: Mechanism, sizes: Sizes) -> Sizes:
    """The sizes, with those that follow from others."""
    sizes = dict(sizes)
    for width in ("d_model", "d_h"):
        if mechanism.make and width in required(mechanism.make):
            sizes["d"] = sizes["e"] = sizes[width]
    if "n" in sizes:
        sizes["offsets"] = 2 * sizes["n"] - 1
        axes = [axis for x in inputs_of(mechanism, sizes) for axis in axes_of(x.annotation)]
        # keys that a mask alone has are the tokens themselves
        only_in_masks = {"m", "kept"} - {axis.name for axis in axes if not axis.may_be_1}
        sizes |= dict.fromkeys(only_in_masks, sizes["n"])
    if "blocks" in sizes and "n" in sizes:
        sizes["all_keys"] = sizes["n"] + sizes["blocks"]
    if "features" in sizes:
        sizes["features"] = sizes["d"]
    if "h" in sizes:
        sizes["gates"] = 4 * sizes["h"]
    if "heads" in sizes:
        sizes["batch_heads"] = (*sizes["leading"], sizes["heads"])
    return sizes


def fits(mechanism: Mechanism, sizes: Sizes) -> bool:
    """Whether a mechanism can have these sizes."""
    n, m = sizes.get("n", 1), sizes.get("m", sizes.get("n", 1))
    return (
        sizes.get("d", 0) % sizes.get("heads", 1) == 0
        and (n == m or not sizes.get("causal"))
        and (n <= m or not getattr(mechanism.make, "one_sequence", False))
        and bool(DEMANDS.get(mechanism.name, bool)(sizes))
    )


def dimensions(annotation: Any, sizes: Sizes) -> list[tuple[Axis, int | None]]:
    """Each axis of a shape with its size; leading axes one by one; None for an unknown size."""
    result = []
    for axis in axes_of(annotation):
        is_1 = axis.may_be_1 and axis.name in sizes["broadcast"]
        size = sizes.get(axis.name, sizes["leading"] if axis.is_leading else None)
        if axis.name.isdigit():
            result.append((axis, int(axis.name)))
        elif not axis.is_leading:
            result.append((axis, 1 if is_1 else size))
        elif not is_1:
            result += [(axis, n) for n in (size if isinstance(size, tuple) else (size,))]
    return result


def random_tensor(x: Input, shape: list[int], dtype: torch.dtype) -> Tensor:
    """Normal numbers of this dtype, booleans, parents of a chain, or integers that are 0 or 1."""
    if x.annotation.dtype is Float:
        return torch.randn(shape, dtype=dtype)
    if x.annotation.dtype is Bool:
        return torch.rand(shape) < 0.7
    if x.parameter == "parents":
        return (torch.arange(shape[-1]) - 1).expand(shape)
    return torch.randint(1 if x.parameter in ("index", "rows") else 2, shape)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Context in which torch makes tensors of this dtype by default."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Call(NamedTuple):
    """A function or method, its arguments by name, and all tensors in these and in its object."""

    function: Callable
    arguments: dict[str, Any]
    inputs: list[Tensor]


def make_call(
    mechanism: Mechanism,
    sizes: Sizes,
    dtype: torch.dtype = torch.float32,
    where: torch.device | str | None = None,
    wrong: dict[Input, list[int]] | None = None,
) -> Call:
    """A call with random tensors of these sizes, but for the `wrong` shapes of some inputs."""
    where = device() if where is None else where
    parameters, arguments = parameters_of(mechanism.function), {"device": where, "dtype": dtype}
    with default_dtype(dtype), torch.device(where), seeded(0):
        owner = mechanism.make and mechanism.make(**{x: sizes[x] for x in required(mechanism.make)})
        for x in inputs_of(mechanism, sizes):
            shape = [size for _, size in dimensions(x.annotation, sizes)]
            tensor = random_tensor(x, (wrong or {}).get(x, shape), dtype)
            before = arguments.get(x.parameter, ())
            arguments[x.parameter] = tensor if x.item is None else (*before, tensor)
        for name, parameter in parameters.items():
            if name in arguments:
                continue
            if is_optional(parameter):
                arguments[name] = None
            elif name in sizes:
                arguments[name] = sizes[name]
            elif parameter.default is parameter.empty:
                arguments[name] = OBJECTS[name](sizes)
    arguments = {name: x for name, x in arguments.items() if name in parameters}
    function = getattr(owner, mechanism.function.__name__) if owner else mechanism.function
    return Call(function, arguments, tensors_in([owner, *arguments.values()]))


def tensors_in(x: Any) -> list[Tensor]:
    """The tensors in a value, the weights of a model among them."""
    match x:
        case Tensor():
            return [x]
        case nn.Module():
            return [*x.parameters()]
        case Decoding():
            return [*x.stack.parameters()]
        case tuple() | list():
            return [tensor for item in x for tensor in tensors_in(item)]
    return []


def assert_as_annotated(x: Any, annotation: Any, sizes: Sizes, dtype: torch.dtype) -> None:
    """Assert that a result has the annotated shape, and this dtype if it is floating point."""
    if hasattr(annotation, "dim_str"):
        expected = dimensions(annotation, sizes)
        assert x.ndim == len(expected), f"{tuple(x.shape)} is not ({annotation.dim_str})"
        for actual, (axis, size) in zip(x.shape, expected, strict=True):
            # an axis that no argument has is of one size throughout the result
            size = sizes.setdefault(axis.name, actual) if size is None else size
            assert actual == size, f"{axis.name}={actual}, and not {size}"
        assert x.dtype == {Float: dtype, Int: torch.int64, Bool: torch.bool}[annotation.dtype]
    elif get_origin(annotation) is tuple:
        for item, option in zip(x, get_args(annotation), strict=True):
            assert_as_annotated(item, option, sizes, dtype)
    elif annotation is Tensor:
        assert x.dtype == dtype


def for_each(names: Iterable[str], examples: int) -> Callable[[Callable], Callable]:
    """Decorator of a test that draws so many examples for each of these mechanisms."""
    contract = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )

    def decorate(test: Callable) -> Callable:
        mechanisms = [MECHANISMS[name] for name in names]
        parametrized = pytest.mark.parametrize("mechanism", mechanisms, ids=lambda x: x.name)
        return parametrized(contract(seed(int(SEED))(given(data=st.data())(test))))

    return decorate


@for_each(CHECKED, 12)
def test_the_result_is_as_annotated_and_the_inputs_are_unchanged(mechanism, data):
    sizes = draw_sizes(data, mechanism)
    dtype = draw_dtype(data, mechanism)
    function, arguments, inputs = make_call(mechanism, sizes, dtype)
    copies = [x.clone() for x in inputs]
    with default_dtype(DTYPES[dtype]), seeded(0):
        result = function(**arguments)
    if not any(x.is_floating_point() for x in inputs) and "dtype" not in arguments:
        dtype = DTYPES[dtype]
    if function is beam_search:
        # which adds up many logarithms
        dtype = torch.float64
    annotation = inspect.signature(mechanism.function).return_annotation
    assert_as_annotated(result, annotation, sizes, dtype)
    assert all(map(torch.equal, inputs, copies))


@for_each((name for name in CHECKED if name not in NOT_ON_META), 8)
def test_the_meta_device_gives_the_same_shapes_and_dtypes_and_gradients(mechanism, data):
    sizes = draw_sizes(data, mechanism)
    dtype = draw_dtype(data, mechanism)
    results = []
    for where in (device(), "meta"):
        function, arguments, inputs = make_call(mechanism, sizes, dtype, where)
        for x in inputs:
            x.requires_grad_(x.is_floating_point())
        with seeded(0):
            results.append(tensors_in(function(**arguments)))
    expected, result = results
    assert [(x.shape, x.dtype) for x in result] == [(x.shape, x.dtype) for x in expected]
    # a generator is never on the meta device
    assert all(x.is_meta for x in result) or not (inputs or "device" in arguments)
    if differentiable := [x.sum() for x in result if x.requires_grad]:
        sum(differentiable).backward()
        learning = [
            x.parameter
            for x in inputs_of(mechanism, sizes)
            if x.parameter not in NO_GRADIENT.get(mechanism.name, [])
        ]
        annotated = tensors_in([arguments[name] for name in learning])
        assert all(x.grad is not None for x in annotated if x.is_floating_point())


def shared_axes(mechanism: Mechanism, sizes: Sizes) -> set[str]:
    """The names of the axes that several inputs have, or one twice, or that the layer fixes."""
    axes = [axis for x in inputs_of(mechanism, sizes) for axis in axes_of(x.annotation)]
    # an axis that is 1 and may be is like any other
    broadcast = {*sizes.get("broadcast", ()), *(name for name, size in sizes.items() if size == 1)}
    axes = [axis for axis in axes if not (axis.may_be_1 and axis.name in broadcast)]
    counts = Counter(axis.name for axis in axes)
    return {x.name for x in axes if not x.name.isdigit() and (x.is_own or counts[x.name] > 1)}


@pytest.mark.usefixtures("unchecked")
@for_each((name for name in CHECKED if shared_axes(MECHANISMS[name], {})), 4)
def test_an_axis_with_two_sizes_is_named_with_both(mechanism, data):
    sizes = draw_sizes(data, mechanism)
    is_shaped = mechanism.function.__code__.co_name == "shaped_function"
    for x in inputs_of(mechanism, sizes):
        dims = dimensions(x.annotation, sizes)
        for i, (axis, size) in enumerate(dims):
            # without `shaped`, what is 1 broadcasts
            if axis.name not in shared_axes(mechanism, sizes) or (size == 1 and not is_shaped):
                continue
            shape = [size for _, size in dims]
            shape[i] = MISFIT
            function, arguments, _ = make_call(mechanism, sizes, wrong={x: shape})
            label = x.parameter if x.item is None else f"{x.parameter}[{x.item}]"
            note(f"{label}: {axis.name}={MISFIT}")
            errors = (ValueError, *([RuntimeError] if mechanism.name in NAMED_BY_TORCH else []))
            with pytest.raises(errors) as error:
                function(**arguments)
            expected = size if axis.is_leading else sizes[axis.name]
            if axis.is_own:
                words = [f"{MISFIT} stands where self.{axis.name}={expected} should"]
            elif is_shaped and not axis.is_leading:
                words = [f"{label} has {axis.name}={MISFIT}", f"has {axis.name}={expected}"]
            else:
                words = [str(MISFIT), str(expected)]
            for word in words:
                assert re.search(rf"(?<!\d){re.escape(word)}(?!\d)", str(error.value)), error.value


def test_every_public_function_with_annotated_tensors_is_gone_through_or_an_exception():
    patterns = [f"attncourse/{slug}{part}.py" for slug in CHAPTERS for part in ("", "/*")]
    for path in (path for pattern in patterns for path in ROOT.glob(pattern)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                signature = f"{ast.unparse(node.args)} {node.returns and ast.unparse(node.returns)}"
                names = {name.rpartition(".")[2] for name in MECHANISMS}
                assert node.name in names or not re.search(r"\b(Bool|Float|Int)\[", signature), (
                    f"{path}: {node.name}"
                )
