"""The book to print: whole, with numbers and links that lead to where they say."""

import io
import random
import re
import shutil
import unicodedata
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from pypdf import PdfReader

from tests import ROOT
from tests.browser import site  # noqa: F401
from tests.needs import lacks
from tools.binding import EXCLUDED_PAGES, HELP_TITLES, bind
from tools.chromium import chromium_path
from tools.pdf import PDF, PrintError, book_html, print_book
from tools.site import ZIP

TOC = """
format: jb-book
root: index
parts:
- caption: Chapters
  chapters: [{file: chapters/one, sections: [{file: exercises/one}]}]
- caption: Reference
  chapters: [{file: reference/api}]
"""
CHAPTER = """
<section id="first"><h1><span class="section-number">1. </span>First
<a class="headerlink" href="#first">#</a></h1>
<div class="cell">
<details class="folded"><summary>Show the code</summary><p>hidden code</p></details></div>
<figure id="fig-moves"><div class="attncourse-figure" data-figure="a"><form>
<div class="controls" hidden>
<fieldset><legend>query</legend>
<label><input type="radio" name="query" value="0" hidden>river</label>
<label><input type="radio" name="query" value="1" checked hidden>bank &amp; co</label></fieldset>
<label><i>d</i> <input type="range" name="d" max="1" value="1" data-values="2 4,096"><b></b></label>
<label>machine <select name="machine"><option value="0">A100</option>
<option value="1" selected>H100</option></select></label>
<label><input type="checkbox" name="mask">mask</label>
<label>number <input type="text" name="number" value="754"></label>
<button type="button">shuffle</button></div>
<svg viewBox="0 0 9 9"><clipPath id="c"><path id="p" d="M0 0h9v9z"/></clipPath>
<g clip-path="url(#c)"><use xlink:href="#p"/></g></svg>
<noscript>With scripts, you can change this figure.<table><tr><td>still</td></tr></table></noscript>
</form></div></figure>
<section id="cost"><h2>1.1. What <code>it</code> costs<a class="headerlink" href="#cost">#</a></h2>
<p style="height: 1300px">A page of its own, and more.</p>
<p><a href="#fig-moves">the figure</a>, <a href="../exercises/one.html#twice">an exercise</a>,
<a href="../reference/api.html#attncourse.check">the function</a>, <a href="../index.html">the
front page</a>, <a href="https://pytorch.org/">PyTorch</a></p></section>
<div class="question" id="question-add"><p class="question-card"><b>Question</b> · 1 minute</p>
<p>What is 1 + 1?</p><form hidden><input type="text"><button class="judge">Check</button></form>
<details><summary>The answer, step by step</summary><p>So the answer is 2.</p></details></div>
<div class="question" id="question-order"><p class="question-card"><b>Question</b> · 1 minute</p>
<p>Put one in order.</p><form hidden><div class="program"><code>def f(x):</code></div>
<div class="lines"><button><code>return y</code></button><button><code>y = x</code></button></div>
<button class="judge">Check</button></form>
<details><summary>The answer, step by step</summary><pre>y = x\nreturn y</pre></details></div>
<div class="question" id="question-choice"><p class="question-card"><b>Question</b> · 1 minute</p>
<p>Which?</p><form hidden><fieldset class="choice"><label><input type="radio"> <i>x</i></label>
<label><input type="radio"> <i>y</i></label></fieldset><button class="judge">Check</button></form>
<details><summary>The answer, step by step</summary><p>It is x.</p></details></div>
<section id="id1"><h2>1.2. Sources</h2><p>None.</p></section></section>
"""
EXERCISES = """
<section id="exercises-first"><h1>Exercises: first things</h1><p class="d-none">on paper</p>
<section id="id1"><h2>Twice</h2>
<div class="exercise admonition" id="twice"><p class="admonition-title">Exercise 1.1</p>
<p>Double, as <a href="../chapters/one.html#cost">the chapter</a> does.</p></div>
<div class="highlight-python"><div class="highlight"><pre>def twice(x):
    raise NotImplementedError
</pre></div></div>
<details class="folded"><summary>Hint 1 for twice: the idea</summary><p>Add it.</p></details>
<details class="folded"><summary>Worked solution of twice</summary>
<div class="highlight-python"><div class="highlight"><pre>def twice(x):
    y = x
    y = +y
    y = +y
    y = +y
    y = +y
    y = +y
    y = +y
    return x + y
</pre></div></div></details>
<p class="learner"><button>I have solved it</button></p></section></section>
"""
PAGES = {
    "index": f'<p>Take <a href="{ZIP}">the zip</a>, or stay.</p>\n<p>Teach.</p>',
    "chapters/one": CHAPTER,
    "exercises/one": EXERCISES,
    "reference/api": '<h1>Reference</h1><p id="attncourse.check">check</p>',
}
BOX = '<details class="dropdown folded"><summary>How to answer</summary>Write.</details>'
HOME = "https://attncourse.github.io/attncourse"


