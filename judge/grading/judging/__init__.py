"""The judges: they run a grafted notebook in a kernel, and reach the verdicts outside it."""
