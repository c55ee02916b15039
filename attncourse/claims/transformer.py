"""The claims of the chapter transformer."""
