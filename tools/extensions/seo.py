"""What search engines and link previews read: each page's address and description, the site map.

The libraries for this load matplotlib, start a server process, or list in the site map only the
pages that the last build has written.
"""

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.logging import getLogger

logger = getLogger(__name__)

# pages that Sphinx makes without a text of ours
MADE = {
    "404": ("Page not found", "There is no page at this address."),
    "genindex": ("Index", "All functions, classes and terms of the course, by name."),
    "py-modindex": (
        "Python Module Index",
        "The modules of the package, from A to Z, each with a link to its functions.",
    ),
    "search": ("Search", "Search the course for a word."),
}
SHORTEST, LONGEST = 60, 200
SENTENCE = re.compile(r".*[.?!](?= )", re.DOTALL)


def description(doctree: nodes.document) -> str:
    """A page's first sentences, as many as fit; a short paragraph takes on the next."""
    words = ""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            words = f"{words} {' '.join(paragraph.astext().split())}".strip()
            if len(words) >= SHORTEST:
                break
    if len(words) <= LONGEST:
        return words
    whole = SENTENCE.match(words[:LONGEST])
    return whole[0] if whole else words[:LONGEST].rpartition(" ")[0] + " …"


def describe(app, pagename, templatename, context, doctree):
    """Give a page its one address and its description, for search engines and for previews.

    The description is its opening, unless its front matter has one.
    """
    base = app.config.html_baseurl
    address = base if pagename == app.config.root_doc else f"{base}{pagename}.html"
    if doctree is not None:
        title = doctree.next_node(nodes.title).astext()
        words = app.env.metadata[pagename].get("description") or description(doctree)
    else:
        title, words = MADE.get(pagename, (pagename, ""))
    if not words:
        logger.warning("the page has no opening sentence to be described by", location=pagename)
    previews = {
        "title": title,
        "type": "website",
        "url": address,
        "site_name": app.config.html_title,
        "description": words,
    }
    tags = [f'<meta name="description" content="{escape(words)}" />']
    tags += [f'<meta property="og:{key}" content="{escape(previews[key])}" />' for key in previews]
    if pagename == app.config.notfound_pagename:
        address, tags = None, ['<meta name="robots" content="noindex" />', tags[0]]
    context["pageurl"] = address
    context["metatags"] = "\n".join([context.get("metatags", ""), *tags])


def map_site(app, exception):
    """Write sitemap.xml, with every page that has a text."""
    if exception:
        return
    base, root = app.config.html_baseurl, app.config.root_doc
    addresses = [base, *(f"{base}{name}.html" for name in sorted(app.env.found_docs - {root}))]
    urls = "".join(f"  <url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    sitemap = (
        f'{head}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )
    Path(app.outdir, "sitemap.xml").write_text(sitemap, "utf-8")


def setup(app):
    """Register with Sphinx."""
    app.connect("html-page-context", describe)
    app.connect("build-finished", map_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
