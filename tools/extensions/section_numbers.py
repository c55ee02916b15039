"""Section numbers count through a chapter's page and what goes deeper.

Exercises have numbers of their own, so the sections of their pages have none.
"""

from docutils import nodes

from tools.book import FOLDERS
from tools.numbers import section_numbers


def number_sections(app, env):
    """Number the sections of each chapter, page after page."""
    counted: dict[str, int] = {}
    for page, numbers in env.toc_secnumbers.items():
        folder, _, slug = page.partition("/")
        chapter, entries = numbers[""][:1], [*env.tocs[page].findall(nodes.reference)]
        if folder in FOLDERS:
            headings = [(depth(entry), entry.astext()) for entry in entries[1:]]
            within = [*section_numbers(headings, counted.get(slug, 0))]
            counted[slug] = max((number[0] for number in within if number), default=0)
        elif folder == "exercises":
            within = [()] * (len(entries) - 1)
        else:
            continue
        title = chapter if folder == "chapters" else ()
        sections = [chapter + number if number else () for number in within]
        for entry, number in zip(entries, [title, *sections], strict=True):
            numbers[entry["anchorname"]] = entry["secnumber"] = number
        env.titles[page]["secnumber"] = title
    return []


def depth(entry: nodes.reference) -> int:
    """How deep below the title of its page the heading of an entry of the contents stands."""
    lists, node = -1, entry.parent
    while node:
        lists += isinstance(node, nodes.bullet_list)
        node = node.parent
    return lists


def setup(app):
    # after Sphinx has numbered the figures by chapter, and before numbers name sections
    app.connect("env-get-updated", number_sections, priority=800)
