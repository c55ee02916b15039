"""What grading one file found, and the forms in which it is written."""
