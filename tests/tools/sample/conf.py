extensions = [
    "myst_nb",
    "sphinx_external_toc",
    "sphinx_multitoc_numbering",
    "sphinxcontrib.bibtex",
]
bibtex_bibfiles = ["reference/references.bib"]
exclude_patterns = ["solutions"]
external_toc_path = "_toc.yml"
html_theme = "basic"
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
numfig = True
