"""What a learner's code does while it runs: its steps, what it calls, what torch computes."""

import sys

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# the code of libraries is not the learner's: its lines are not counted, nor are those of the
# implementations that a learner's test is given to call
LIBRARIES = {
    "torch", "numpy", "einops", "jaxtyping", "beartype", "importlib", "contextlib", "unittest",
    "difflib", "implementation",
}  # fmt: skip
OURS = {f"{__package__}.{name}" for name in ("driver", "elsewhere", "watch")}


# what torch computes in one step for a function that may be forbidden
FUSED = {
    "scaled_dot_product_attention": (
        "_scaled_dot_product", "_native_multi_head_attention", "_safe_softmax",
    ),
}  # fmt: skip

# where Python loads a module: none of the lines that run meanwhile are the learner's either
IMPORT = "importlib._bootstrap._find_and_load"


class Stopped(BaseException):
    """Raised inside the learner's call; not an Exception, so that `except Exception` lets it by."""


class Watch:
    """Counts the lines of Python that the learner's code runs, and sees what it calls.

    The count is the same on every machine, which seconds are not: code that loops over positions
    runs more lines on a longer input.
    """

    def __init__(self, forbidden, max_steps, lines=True):
        self.forbidden, self.max_steps, self.called = forbidden, max_steps, None
        self.prefixes = tuple(f"{name}." for name in forbidden)
        self.lines = lines
        self.steps = self.imports = 0
        # what was seen before and is no learner's, by its id, since its own hash takes long
        self.others, self.allowed = {}, set()

    def __enter__(self):
        self.before = sys.gettrace(), sys.getprofile()
        if self.forbidden:
            sys.setprofile(self.profile)
        if self.forbidden or self.lines:
            sys.settrace(self.trace)

    def __exit__(self, *error):
        sys.settrace(self.before[0])
        sys.setprofile(self.before[1])

    def trace(self, frame, event, arg):
        code = frame.f_code
        if id(code) in self.others:
            return None
        module = frame.f_globals.get("__name__") or ""
        if module not in OURS:
            name = f"{module}.{code.co_qualname}"
            self.refuse(name)
            if name == IMPORT:
                self.imports += 1
                frame.f_trace_lines = False
                return self.imported
            if self.imports:
                return None
            if self.lines and module.partition(".")[0] not in LIBRARIES:
                return self.line
        self.others[id(code)] = code
        return None

    def line(self, frame, event, arg):
        if event == "line":
            self.steps += 1
            if self.steps > self.max_steps:
                raise Stopped("steps")
        return self.line

    def imported(self, frame, event, arg):
        if event == "return":
            self.imports -= 1
        return self.imported

    def profile(self, frame, event, arg):
        if event == "c_call":
            name = getattr(arg, "__name__", "")
            if name not in self.allowed:
                self.refuse(name)
                self.allowed.add(name)

    def refuse(self, name):
        if f"{name}.".startswith(self.prefixes):
            self.called = name
            raise Stopped("forbidden")


class Called(TorchFunctionMode):
    """Sees which functions of torch are called, also by `map`, or where nothing is traced."""

    def __init__(self, watch):
        super().__init__()
        self.watch, self.allowed = watch, {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if id(function) not in self.allowed:
            name = getattr(function, "__name__", "")
            self.watch.refuse(name)
            self.watch.refuse(f"{getattr(function, '__module__', '')}.{name}")
            self.allowed[id(function)] = function
        return function(*args, **(kwargs or {}))


class Counting:
    """What `Operations` does; a mode whose own method it were would load torch's compiler."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation not in self.allowed:
            self.allow(operation)
        out = operation(*args, **(kwargs or {}))
        if self.counted and self.allowed[operation]:
            made = [x.numel() for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
            self.count, self.largest = self.count + 1, max(self.largest, *made, 0)
        return out

    def allow(self, operation):
        """Learn whether it makes new tensors: a view, such as a transpose or a piece, does not."""
        schema = operation._schema
        name = schema.name.removeprefix("aten::")
        if name.startswith(self.fused):
            self.watch.called = name
            raise Stopped("forbidden")
        self.allowed[operation] = not any(returned.alias_info for returned in schema.returns)


class Operations(Counting, TorchDispatchMode):
    """Counts torch's operations, and the elements of the largest tensor that one of them makes.

    A loop that no line shows, as in `map`, still makes some operations each; and what torch has
    compiled still makes those of a forbidden function.
    """

    def __init__(self, watch, counted):
        super().__init__()
        self.count = self.largest = 0
        self.watch, self.counted, self.allowed = watch, counted, {}
        self.fused = tuple(one for name in watch.forbidden for one in FUSED.get(name, ()))
