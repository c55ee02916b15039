"""Formulas as plain text, for search results and descriptions: (q ⋅ k)/√d_k."""

import re
from unicodedata import normalize
from xml.etree import ElementTree

FUNCTION_APPLICATION = "\u2061"
RAISED = str.maketrans("0123456789+−in⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁱⁿᵀ")
ACCENTS = {"ˆ": "\u0302", "‾": "\u0304", "~": "\u0303"}
SCRIPTED = {"msub", "msup", "msubsup"}
# what stands between two parts of a formula, with a space on each side
BETWEEN = re.compile(r"[=+−⋅·×÷<>≤≥≈≠∈→←∪∩⊙∘±≡∼∝≪≫]")


def plain(mathml: str) -> str:
    """A formula as a line of text."""
    return " ".join(flat(ElementTree.fromstring(mathml)).split())


def flat(part: ElementTree.Element) -> str:
    """A part of a formula as text."""
    parts = [flat(one) for one in part]
    match part.tag:
        case "mfrac":
            return "/".join(map(enclosed, parts))
        case "msqrt":
            return f"√{enclosed(''.join(parts))}"
        case "msub" | "munder":
            return parts[0] + lowered(parts[1])
        case "msup":
            return parts[0] + raised(parts[1])
        case "msubsup" | "munderover":
            return parts[0] + lowered(parts[1]) + raised(parts[2])
        case "mover" if parts[1] in ACCENTS:
            return normalize("NFC", parts[0] + ACCENTS[parts[1]])
        case "mspace":
            return " "
        case "mo" if BETWEEN.fullmatch(part.text or "") and part.get("form") != "prefix":
            return f" {part.text} "
        case "mo" if part.get("separator"):
            return f"{part.text} "
    # an index ends before the next letter
    spaced = (
        text + " " * (one.tag in SCRIPTED and after[:1].isalnum())
        for one, text, after in zip(part, parts, [*parts, ""][1:], strict=True)
    )
    return lettered(part.text or "") + "".join(spaced)


def lettered(text: str) -> str:
    """The letters of a formula in the alphabets that a keyboard has."""
    text = text.replace(FUNCTION_APPLICATION, "").replace("ℎ", "h")
    return "".join(normalize("NFKC", one) if one >= "\U0001d400" else one for one in text)


def enclosed(text: str) -> str:
    """A part of a formula, in brackets where it is more than a name or a number."""
    text = text.strip()
    return text if re.fullmatch(r"√?[\w.…∞′]*", text) else f"({text})"


def lowered(text: str) -> str:
    return f"_{enclosed(text.replace(' ', ''))}"


def raised(text: str) -> str:
    text = text.replace(" ", "")
    high = text.translate(RAISED)
    if text == "′" or not {*high} & {*text}:
        return high
    return f"^{text}" if text.isalnum() else f"^({text})"
