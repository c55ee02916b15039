"""What the files of the site hold, read without a browser: links, titles, what search engines see,
the ways between chapters, exercises and the reference."""

import json
import posixpath
import re
from html import unescape
from itertools import pairwise
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit
from xml.etree import ElementTree

import nbformat
import pytest
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from sphinx_external_toc.parsing import parse_toc_yaml

from attncourse.course import exercises
from attncourse.course.claim import claims
from attncourse.course.quiz import chosen_questions
from tests import ROOT
from tests.site.addresses import KEPT, addresses
from tests.test_layout import TEXTS, slugs
from tools.colab import last_run
from tools.extensions.report import version
from tools.urls import ERROR_FORM, repository_url, site_url

HOME = f"{site_url(repository_url())}/"
BASE_PATH = urlsplit(HOME).path
CHAPTERS = slugs(ROOT)
CHAPTER, EXERCISES = "chapters/dot_product.html", "exercises/dot_product.html"
# heard alone, they do not say what is in a box
SHOWS_OR_HIDES = r"((show|hide|toggle)( hidden content| code cell \w+)? ?)+"
VAGUE_LABEL = re.compile(
    rf"({SHOWS_OR_HIDES}|hint|solution|answer|details|more)? ?\d*", re.IGNORECASE
)
# Sphinx makes them itself, and they are found through the others
GENERATED = {"404.html", "search.html"}
# what the model of a figure writes, and a command of VS Code's
OTHERS_WORDS = ".attncourse-figure noscript, .to-run em"
# an apostrophe, or a quotation mark that opens; other straight ones are primes, or code in a hint
STRAIGHT = re.compile(r".*(?:[a-z]{2}'(?![,)])|(?<![^\s(])'[a-z]).*", re.IGNORECASE)
# spaces that do not break, joiners, marks of direction
INVISIBLE = re.compile("[\u00a0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]")
SECTION_BY_TERM = {
    # linked where it is compared
    "term-dot-product-score": "additive-scores-came-first",
    # emphasised where it is defined, which is not where its word comes first
    "term-mask": "a-mask-says-who-may-attend-to-whom",
}
# what is numbered on a page, and how the notebook writes it
NUMBER_PATTERNS = {
    "h1 .section-number, h2 .section-number, h3 .section-number": r"^#+ ([\d.]+) ",
    ".eqno": r"\\tag\{([\d.]+)\}",
    ".caption-number": r"^\*\*((?:Fig\.|Table) [\d.]+)\.\*\*",
}


@pytest.fixture(scope="module")
def pages(site, names) -> dict[str, BeautifulSoup]:
    """Every page, parsed; the tests share them and must not change them."""
    texts = {name: (site / name).read_text("utf-8") for name in names}
    return {name: BeautifulSoup(text, "html.parser") for name, text in texts.items()}


def test_what_a_reader_has_kept_as_an_address_is_still_there(pages):
    kept = {*KEPT.read_text("utf-8").splitlines()}
    assert len(kept) > 1000 and not kept - addresses(pages)


def test_an_anchor_that_has_moved_is_at_the_line_that_leads_to_it(pages):
    moved = 0
    for name, page in pages.items():
        for link in page.select(".chapter-end ul.deeper a"):
            target = pages[
                posixpath.normpath(posixpath.join("chapters", urlsplit(link["href"]).path))
            ]
            section = target.find(id=urlsplit(link["href"]).fragment)
            anchors = [anchor["id"] for anchor in link.select("span[id]")]
            assert all(anchor == section["id"] or section.find(id=anchor) for anchor in anchors), (
                name
            )
            moved += len(anchors)
    assert moved


