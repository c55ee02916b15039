"""On each page, the link that reports an error in it.

It leads to a form of the repository, in which the page and the version are filled in; report.js
adds the section that is in view. The reader sees the form before it is sent.
"""

import os
from collections.abc import Mapping

from markupsafe import Markup

import attncourse
from tools.urls import issue_url

from .seo import address


def version(environ: Mapping[str, str] = os.environ) -> str:
    """The version of the course, and where CI builds the site, the commit.

    Elsewhere the commit stays out: it says nothing of a file that is not committed, and the site
    would be another after a commit that it does not show.
    """
    commit = environ.get("GITHUB_SHA", "")[:7]
    return f"{attncourse.__version__} ({commit})" if commit else attncourse.__version__


def add_link(app, pagename, templatename, context, doctree):
    """Give the template of the link its address."""
    # the template of the search has the title of its page
    title = Markup(context.get("title", "Search")).striptags()
    context["report"] = issue_url(
        app.config.html_theme_options["repository_url"],
        title=f"Error in {title}",
        address=address(app, pagename),
        section="",
        version=version(),
    )


def setup(app):
    app.connect("html-page-context", add_link)
