"""Formulas as plain text, for search results and descriptions: (q ⋅ k)/√d_k."""

import re
from unicodedata import normalize
from xml.etree import ElementTree

FUNCTION_APPLICATION = "\u2061"
SUPERSCRIPTS = str.maketrans("0123456789+−in⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁱⁿᵀ")
ACCENTS = {"ˆ": "\u0302", "‾": "\u0304", "~": "\u0303"}
SCRIPT_TAGS = {"msub", "msup", "msubsup"}
# operators that get a space on each side
BINARY_OPERATOR = re.compile(r"[=+−⋅·×÷<>≤≥≈≠∈→←∪∩⊙∘±≡∼∝≪≫]")


def formula_text(mathml: str) -> str:
    """A formula in MathML as a line of plain text."""
    return " ".join(element_text(ElementTree.fromstring(mathml)).split())


def element_text(element: ElementTree.Element) -> str:
    """An element of MathML as plain text."""
    texts = [element_text(child) for child in element]
    match element.tag:
        case "mfrac":
            return "/".join(map(parenthesize, texts))
        case "msqrt":
            return f"√{parenthesize(''.join(texts))}"
        case "msub" | "munder":
            return texts[0] + subscript(texts[1])
        case "msup":
            return texts[0] + superscript(texts[1])
        case "msubsup" | "munderover":
            return texts[0] + subscript(texts[1]) + superscript(texts[2])
        case "mover" if texts[1] in ACCENTS:
            return normalize("NFC", texts[0] + ACCENTS[texts[1]])
        case "mspace":
            return " "
        case "mo" if (
            BINARY_OPERATOR.fullmatch(element.text or "") and element.get("form") != "prefix"
        ):
            return f" {element.text} "
        case "mo" if element.get("separator"):
            return f"{element.text} "
    # a space ends a subscript or superscript before the next letter
    spaced_texts = (
        text + " " * (child.tag in SCRIPT_TAGS and next_text[:1].isalnum())
        for child, text, next_text in zip(element, texts, [*texts, ""][1:], strict=True)
    )
    return normalize_letters(element.text or "") + "".join(spaced_texts)


def normalize_letters(text: str) -> str:
    """Replace mathematical alphabets, as of 𝑞, by plain letters."""
    text = text.replace(FUNCTION_APPLICATION, "").replace("ℎ", "h")
    return "".join(
        normalize("NFKC", letter) if letter >= "\U0001d400" else letter for letter in text
    )


def parenthesize(text: str) -> str:
    """Put a part of a formula in parentheses unless it is a name or a number."""
    text = text.strip()
    return text if re.fullmatch(r"√?[\w.…∞′]*", text) else f"({text})"


def subscript(text: str) -> str:
    return f"_{parenthesize(text.replace(' ', ''))}"


def superscript(text: str) -> str:
    text = text.replace(" ", "")
    translated = text.translate(SUPERSCRIPTS)
    if text == "′" or not {*translated} & {*text}:
        return translated
    return f"^{text}" if text.isalnum() else f"^({text})"