@pytest.fixture
def book(tmp_path) -> Path:
    """A book whose site is built, of a chapter and its exercises."""
    (tmp_path / "_toc.yml").write_text(TOC)
    shutil.copy(ROOT / "_config.yml", tmp_path)
    for name, text in PAGES.items():
        path = tmp_path / "_build" / "html" / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"<html><body><nav id='id1'></nav><article>{text}{BOX}</article></body></html>"
        )
    return tmp_path


@pytest.fixture
def bound_page(book) -> BeautifulSoup:
    """The book as one parsed page."""
    return BeautifulSoup(book_html(book, bind(book, HOME)), "html.parser")


def assert_links_and_ids(page: BeautifulSoup) -> None:
    """Assert that ids are unique and that all references resolve."""
    ids = [element["id"] for element in page.select("[id]")]
    assert len(ids) == len({*ids})
    used = [
        element[name]
        for name in ("href", "xlink:href")
        for element in page.find_all(**{name: True})
    ]
    inner = [href.removeprefix("#") for href in used if href.startswith("#")]
    clips = [element["clip-path"][5:-1] for element in page.select("[clip-path]")]
    assert inner and {*inner, *clips} <= {*ids}
    # what is not in the book is on the web
    links = [element["href"] for element in page.select("a") if not element["href"].startswith("#")]
    assert links and all(href.startswith("https://") for href in links)


def test_ids_are_unique_and_links_lead_on_in_the_book_or_to_the_site(bound_page):
    assert_links_and_ids(bound_page)
    href_by_text = {
        link.get_text(" ", strip=True): link["href"] for link in bound_page.article.select("a")
    }
    assert href_by_text["the figure"] == "#chapters/one/fig-moves"
    assert href_by_text["an exercise"] == "#exercises/one/twice"
    assert href_by_text["the function"] == f"{HOME}/reference/api.html#attncourse.check"
    assert href_by_text["the\nfront page"] == f"{HOME}/index.html"
    assert href_by_text["PyTorch"] == "https://pytorch.org/"


def test_a_figure_that_moves_says_which_state_it_is_in(bound_page):
    state = bound_page.select_one("#chapters\\/one\\/fig-moves .state")
    words = "query bank & co; d 4,096; machine H100; mask off; number 754"
    assert state.get_text() == f"Shown here: {words}. On the site you can change it."
    assert state.a["href"] == f"{HOME}/chapters/one.html#fig-moves"
    # what stands for it where no script runs is shown, too
    assert state.find_next_sibling("table").get_text() == "still" and not bound_page.select(
        "noscript"
    )


def test_what_is_only_for_the_screen_is_left_out(bound_page):
    assert not bound_page.select(".headerlink, .learner, .cell > .folded, .d-none, script, button")
    assert [page["id"] for page in bound_page.select("article")] == [
        "chapters/one", "exercises/one", "answers", "hints", "solutions",
    ]  # fmt: skip


