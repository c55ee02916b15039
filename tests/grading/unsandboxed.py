"""Imported by a process that is to grade without a sandbox, where none is safe."""

from judge.grading import sandbox

sandbox.select_tier = lambda: (sandbox.Tier.NONE, "")
