"""torch_over_numpy does what torch does: each function, and the judge over it."""
