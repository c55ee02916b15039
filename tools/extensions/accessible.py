"""Fixes in the theme's and the extensions' HTML what a screen reader stumbles over."""

import re

FIXES = {
    # the label would stand in for the words that say what is folded
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # a role that is deprecated, and no part of the list around it
    'role="doc-biblioentry"': 'role="listitem"',
    # the parameters of a long signature are no terms with definitions
    '<dl>\n<dd><em class="sig-param">': '<dl role="presentation">\n<dd><em class="sig-param">',
}
# in the side bar, a page with pages below it
BRANCH = re.compile(r"(<a [^>]*>(?P<title>[^<]*)</a><details[^>]*><summary)>")


def fix(app, pagename, templatename, context, doctree):
    """Replace in the body what is wrong in all of its kind, and name the side bar's boxes."""
    for wrong, right in FIXES.items():
        context["body"] = context.get("body", "").replace(wrong, right)
    contents = context["generate_toctree_html"]

    def named(*options, **named_options) -> str:
        html = str(contents(*options, **named_options))
        return BRANCH.sub(r'\1 aria-label="Pages below \g<title>">', html)

    context["generate_toctree_html"] = named


def setup(app):
    """Register with Sphinx."""
    # after the theme has made its functions
    app.connect("html-page-context", fix, priority=600)
