"""Layer 3: what is said of a wrong answer: a known mistake that does the same, or what differs."""
