"""Puts this package in torch's place, where there is no torch."""

import importlib
import importlib.util
import math
import sys
from importlib.abc import MetaPathFinder
from types import ModuleType, SimpleNamespace
from typing import Any

from torch_over_numpy import (
    autograd,
    dtypes,
    elementwise,
    func,
    indexing,
    joining,
    linalg,
    making,
    modes,
    operators,
    printing,
    random,
    reductions,
    search,
    tensor,
    testing,
    vectorised,
    views,
)
from torch_over_numpy.absent import NotInPageImportError
from torch_over_numpy.nn import functional, init, modules
from torch_over_numpy.public import PUBLIC
from torch_over_numpy.torch_names import known_names, missing

IMPLEMENTED = (
    elementwise, reductions, views, indexing, search, joining, linalg, making, random, autograd,
    func, printing, functional, init, operators, testing,
    vectorised,
)  # fmt: skip
LAYERS = {
    name: one
    for name, one in vars(modules).items()
    if isinstance(one, type) and issubclass(one, (modules.Module, modules.Parameter))
}


class Threads:
    """How many threads compute: one, whatever is asked for."""

    count = 1


def get_num_threads() -> int:
    return Threads.count


def set_num_threads(count: int) -> None:
    Threads.count = count


# what is no function of tensors, by the module that has it
OTHERS: dict[str, dict[str, Any]] = {
    "torch": {
        **{one.name: one for one in dtypes.DTYPES.values()},
        **dtypes.OTHER_NAMES,
        "inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e, "newaxis": None,
        "Tensor": tensor.Tensor, "Size": tensor.Size, "device": tensor.device,
        "dtype": dtypes.dtype, "finfo": dtypes.finfo, "iinfo": dtypes.iinfo,
        "Generator": random.Generator, "get_default_dtype": dtypes.get_default_dtype,
        "set_default_dtype": dtypes.set_default_dtype, "promote_types": dtypes.promote_types,
        "no_grad": autograd.no_grad, "enable_grad": autograd.enable_grad,
        "inference_mode": autograd.inference_mode, "set_grad_enabled": autograd.set_grad_enabled,
        "get_num_threads": get_num_threads, "set_num_threads": set_num_threads,
        "contiguous_format": "contiguous_format", "__version__": "2.13.0+numpy",
    },
    "torch.nn": LAYERS,
    "torch.nn.modules": {},
    "torch.nn.parameter": {"Parameter": modules.Parameter},
    "torch.autograd": {},
    "torch.autograd.functional": {},
    "torch.func": {},
    "torch.linalg": {},
    "torch.special": {},
    "torch.nn.functional": {},
    "torch.nn.init": {},
    "torch.nn.utils": {},
    "torch.nn.utils.rnn": {},
    "torch.random": {},
    "torch.testing": {},
    "torch.overrides": {"TorchFunctionMode": modes.TorchFunctionMode},
    "torch.utils": {},
    "torch.utils._python_dispatch": {"TorchDispatchMode": modes.TorchDispatchMode},
    "torch._tensor_str": {"printoptions": printing.printoptions},
    "torch.cuda": {"is_available": lambda: False, "device_count": lambda: 0},
    "torch.backends": {"mps": SimpleNamespace(is_available=lambda: False)},
}  # fmt: skip

for name, method in PUBLIC["torch.Tensor"].items():
    setattr(tensor.Tensor, name, method)


class Module(ModuleType):
    """A module that says of what it does not have where that works."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing(self.__name__, name, f"module '{self.__name__}'")


def as_modules() -> dict[str, ModuleType]:
    """The modules of torch, by their names, as far as they are here."""
    made: dict[str, ModuleType] = {}
    for name, others in OTHERS.items():
        one = made[name] = Module(name)
        vars(one).update(PUBLIC.get(name, {}), **others)
        # so that what is below it can be imported
        one.__path__ = []
    for name, one in made.items():
        above, _, own = name.rpartition(".")
        if above:
            setattr(made[above], own, one)
    return made


def has_torch() -> bool:
    """Whether torch itself can be imported."""
    return "torch" in sys.modules or importlib.util.find_spec("torch") is not None


def as_torch() -> ModuleType:
    """The module torch: torch itself where there is one, and else this package."""
    if has_torch():
        return importlib.import_module("torch")
    return in_place_of_torch()


class Absent(MetaPathFinder):
    """Says of a module, or a name, of torch that is imported and not here where that works."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        home, _, name = fullname.rpartition(".")
        if name in known_names().get(home, ()):
            raise NotInPageImportError(fullname)


def in_place_of_torch() -> ModuleType:
    """The module torch that this package is, for every import that follows."""
    sys.modules.update(as_modules())
    sys.meta_path.insert(0, Absent())
    return sys.modules["torch"]
