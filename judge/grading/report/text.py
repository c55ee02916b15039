"""Text that came from elsewhere, as a reader may see it, and how a file of ours is written."""

import os
import re
from pathlib import Path

NONCHARACTERS = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
# what a terminal obeys, XML forbids or nobody sees; a joiner, which some scripts are written with,
# stays behind a letter of theirs
UNSEEN = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
    rf"|[\ufdd0-\ufdef{NONCHARACTERS}]"
    r"|[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    r"|(?<![\u0600-\u0dff])[\u200c\u200d]"
)
LINES = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+")
LONGEST = 600


def plain(text: str) -> str:
    """Text that came from elsewhere, as a reader sees it and not too long."""
    return cut(readable(text), LONGEST)


def line(text: str) -> str:
    """A name that came from elsewhere, in one line that is not too long."""
    return plain(LINES.sub(" ", text))


def readable(text: str) -> str:
    """A text without what nobody sees: control characters, marks of direction and the like."""
    return UNSEEN.sub("", text)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def replace(path: Path, text: str) -> None:
    """Write a file in one step: whoever reads it, or runs on after a crash, finds a whole one."""
    whole = path.with_name(f"{path.name}.part")
    whole.write_text(text, encoding="utf-8")
    os.replace(whole, path)
