"""The pages of the built site as the parts of one, which a browser prints as a book.

What only a screen needs is left out: buttons, code that draws a figure, how a claim was measured.
An interactive figure is printed in its first state, which a line below it names. Questions have
numbers, exercises have space to write, and answers, hints and solutions stand at the end.
"""

import posixpath
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, SoupStrainer, Tag
from sphinx_external_toc.parsing import parse_toc_yaml

# the site itself, what works there alone, and a reference of the size of four chapters
EXCLUDED_PAGES = ("index", "reference/where_to_begin", "reference/once_more", "reference/api")
SCREEN_ONLY = (
    ".headerlink, .learner, .to-run, .d-none, .toctree-wrapper, .cell > .folded, .claim pre, "
    "script, button"
)
# the hints of an exercise, and last its worked solution
FOLDED_HELP = ".exercise ~ details.folded"
# fewest rows to write on: a worked solution that adds more lines to its stub gets as many
MIN_ROWS = 6
# longer code may be cut where a page ends
MAX_UNBROKEN_LINES = 20
HELP_TITLES = {
    "answers": "Answers to the questions",
    "hints": "Hints",
    "solutions": "Worked solutions",
}

# the articles of a part of the book, by page name
Pages = dict[str, Tag]


def bind(book: Path, published_url: str) -> dict[str, Pages]:
    """The parts of a built book by caption, with unique ids and links that work in one page.

    A link to a page that the book leaves out leads to the published site.
    """
    toc, site, parts = parse_toc_yaml(book / "_toc.yml"), book / "_build" / "html", {}
    for part in toc.root.subtrees:
        articles = {}
        for chapter in part.files():
            names = [chapter, *toc[chapter].child_files()]
            chapter_pages = {
                name: read_article(site / f"{name}.html")
                for name in names
                if name not in EXCLUDED_PAGES
            }
            number_questions(chapter_pages)
            articles |= chapter_pages
        if articles:
            parts.setdefault(part.caption or "Chapters", {}).update(articles)
    pages = {name: page for part in parts.values() for name, page in part.items()}
    drop_repeated_boxes(pages)
    targets = {(name, tag["id"]) for name, page in pages.items() for tag in page.select("[id]")}
    targets |= {(name, "") for name in pages}
    for name, page in pages.items():
        for figure in page.select(".attncourse-figure"):
            freeze_figure(figure, f"{published_url}/{name}.html")
        prefix_ids(page, name, targets, published_url)
    if help_pages := move_help(pages):
        parts["Answers, hints and solutions"] = help_pages
    return parts


def read_article(path: Path) -> Tag:
    """The article of a page, without what only a screen needs."""
    page = BeautifulSoup(path.read_text("utf-8"), "html.parser", parse_only=SoupStrainer("article"))
    if not (article := page.article):
        raise ValueError(f"{path} has no article: it is no page of the built site")
    for question in article.select(".question"):
        make_printable(question)
    for element in article.select(SCREEN_ONLY):
        element.decompose()
    for box in article.select("details"):
        box["open"] = ""
    for code in article.select("div.highlight:has(> pre)"):
        if code_line_count(code) <= MAX_UNBROKEN_LINES:
            code["class"].append("short")
    return article


def number_questions(pages: Pages) -> None:
    """Number the questions of a chapter, through all its pages."""
    articles = [*pages.values()]
    chapter = next((one for page in articles for one in page.select("h1 .section-number")), None)
    questions = (question for page in articles for question in page.select(".question"))
    for number, question in enumerate(questions, start=1):
        prefix = chapter.get_text().strip() if chapter else ""
        question.select_one(".question-card b").append(f" {prefix}{number}")


def make_printable(question: Tag) -> None:
    """Replace the form of a question by a list of its options, or by space to write."""
    for control in question.select("form input"):
        control.extract()
    if options := question.select("form :is(label, .lines > button)"):
        items = "".join(f"<li>{option.decode_contents()}</li>" for option in options)
        css_class, head = options[0].parent["class"][0], question.select_one(".program") or ""
        question.form.replace_with(
            parse_element(f'<div>{head}<ol class="{css_class}">{items}</ol></div>')
        )
    else:
        question.form.replace_with(parse_element(writing_space(3)))


def drop_repeated_boxes(pages: Pages) -> None:
    """Remove each folded box whose text has stood before, as above the exercises of a chapter."""
    ids = set()
    for box in [box for page in pages.values() for box in page.select("details.dropdown")]:
        if (text := box.get_text()) in ids:
            box.decompose()
        ids.add(text)


def freeze_figure(figure: Tag, site_link: str) -> None:
    """Note below an interactive figure the state that is printed, with a link to the live one."""
    anchor = figure.find_parent(id=True)
    note = (
        f'<a href="{site_link}#{anchor["id"] if anchor else ""}">On the site</a> you can change it.'
    )
    if state := "; ".join(control_values(figure)):
        note = f"Shown here: {state}. {note}"
    for fallback in figure.select("noscript"):
        for sentence in fallback.find_all(string=True, recursive=False):
            sentence.extract()
        fallback.insert_before(parse_element(f'<p class="state">{note}</p>'))
        fallback.unwrap()