def test_no_link_is_dead(pages, site):
    ids = {name: {element["id"] for element in page.select("[id]")} for name, page in pages.items()}
    links = {
        (name, element.get("href") or element.get("src"))
        for name, page in pages.items()
        for element in page.select("[href], [src]")
    }
    dead = []
    for name, address in sorted(links):
        link = urlsplit(address)
        if link.scheme or link.netloc:
            continue
        path = unquote(link.path).removeprefix(BASE_PATH)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        if (site / path).is_dir():
            path = posixpath.normpath(f"{path}/index.html")
        if not (site / path).is_file():
            dead.append(f"{name}: {address}: the site has no file {path}")
        elif link.fragment and path in ids and unquote(link.fragment) not in ids[path]:
            dead.append(f"{name}: {address}: {path} has no #{link.fragment}")
    assert dead == []


def test_every_page_has_a_head_of_its_own_its_landmarks_and_boxes_that_say_what_they_hide(pages):
    titles, descriptions = set(), set()
    for name, page in pages.items():
        assert page.html["lang"] == "en", name
        (heading,) = (element.text.removesuffix("#") for element in page.select("h1"))
        course = "Self-attention, measured"
        ours = course if name == "index.html" else f"{heading} — {course}"
        assert page.title.text == ours and ours not in titles, name
        titles.add(ours)
        assert page.select_one("link[rel=icon]")["href"].endswith("favicon.svg"), name
        assert page.select_one("nav[aria-label=Home] a.logo svg"), name
        assert page.select_one("#pst-skip-link a[href='#main-content']"), name
        assert page.select_one("main#main-content"), name
        assert "BSD-3-Clause" in page.select_one("footer .copyright").text, name
        ids = [element["id"] for element in page.select("[id]")]
        assert len(set(ids)) == len(ids), f"{name}: {[id for id in ids if ids.count(id) > 1]}"
        boxes = [" ".join(element.text.split()) for element in page.select("article summary")]
        assert [box for box in boxes if VAGUE_LABEL.fullmatch(box)] == [], name
        if name == "404.html":
            assert page.select_one("meta[name=robots]")["content"] == "noindex"
            # it is shown at any depth
            links = [tag.get("href") or tag.get("src") for tag in page.select("[href], [src]")]
            assert all(re.match(f"{BASE_PATH}|https:|#|data:", link) for link in links), links
        if name in GENERATED:
            continue
        words = page.select_one("meta[name=description]")["content"]
        assert 10 < len(words) <= 200 and words not in descriptions, f"{name}: {words}"
        # its own words, or else its opening
        assert not (name.startswith(("chapters/", "deeper/")) and words in page.article.text), name
        descriptions.add(words)
        address = HOME if name == "index.html" else HOME + name
        assert page.select_one("link[rel=canonical]")["href"] == address, name
        preview = {tag["property"]: tag["content"] for tag in page.select("meta[property^='og:']")}
        assert preview["og:url"] == address, name
        assert preview["og:description"] == words, name
        assert preview["og:title"] == re.sub(r"^\d+\. ", "", heading), name


def test_every_page_has_one_link_that_reports_an_error_with_its_address_and_the_version(pages):
    for name, page in pages.items():
        (link,) = page.select(f"a[href^='{repository_url()}/issues/']")
        assert link.text.strip() == "Report an error", name
        form = dict(parse_qsl(urlsplit(link["href"]).query, keep_blank_values=True))
        assert form == {
            "template": ERROR_FORM,
            "title": f"Error in {page.h1.text.removesuffix('#')}",
            "address": HOME if name == "index.html" else HOME + name,
            "section": "",
            "version": version(),
        }, name


def test_the_site_map_has_every_page_with_a_text(site, names):
    locations = ElementTree.parse(site / "sitemap.xml").findall("{*}url/{*}loc")
    mapped = {location.text.removeprefix(HOME) or "index.html" for location in locations}
    assert mapped == {*names} - GENERATED


