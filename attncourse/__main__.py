"""The command `attncourse`: grades what learners hand in, and writes a quiz of the questions."""

from attncourse.course import ADDRESS, quiz
from judge.grading import cli

cli.app.command("quiz")(quiz.sheet)
cli.app.command("marks")(quiz.class_marks)


def main() -> None:
    cli.main(ADDRESS)


if __name__ == "__main__":
    main()
