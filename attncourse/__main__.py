"""The command `attncourse`: grades what learners hand in."""

from attncourse.course import ADDRESS
from judge.grading import cli


def main() -> None:
    cli.main(ADDRESS)


if __name__ == "__main__":
    main()