def test_llms_txt_asks_for_tutors_and_lists_each_page_in_order_with_what_it_is_about(pages, site):
    text = (site / "llms.txt").read_text("utf-8")
    title, summary, tutors, *parts = text.strip().split("\n\n")
    toc = parse_toc_yaml(ROOT / "_toc.yml")
    assert title == "# Self-attention, measured" and summary.startswith("> Learn how attention")
    assert "Do not give the answer to an exercise" in tutors
    assert f"{repository_url()}/blob/main/exercises/AGENTS.md" in tutors
    captions = [tree.caption for tree in toc.root.subtrees]
    assert parts[::2] == [f"## {caption}" for caption in captions]
    lines = "\n".join(parts[1::2]).splitlines()
    entries = [re.fullmatch(r"- \[(.+)\]\((.+)\): (.+)", line).groups() for line in lines]
    names = [f"{page}.html" for page in toc if page != "index"]
    assert [address for _, address, _ in entries] == [HOME + name for name in names]
    for name, (heading, _, words) in zip(names, entries, strict=True):
        head = pages[name].head
        assert head.select_one("meta[property='og:title']")["content"] == heading
        assert head.select_one("meta[name=description]")["content"] == words


def test_a_function_and_its_section_lead_to_each_other(pages):
    reference, count = pages["reference/api.html"], 0
    for name in pages:
        for link in pages[name].select(".in-the-reference a"):
            count += 1
            section = link.find_parent("section")["id"]
            entry = reference.find(id=urlsplit(link["href"]).fragment).parent
            back_link = entry.find("a", href=f"{posixpath.relpath(name, 'reference')}#{section}")
            # the pages of the reference have no numbers
            beginning = (
                "See" if name.startswith("reference/") else r"Taught in section \d+(\.\d+)*,"
            )
            assert re.match(rf"{beginning} \w", back_link.parent.text), link
    assert count >= 6


def test_a_claim_holds_its_box_has_no_code_its_entry_leads_to_its_section_and_back(pages):
    entries = {
        element["id"]: element for element in pages["reference/claims.html"].select(".listed-claim")
    }
    assert list(entries) == [claim.id for slug in CHAPTERS for claim in claims(slug)]
    for name, entry in entries.items():
        assert entry.strong.text == "Holds.", entry.text
        link = entry.select("p")[-1].find_all("a")[-1]
        assert re.match(r"section \d+(\.\d+)*, \w", link.text), name
        chapter, section = link["href"].removeprefix("../").split("#")
        box = pages[chapter].find(id=section).find(id=name)
        if box:
            assert not box.find_previous("div", class_="cell").select(".cell_input")
            assert box.find("a", href=f"../reference/claims.html#{name}")
            # measured once for both
            quantities = [row.select("td")[1].text for row in box.select("tbody tr")]
            assert quantities and all(f": {quantity} (" in entry.text for quantity in quantities), (
                entry.text
            )


def test_a_term_says_where_it_is_defined_or_else_first_linked(pages):
    page = pages["reference/glossary.html"]
    links = [entry.select("p")[-1].a for entry in page.select("dl.glossary > dd")]
    assert len(links) > 20 and all("#" in link["href"] for link in links)
    for term, section in SECTION_BY_TERM.items():
        entry = page.find(id=term).find_next("dd")
        assert entry.select("p")[-1].a["href"] == f"../{CHAPTER}#{section}", term


def test_search_engines_and_the_search_read_plain_text(pages, site):
    script = (site / "sections.js").read_text("utf-8")
    sections = json.loads(script.removeprefix("showFound(").removesuffix(")"))
    # other pages write of TeX, of shells and of strings
    chapters = [
        section
        for name, page_sections in sections.items()
        if name.startswith(("chapters/", "deeper/"))
        for section in page_sections
    ]
    assert [text for _, _, text in chapters if re.search(r"[\\$]", text)] == []
    for name in {*pages} - GENERATED:
        for tag in pages[name].select("meta[name='description'], meta[property^='og:']"):
            text = tag["content"]
            assert text and not re.search(r"[\\$']|  |\( ?\)", text), (name, text)
    large = pages["reference/large_scores.html"].select_one("meta[name='description']")
    assert "divides the scores by √d_k, because" in large["content"]


