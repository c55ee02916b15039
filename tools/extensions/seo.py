"""What search engines and link previews read: each page's address and description, the site map.

The libraries for this load matplotlib, start a server process, or list in the site map only the
pages that the last build has written.
"""

from html import escape
from pathlib import Path
from textwrap import shorten

from docutils import nodes

from tools.questions import quoted

from .search_index import prose

LONGEST = 200
PICTURE = "reference/picture.png"


def opening(doctree: nodes.document) -> str:
    """How a page begins, as much of it as fits."""
    paragraphs = doctree.findall(nodes.paragraph)
    texts = [one for one in paragraphs if isinstance(one.parent, nodes.section)]
    return shorten(prose(*texts), LONGEST, placeholder=" …")


def address(app, page: str) -> str:
    """The one address of a page."""
    return app.config.html_baseurl + ("" if page == app.config.root_doc else f"{page}.html")


def describe(app, pagename, templatename, context, doctree):
    """Give a page its address and its description: its opening, unless its front matter has one."""
    tags = {'name="robots"': "noindex"} if pagename == app.config.notfound_pagename else {}
    context["pageurl"] = None if tags else address(app, pagename)
    if doctree is not None:
        words = quoted(app.env.metadata[pagename].get("description") or opening(doctree))
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


def map_site(app, exception):
    """Write sitemap.xml, with every page that has a text."""
    pages = [] if exception else sorted(app.env.found_docs)
    places = "".join(f"<url><loc>{escape(address(app, page))}</loc></url>" for page in pages)
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
    Path(app.outdir, "sitemap.xml").write_text(sitemap, "utf-8")


def setup(app):
    app.connect("html-page-context", describe)
    app.connect("build-finished", map_site)
