"""What a learner's code does while it runs: its steps, what it calls, what torch computes."""

import builtins
import dis
import functools
import gc
import inspect
import itertools
import sys
import threading

import numpy
import torch
from torch.overrides import TorchFunctionMode

from .torch_internals import TorchDispatchMode, is_view, leaves, modes_on, name_of

# the code of libraries is not the learner's: its lines are not counted, nor are those of the
# implementations that a learner's test is given to call
LIBRARIES = {
    "torch", "numpy", "einops", "jaxtyping", "beartype", "importlib", "contextlib", "unittest",
    "difflib", "implementation",
}  # fmt: skip
SENT = "driver", "elsewhere", "seen", "torch_internals", "values", "watch"
OURS = {f"{__package__}.{name}" for name in SENT}


# what torch computes in one step for a function that may be forbidden
FUSED = {
    "scaled_dot_product_attention": (
        "_scaled_dot_product",
        "_native_multi_head_attention",
        "_safe_softmax",
    ),
}

# what calls a function for each element, in a loop that no line shows, and where it is given that
# function: by place or by name
CALLING = {
    (builtins, "map"): (0,), (builtins, "filter"): (0,), (builtins, "sorted"): ("key",),
    (builtins, "min"): ("key",), (builtins, "max"): ("key",), (functools, "reduce"): (0,),
    (itertools, "starmap"): (0,), (itertools, "takewhile"): (0,), (itertools, "dropwhile"): (0,),
    (itertools, "filterfalse"): (0,), (itertools, "accumulate"): (1, "func"),
    (itertools, "groupby"): (1, "key"), (numpy, "frompyfunc"): (0,),
    (numpy, "vectorize"): (0, "pyfunc"), (numpy, "apply_along_axis"): (0, "func1d"),
}  # fmt: skip
# torch's own of that kind
APPLYING = {torch.Tensor.apply_, torch.Tensor.map_, torch.Tensor.map2_}

# where Python loads a module: none of the lines that run meanwhile are the learner's either
IMPORT = "importlib._bootstrap._find_and_load"


def is_library(module):
    """Whether the code of the module of that name is not the learner's."""
    return module in OURS or module.partition(".")[0] in LIBRARIES


def is_loaded(namespace):
    """Whether it is that of a module which was loaded, and does not only have a name like one."""
    module = sys.modules.get(str(namespace.get("__name__")))
    return getattr(module, "__dict__", None) is namespace


def goes_on(frame):
    """Whether it is a generator's that was called before: one left half-way ends at any time."""
    if frame is None or not frame.f_code.co_flags & inspect.CO_GENERATOR:
        return False
    begins = next(
        one.offset for one in dis.get_instructions(frame.f_code) if one.opname == "RESUME"
    )
    return frame.f_lasti > begins


def by_key(code):
    """Whether it hands a key over: that of `list.sort` is called for each element."""
    return any(isinstance(one, tuple) and "key" in one for one in code.co_consts)


class Stopped(BaseException):
    """Raised inside the learner's call; not an Exception, so that `except Exception` lets it by."""


