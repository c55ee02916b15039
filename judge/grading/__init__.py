"""Grading: a learner's answers grafted into the pristine notebook and judged outside its kernel."""
