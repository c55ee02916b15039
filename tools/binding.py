"""The pages of the built site as the parts of one, which a browser prints as a book.

What is only for the screen is left out: what is pressed, code that draws a figure, how a claim was
measured. A figure that moves stands in its first state, which a line below it names. Questions
have numbers, exercises have space to write, and what helps with both stands at the end of the book.
"""

import posixpath
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, SoupStrainer, Tag
from sphinx_external_toc.parsing import parse_toc_yaml

# the site itself, what works there alone, and a reference of the size of four chapters
LEFT_OUT = ("index", "reference/where_to_begin", "reference/once_more", "reference/api")
SCREEN = (
    ".headerlink, .learner, .to-run, .d-none, .toctree-wrapper, details.hide, .claim > details, "
    "script, button"
)
# of an exercise: its hints, and last its worked solution
FOLDED = ".exercise ~ details.folded"
# lines to write on: as many as the worked solution adds to what is given, and at least so many
LEAST = 6
# code of so many lines is not cut where a page ends
SHORT = 20
HELP = {
    "answers": "Answers to the questions",
    "hints": "Hints",
    "solutions": "Worked solutions",
}

# the pages of a part of the book, by their names
Pages = dict[str, Tag]


def bind(book: Path, published: str) -> dict[str, Pages]:
    """The parts of a built book by their captions, with ids and links that hold in one page.

    A link to what the book leaves out leads to where the site is published.
    """
    toc, site, parts = parse_toc_yaml(book / "_toc.yml"), book / "_build" / "html", {}
    for part in toc.root.subtrees:
        names = [one for name in part.files() for one in (name, *toc[name].child_files())]
        kept = {name: read(site / f"{name}.html") for name in names if name not in LEFT_OUT}
        if kept:
            parts.setdefault(part.caption or "Chapters", {}).update(kept)
    pages = {name: page for part in parts.values() for name, page in part.items()}
    drop_repeated(pages)
    known = {(name, one["id"]) for name, page in pages.items() for one in page.select("[id]")}
    known |= {(name, "") for name in pages}
    for name, page in pages.items():
        for figure in page.select(".attncourse-figure"):
            hold_still(figure, f"{published}/{name}.html")
        name_apart(page, name, known, published)
    if help_pages := set_aside(pages):
        parts["Answers, hints and solutions"] = help_pages
    return parts


def read(path: Path) -> Tag:
    """The article of a page, without what is only for the screen."""
    page = BeautifulSoup(path.read_text("utf-8"), "html.parser", parse_only=SoupStrainer("article"))
    if not (article := page.article):
        raise ValueError(f"{path} has no article: it is no page of the built site")
    chapter = article.select_one("h1 .section-number")
    for number, question in enumerate(article.select(".question"), start=1):
        put_on_paper(question, f"{chapter.get_text().strip() if chapter else ''}{number}")
    for one in article.select(SCREEN):
        one.decompose()
    for box in article.select("details"):
        box["open"] = ""
    for code in article.select("div.highlight:has(> pre)"):
        if lines(code) <= SHORT:
            code["class"].append("short")
    return article


def put_on_paper(question: Tag, number: str) -> None:
    """Give a question its number, and a list of what is chosen from, or else space to write."""
    question.select_one(".question-card b").append(f" {number}")
    for control in question.select("form input"):
        control.extract()
    if options := question.select("form :is(label, .lines > button)"):
        listed = "".join(f"<li>{one.decode_contents()}</li>" for one in options)
        kind, head = options[0].parent["class"][0], question.select_one(".program") or ""
        question.form.replace_with(parsed(f'<div>{head}<ol class="{kind}">{listed}</ol></div>'))
    else:
        question.form.replace_with(parsed(space(3)))


def drop_repeated(pages: Pages) -> None:
    """Keep the first of the boxes that say the same, as those above the exercises of a chapter."""
    said = set()
    for box in [box for page in pages.values() for box in page.select("details.dropdown")]:
        if (text := box.get_text()) in said:
            box.decompose()
        said.add(text)


def hold_still(figure: Tag, live: str) -> None:
    """Say below a figure that moves which of its states it is in, and where it moves."""
    named = figure.find_parent(id=True)
    words = f'<a href="{live}#{named["id"] if named else ""}">On the site</a> you can change it.'
    if state := "; ".join(settings(figure)):
        words = f"Shown here: {state}. {words}"
    for still in figure.select("noscript"):
        for sentence in still.find_all(string=True, recursive=False):
            sentence.extract()
        still.insert_before(parsed(f'<p class="state">{words}</p>'))
        still.unwrap()