def test_what_can_be_copied_as_code_holds_no_character_that_is_not_seen(pages, site):
    codes = {name: page.select("pre, code, kbd, samp, .program") for name, page in pages.items()}
    # what other numbers put into a question
    for path in (site / "_static" / "questions").glob("*.js"):
        bodies = re.findall(r"<code.*?</code>|<pre>.*?</pre>", path.read_text("utf-8"), re.DOTALL)
        codes[path.name] = [BeautifulSoup("".join(bodies), "html.parser")]
    pages_with_invisible = [
        name for name, elements in codes.items() if any(INVISIBLE.search(x.text) for x in elements)
    ]
    assert pages_with_invisible == []


def test_a_chapter_and_its_exercises_have_one_name(pages):
    for slug in CHAPTERS:
        name = pages[f"chapters/{slug}.html"].h1.get_text().strip("#").lstrip("0123456789. ")
        topic = pages[f"exercises/{slug}.html"].h1.text.removeprefix("Exercises: ").strip("#")
        # within a sentence a title begins with a small letter, where that is no name
        assert topic in (name, name[0].lower() + name[1:]), slug
        link = pages["index.html"].select_one(f".course-chapters a[href='exercises/{slug}.html']")
        assert link.text.endswith(f" exercises on {topic}")


def test_apostrophes_are_curly_in_text_in_figures_and_in_what_is_read_aloud(pages):
    for name, page in pages.items():
        article = BeautifulSoup(str(page.select_one("article")), "html.parser")
        skipped = f"pre, code, math, script, style, .sig, {OTHERS_WORDS}"
        for element in article.select(skipped):
            element.decompose()
        texts = [
            article.get_text(),
            *(
                element[attribute]
                for attribute in ("alt", "aria-label", "title", "placeholder")
                for element in article.select(f"[{attribute}]")
            ),
        ]
        assert [straight for text in texts for straight in STRAIGHT.findall(text)] == [], name


def test_an_exercise_page_holds_each_exercise_once_and_folds_what_helps(pages, site):
    page, names = pages[EXERCISES], list(exercises("dot_product"))
    boxes = [" ".join(box.text.split()) for box in page.select(".exercise .admonition-title")]
    assert boxes == [f"Exercise 1.{number} ({name})" for number, name in enumerate(names, 1)]
    folded = [element.text for element in page.select("summary")]
    for name in names:
        starts = [f"Hint {level} for {name}: " for level in (1, 2, 3)]
        for start in [*starts, f"Worked solution of {name}"]:
            assert len([text for text in folded if text.startswith(start)]) == 1
    assert "raise NotImplementedError" in page.text
    assert page.h1.text == "Exercises: dot-product attention#"
    assert not page.select("section .section-number")
    assert page.find(
        "a", href=re.compile("/edit/[^/]+/attncourse/course/dot_product/exercises/index.md")
    )
    notebook = re.compile(r"https://colab.*/exercises/dot_product\.ipynb")
    assert len(page.find_all("a", href=notebook)) == 2
    assert ("We last ran the code" in page.select_one(".to-run").text) == bool(last_run(ROOT))
    assert not page.select(".dropdown-launch-buttons")


