"""The command `python -m attncourse.workbench`."""

import argparse
import sys

from attncourse.workbench.session import workbench


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m attncourse.workbench",
        description="Check, count, train and compare a method of attention of your own.",
    )
    parser.add_argument("file", help="the Python file that holds it")
    parser.add_argument("--checks", action="store_true", help="only check and count")
    parser.add_argument("--quick", action="store_true", help="train for fewer steps")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the windows")
    options = parser.parse_args()
    report = workbench(options.file, options.checks, options.quick, options.seed)
    if report is None:
        return 1
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
