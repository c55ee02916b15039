"""Layer 2: which calls are made, what they should do, and whether an answer's do the same."""
