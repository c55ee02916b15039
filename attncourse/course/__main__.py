"""`python -m attncourse.course NAME`: how an exercise's check judges each answer that it knows."""

import sys

from attncourse.course import COURSE
from judge.author import main

if __name__ == "__main__":
    sys.exit(main(COURSE))
