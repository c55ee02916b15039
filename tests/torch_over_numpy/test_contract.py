"""Each function that is here does what torch's does: values, gradients, dtypes, shapes, errors."""

from dataclasses import replace

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.torch_over_numpy.calls import CALLS
from tests.torch_over_numpy.drawn import HALF, T, alike, outcome
from torch_over_numpy import names
from torch_over_numpy.absent import NotInPageError
from torch_over_numpy.load import OTHERS, as_modules
from torch_over_numpy.public import PUBLIC

PAGE = as_modules()["torch"]
# what a call of them does is shown by tests of their own
APART = {
    # random numbers, drawn in the order of torch's by `test_graph.py`, or in another
    "dropout", "fork_rng", "get_rng_state", "manual_seed", "normal_", "rand",
    "rand_like", "randint", "randn", "randn_like", "randperm", "set_rng_state", "uniform_",
    "xavier_uniform_",
    # settings, and what is no tensor
    "empty", "empty_like", "from_numpy", "frombuffer", "get_default_device", "is_grad_enabled",
    "new_empty", "numpy", "ones_", "set_default_device", "storage_offset", "zeros_",
    # of a function, or a module
    "backward", "functional_call", "grad", "jacfwd", "jacobian", "jacrev", "jvp", "vmap",
    # of which several results are right
    "eig", "eigh", "qr", "svd",
    # hooks
    "register_post_accumulate_grad_hook",
    # complex numbers
    "imag", "real", "view_as_real",
}  # fmt: skip


def calls_of(path: str) -> st.SearchStrategy:
    """The calls of a function, or of the one that writes its result into its argument."""
    name = path.rpartition(".")[2]
    for known in (path, name, name.removesuffix("_")):
        if known in CALLS:
            return CALLS[known]
    raise LookupError(f"{path}: write into calls.py what it is called with")


HOMES: dict[str, list[str]] = {}
for home, some in PUBLIC.items():
    for name in some.keys() - APART:
        HOMES.setdefault(name, []).append(f"{home}.{name}")
# torch raises one where it finds no signature, and the other where it has no kernel
KINDS = {"RuntimeError", "TypeError"}, {"RuntimeError", "NotImplementedError"}
EXAMPLES, ALL_EXAMPLES = 5, 60


def compare(path: str, args: tuple, kwargs: dict) -> None:
    """Assert that torch and the page's do the same."""
    if path.endswith("_"):
        # whether the same memory may be written twice differs by function
        args = tuple(replace(x, layout="rows") if isinstance(x, T) else x for x in args)
    expected, got = (outcome(library, path, args, kwargs) for library in (torch, PAGE))
    if got[:2] == ("error", NotInPageError.__name__):
        return
    shown = f"{path}{args}{kwargs}\n  page {got}\n torch {expected}"
    assert got[0] == expected[0], shown
    if got[0] == "error":
        assert got[1] == expected[1] or {got[1], expected[1]} in KINDS, shown
    elif expected[3] and expected[3][0] == "error":
        assert alike(got[1:3], expected[1:3]), shown
    else:
        bound = 2e-2 if any(half in shown for half in HALF) else 1e-5
        assert alike(got[1:], expected[1:], bound), shown


@pytest.mark.parametrize("name", sorted(HOMES))
def test_a_function_does_what_torch_s_does(name, request):
    # a night draws other arguments each time
    many = request.config.getoption("all")

    @settings(
        max_examples=ALL_EXAMPLES if many else EXAMPLES,
        deadline=None,
        database=None,
        derandomize=not many,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(st.data())
    def check(data):
        path = data.draw(st.sampled_from(HOMES[name]))
        compare(path, *data.draw(calls_of(path)))

    check()


def test_every_name_is_torch_s():
    for name in names():
        found = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    assert OTHERS.keys() >= PUBLIC.keys() - {"torch.Tensor"}
