"""What the judge is told of this course."""

from pathlib import Path

from judge.course import Course
from signals import __version__

COURSE = Course(
    package="signals",
    content="signals.course",
    session="signals.course.session",
    notebooks=Path(__file__).parents[2] / "notebooks",
    version=__version__,
    hides=("signals.{chapter}",),
    metadata_key="signals",
)
