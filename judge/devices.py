"""A device by its name, if this machine has it."""

import torch


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
