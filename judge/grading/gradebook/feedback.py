"""The page that a student gets back: their code, what came of it, and what to read next.

Everything that a student or a platform wrote is escaped, and the page runs no script.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

from judge.course import course
from judge.grading.gradebook.grades import Entry, Grade, Gradebook, mistakes, number
from judge.grading.notebook.pristine import HEADING, chapters, heading, own
from judge.grading.report.text import cut, line, plain, readable, replace
from judge.grading.submissions.students import Student
from judge.status import Status

URL = re.compile(r"https?://[^\s()]+/chapters/\w+\.html")
# characters of an answer on its page
MOST_CODE = 50_000
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: {width}; margin: 2rem auto;
  padding: 0 1rem; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid #8888; padding: .2rem .6rem; text-align: left; }}
pre {{ background: #8882; padding: .8rem; overflow-x: auto; }}
.wide {{ overflow-x: auto; }}
p {{ max-width: 50rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def write(book: Gradebook, folder: Path) -> None:
    """A page for each student who handed in, and one of the whole class for the instructor."""
    (folder / "feedback").mkdir(exist_ok=True)
    for student, entries in book.students().items():
        if entries:
            replace(
                folder / "feedback" / page_name(student), page_of(student, list(entries.values()))
            )
    replace(folder / "overview.html", overview(book))


def page_name(student: Student) -> str:
    """A file name that is safe everywhere, and is nobody else's."""
    safe = re.sub(r"[^\w.@-]+", "_", student.key, flags=re.ASCII).strip("._")[:80]
    # nor may a key look like the name that another gets here
    if safe != student.key or re.search("-[0-9a-f]{8}$", safe):
        safe += "-" + hashlib.sha256(student.key.encode()).hexdigest()[:8]
    return f"{safe}.html"


def page_of(student: Student, entries: list[Entry]) -> str:
    body = "\n".join(part for entry in entries for part in entry_parts(entry))
    title = line(f"Feedback for {student.name or student.key}")
    return PAGE.format(title=escape(title), width="50rem", body=body)


def entry_parts(entry: Entry) -> Iterator[str]:
    report = entry.report
    title = heading(report.chapter) if report.chapter else line(report.file)
    yield f"<h2>{escape(title)}</h2>"
    yield f"<p>{number(entry.points)} of {report.max_points} points.</p>"
    if entry.remarks:
        yield f"<p>{text(entry.remarks)}</p>"
    if entry.grades:
        rows = [[g.result.title, g.result.status, points(g)] for g in entry.grades]
        yield table(["exercise", "status", "points"], rows)
    if report.seen:
        yield "<p>When the notebook was run:</p>"
        yield f"<ul>{''.join(f'<li>{text(one)}</li>' for one in report.seen)}</ul>"
    for grade in entry.grades:
        yield from grade_parts(grade, report.chapter)


def grade_parts(grade: Grade, chapter: str) -> Iterator[str]:
    one = grade.result
    heading = f"{one.title}: {one.status}, {points(grade)} points"
    yield f"<h3>{escape(heading)}</h3>"
    said = [one.hint, one.evidence, one.note]
    if grade.override:
        said.append(f"The instructor set the points: {grade.override.comment}")
    yield from (f"<p>{text(remark)}</p>" for remark in said if remark)
    if one.answer:
        yield f"<pre><code>{text(cut(one.answer, MOST_CODE))}</code></pre>"
    if len(one.answer) > MOST_CODE:
        yield f"<p>The answer goes on: it has {len(one.answer):,} characters.</p>"
    if one.status != Status.PASSED:
        yield f"<p>{next_reading(chapter, one.name)}</p>"


def text(said: str) -> str:
    """A text that came from elsewhere, for a page."""
    return escape(readable(said))


def points(grade: Grade) -> str:
    return f"{number(grade.points)}/{grade.result.max_points}"


def next_reading(chapter: str, name: str) -> str:
    """The idea of the exercise, and links to its text and to the chapter."""
    url, anchors = links(chapter)
    said = f"A first hint: {escape(course().exercises(chapter)[name].hints[0])}"
    if url:
        task = url.replace("/chapters/", "/exercises/") + f"#{anchors.get(name, '')}"
        said += (
            f' Read <a href="{escape(task)}">the exercise with its other hints</a>'
            f' and <a href="{escape(url)}">the chapter</a>.'
        )
    return said


@cache
def links(chapter: str) -> tuple[str, dict[str, str]]:
    """The chapter's page on the site, and where on the page of exercises each of them begins."""
    url, anchor, anchors = "", "", {}
    for cell in chapters()[chapter].notebook.cells:
        if cell.cell_type == "markdown":
            found = URL.search(cell.source)
            url = url or (found[0] if found else "")
            title = HEADING.match(cell.source)
            anchor = re.sub("[^a-z0-9]+", "-", title[1].lower()).strip("-") if title else anchor
        elif "answer" in cell.metadata.get("tags", []):
            anchors[own(cell)["exercise"]] = anchor
    return url, anchors


def overview(book: Gradebook) -> str:
    """Every status of every student, and what went wrong most often."""
    parts = []
    for chapter in book.chapters:
        entries = [one for one in book.entries if one.report.chapter == chapter]
        names = [grade.result.name for grade in entries[0].grades]
        rows = [
            [who(one.student), number(one.points), *(grade.result.status for grade in one.grades)]
            for one in entries
        ]
        parts += [
            f"<h2>{escape(heading(chapter))}</h2>",
            table(["student", "points", *names], rows),
        ]
    parts.append("<h2>The most common mistakes</h2>")
    rows = [[str(cell) for cell in row] for row in mistakes(book)[:50]]
    parts.append(table(["students", "exercise", "status", "reason"], rows))
    return PAGE.format(title="The class", width="110rem", body="\n".join(parts))


def who(student: Student) -> str:
    named = student.name and student.name != student.key
    return f"{student.name} ({student.key})" if named else student.key


def table(header: list[str], rows: list[list[str]]) -> str:
    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(plain(one))}</{tag}>" for one in cells) + "</tr>"

    lines = [row(header, "th"), *(row(one, "td") for one in rows)]
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"
