"""Answers in the page: the cell that is run, the Python that runs it, the editor around it."""
