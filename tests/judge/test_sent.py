"""The modules that are sent into the process of an answer decide nothing and know no course."""

import ast
import sys

import pytest

from judge.call.record import RECORDED
from judge.compare.criteria import CRITERIA
from judge.grading.kernel.server import DRIVER

LIBRARIES = {"numpy", "torch"}


def imports(text: str) -> set[str]:
    """The modules that a text imports at any place; those of its own package begin with a dot."""
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add("." * node.level + node.module)
        elif isinstance(node, ast.ImportFrom):
            modules |= {f".{name.name}" for name in node.names}
    return modules


@pytest.mark.parametrize("name", DRIVER)
def test_it_imports_libraries_and_what_was_sent_before_it(name):
    sent_before = [*DRIVER][: [*DRIVER].index(name)]
    modules = imports(DRIVER[name])
    assert {name for name in modules if name[0] == "."} <= {f".{name}" for name in sent_before}
    libraries = {name.partition(".")[0] for name in modules if name[0] != "."}
    assert libraries <= sys.stdlib_module_names | LIBRARIES


def test_each_record_has_a_criterion():
    assert len(RECORDED) == len(CRITERIA)


def test_nothing_that_decides_is_sent():
    assert [*DRIVER] == [
        "torch_internals",
        "fake_device",
        "outcome",
        "watch",
        "values",
        "record",
        "driver",
    ]
