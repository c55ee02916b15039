"""Autograd functions with a fast, handwritten backward, tested against the taught forms."""
