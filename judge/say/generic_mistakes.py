"""The generic mistakes, which an answer may make whatever it computes: every exercise has them.

Each is made around the exercise's first valid answer, and only where it can show: a module keeps
what it was given, a function does not; only what returns a tensor can return it in another dtype.
An exercise leaves one out by name, with the reason, in `without`.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from judge import messages, variants
from judge.call.torch_internals import leaves, mapped
from judge.compare.probes import EDGES, own_axes, with_leading_axes
from judge.exercise import Case, Draw, Exercise, Mutant, is_floating

# methods whose only argument is an axis, and `dim=` of any
AXIS = re.compile(
    r"(\bdim=|\.(?:softmax|log_softmax|logsumexp|sum|mean|cumsum|cumprod|amax|amin|argmax|any|all"
    r"|flip|unbind|squeeze|(unsqueeze))\()-(\d)"
)


def each(result: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The result with every floating tensor changed."""
    # a list of numbers is left alone: to walk through it would be a loop
    if isinstance(result, (tuple, list)) and any(isinstance(one, Tensor) for one in result):
        return type(result)(each(one, change) for one in result)
    return change(result) if is_floating(result) else result  # pyright: ignore


def always_float32(call, *args, **kwargs):
    return each(call(*args, **kwargs), Tensor.float)


def always_float64(call, *args, **kwargs):
    return each(call(*args, **kwargs), Tensor.double)


def rounded_inside(dtype, call, *args, **kwargs):
    def rounded(x):
        return x.to(dtype).to(x.dtype)

    kwargs = {name: each(x, rounded) for name, x in kwargs.items()}
    return each(call(*(each(x, rounded) for x in args), **kwargs), rounded)


def made_on_the_cpu(call, *args, **kwargs):
    result = call(*args, **kwargs)
    some = isinstance(result, (tuple, list))
    added = [
        x + torch.zeros_like(x, device="cpu") if isinstance(x, Tensor) else x
        for x in (result if some else [result])
    ]
    return type(result)(added) if some else added[0]


def changes_its_input(call, *args, **kwargs):
    place = next(i for i, x in enumerate(args) if isinstance(x, Tensor))
    given = args[place].clone()
    result = call(*args[:place], given, *args[place + 1 :], **kwargs)
    with torch.no_grad():
        args[place].copy_(~given if given.dtype == torch.bool else given + 1)
    return result


def detached(call, *args, **kwargs):
    return each(call(*args, **kwargs), Tensor.detach)


def loops(call, *args, **kwargs):
    first = next((x for x in leaves(args) if isinstance(x, Tensor)), None)
    if first is None:
        rows = sum(x for x in args if isinstance(x, int))
    else:
        rows = first.numel() // (first.shape[-1] if first.dim() > 1 and first.shape[-1] else 1)
    # as much for each row as a short step of an answer
    for _ in range(10 * rows):
        pass
    return call(*args, **kwargs)


def loops_over_a_batch(own, call, *args, **kwargs):
    arguments = dict(enumerate(args)) | kwargs
    leading = {k: x.dim() - own[k] for k, x in arguments.items() if isinstance(x, Tensor)}
    # a mask may have one axis more for each head
    most = next(iter(leading.values()))
    batched = {k: arguments[k] for k, count in leading.items() if count >= most}
    if not most:
        return call(*args, **kwargs)
    size = max(map(len, batched.values()))
    results = []
    for i in range(size):
        one: dict[Any, Any] = arguments | {k: x[i if len(x) > 1 else 0] for k, x in batched.items()}
        places = [one.pop(place) for place in range(len(args))]
        results.append(loops_over_a_batch(own, call, *places, **one))
    if not size:
        return call(*args, **kwargs)
    if isinstance(results[0], Tensor):
        return torch.stack(results)
    return tuple(map(torch.stack, zip(*results, strict=True)))


def batch_axis_assumed(axes, call, *args, **kwargs):
    shape = next(x.shape for x in args if isinstance(x, Tensor))
    # unpacked as a learner does it: the error is then the same
    match axes:
        case 1:
            (_n,) = shape
        case 2:
            _n, _d = shape
        case 3:
            _batch, _n, _d = shape
        case _:
            _batch, _heads, _n, _d = shape
    return call(*args, **kwargs)


def viewed(call, *args, **kwargs):
    next(x for x in args if isinstance(x, Tensor)).view(-1)
    return call(*args, **kwargs)


def computes_on_the_cpu(call, *args, **kwargs):
    args, kwargs = mapped(Tensor.cpu, (args, kwargs), Tensor)
    return call(*args, **kwargs)


def squeezed(call, *args, **kwargs):
    return mapped(Tensor.squeeze, call(*args, **kwargs), Tensor)


def remembers(known, call, *args, **kwargs):
    sizes = [
        (x.shape, x.dtype, x.device) if isinstance(x, Tensor) else type(x) if callable(x) else x
        for x in (*args, *kwargs.values())
    ]
    return known.setdefault(str(sizes), call(*args, **kwargs))


def keeping(answer: type) -> type:
    """The module, which in every later call has the first input of its first one."""

    class Keeping(answer):
        def forward(self, x, *args, **kwargs):
            self.kept = getattr(self, "kept", x)
            return super().forward(self.kept, *args, **kwargs)

    return Keeping


