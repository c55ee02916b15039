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

TEXTUAL = BasicAuthorYearTextualReferenceStyle()
PLAIN_TEXT = find_plugin("pybtex.backends", "plaintext")()


def authors(entry: Entry) -> str:
    """The authors of a paper as a text cites them, such as Vaswani et al."""
    names = TEXTUAL.person.author_or_editor_or_title(full=False)
    return names.format_data({"entry": entry, "style": TEXTUAL}).render(PLAIN_TEXT)


class AuthorYearLabels(BaseLabelStyle):
    """Labels such as Vaswani et al., 2017; equal ones get a letter after the year."""

    def format_labels(self, sorted_entries):
        """Yield the labels, and store each year with its letter for citations in the text."""
        names = [(authors(entry), entry.fields["year"]) for entry in sorted_entries]
        counts, letters = Counter(names), {name: iter(ascii_lowercase) for name in names}
        for entry, name in zip(sorted_entries, names, strict=True):
            entry.fields["year"] = name[1] + (next(letters[name]) if counts[name] > 1 else "")
            yield f"{name[0]}, {entry.fields['year']}"


class AuthorYearStyle(Style):
    """A bibliography sorted by author, with labels of authors and year."""

    default_label_style = AuthorYearLabels


def setup(app):
    """Register with Sphinx."""
    register_plugin("pybtex.style.formatting", "named", AuthorYearStyle)
    # else sphinxcontrib-bibtex searches the installed packages for it at every citation
    register_plugin("pybtex.backends", "plaintext", type(PLAIN_TEXT), force=True)
