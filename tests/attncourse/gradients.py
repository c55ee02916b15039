"""Whether two ways to compute the same agree, with their gradients."""

from collections.abc import Sequence

import torch
from torch import Tensor


def assert_equal_with_gradients(
    ours: Tensor, theirs: Tensor, inputs: Sequence[Tensor], **tolerances: float
) -> None:
    """Assert equal outputs, and equal gradients of the inputs for a random output gradient."""
    torch.testing.assert_close(ours, theirs, **tolerances)
    g = torch.Generator().manual_seed(1)
    grad_output = torch.randn(ours.shape, generator=g, dtype=ours.dtype).to(ours.device)
    grads = (
        torch.autograd.grad(out, inputs, grad_output, retain_graph=True) for out in (ours, theirs)
    )
    torch.testing.assert_close(*grads, **tolerances)