def around(way: Callable, answer: Callable) -> Callable:
    """The answer with a mistake made around each call, of the function or of the module."""
    if isinstance(answer, type):
        return type(
            answer.__name__,
            (answer,),
            {"forward": lambda self, *a, **k: way(partial(answer.forward, self), *a, **k)},
        )
    return lambda *args, **kwargs: way(answer, *args, **kwargs)


class Shown(NamedTuple):
    """What an exercise's first case shows of the mistakes that can be made in it."""

    given: list[Tensor]
    result: list[Any]
    cases: list[Case]
    has_batches: bool

    @property
    def tensor_result(self) -> bool:
        return any(isinstance(x, Tensor) for x in self.result)

    @property
    def floating(self) -> bool:
        """Whether both what it is given and what it returns are numbers of some precision."""
        return any(map(is_floating, self.result)) and any(map(is_floating, self.given))

    @property
    def leading_axes_vary(self) -> bool:
        """Whether the first tensor has more axes in some cases than in others."""
        tensors = ([x for x in case.args if isinstance(x, Tensor)] for case in self.cases)
        return len({some[0].dim() for some in tensors if some}) > 1


def look(exercise: Exercise) -> Shown:
    """The exercise's first case, with the reference's result."""
    cases = list(exercise.draw_cases(Draw(0)))
    first = cases[0]
    given = [x for x in first.args if isinstance(x, Tensor)]
    result = leaves(first.result(exercise.reference_answer))
    return Shown(given, result, cases, bool(with_leading_axes(exercise, cases)))


def axes_from_the_front(answer: Callable, axes: int) -> Callable | None:
    """The answer with each axis that it counts from the end counted from the front instead."""

    def front(found: re.Match) -> str:
        return f"{found[1]}{axes + bool(found[2]) - int(found[3])}"

    source = variants.source_of(answer)
    changed = AXIS.sub(front, source)
    if changed == source:
        return None
    names = variants.names_for(answer)
    return variants.defined_by(changed, answer.__qualname__, "axes counted from the front", names)


# the name, the message and the wrong answer of a mistake that can show
Way = tuple[str, str, Callable | None]


def ways(exercise: Exercise) -> Iterator[Way]:
    """The generic mistakes that can show in an exercise."""
    seen, answer = look(exercise), exercise.valid_answers[0]
    made = partial(around, answer=answer)
    yield from dtype_and_device(exercise, seen, made)
    yield from loops_in_python(seen, made)
    if seen.tensor_result and seen.leading_axes_vary:
        yield "squeezed", messages.SQUEEZES, made(squeezed)
    if seen.floating and not isinstance(answer, type):
        yield "remembers", messages.REMEMBERS, made(partial(remembers, {}))
    if seen.given:
        yield from input_handling(seen, answer, made)
    # only the same module is called at another length before
    if isinstance(answer, type) and any(isinstance(c.longer, tuple) for c in seen.cases):
        yield "keeping", messages.KEEPS, keeping(answer)


def dtype_and_device(exercise: Exercise, seen: Shown, made: Callable) -> Iterator[Way]:
    """Another dtype, another device, and no gradient."""
    if seen.floating:
        yield "always_float32", messages.FLOAT32, made(always_float32)
        if exercise.floating:
            yield "always_float64", messages.FLOAT64, made(always_float64)
        inside = partial(rounded_inside, torch.float32)
        yield "float32_inside", messages.FLOAT32_INSIDE, made(inside)
        half = partial(rounded_inside, torch.bfloat16)
        yield "half_inside", messages.HALF_INSIDE, made(half)
    if seen.tensor_result and seen.given:
        yield "made_on_the_cpu", messages.DEVICE, made(made_on_the_cpu)
        yield "computes_on_the_cpu", messages.DEVICE, made(computes_on_the_cpu)
    if exercise.differentiable and seen.floating:
        yield "detached", messages.DETACHED, made(detached)


def loops_in_python(seen: Shown, made: Callable) -> Iterator[Way]:
    """Loops, where a case is also made longer."""
    if any(case.longer for case in seen.cases):
        yield "loops", messages.LOOPS, made(loops)
        if seen.has_batches:
            own = own_axes(seen.cases)
            yield "loops_over_a_batch", messages.LOOPS, made(partial(loops_over_a_batch, own))


def input_handling(seen: Shown, answer: Callable, made: Callable) -> Iterator[Way]:
    """What is done to an input, and which axes it is thought to have."""
    axes = seen.given[0].dim()
    yield "changes_its_input", messages.CHANGES, made(changes_its_input)
    if seen.leading_axes_vary:
        yield "batch_axis_assumed", messages.BATCH, made(partial(batch_axis_assumed, axes))
        yield "axes_from_the_front", messages.FRONT, axes_from_the_front(answer, axes)
    if axes > 1:
        yield "viewed", messages.VIEW, made(viewed)


def mutants(exercise: Exercise) -> Iterator[Mutant]:
    """The generic mistakes of an exercise; ValueError where it leaves one out that it has not."""
    if exercise.is_test or not exercise.valid_answers:
        return
    # where no case is longer nobody would see a loop, and the reason stands under this name
    names = {*EDGES, "loops"}
    for name, hint, answer in ways(exercise):
        names.add(name)
        if answer is not None and name not in exercise.without:
            answer.__name__ = f"generic: {name}"
            yield Mutant(answer, exercise.generic_hints.get(name, hint))
    if unknown := {*exercise.without, *exercise.generic_hints} - names:
        raise ValueError(
            f"{exercise.name} has no generic mistake {', '.join(sorted(unknown))}: "
            f"it has {', '.join(sorted(names))}"
        )
