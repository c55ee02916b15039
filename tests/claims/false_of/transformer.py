"""For each claim of the chapter transformer, a wrong function that it must notice."""

FALSE_OF = {}
