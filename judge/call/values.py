"""How values travel between a learner's process and the judge's: as plain data, never a pickle."""

import base64
import functools

import torch

from . import fake_device


class Unsendable(str):
    """The name of the type of a value that is neither a tensor nor a plain number."""


def encode(value):
    """A value as JSON can carry it; one that cannot travel becomes the name of its type."""
    if isinstance(value, torch.Tensor):
        made = {
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "device": value.device.type,
        }
        if value.device.type != fake_device.DEVICE:
            # a copy: one element may be called contiguous, whatever its stride
            number = value.detach().resolve_conj().cpu()
            packed = number.clone(memory_format=torch.contiguous_format)
            raw = packed.reshape(-1).view(torch.uint8)
            made["bytes"] = base64.b64encode(raw.numpy().tobytes()).decode()
        return {"tensor": made}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [encode(one) for one in value]}
    if value is None or isinstance(value, (bool, int, str)):
        return {"plain": value}
    if isinstance(value, float):
        return {"float": value.hex()}
    if hasattr(value, "source"):
        return {"function": [value.name, value.source]}
    return {"other": type(value).__name__[:200]}


def decode(data, device="cpu"):
    """The value that `encode` wrote; runs nothing. Raises ValueError where the data do not fit."""
    (kind, content), *rest = data.items()
    if rest:
        raise ValueError("a value has one kind")
    if kind == "tensor":
        dtype = getattr(torch, content["dtype"])
        if content["device"] == fake_device.DEVICE:
            return torch.empty(content["shape"], dtype=dtype, device=fake_device.DEVICE)
        raw = bytearray(base64.b64decode(content["bytes"]))
        flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        return to_device(flat.reshape(content["shape"]), device)
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(decode(one, device) for one in content)
    if kind == "float":
        return float.fromhex(content)
    if kind == "other":
        return Unsendable(content)
    if kind != "plain" or not isinstance(content, (bool, int, str, type(None))):
        raise ValueError(f"no value is of kind {kind!r}")
    return content


def decode_argument(data, device):
    """The argument that `encode` wrote: only requests carry code, never answers."""
    if "function" in data:
        return implementation(*data["function"])
    return decode(data, device)


def implementation(name, source):
    """The function of that name which the judge wrote."""
    namespace: dict = {"__name__": "implementation"}
    exec(compiled(source), namespace)
    return namespace[name]


@functools.lru_cache(maxsize=256)
def compiled(source):
    return compile(source, "implementation", "exec")


def to_device(number, device):
    """A tensor on that device."""
    return fake_device.moved_there(number) if device == fake_device.DEVICE else number.to(device)


def by_columns(x):
    """The same numbers, which lie in memory in the order of a transposed tensor."""
    turned = tuple(range(x.dim() - 1, -1, -1))
    return x.permute(turned).contiguous().permute(turned)
