"""How long a chapter takes to read, from what is on its page."""

from docutils import nodes

WORDS_A_MINUTE = 200
# seconds: a line of code is read like a sentence, a displayed formula like a short paragraph
CODE_LINE, FORMULA, INLINE_FORMULA, FIGURE = 3, 15, 2, 15
# not prose, or counted by themselves
APART = (nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)


def seconds(doctree: nodes.document) -> float:
    """The time that a page takes: its words, its lines of code, its formulas and its figures."""
    prose = [text for text in doctree.findall(nodes.Text) if not isinstance(text.parent, APART)]
    words = sum(len(text.split()) for text in prose)
    lines = sum(
        bool(line.strip())
        for block in doctree.findall(nodes.literal_block)
        for line in block.astext().splitlines()
    )
    counted = [
        (nodes.math_block, FORMULA),
        (nodes.math, INLINE_FORMULA),
        (nodes.figure, FIGURE),
    ]
    rest = sum(len(list(doctree.findall(kind))) * each for kind, each in counted)
    return words * 60 / WORDS_A_MINUTE + lines * CODE_LINE + rest


def note_minutes(app, doctree):
    """Keep a chapter's minutes, for its own page and for the front page."""
    docname = app.env.docname
    if docname.startswith("chapters/"):
        app.env.metadata[docname]["reading_minutes"] = seconds(doctree) / 60


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-read", note_minutes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