def test_each_section_of_the_evening_ends_with_a_link_to_the_next(pages):
    links = pages["index.html"].select(".evening a")
    minutes = [int(link.find_next("span").text.removesuffix(" min")) for link in links]
    total = re.match(r"About (?:(\d+) h ?)?(?:(\d+) min)?", links[0].find_previous("p").text)
    hours, rest = (int(part or 0) for part in total.groups())
    # each is rounded, and so is the sum
    assert abs(sum(minutes) - 60 * hours - rest) <= 2.5 + len(links) / 2
    assert len(links) > 10 and min(minutes) >= 1
    for link, following in pairwise([*links, None]):
        name, anchor = link["href"].split("#")
        section = pages[name].find(id=anchor)
        heading = section.find(["h2", "h3"]).text.removesuffix("#")
        assert link.text == re.sub(r"^([\d.]+)\. ", r"\1 ", heading)
        last = section.find_all(recursive=False)[-1]
        assert last["class"] == ["evening-next"]
        if following:
            assert urljoin(name, last.select("a")[-1]["href"]) == following["href"]
        else:
            assert "end of the evening" in last.text


def test_a_chapter_and_its_exercises_lead_to_each_other(pages):
    for name, selector, target in (
        (CHAPTER, "a.right-next", EXERCISES),
        (EXERCISES, "a.left-prev", CHAPTER),
    ):
        assert pages[name].select_one(selector)["href"] == f"../{target}"
        assert pages[name].select_one(".page-time a")["href"] == f"../{target}"


def test_code_in_a_hint_is_shown_as_code(pages):
    hints = [
        summary.find_parent("details")
        for name in pages
        if name.startswith("exercises/")
        for summary in pages[name].select("summary")
        if summary.text.startswith("Hint ")
    ]
    assert len(hints) == 3 * sum(len(exercises(slug)) for slug in CHAPTERS)
    assert not [hint.text for hint in hints if "`" in hint.text]
    assert sum(bool(hint.select("p code")) for hint in hints) > 20


def test_a_week_s_commands_are_of_what_it_sets_and_reads(pages):
    weeks = pages["reference/schedules.html"].select("article ol > li")
    for week in weeks:
        grade, *quiz = (element.text for element in week.select("details pre"))
        exercise_line, *_ = (
            element for element in week.select("ul > li") if element.text.startswith("Solve")
        )
        graded_names = re.findall(r"--exercise (\S+)", grade)
        assert graded_names == [link.text for link in exercise_line.select("a")]
        read = [
            pages[urljoin("reference/", link["href"])]
            for link in week.select("ul > li a:not(:has(code))")
        ]
        asked = [box["data-question"] for page in read for box in page.select(".question")]
        for command in quiz:
            names = re.findall(r"--questions (\S+)", command)
            assert names == asked
            assert {question.id for question in chosen_questions([], names)} == {*names}
        assert bool(quiz) == bool(read)
    assert len(weeks) == 16


def test_every_sign_of_a_formula_is_in_the_font(site, names):
    font = TTFont(site / "_static" / "STIXTwoMath.woff2")
    signs = set()
    for name in names:
        for formula in re.findall(r"<math.*?</math>", (site / name).read_text("utf-8"), re.DOTALL):
            signs |= {*unescape(re.sub("<.*?>", "", formula))}
    # not drawn: spaces, and what tells programs that a function is applied
    undrawn = {chr(code) for code in range(0x2061, 0x2065)} | {"\n", "\u2009"}
    assert {sign for sign in signs - undrawn if ord(sign) not in font.getBestCmap()} == set()


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_has_the_numbers_and_the_links_of_its_page(pages, text):
    page = pages[f"{text.parent.name}/{text.stem}.html"]
    notebook = nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    text = "\n".join(cells)
    for selector, source in NUMBER_PATTERNS.items():
        page_numbers = [element.get_text().strip(" ()#") for element in page.select(selector)]
        assert sorted(page_numbers) == sorted(re.findall(source, text, re.MULTILINE)), selector
    for reference in page.select(".std-numref, a[href*='#equation-']:not(.headerlink)"):
        assert reference.get_text() in text
    home_url = site_url(notebook.metadata["attncourse"]["repository"])
    for name, anchor in re.findall(rf"\({home_url}/([\w/]+\.html)(?:#([\w.-]+))?\)", text):
        assert pages[name].find(id=anchor) or not anchor
