"""A judge of torch functions and modules in notebooks: exercises, their checks, and grading."""
