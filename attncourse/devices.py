"""The one place that chooses a device (used by every chapter, test and check)."""

import os

import torch


def device() -> torch.device:
    """cuda where there is one, else cpu; the environment variable ATTNCOURSE_DEVICE overrides.

    Raises ValueError for a device that torch does not know or this machine does not have.
    """
    name = os.environ.get("ATTNCOURSE_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    return named_device(name)


def named_device(name: str) -> torch.device:
    """The device of that name, tried with one number so that a missing one is an error here."""
    try:
        torch.zeros(1, device=name)
        return torch.device(name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        here = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        if torch.backends.mps.is_available():
            here.append("mps")
        raise ValueError(f"device {name!r} is not on this machine, which has {here}") from error
