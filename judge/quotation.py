"""How a learner's words are shown among ours: seen to be theirs, in one line and not too long."""

import re

MOST_QUOTED = 160  # characters
# of a name: more is a text
NAME = re.compile(r"[\w.]{1,80}")
# what may be taken for the end of a quotation
MARKS = re.compile('["“”„‟″‶〝〞〟❝❞＂ʺ˝ˮ״]|[’‘‛′ʼ´]{2,}')


def quoted(text: str, most: int = MOST_QUOTED) -> str:
    """A text of a learner's, in one line and as its own words: nothing in it ends the quotation."""
    text = MARKS.sub("'", " ".join(text.split()))
    return f"“{text[:most]}{'…' * (len(text) > most)}”" if text else ""


def named(text: str) -> str:
    """A name that a learner has given, quoted where it is none."""
    return text if NAME.fullmatch(text) else quoted(text)


def exception(kind: str, text: str) -> str:
    """An exception by its class and its text, both of which are a learner's."""
    return ": ".join(filter(None, (named(kind), quoted(text))))
