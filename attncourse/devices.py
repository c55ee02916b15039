"""The default device of chapters, claims and tests."""

import os

import torch

from judge.devices import named_device


def device() -> torch.device:
    """cuda where there is one, else cpu; the environment variable ATTNCOURSE_DEVICE overrides.

    Raises ValueError for a device that torch does not know or this machine does not have.
    """
    name = os.environ.get("ATTNCOURSE_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    return named_device(name)
