"""The site in Firefox too, each week."""
