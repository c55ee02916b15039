"""What the judge is told of this course."""

from pathlib import Path

from judge.course import Course
from signals import __version__

COURSE = Course(
    package="signals",
    notebooks=Path(__file__).parent.parent / "notebooks",
    version=__version__,
    hides=("signals.{chapter}",),
    metadata_key="signals",
)
