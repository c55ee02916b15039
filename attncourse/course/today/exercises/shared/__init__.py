"""What the exercises of this chapter share; each exercise has a file of its own beside it."""
