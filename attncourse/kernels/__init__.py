"""Fast forms whose backward pass is written by hand; by test equal to the forms that are taught."""
