"""Reports in the forms of other programs: JUnit's XML and Gradescope's results.json.

No name of a file or a student is in them: both end up in logs.
"""

import json
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, tostring

from judge.course import course
from judge.grading.report.results import Report, Result
from judge.grading.report.text import plain
from judge.status import Status


def junit(reports: Iterable[tuple[str, Report]]) -> str:
    """A suite for each report, under the key that it goes with, and a case for each exercise."""
    suites = Element("testsuites", name=course().package)
    for key, report in reports:
        cases = report.exercises or [Result("notebook", "", 0, Status.NOT_GRADED, report.problem)]
        suite = SubElement(suites, "testsuite", name=key, tests=str(len(cases)))
        missed = [one for one in cases if one.status not in (Status.PASSED, Status.NOT_GRADED)]
        suite.set("failures", str(len(missed)))
        suite.set("errors", str(sum(one.status == Status.NOT_GRADED for one in cases)))
        for one in cases:
            case = SubElement(
                suite,
                "testcase",
                classname=report.chapter or course().package,
                name=one.name,
                time=f"{one.seconds:.2f}",
            )
            if one.status != Status.PASSED:
                kind = "error" if one.status == Status.NOT_GRADED else "failure"
                fault = SubElement(case, kind, type=one.status, message=plain(one.hint))
                fault.text = plain(one.evidence)
    return tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def gradescope(reports: list[Report], problems: Iterable[str] = ()) -> str:
    """The tests of one student's files; `problems` are of files that are no notebooks."""
    said = [*problems, *(report.problem for report in reports if report.problem)]
    said += [line for report in reports for line in report.seen]
    tests = [
        {
            "name": f"{report.chapter}: {one.title}",
            "score": one.points,
            "max_score": one.max_points,
            "status": "passed" if one.status == Status.PASSED else "failed",
            "output": "\n".join(filter(None, (one.status, one.hint, one.evidence, one.note))),
            "output_format": "text",
            "visibility": "visible",
        }
        for report in reports
        for one in report.exercises
    ]
    results = {
        "output": "\n".join(said) or "Each exercise has its own line.",
        "output_format": "text",
        "stdout_visibility": "hidden",
        "tests": tests,
    }
    if not tests:
        results["score"] = 0
    return json.dumps(results, indent=1) + "\n"
