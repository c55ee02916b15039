"""The pages of the built site as the parts of one, which a browser prints as a book.

What is only for the screen is left out: what is pressed, code that draws a figure, how a claim was
measured. A figure that moves stands in its first state, which a line below it names. After each
exercise there is space to write; its hints and its worked solution stand at the end of the book.
"""

import posixpath
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, SoupStrainer, Tag
from sphinx_external_toc.parsing import parse_toc_yaml

# the first is about the site; the other is to look things up in, and as large as four chapters
LEFT_OUT = ("index", "reference/api")
SCREEN = (
    ".headerlink, .learner, .to-run, .d-none, .toctree-wrapper, details.hide, .claim > details, "
    "script, button"
)
# they have the colour of the text, and each would be an element of the PDF's structure
COLOURLESS = ".highlight :is(.n, .nn, .p, .w)"
# of an exercise: its hints, and last its worked solution
FOLDED = ".exercise ~ details.folded"
# lines to write on: as many as the worked solution adds to what is given, and at least so many
LEAST = 6
# code of so many lines is not cut where a page ends
SHORT = 20
HELP = {"hints": "Hints", "solutions": "Worked solutions"}
SPACE = """<div><p>
<a href="#hints/{id}">Hints: page <span data-page="hints/{id}"></span></a>,
<a href="#solutions/{id}">worked solution: page <span data-page="solutions/{id}"></span></a>
</p><pre class="space">{lines}</pre></div>"""

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
        parts.setdefault(part.caption or "Chapters", {}).update(kept)
    pages = {name: page for part in parts.values() for name, page in part.items()}
    drop_repeated(pages)
    known = {(name, one["id"]) for name, page in pages.items() for one in page.select("[id]")}
    known |= {(name, "") for name in pages}
    for name, page in pages.items():
        for figure in page.select(".attncourse-figure"):
            hold_still(figure, f"{published}/{name}.html")
        name_apart(page, name, known, published)
    if any(page.select(FOLDED) for page in pages.values()):
        parts["Help with the exercises"] = set_aside(pages)
    return parts


def read(path: Path) -> Tag:
    """The article of a page, without what is only for the screen."""
    page = BeautifulSoup(path.read_text("utf-8"), "html.parser", parse_only=SoupStrainer("article"))
    if not (article := page.article):
        raise ValueError(f"{path} has no article: it is no page of the built site")
    for one in article.select(SCREEN):
        one.decompose()
    for one in article.select(COLOURLESS):
        one.unwrap()
    for box in article.select("details"):
        box["open"] = ""
    for code in article.select("div.highlight:has(> pre)"):
        if lines(code) <= SHORT:
            code["class"].append("short")
    return article


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
    """Take hints and worked solutions out of the exercises, which say on what page they are now."""
    back = {kind: f"<h1>{title}</h1>" for kind, title in HELP.items()}
    for name, page in pages.items():
        exercises = page.select(".exercise:has(~ details.folded)")
        for kind in HELP if exercises else ():
            back[kind] += f'<h2 id="{kind}/{name}">{subject(page)}</h2>'
        for exercise in exercises:
            *hints, solution = (box.extract() for box in exercise.parent.select(FOLDED))
            stub = exercise.find_next_sibling(class_="highlight-python")
            space = max(LEAST, lines(solution) - lines(stub))
            exercise.parent.append(parsed(SPACE.format(id=exercise["id"], lines=" \n" * space)))
            title = exercise.select_one(".admonition-title").decode_contents()
            opening = f'<h3 id="{{}}/{exercise["id"]}"><a href="#{exercise["id"]}">{title}</a></h3>'
            listed = "".join(f"<li>{inside(hint)}</li>" for hint in hints)
            back["hints"] += f"{opening.format('hints')}<ol>{listed}</ol>"
            back["solutions"] += opening.format("solutions") + inside(solution)
    return {kind: parsed(f'<article id="{kind}">{text}</article>') for kind, text in back.items()}


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