class Watch:
    """Counts the lines of Python that the learner's code runs, and sees what it calls.

    The count is the same on every machine, which seconds are not: code that loops over positions
    runs more lines on a longer input. A thread that the code starts is watched as well, but only
    the code's own is stopped: whoever waits for another would wait for ever.

    Calls of Python's functions are seen, and `Called` sees torch's. With `everything` those of all
    others written in C are, too, and torch's modes that are taken away: it makes a call that
    does little several times slower.
    """

    def __init__(self, forbidden, max_steps, lines=True, everything=True):
        self.forbidden, self.max_steps, self.called = forbidden, max_steps, None
        self.prefixes = tuple(f"{name}." for name in forbidden)
        self.fused = tuple(one for name in forbidden for one in FUSED.get(name, ()))
        self.lines, self.everything = lines, everything
        self.steps = self.imports = self.modes = 0
        # the namespaces that the code is written in
        self.own = []
        self.calling = Calling(self)
        # whether the code has taken away what counts its lines, or torch's modes, which count
        # torch's operations
        self.blinded = False
        # what was seen before and is no learner's, by its id, since its own hash takes long
        self.others, self.allowed = {}, set()

    def __enter__(self):
        self.thread = threading.get_ident()
        # what is collected may run lines of its own, which are none of the call's
        self.collecting = gc.isenabled()
        gc.disable()
        self.before = sys.gettrace(), sys.getprofile()
        self.before_in_threads = threading.gettrace(), threading.getprofile()
        if self.forbidden and self.everything:
            threading.setprofile(self.profile)
            sys.setprofile(self.profile)
        if self.forbidden or self.lines:
            threading.settrace(self.trace)
            sys.settrace(self.trace)

    def __exit__(self, error, *_):
        # where the code raises, as for want of stack, Python itself may have ended the tracing
        self.blinded |= error is None and (sys.gettrace(), sys.getprofile()) != self.watching
        sys.settrace(self.before[0])
        sys.setprofile(self.before[1])
        threading.settrace(self.before_in_threads[0])
        threading.setprofile(self.before_in_threads[1])
        if self.collecting:
            gc.enable()

    @property
    def watching(self):
        """What traces and what profiles while the code runs."""
        trace = self.trace if self.forbidden or self.lines else self.before[0]
        profile = self.profile if self.forbidden and self.everything else self.before[1]
        return trace, profile

    def trace(self, frame, event, arg):
        code = frame.f_code
        if id(code) in self.others:
            return None
        module = self.module_of(frame)
        if module not in OURS:
            self.refuse(f"{frame.f_globals.get('__name__') or ''}.{code.co_qualname}", frame)
            if f"{module}.{code.co_qualname}" == IMPORT:
                if not self.imports:
                    self.calling.suspend()
                self.imports += 1
                frame.f_trace_lines = False
                return self.imported
            if self.imports:
                return None
            if self.lines and not is_library(module):
                return self.line
        self.others[id(code)] = code
        return None

    def module_of(self, frame):
        """The name of the module that its code is of; "" where that is a name of the learner's."""
        namespace = frame.f_globals
        if any(namespace is one for one in self.own) and not is_loaded(namespace):
            return ""
        return namespace.get("__name__") or ""

    def is_learners(self, frame):
        """Whether it runs a learner's own line, neither of Python's own modules nor a library's."""
        if frame is None or is_library(module := self.module_of(frame)):
            return False
        return module.partition(".")[0] not in sys.stdlib_module_names

    def line(self, frame, event, arg):
        if event == "line":
            self.steps += 1
            if self.steps > self.max_steps or modes_on() < self.modes:
                self.noticed(frame)
        return self.line

    def noticed(self, frame):
        """Stop what takes too many steps; where no mode is, torch's operations are not counted."""
        if self.is_own_thread():
            # torch puts its modes by as well, but then no line runs of a learner's own, only those
            # of modules that it loads
            modes_gone = modes_on() < self.modes and not self.imports
            self.blinded |= modes_gone and self.is_learners(frame)
            if self.steps > self.max_steps:
                raise Stopped("steps")

    def is_own_thread(self):
        return threading.get_ident() == self.thread

    def imported(self, frame, event, arg):
        if event == "return":
            self.imports -= 1
            if not self.imports:
                self.calling.resume()
        return self.imported

    def profile(self, frame, event, arg):
        if event == "c_call":
            name = getattr(arg, "__name__", "")
            if name not in self.allowed:
                self.refuse(name)
                self.allowed.add(name)
            if name == "sort" and type(arg.__self__) is list and by_key(frame.f_code):
                self.steps += len(arg.__self__)
            if modes_on() < self.modes:
                self.noticed(frame)

    def refuse(self, name, frame=None):
        # torch's own name for `torch.linalg.svd`
        bare = name.removeprefix("linalg_")
        forbidden = f"{bare}.".startswith(self.prefixes) or name.startswith(self.fused)
        if forbidden and not goes_on(frame):
            self.called = name
            if self.is_own_thread():
                raise Stopped("forbidden")

    def counted(self, function):
        """The function, each call of which is a step."""

        def one(*args, **kwargs):
            self.line(None, "line", None)
            return function(*args, **kwargs)

        return one


