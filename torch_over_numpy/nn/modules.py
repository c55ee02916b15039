"""Modules: parameters and layers by name."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from torch_over_numpy.dtypes import float32, float64, get_default_dtype
from torch_over_numpy.elementwise import relu, sigmoid, tanh
from torch_over_numpy.graph import switched
from torch_over_numpy.making import new, to
from torch_over_numpy.nn import functional as F
from torch_over_numpy.nn import init
from torch_over_numpy.tensor import Size, Tensor
from torch_over_numpy.torch_names import missing


class Parameter(Tensor):
    """A tensor that a module learns."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> "Parameter":
        source = new(np.zeros(0), get_default_dtype()) if data is None else data
        made = cls._of(source._array, source.dtype, source.device)
        made._version = source._version
        return made.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def described(value: Any) -> str:
    """The type of a value as torch's errors name it."""
    return "torch.FloatTensor" if isinstance(value, Tensor) else type(value).__name__


class Module:
    """A layer: what is assigned to it is kept as its parameter, its buffer or a layer of it."""

    training: bool

    def __init__(self) -> None:
        for name in ("_parameters", "_buffers", "_modules"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "training", True)

    def __setattr__(self, name: str, value: Any) -> None:
        kept = self.__dict__.get("_parameters")
        if kept is None and isinstance(value, (Parameter, Module)):
            what = "parameters" if isinstance(value, Parameter) else "module"
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if kept is None:
            object.__setattr__(self, name, value)
            return
        if isinstance(value, (Parameter, Module)):
            for one in (self.__dict__, self._buffers, self._parameters, self._modules):
                one.pop(name, None)
            (self._parameters if isinstance(value, Parameter) else self._modules)[name] = value
        elif name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{described(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self._parameters[name] = None
        elif name in self._buffers:
            self._buffers[name] = value
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{described(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            self._modules[name] = None
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                return self.__dict__[kind][name]
        raise missing("torch.nn.Module", name, f"'{type(self).__name__}' object")

    def __delattr__(self, name: str) -> None:
        for one in (self._parameters, self._buffers, self._modules):
            if name in one:
                del one[name]
                return
        object.__delattr__(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def _missing(self, *args: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    forward: Callable[..., Any] = _missing

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        self._buffers[name] = tensor

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        self._parameters[name] = param

    def add_module(self, name: str, module: "Module | None") -> None:
        self._modules[name] = module

    def named_modules(self, memo: set | None = None, prefix: str = "") -> Iterator[tuple]:
        met = set() if memo is None else memo
        if self in met:
            return
        met.add(self)
        yield prefix, self
        for name, one in self._modules.items():
            if one is not None:
                yield from one.named_modules(met, f"{prefix}.{name}".lstrip("."))

    def modules(self) -> Iterator["Module"]:
        yield from (one for _, one in self.named_modules())

    def named_children(self) -> Iterator[tuple]:
        yield from ((name, one) for name, one in self._modules.items() if one is not None)

    def children(self) -> Iterator["Module"]:
        yield from (one for _, one in self.named_children())

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple]:
        met = set()
        modules = self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
        for above, module in modules:
            for name, one in module._parameters.items():
                if one is not None and id(one) not in met:
                    met.add(id(one))
                    yield f"{above}.{name}".lstrip("."), one

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        yield from (one for _, one in self.named_parameters(recurse=recurse))

    def train(self, mode: bool = True) -> "Module":
        for one in self.modules():
            object.__setattr__(one, "training", mode)
        return self

    def eval(self) -> "Module":
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> "Module":
        for one in self.parameters():
            one.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for one in self.parameters():
            one.grad = None

    def to(self, *args: Any, **kwargs: Any) -> "Module":
        for module in self.modules():
            for kind in (module._parameters, module._buffers):
                for one in kind.values():
                    if one is not None:
                        moved = to(one, *args, **kwargs)
                        # one of whole numbers keeps its dtype
                        is_whole = not one.dtype.is_floating_point
                        one.data = (to(one, device=moved.device) if is_whole else moved).detach()
        return self

    def double(self) -> "Module":
        return self.to(float64)

    def float(self) -> "Module":
        return self.to(float32)

    def cpu(self) -> "Module":
        return self.to("cpu")

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        inner = [
            f"  ({name}): {one!r}".replace("\n", "\n  ") for name, one in self._modules.items()
        ]
        shown = self.extra_repr()
        if not inner:
            return f"{type(self).__name__}({shown})"
        return "\n".join([f"{type(self).__name__}(", *inner, ")"])


class Listed:
    """What modules that hold others one after the other have beside `Module`."""

    _modules: dict[str, Module]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())


class Sequential(Listed, Module):
    def __init__(self, *args: Any):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, one in named:
            self.add_module(str(name), one)

    def forward(self, input: Any) -> Any:
        for one in self._modules.values():
            input = one(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        some = list(self._modules.values())[index]
        return Sequential(*some) if isinstance(index, slice) else some


class ModuleList(Listed, Module):
    def __init__(self, modules: Iterable = ()):
        super().__init__()
        for one in modules:
            self.append(one)

    def append(self, module: Module) -> "ModuleList":
        self.add_module(str(len(self)), module)
        return self

    def __getitem__(self, index: Any) -> Any:
        some = list(self._modules.values())[index]
        return ModuleList(some) if isinstance(index, slice) else some


def uninitialised(*shape: int, dtype: Any = None, device: Any = None) -> Parameter:
    return Parameter(new(np.zeros(shape), dtype or get_default_dtype(), device))


class Linear(Module):
    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device=None, dtype=None
    ):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = uninitialised(out_features, in_features, dtype=dtype, device=device)
        self.bias = uninitialised(out_features, dtype=dtype, device=device) if bias else None
        bound = 1 / math.sqrt(in_features) if in_features else 0
        for one in filter(None.__ne__, (self.weight, self.bias)):
            init.uniform_(one, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Embedding(Module):
    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx=None, device=None, dtype=None
    ):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        self.weight = uninitialised(num_embeddings, embedding_dim, dtype=dtype, device=device)
        init.normal_(self.weight)
        if padding_idx is not None:
            with switched(False):
                self.weight.select(0, padding_idx).fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)


class LayerNorm(Module):
    def __init__(
        self, normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None,
        dtype=None,
    ):  # fmt: skip
        super().__init__()
        whole = isinstance(normalized_shape, int)
        self.normalized_shape = (normalized_shape,) if whole else tuple(normalized_shape)
        self.eps = eps
        self.weight = self.bias = None
        if elementwise_affine:
            shape = Size(self.normalized_shape)
            self.weight = uninitialised(*shape, dtype=dtype, device=device)
            init.ones_(self.weight)
            if bias:
                self.bias = uninitialised(*shape, dtype=dtype, device=device)
        self.register_parameter("weight", self.weight)
        self.register_parameter("bias", self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class Dropout(Module):
    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training)


class ConstantPad1d(Module):
    def __init__(self, padding: int | tuple, value: float):
        super().__init__()
        self.padding = (padding, padding) if isinstance(padding, int) else padding
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, value=self.value)


class ReLU(Module):
    def forward(self, input: Tensor) -> Tensor:
        return relu(input)


class GELU(Module):
    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)


class SiLU(Module):
    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)


class Tanh(Module):
    def forward(self, input: Tensor) -> Tensor:
        return tanh(input)


class Sigmoid(Module):
    def forward(self, input: Tensor) -> Tensor:
        return sigmoid(input)


class Softmax(Module):
    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class CrossEntropyLoss(Module):
    def __init__(self, ignore_index: int = -100, reduction: str = "mean"):
        super().__init__()
        self.ignore_index, self.reduction = ignore_index, reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input, target, ignore_index=self.ignore_index, reduction=self.reduction
        )
