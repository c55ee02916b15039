"""Code in the pages: long lines go on further in, and what has no colour has no element."""

import re
from html import unescape

PRE = re.compile(r"(?<=<pre>).*?(?=</pre>)", re.DOTALL)
# names, brackets and blanks are as dark as the text around them: a third of a page's elements
PLAIN = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')
# so many characters fit into the narrowest box in which lines are broken
SHORT = 76


def hang(line: str) -> str:
    """A line of highlighted code, marked with its indent where it may be too long."""
    text = unescape(re.sub(r"<[^>]*>", "", line)).rstrip()
    if len(text) <= SHORT:
        return line
    indent = len(text) - len(text.lstrip()) + 4
    return f'<span class="hung" style="--indent: {indent}ch">{line}</span>'


def hang_lines(app, pagename, templatename, context, doctree):
    """Mark the long lines of all the code of a page, and take out what has no colour."""

    def hung(code: re.Match) -> str:
        return "".join(map(hang, PLAIN.sub(r"\1", code[0]).splitlines(keepends=True)))

    context["body"] = PRE.sub(hung, context.get("body", ""))


def setup(app):
    app.connect("html-page-context", hang_lines)
