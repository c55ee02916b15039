"""The tests, in a folder for each part of the project."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
# trained weights of a solution by chapter, because those that come with the course are refused
WEIGHTS = ROOT / "tests" / "trained"
