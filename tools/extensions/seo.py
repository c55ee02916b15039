"""Metadata for search engines and link previews: canonical address, description, site map.

The Sphinx extensions for this load matplotlib, start a server process, or list in the site map only
the pages that the last build has written.
"""

from html import escape
from pathlib import Path
from textwrap import shorten

from docutils import nodes

from tools.questions import curl_quotes

from .search_index import prose

MAX_DESCRIPTION = 200
PICTURE = "reference/picture.png"


def opening_text(doctree: nodes.document) -> str:
    """The first paragraphs of a page, shortened to a description."""
    paragraphs = doctree.findall(nodes.paragraph)
    texts = [paragraph for paragraph in paragraphs if isinstance(paragraph.parent, nodes.section)]
    return shorten(prose(*texts), MAX_DESCRIPTION, placeholder=" …")


def description(app, page: str, doctree: nodes.document) -> str:
    """What a page is about: its front matter says it, or else its opening."""
    return curl_quotes(app.env.metadata[page].get("description") or opening_text(doctree))


def page_url(app, page: str) -> str:
    """The canonical address of a page."""
    return app.config.html_baseurl + ("" if page == app.config.root_doc else f"{page}.html")


def add_metadata(app, pagename, templatename, context, doctree):
    """Add the meta tags of a page."""
    tags = {'name="robots"': "noindex"} if pagename == app.config.notfound_pagename else {}
    context["pageurl"] = None if tags else page_url(app, pagename)
    if doctree is not None:
        words = description(app, pagename, doctree)
        tags = {
            'name="description"': words,
            'property="og:description"': words,
            'property="og:title"': prose(doctree.next_node(nodes.title)),
            'property="og:image"': f"{app.config.html_baseurl}_static/{Path(PICTURE).name}",
            'property="og:type"': "website",
            'property="og:url"': context["pageurl"],
            'property="og:site_name"': app.config.html_title,
        }
    lines = (f'<meta {name} content="{escape(content)}" />' for name, content in tags.items())
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def write_sitemap(app, exception):
    """Write sitemap.xml, with every page that has a source."""
    pages = [] if exception else sorted(app.env.found_docs)
    urls = "".join(f"<url><loc>{escape(page_url(app, page))}</loc></url>" for page in pages)
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    Path(app.outdir, "sitemap.xml").write_text(sitemap, "utf-8")


def setup(app):
    app.connect("html-page-context", add_metadata)
    app.connect("build-finished", write_sitemap)
