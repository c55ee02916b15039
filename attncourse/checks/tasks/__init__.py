"""The exercises of the chapter tasks, one file each."""

ORDER = ("NumberTranslator",)
