"""`python -m tools` writes the notebooks; with `--check` it only compares them."""

import argparse
import sys

from tools.address import ROOT
from tools.release import stale, write


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one is stale")
    check = parser.parse_args().check
    try:
        paths = [path.relative_to(ROOT).as_posix() for path in (stale() if check else write())]
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if check and paths:
        print(f"stale: {', '.join(paths)}: run `make release`", file=sys.stderr)
        return 1
    print("the notebooks are up to date" if not paths else f"wrote {', '.join(paths)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
