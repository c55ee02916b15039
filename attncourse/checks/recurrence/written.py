"""What an answer that writes a recurrence may not call, and mistakes around any answer."""

from collections.abc import Callable

import torch

from attncourse.checks.exercise import Exercise, is_floating

# torch's own recurrent layers, cells and functions, which would be the answer
TORCH_RECURRENCE = (
    "torch.nn.modules.rnn",
    "rnn_tanh",
    "rnn_relu",
    "gru",
    "lstm",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "gru_cell",
    "lstm_cell",
)


def cast(args, kwargs, dtype):
    """The arguments, their floating tensors in that dtype."""
    return (
        [x.to(dtype) if is_floating(x) else x for x in args],
        {name: x.to(dtype) if is_floating(x) else x for name, x in kwargs.items()},
    )


def always_float32(answer, *args, **kwargs):
    args, kwargs = cast(args, kwargs, torch.float32)
    return answer(*args, **kwargs)


def float32_inside(answer, *args, **kwargs):
    dtype = next(x.dtype for x in args if is_floating(x))
    return always_float32(answer, *args, **kwargs).to(dtype)


def detached(answer, *args, **kwargs):
    return answer(*args, **kwargs).detach()


def made_on_the_cpu(answer, *args, **kwargs):
    out = answer(*args, **kwargs)
    return out + torch.zeros(out.shape, dtype=out.dtype, device="cpu")


HINTS = {
    always_float32: "the result is always float32: keep the dtype of the inputs",
    float32_inside: "you compute in float32: stay in the dtype of the inputs",
    detached: "no gradient flows back: nothing may be detached",
    made_on_the_cpu: "a new tensor is made on the CPU: give it the device of an input",
}


def add_to(exercise: Exercise, answer: Callable, *ways: Callable) -> None:
    """Give the exercise these mistakes, made around the right `answer`."""
    for way in ways:

        def answered(*args, way=way, **kwargs):
            return way(answer, *args, **kwargs)

        answered.__name__ = way.__name__
        exercise.mutant(HINTS[way])(answered)
