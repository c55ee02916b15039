"""What a learner calls in a notebook: check, failed, hint and status."""

from attncourse.course import COURSE
from judge.notebook import Session

session = Session(COURSE)
check, failed, hint = session.check, session.failed, session.hint
status, passed = session.status, session.passed
