"""Each toggle of the side bar says which pages it hides."""


def name_toggles(app, pagename, templatename, context, doctree):
    """Name them where the theme makes the side bar."""
    made = context["generate_toctree_html"]

    def named(*args, **options):
        tree = made(*args, **options)
        for summary in tree.select("li.has-children > details > summary"):
            link = summary.find_parent("li").a
            summary["aria-label"] = f"Pages below {' '.join(link.get_text().split())}"
        return tree

    context["generate_toctree_html"] = named


def setup(app):
    """Register with Sphinx."""
    # after the theme has put its function there
    app.connect("html-page-context", name_toggles, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