def test_a_box_that_opens_stands_open_and_once(bound_page):
    (box,) = bound_page.select("details.dropdown")
    assert box.has_attr("open") and box.find_parent("article")["id"] == "chapters/one"


def test_an_exercise_has_space_and_its_help_stands_at_the_end(bound_page):
    page, hints, solutions = bound_page.select("#exercises\\/one, #hints, #solutions")
    assert "Add it" not in page.text and "x + y" not in page.text
    assert hints.li.text == "Add it." and "x + y" in solutions.pre.text
    # as many lines as the solution has more than what is given
    assert page.select_one(".space").text == " \n" * 7
    hrefs = [link["href"] for link in page.select_one(".space").parent.select("a")]
    assert hrefs == ["#hints/exercises/one/twice", "#solutions/exercises/one/twice"]
    assert hints.h2.text == solutions.h2.text == "First things"
    assert hints.h3.a["href"] == "#exercises/one/twice"


def test_a_question_shows_what_is_chosen_from_and_its_answer_stands_at_the_end(bound_page):
    add, order, choice = bound_page.select(".question")
    answers = bound_page.select_one("#answers")
    labels = [box.b.text for box in (add, order, choice)]
    assert labels == ["Question 1.1", "Question 1.2", "Question 1.3"]
    assert [element.text for element in answers.select("h3")] == labels
    assert add.select_one(".space") and not add.select("form, details")
    assert order.select_one(".program").text == "def f(x):"
    assert [element.text.strip() for element in order.select("li")] == ["return y", "y = x"]
    assert [element.text.strip() for element in choice.select("ol.choice > li")] == ["x", "y"]
    assert "So the answer is 2." in answers.text and "So the answer is 2." not in add.text
    assert choice.select_one("a")["href"] == "#answers/chapters/one/question-choice"
    assert answers.h3.a["href"] == "#chapters/one/question-add"


def test_without_a_site_or_a_browser_the_message_says_what_to_do(book, tmp_path, monkeypatch):
    with pytest.raises(PrintError, match="say `make site` first"):
        print_book(tmp_path / "elsewhere")
    monkeypatch.setenv("ATTNCOURSE_CHROMIUM", "none")
    with pytest.raises(PrintError, match="no Chromium: say `make system`"):
        print_book(book)
    assert not (book / "_build" / "html" / PDF).exists()
    assert PDF not in (book / "_build" / "html" / "index.html").read_text()


def without_spaces(text: str) -> str:
    """Letters, digits and signs alone, since a printed line has its own spaces and ligatures."""
    return re.sub(r"[\s\u2060\u00ad]", "", unicodedata.normalize("NFKC", text))


def text_of_size(page, smallest: float) -> str:
    """The text of a printed page in letters of at least this size, in points."""
    texts = []

    def collect(text, outer, inner, font, size):
        if size * inner[0] * outer[0] >= smallest:
            texts.append(text)

    page.extract_text(visitor_text=collect)
    return without_spaces("".join(texts))


def heading_regex(heading) -> str:
    """A pattern for a heading, without the letters of its formulas, which have other sizes."""
    for formula in heading.select("math"):
        formula.replace_with("\0")
    return ".*?".join(map(re.escape, without_spaces(heading.get_text()).split("\0")))


def assert_page_numbers(pdf: PdfReader, page: BeautifulSoup, count: int) -> None:
    """Assert that random entries of the contents name the page of their heading.

    The number is read off the printed contents, and the heading found by its large letters.
    """
    entries = [heading_regex(entry.span) for entry in page.select(".book-contents a")]
    first_page = next(
        n for n, page in enumerate(pdf.pages) if re.search(entries[0], text_of_size(page, 11))
    )
    contents_text = "".join(text_of_size(page, 9) for page in pdf.pages[1:first_page])
    position, spans = 0, []
    for entry in entries:
        match = re.compile(entry).search(contents_text, position)
        assert match, (
            f"{entry} is not in the contents after {contents_text[position - 40 : position]}"
        )
        spans.append(match.span())
        position = match.end()
    ends = [start for start, _ in spans[1:]] + [len(contents_text)]
    numbers = [
        re.match(r"\d+", contents_text[end:stop])
        for (_, end), stop in zip(spans, ends, strict=True)
    ]
    for n in sorted(random.Random(0).sample(range(len(entries)), min(count, len(entries)))):
        number = int(numbers[n][0])
        assert re.search(entries[n], text_of_size(pdf.pages[number - 1], 11)), (entries[n], number)


