"""Each aim of a chapter is tested by a question or an exercise."""

from tools.extensions import aims


def test_no_aim_is_without_a_test():
    untested = [aim for aim, tests in aims.tests_by_aim().items() if not tests]
    assert not untested, f"ask a question about {', '.join(untested)}, or set an exercise"
