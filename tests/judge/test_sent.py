"""The modules that are sent into the process of an answer decide nothing and know no course."""

import ast
import sys

import pytest

from judge.decided import DECIDED
from judge.grading.server import DRIVER
from judge.seen import SEEN
from judge.watch import OURS

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


def test_each_thing_that_is_compared_has_two_halves_of_one_name():
    assert {name.name for name in DECIDED} == SEEN.keys()


def test_the_lines_of_what_is_sent_are_not_the_learner_s():
    assert {our.rpartition(".")[2] for our in OURS} == DRIVER.keys()


def test_nothing_that_decides_is_sent():
    assert [*DRIVER] == ["torch_internals", "elsewhere", "watch", "values", "seen", "driver"]
