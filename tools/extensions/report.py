"""The link on each page that reports an error in it.

It opens a form on GitHub with the page and the version filled in; report.js adds the section in
view. The reader sees the form before sending it.
"""

import os
from collections.abc import Mapping

from markupsafe import Markup

import attncourse
from tools.urls import issue_url

from .seo import page_url


def version(environ: Mapping[str, str] = os.environ) -> str:
    """The version of the course, with the commit in a build by CI.

    Elsewhere files may differ from the commit, and each commit would make the site stale.
    """
    commit = environ.get("GITHUB_SHA", "")[:7]
    return f"{attncourse.__version__} ({commit})" if commit else attncourse.__version__


def add_link(app, pagename, templatename, context, doctree):
    """Put the address of the form into the context of the template."""
    # the search page has its title in the template alone
    title = Markup(context.get("title", "Search")).striptags()
    context["report"] = issue_url(
        app.config.html_theme_options["repository_url"],
        title=f"Error in {title}",
        address=page_url(app, pagename),
        section="",
        version=version(),
    )


def setup(app):
    app.connect("html-page-context", add_link)
