"""Layer 1: makes one call of a learner's function, in the learner's process, and records it.

All but `caller` and `time_limit` is sent into the kernel in which a notebook is graded; it imports
torch and NumPy.
"""