def control_values(figure: Tag) -> Iterator[str]:
    """The name and initial value of each control of a figure, as HTML."""
    for field in figure.select(".controls > :is(fieldset, label)"):
        name, control = escape(field.get_text().strip()), field.find(["input", "select"])
        match control.get("type", control.name):
            case "radio":
                name = escape(field.legend.get_text())
                value = escape(field.select_one(":checked").parent.get_text())
            case "range":
                # its name may be a formula
                name = field.decode_contents().partition("<input")[0].strip()
                value = control["data-values"].split()[int(control["value"])]
            case "select":
                name = escape(control.previous_sibling.strip())
                value = escape(control.select_one("[selected]").get_text())
            case "checkbox":
                value = "on" if control.has_attr("checked") else "off"
            case _:
                value = escape(control["value"])
        yield f"{name} <b>{value}</b>"


def prefix_ids(page: Tag, name: str, targets: set[tuple[str, str]], published_url: str) -> None:
    """Prefix the ids of a page with its name, and adapt its links and references to ids."""
    page["id"] = name
    for element in page.find_all(True):
        for attribute, value in element.attrs.items():
            if attribute == "id":
                element["id"] = f"{name}/{value}"
            elif attribute in ("href", "xlink:href"):
                element[attribute] = book_link(value, name, targets, published_url)
            elif "url(#" in value:
                element[attribute] = value.replace("url(#", f"url(#{name}/")


def book_link(href: str, name: str, targets: set[tuple[str, str]], published_url: str) -> str:
    """The address in the book, or else on the published site, of a link of the page `name`."""
    url = urlsplit(href)
    if url.scheme or url.netloc:
        return href
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), url.path))
    target = path.removesuffix(".html") if url.path else name
    if (target, unquote(url.fragment)) in targets:
        return f"#{target}/{unquote(url.fragment)}".removesuffix("/")
    return f"{published_url}/{path if url.path else f'{name}.html'}#{url.fragment}".removesuffix(
        "#"
    )


def move_help(pages: Pages) -> Pages:
    """Move answers, hints and solutions to pages of their own, and link to them."""
    chapters = dict.fromkeys(HELP_TITLES, "")
    for name, page in pages.items():
        html = dict.fromkeys(HELP_TITLES, "")
        for question in page.select(".question:has(> details)"):
            answer = folded_content(question.details.extract())
            html["answers"] += help_section("answers", question, question.b, answer)
            question.append(parse_element(f"<p>{help_link('answers', question, 'Answer')}</p>"))
        for exercise in page.select(".exercise:has(~ details.folded)"):
            *hints, solution = (box.extract() for box in exercise.parent.select(FOLDED_HELP))
            items = "".join(f"<li>{folded_content(hint)}</li>" for hint in hints)
            title = exercise.select_one(".admonition-title")
            html["hints"] += help_section("hints", exercise, title, f"<ol>{items}</ol>")
            html["solutions"] += help_section(
                "solutions", exercise, title, folded_content(solution)
            )
            stub = exercise.find_next(class_="highlight-python")
            rows = max(MIN_ROWS, code_line_count(solution) - code_line_count(stub))
            links = ", ".join(
                (
                    help_link("hints", exercise, "Hints"),
                    help_link("solutions", exercise, "worked solution"),
                )
            )
            exercise.parent.append(parse_element(f"<div><p>{links}</p>{writing_space(rows)}</div>"))
        for kind, text in html.items():
            if text:
                chapters[kind] += f'<h2 id="{kind}/{name}">{page_topic(page)}</h2>{text}'
    return {
        kind: parse_element(f'<article id="{kind}"><h1>{HELP_TITLES[kind]}</h1>{text}</article>')
        for kind, text in chapters.items()
        if text
    }


def help_section(kind: str, box: Tag, title: Tag, text: str) -> str:
    """Answer, hints or solution of the exercise in a box, under a title that links to the box."""
    heading = f'<a href="#{box["id"]}">{title.decode_contents()}</a>'
    return f'<h3 id="{kind}/{box["id"]}">{heading}</h3>{text}'


def help_link(kind: str, box: Tag, words: str) -> str:
    """A link to the help for the question or exercise in a box, with its page number."""
    target = f"{kind}/{box['id']}"
    return f'<a href="#{target}">{words}: page <span data-page="{target}"></span></a>'


def writing_space(rows: int) -> str:
    """Empty rows to write on."""
    row = " \n"
    return f'<pre class="space">{row * rows}</pre>'


def page_topic(page: Tag) -> str:
    """The topic of a page: its title, or the part after the colon."""
    title = page.h1.get_text()
    topic = title.partition(": ")[2] or title
    return escape(topic[:1].upper() + topic[1:])


def code_line_count(code: Tag) -> int:
    """The number of lines of code in an element."""
    return sum(len(block.get_text().splitlines()) for block in code.select("pre"))


def folded_content(box: Tag) -> str:
    """The HTML that a folded box hides."""
    return "".join(map(str, box.summary.find_next_siblings()))


def parse_element(html: str) -> Tag:
    """The element that an HTML text describes."""
    return BeautifulSoup(html, "html.parser").contents[0].extract()
