"""What is said of a test that a learner has written."""

from judge import messages
from judge.call.outcome import Outcome
from judge.compare.run import Run
from judge.say.differences import Explanation

# wrong implementations that a test accepts for which its own formula is to blame
FEW = 3


def refuses_all(run: Run) -> bool:
    """Whether a test raises for every right implementation that it has met."""
    met = [place for place in run.places() if run.trial.expected(place).outcome == Outcome.RETURNED]
    ended = [run.made[place] for place in met]
    return bool(met) and all(one.is_test and one.outcome == Outcome.RAISED for one in ended)


def accepted(run: Run) -> list[str]:
    """The wrong implementations that a test accepts."""
    return [
        run.trial.probes[place].case.name
        for place in run.places()
        if run.trial.expected(place).outcome == Outcome.RAISED
        if run.made[place].outcome == Outcome.RETURNED
    ]


def ends_in_an_error(run: Run, first: Explanation) -> Explanation | None:
    """Of a test that fails by itself before it can refuse anything."""
    if not refuses_all(run):
        return None
    errors = [record.error or {} for record in run.records]
    types = {error.get("type") for error in errors}
    is_meant = any("raise" in (error.get("line") or ("", ""))[1] for error in errors)
    if is_meant or len(types) > 1 or "AssertionError" in types:
        return None
    return first._replace(message=messages.OWN_ERROR)


def accepts_nothing_right(run: Run, first: Explanation) -> Explanation | None:
    """Of a test that refuses every right implementation."""
    if not refuses_all(run):
        return None
    wrong = accepted(run)
    # one that accepts many more looks at little, and not at what the first of them does
    is_formula = 0 < len(wrong) <= FEW
    message = messages.ACCEPTS.format(wrong[0]) if is_formula else messages.REFUSES_ALL
    return first._replace(message=message)
