"""The tests, by what they look at."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
# a solution's trained weights by chapter: those that come with the course would be refused
WEIGHTS = ROOT / "tests" / "trained"
