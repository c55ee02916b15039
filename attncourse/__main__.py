"""The command `attncourse`: grade the exercises of the course."""

import os

from judge.course import TOLD


def main() -> None:
    os.environ[TOLD] = "attncourse.course:COURSE"
    from judge.grading.cli import main

    main()


if __name__ == "__main__":
    main()