def assert_destinations(pdf: PdfReader, page: BeautifulSoup) -> None:
    """Assert that every link of the bound page is in the PDF and leads to a page or the web."""
    hrefs = {link["href"] for link in page.select("a")}
    destinations = {name[1:] for name in pdf.named_destinations}
    notes = [note.get_object() for page in pdf.pages for note in page.get("/Annots", ())]
    links = [note for note in notes if note["/Subtype"] == "/Link"]
    inner = {str(link["/Dest"])[1:] for link in links if "/Dest" in link}
    assert inner == {href[1:] for href in hrefs if href.startswith("#")} <= destinations
    outer = {link["/A"]["/URI"].rstrip("/") for link in links if "/A" in link}
    assert len(outer) == len({href.rstrip("/") for href in hrefs if not href.startswith("#")})


@pytest.fixture
def browser():
    """Skip the test without a browser that prints."""
    if chromium_path() is None:
        pytest.skip(lacks("a browser"))


@pytest.mark.usefixtures("browser")
def test_a_small_book_has_its_numbers_links_and_outline(book, bound_page):
    index = book / "_build" / "html" / "index.html"
    for _ in range(2):
        pdf = PdfReader(io.BytesIO(print_book(book).read_bytes()))
    assert_page_numbers(pdf, bound_page, count=50)
    assert_destinations(pdf, bound_page)
    titles = [entry.title for entry in pdf.outline if not isinstance(entry, list)]
    assert titles[2:] == ["1. First", "Exercises: first things", *HELP_TITLES.values()]
    # the front page links to it once, below the zip
    paragraphs = BeautifulSoup(index.read_text(), "html.parser").select("article > p")
    assert [paragraph.a and paragraph.a["href"] for paragraph in paragraphs] == [ZIP, PDF, None]
    assert f"a book of {len(pdf.pages)} pages" in paragraphs[1].text
    # what is left stands where a reader looks: nothing else is in the folder
    assert [path.name for path in (book / "_build").iterdir()] == ["html"]


@pytest.mark.slow
@pytest.mark.usefixtures("browser")
def test_the_course_as_a_book_is_whole_and_leads_where_it_says(site, tmp_path):  # noqa: F811
    for name in ("_toc.yml", "_config.yml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(site, tmp_path / "_build" / "html")
    page = BeautifulSoup(book_html(tmp_path, bind(tmp_path, HOME)), "html.parser")
    assert_links_and_ids(page)
    files = {*re.findall(r"file: (\S+)", (ROOT / "_toc.yml").read_text())}
    assert {element["id"] for element in page.select("article")} == files - {*EXCLUDED_PAGES} | {
        *HELP_TITLES
    }
    # each figure that moves says so, and has what it shows without a script
    figures = page.select(".attncourse-figure")
    assert len(figures) > 20 and all(figure.select_one(".state") for figure in figures)
    # each exercise has its sheet and its help, each question its answer
    exercises, questions = page.select(".exercise"), page.select(".question")
    assert len(exercises) == len(page.select(".exercise ~ div > .space")) > 90
    assert len(page.select("#hints h3")) == len(page.select("#solutions h3")) == len(exercises)
    assert len(page.select("#answers h3")) == len(questions) > 70
    assert not page.select("form[hidden], details:not([open])")
    pdf = PdfReader(io.BytesIO(print_book(tmp_path).read_bytes()))
    assert_page_numbers(pdf, page, count=50)
    assert_destinations(pdf, page)
