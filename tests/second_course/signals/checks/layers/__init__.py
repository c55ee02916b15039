"""The exercises of the chapter layers."""

ORDER = ("Rescale",)
