"""`python -m signals grade FOLDER` grades what learners hand in."""

from judge.grading.cli import main

main("signals.course:COURSE")
