"""Citations read alike in the text and in the bibliography: by author and year, 2024a beside 2024b.

`scripts/citations.js` shows the entry beside a citation.
"""

from collections import Counter
from string import ascii_lowercase

from pybtex.database import Entry
from pybtex.plugin import find_plugin, register_plugin
from pybtex.style.formatting.plain import Style
from pybtex.style.labels import BaseLabelStyle
from sphinxcontrib.bibtex.style.referencing.basic_author_year import (
    BasicAuthorYearTextualReferenceStyle,
)

IN_THE_TEXT = BasicAuthorYearTextualReferenceStyle()
PLAIN = find_plugin("pybtex.backends", "plaintext")()


def authors(entry: Entry) -> str:
    """Whom the text names for a paper."""
    names = IN_THE_TEXT.person.author_or_editor_or_title(full=False)
    return names.format_data({"entry": entry, "style": IN_THE_TEXT}).render(PLAIN)


class AuthorsAndYear(BaseLabelStyle):
    """Labels such as Vaswani et al., 2017; a year that would not tell two apart gets a letter."""

    def format_labels(self, sorted_entries):
        """The labels; a text cites the year as it is left here."""
        names = [(authors(one), one.fields["year"]) for one in sorted_entries]
        alike, letters = Counter(names), {name: iter(ascii_lowercase) for name in names}
        for entry, name in zip(sorted_entries, names, strict=True):
            entry.fields["year"] = name[1] + (next(letters[name]) if alike[name] > 1 else "")
            yield f"{name[0]}, {entry.fields['year']}"


class Named(Style):
    """A list in the order of the authors' names, which are its labels."""

    default_label_style = AuthorsAndYear


def setup(app):
    """Register with Sphinx."""
    register_plugin("pybtex.style.formatting", "named", Named)
    # sphinxcontrib-bibtex looks it up for every citation, among all that is installed
    register_plugin("pybtex.backends", "plaintext", type(PLAIN), force=True)
