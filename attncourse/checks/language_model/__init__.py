"""The exercises of the chapter language_model, one file each."""

ORDER = (
    # as on their page
)
