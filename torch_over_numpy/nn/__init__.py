"""torch.nn, as far as answers to exercises build layers of their own."""
