"""The exercises of the chapter averages."""

ORDER = ("moving_average",)
