"""`python -m signals.course NAME` says how each known answer to an exercise is judged."""

import sys

from judge.author import main
from signals.course import COURSE

sys.exit(main(COURSE))
