"""The exercises of the chapter relative, one file each."""

ORDER = ("relative_rows",)