class Calling:
    """Counts, within it, the calls that loops of Python's and NumPy's own make of a function.

    One that is not written in Python runs no line, and torch may have no part in it. What the
    `namespaces` hold already is counted, too, whatever it is called there.
    """

    def __init__(self, watch):
        self.watch, self.before = watch, []
        self.namespaces: list[dict] | None = None

    def __call__(self, namespaces):
        self.namespaces = namespaces
        return self

    def __enter__(self):
        self.resume()

    def __exit__(self, *error):
        self.suspend()
        self.namespaces = None

    def resume(self):
        """Count them; nothing where it is not asked for."""
        if self.namespaces is None:
            return
        made = {id(getattr(*where)): self.calling(*where) for where in CALLING}
        for space in self.namespaces:
            for name, value in list(space.items()):
                if counted := made.get(id(value)) or self.again(value):
                    self.put(space, name, counted)
        for module, name in CALLING:
            self.put(vars(module), name, made[id(getattr(module, name))])

    def suspend(self):
        """Let all be what it was, as while a module is loaded: it may ask what names stand for."""
        while self.before:
            space, name, value = self.before.pop()
            space[name] = value

    def put(self, space, name, value):
        self.before.append((space, name, space[name]))
        space[name] = value

    def calling(self, module, name):
        """What has that name there, with the function that it is given counted."""
        original, places = getattr(module, name), CALLING[module, name]

        def counting(*args, **kwargs):
            args = tuple(self.counted(x, i in places) for i, x in enumerate(args))
            return original(*args, **{k: self.counted(x, k in places) for k, x in kwargs.items()})

        return counting

    def counted(self, value, is_called=True):
        return self.watch.counted(value) if is_called and callable(value) else value

    def again(self, value):
        """What NumPy has made of a function before, made of the counted function; else nothing."""
        if type(value) is numpy.ufunc and set("".join(value.types)) <= set("O->"):
            return numpy.frompyfunc(self.counted(value), value.nin, value.nout)
        if type(value) is numpy.vectorize:
            kept = {name: getattr(value, name) for name in ("otypes", "excluded", "signature")}
            return numpy.vectorize(self.counted(value.pyfunc), **kept)
        return None


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
        if function in APPLYING:
            args = [self.watch.counted(x) if callable(x) else x for x in args]
        return function(*args, **(kwargs or {}))


class Counting:
    """What `Operations` does; a mode whose own method it were would load torch's compiler."""

    watch: "Watch"
    counted: bool
    met: list
    makes: dict

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        # by its id, since its own hash takes long
        makes = self.makes.get(id(operation))
        if makes is None:
            makes = self.allow(operation)
        out = operation(*args, **kwargs) if kwargs else operation(*args)
        if makes:
            # each call of Python's is seen by the profiler: here there are few, for most operations
            if type(out) is torch.Tensor:
                self.note(1, out.numel())
            else:
                made = [x.numel() for x in leaves(out) if isinstance(x, torch.Tensor)]
                # one operation may do for a list of tensors what a loop would
                self.note(max(1, len(made)), max(made, default=0))
        return out

    def note(self, operations, elements):
        self.count += operations
        if elements > self.largest:
            self.largest = elements

    def allow(self, operation):
        """Learn whether it makes new tensors: a view, such as a transpose or a piece, does not."""
        name = name_of(operation)
        if name.startswith(self.watch.fused):
            self.watch.called = name
            raise Stopped("forbidden")
        self.met.append(operation)
        self.makes[id(operation)] = self.counted and not is_view(operation)
        return self.makes[id(operation)]


class Operations(Counting, TorchDispatchMode):
    """Counts torch's operations, and the elements of the largest tensor that one of them makes.

    A loop that no line shows, as in `map`, still makes some operations each; and what torch has
    compiled still makes those of a forbidden function.
    """

    def __init__(self, watch, counted):
        super().__init__()
        self.count = self.largest = 0
        self.watch, self.counted, self.met, self.makes = watch, counted, [], {}
