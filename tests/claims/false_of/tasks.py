"""For each claim of the chapter tasks, a wrong function that it must notice."""

FALSE_OF = {}
