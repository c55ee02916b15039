"""The exercises: what each asks, and the answers that are known to be right or wrong."""
