"""Code in pages: long lines wrap with an indent, and spans without a colour are removed."""

import re
from html import unescape

PRE = re.compile(r"(?<=<pre>).*?(?=</pre>)", re.DOTALL)
# names, brackets and blanks have the colour of the text; their spans are a third of all elements
UNCOLOURED = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')
# characters that fit into the narrowest code box whose lines wrap
MAX_WIDTH = 76


def mark_long_line(line: str) -> str:
    """Wrap a line of highlighted code in a span with its hanging indent if it may be too long."""
    text = unescape(re.sub(r"<[^>]*>", "", line)).rstrip()
    if len(text) <= MAX_WIDTH:
        return line
    indent = len(text) - len(text.lstrip()) + 4
    return f'<span class="hung" style="--indent: {indent}ch">{line}</span>'


def format_code(app, pagename, templatename, context, doctree):
    """Mark the long lines in the code of a page, and remove the spans without a colour."""

    def format_block(code: re.Match) -> str:
        return "".join(
            map(mark_long_line, UNCOLOURED.sub(r"\1", code[0]).splitlines(keepends=True))
        )

    context["body"] = PRE.sub(format_block, context.get("body", ""))


def setup(app):
    app.connect("html-page-context", format_code)
