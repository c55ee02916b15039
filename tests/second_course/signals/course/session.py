"""What a learner calls in a notebook, and nbgrader."""

from judge.notebook import Session
from signals.course import COURSE

session = Session(COURSE)
check, failed = session.check, session.failed
hint, status = session.hint, session.status
passed = session.passed