def settings(figure: Tag) -> Iterator[str]:
    """What the controls of a figure are set to at first."""
    for one in figure.select(".controls > :is(fieldset, label)"):
        name, control = escape(one.get_text().strip()), one.input
        match control["type"]:
            case "radio":
                name = escape(one.legend.get_text())
                value = escape(one.select_one(":checked").parent.get_text())
            case "range":
                # its name may be a formula
                name = one.decode_contents().partition("<input")[0].strip()
                value = control["data-values"].split()[int(control["value"])]
            case "checkbox":
                value = "on" if control.has_attr("checked") else "off"
            case _:
                value = escape(control["value"])
        yield f"{name} <b>{value}</b>"


def name_apart(page: Tag, name: str, known: set[tuple[str, str]], published: str) -> None:
    """Put a page's name before its ids; what refers to an id, here or elsewhere, follows."""
    page["id"] = name
    for one in page.find_all(True):
        for attribute, value in one.attrs.items():
            if attribute == "id":
                one["id"] = f"{name}/{value}"
            elif attribute in ("href", "xlink:href"):
                one[attribute] = lead(value, name, known, published)
            elif "url(#" in value:
                one[attribute] = value.replace("url(#", f"url(#{name}/")


def lead(href: str, name: str, known: set[tuple[str, str]], published: str) -> str:
    """Where a link of a page leads to from the book."""
    url = urlsplit(href)
    if url.scheme or url.netloc:
        return href
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), url.path))
    there = path.removesuffix(".html") if url.path else name
    if (there, unquote(url.fragment)) in known:
        return f"#{there}/{unquote(url.fragment)}".removesuffix("/")
    return f"{published}/{path if url.path else f'{name}.html'}#{url.fragment}".removesuffix("#")


def set_aside(pages: Pages) -> Pages:
    """Take answers, hints and solutions out of the pages, which say where they are now."""
    back = dict.fromkeys(HELP, "")
    for name, page in pages.items():
        found = dict.fromkeys(HELP, "")
        for question in page.select(".question:has(> details)"):
            answer = inside(question.details.extract())
            found["answers"] += helping("answers", question, question.b, answer)
            question.append(parsed(f"<p>{see('answers', question, 'Answer')}</p>"))
        for exercise in page.select(".exercise:has(~ details.folded)"):
            *hints, solution = (box.extract() for box in exercise.parent.select(FOLDED))
            listed = "".join(f"<li>{inside(hint)}</li>" for hint in hints)
            title = exercise.select_one(".admonition-title")
            found["hints"] += helping("hints", exercise, title, f"<ol>{listed}</ol>")
            found["solutions"] += helping("solutions", exercise, title, inside(solution))
            stub = exercise.find_next_sibling(class_="highlight-python")
            added = max(LEAST, lines(solution) - lines(stub))
            places = ", ".join(
                (see("hints", exercise, "Hints"), see("solutions", exercise, "worked solution"))
            )
            exercise.parent.append(parsed(f"<div><p>{places}</p>{space(added)}</div>"))
        for kind, text in found.items():
            if text:
                back[kind] += f'<h2 id="{kind}/{name}">{subject(page)}</h2>{text}'
    return {
        kind: parsed(f'<article id="{kind}"><h1>{HELP[kind]}</h1>{text}</article>')
        for kind, text in back.items()
        if text
    }


def helping(kind: str, box: Tag, title: Tag, text: str) -> str:
    """What helps with the question or exercise in a box, under a title that leads back to it."""
    heading = f'<a href="#{box["id"]}">{title.decode_contents()}</a>'
    return f'<h3 id="{kind}/{box["id"]}">{heading}</h3>{text}'


def see(kind: str, box: Tag, words: str) -> str:
    """A link to what helps with the question or the exercise in a box, with its page."""
    place = f"{kind}/{box['id']}"
    return f'<a href="#{place}">{words}: page <span data-page="{place}"></span></a>'


def space(rows: int) -> str:
    """So many rows to write on."""
    row = " \n"
    return f'<pre class="space">{row * rows}</pre>'


def subject(page: Tag) -> str:
    """What the exercises of a page are about."""
    title = page.h1.get_text()
    about = title.partition(": ")[2] or title
    return escape(about[:1].upper() + about[1:])


def lines(code: Tag) -> int:
    """How many lines of code there are."""
    return sum(len(block.get_text().splitlines()) for block in code.select("pre"))


def inside(box: Tag) -> str:
    """What a folded box holds."""
    return "".join(map(str, box.summary.find_next_siblings()))


def parsed(html: str) -> Tag:
    """The element that this text describes."""
    return BeautifulSoup(html, "html.parser").contents[0].extract()
