"""The tables that a benchmark has left, as the tests of the chapters read them."""

from tests import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def rows(name: str, section: str = "") -> list[str]:
    """The rows of a result's tables, or of those below one heading; the headings' row is one."""
    text = (RESULTS / f"{name}.md").read_text("utf-8")
    if section:
        text = text.split(f"## {section}")[1].split("##")[0]
    return [line for line in text.splitlines() if line.startswith("| ")]


def missing(rows: list[str], chapter: str) -> list[str]:
    """Those of the rows that a chapter does not show."""
    page = (ROOT / "chapters" / f"{chapter}.md").read_text("utf-8")
    return [row for row in rows if row not in page]
