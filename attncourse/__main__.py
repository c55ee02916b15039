"""The command `attncourse`: grades what learners hand in."""

from judge.grading import cli


def main() -> None:
    cli.main("attncourse.course:COURSE")


if __name__ == "__main__":
    main()
