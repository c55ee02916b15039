"""The exercises of the chapter transformer, one file each."""

ORDER = ()
