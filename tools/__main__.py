"""`python -m tools` writes the notebooks; with `--check` it only compares them."""

import argparse
import sys

from tools import release
from tools.urls import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one is stale")
    check = parser.parse_args().check
    try:
        paths = release.stale() if check else release.write()
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    names = ", ".join(path.relative_to(ROOT).as_posix() for path in paths)
    if check and paths:
        print(f"stale: {names}: run `make release`", file=sys.stderr)
        return 1
    print(f"wrote {names}" if paths else "the notebooks are up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
