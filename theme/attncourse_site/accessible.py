"""Mends in the theme's and the extensions' HTML what a screen reader stumbles over."""

MENDED = {
    # the label would stand in for the words that say what is folded
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # a role that is deprecated, and no part of the list around it
    'role="doc-biblioentry"': 'role="listitem"',
}


def mend(app, pagename, templatename, context, doctree):
    """Replace in the page's body what is wrong in all of its kind."""
    for wrong, right in MENDED.items():
        context["body"] = context.get("body", "").replace(wrong, right)


def setup(app):
    """Register with Sphinx."""
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
