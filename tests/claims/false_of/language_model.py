"""For each claim of the chapter language_model, a wrong function that it must notice."""

FALSE_OF = {}
