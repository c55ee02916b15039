"""The claims of the chapter tasks."""
