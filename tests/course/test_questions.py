"""The questions of the pages: each variant knows its right answer and every mistake.

Answers are judged by the script that the pages load, in Node.
"""

import gzip
import json
import math
import re
import subprocess
from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
import torch
from bs4 import BeautifulSoup

from attncourse.course.aims import AIMS
from attncourse.course.question import all_questions, chapters, plain, questions
from tests import ROOT
from tools import questions as pages
from tools.extensions.formulas import NODE
from tools.extensions.questions import page_of
from tools.questions import (
    code_html,
    example_number,
    in_full,
    join_lines,
    load,
    question_places,
)

HERE, ANSWERS = Path(__file__).parent, ROOT / "tools/theme/scripts/answers.js"
MAX_ELEMENTS, MAX_BYTES, MAX_ORDERS = 350, 40 * 1024, 4 * 1024
MIN_QUESTIONS = 7


@pytest.fixture(scope="module")
def judge():
    """The page's own judge, as a function that returns its verdict on an answer."""
    command = [str(NODE), str(HERE / "judge.js"), str(ANSWERS)]
    with subprocess.Popen(
        command, text=True, encoding="utf-8", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as node:
        assert node.stdin and node.stdout
        request_pipe, reply_pipe = node.stdin, node.stdout

        def judge(**request):
            print(json.dumps(request), file=request_pipe, flush=True)
            return json.loads(reply_pipe.readline())

        yield judge
        request_pipe.close()


def typed_answer(answer) -> object:
    """An answer as a reader types it: numbers with six digits, the rest unchanged."""
    return [f"{x:.6g}" for x in answer] if isinstance(answer, list) else answer


def test_what_a_page_shows_is_drawn_once_for_a_state_of_the_course(monkeypatch, tmp_path):
    loaded_chapters = []
    monkeypatch.setattr(pages, "CACHE", tmp_path / "questions")
    monkeypatch.setattr(
        pages, "page_data", lambda chapter: loaded_chapters.append(chapter) or {"one": {}}
    )
    load = pages.load.__wrapped__
    assert load("linear") == load("linear") == {"one": {}} and loaded_chapters == ["linear"]
    monkeypatch.setattr(pages, "package_digest", lambda: "edited")
    assert load("linear") == {"one": {}} and loaded_chapters == ["linear"] * 2
    assert load("cooking") == {}


def test_numbers_are_rounded_such_that_machines_agree():
    rounded = plain((torch.tensor([1 / 3, -1e-17]).double(), 20.0, 7, "1/3"))
    assert json.dumps(rounded) == '[[0.333333, 0.0], 20.0, 7, "1/3"]'
    # halfway between two, as 1/128 is, with what the arithmetic of a machine adds
    assert plain(1 / 128 + 1e-15) == plain(1 / 128) == plain(1 / 128 - 1e-15)


@pytest.mark.parametrize("chapter", chapters())
def test_every_variant_accepts_what_is_right_and_knows_each_mistake(chapter, judge):
    misjudged = []
    for name, question in load(chapter).items():
        for number, variant in enumerate(question["variants"]):
            if question["kind"] == "order":
                continue
            for index, answer in enumerate([variant["right"], *variant["mistakes"]]):
                verdict = judge(question=question, variant=variant, answer=typed_answer(answer))
                expected = (
                    {"status": "mistake", "place": index - 1} if index else {"status": "right"}
                )
                if verdict != expected:
                    misjudged.append(f"{name}, variant {number}: {answer} gets {verdict}")
    assert not misjudged, "\n".join(misjudged)


@pytest.mark.parametrize("chapter", chapters())
def test_an_order_of_lines_gets_the_verdict_of_what_it_computes(chapter, judge):
    for name, question in load(chapter).items():
        if question["kind"] != "order":
            continue
        lines = len(question["variants"][0]["lines"])
        orders = [*permutations(range(lines), lines - 1)]
        verdicts = [
            judge(question=question, variant=question["variants"][0], answer=order)
            for order in orders
        ]
        right = [
            order
            for order, verdict in zip(orders, verdicts, strict=True)
            if verdict["status"] == "right"
        ]
        assert orders[0] in right and len(right) < 10, f"{name}: {right}"
        mistake_indices = {
            verdict["place"] for verdict in verdicts if verdict["status"] == "mistake"
        }
        assert mistake_indices == {*range(len(question["says"]))}, (
            f"{name}: a sentence that no order hears"
        )
        assert len(question["table"]) == len(orders) <= MAX_ORDERS


@pytest.mark.parametrize("chapter", chapters())
def test_a_chapter_asks_enough_of_each_kind_where_it_belongs(chapter):
    by_name = questions(chapter)
    assert question_places(ROOT, chapter).keys() == {*by_name}
    for name, question in by_name.items():
        assert question.aim in AIMS[chapter], f"{name}: {question.aim} is no aim of {chapter}"
        assert 1 <= question.minutes <= 3
    kinds = Counter(question.kind for question in by_name.values())
    assert (
        len(by_name) >= MIN_QUESTIONS and kinds["line"] + kinds["order"] >= 1 and kinds["maps"] >= 1
    )
    opening_kinds = [question.kind for question in by_name.values() if question.placement]
    assert len(opening_kinds) == 2 and not {"choice", "maps", "line"} & {*opening_kinds}


def test_no_stem_serves_two_questions():
    stems = Counter(
        re.sub(r"\W+", " ", question.asks).strip().lower() for question in all_questions()
    )
    assert [stem for stem, count in stems.items() if count > 1] == []


def test_no_sentence_tells_the_answer():
    texts = [
        f"{chapter}.{name}: {answer}"
        for chapter in chapters()
        for name, question in load(chapter).items()
        for variant in question["variants"]
        for answer in texts_of(question["kind"], variant)
        if re.search(
            rf"(?<![\w.]){re.escape(answer)}(?![\w.])",
            " ".join([*question["says"], question["check"]]),
        )
    ]
    assert not texts, texts


def texts_of(kind, variant):
    """The texts of the right answer; a digit or two may stand in any sentence."""
    right = variant["right"]
    if kind == "choice":
        return [variant["options"][right]]
    numbers = right if kind in ("number", "row") else []
    return [text for x in numbers if len(text := f"{x:.4g}") > 2]


@pytest.mark.parametrize("chapter", chapters())
def test_questions_are_light(chapter):
    page = page_of(chapter)
    elements = sum(len(re.findall(r"<[a-z]", page.box(name))) for name in page.questions)
    assert elements <= MAX_ELEMENTS * max(1, len(page.questions) / MIN_QUESTIONS)
    assert len(gzip.compress(page.script.encode())) <= MAX_BYTES


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.25", [0.25]), (" 1/4 ", [0.25]), ("0,25", [0.25]), ("25 %", [0.25]), ("−2", [-2]),
        (".5", [0.5]), ("1,152", [1.152, 1152]), ("-3/8", [-0.375]), ("2e3", [2000]),
        ("ln 1", [0]), ("-2 ln 1", [0]), ("four", []), ("", []), ("1/0", []), ("1/2/3", [1 / 6]),
        ("12,5 %", [0.125]), ("-2 1/2", [-2.5]), ("−2½", [-2.5]), ("⅓", [1 / 3]), ("1⁄3", [1 / 3]),
        ("≈ 0.33", [0.33]), ("8 tokens", [8]), ("- 2", [-2]), ("1 000", [1000]), ("2³", [8]),
        ("1 / 3", [1 / 3]), ("2 ln 1", [0]), ("1/6 ≈ 0.167", []), ("4:1", []),
        ("2rad", [2]), ("9x", [9]), ("9 ×", [9]), ("a = 10", [10]),
        ("α≈0.3", [0.3]), ("q·k = −6", [-6]), ("w_1: 4", [4]), ("l = ln 1", [0]),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(text, numbers, judge):
    parsed = judge(text=text)
    assert parsed == pytest.approx(numbers)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2^3", 8), ("2**3", 8), ("2^-3", 1 / 8), ("10⁻³", 1e-3), ("-2^2", -4), ("2^3^2", 512),
        ("(-2)^2", 4), ("24*12*2", 576), ("24 x 12 × 2", 576), ("8/2/2", 2), ("7 - 2 - 1", 4),
        ("1 + 2*3", 7), ("2*-3", -6), ("e^5", math.exp(5)), ("exp(5)", math.exp(5)), ("e", math.e),
        ("EXP(-1)", 1 / math.e), ("sqrt(2)", 2**0.5), ("1/sqrt(64)", 1 / 8), ("2√4", 4),
        ("pi", math.pi), ("2pi", 2 * math.pi), ("π/2", math.pi / 2), ("(1 + 2)/(3 + 1)", 0.75),
        ("ln(3)/2", math.log(3) / 2), ("1/2 ln 3", math.log(3) / 2),
        ("2 ln 3 + ln(2)", math.log(18)), ("50 %*3", 1.5), ("3 1/2 - 1/2", 3),
        ("1,5*2,5", 3.75), ("1e-3", 1e-3), ("1 000/8", 125),
        ("n·d = 3*4", 12), ("2^3 tokens", 8), ("(1+2) tokens", 3),
    ],
)  # fmt: skip
def test_a_calculation_is_evaluated(text, number, judge):
    assert judge(text=text) == pytest.approx([number])


@pytest.mark.parametrize(
    "text",
    ["--2", "2^^3", "2^", "0/0", "1/0", "()", "()^0", "(1", "1)", "1 2", "5 % 3", "2.5.3",
     "sqrt(-1)", "(-8)^(1/3)", "9^9^9^9", "1e400", "sin(1)", "e5", "alert(1)",
     "constructor", "*2", "-", "%",
     "(" * 100_000, "9" * 100_000, "1+" * 100_000 + "1"],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_what_is_no_number_is_not_read_at_whatever_length(text, judge):
    assert judge(text=text) == []


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("3*2^-4", {"status": "right"}), ("3/sqrt(256)", {"status": "right"}),
        ("e^2", {"status": "mistake", "place": 0}), ("24*12", {"status": "mistake", "place": 1}),
        # whoever calculates has not rounded, nor cut off
        ("288", {"status": "mistake", "place": 1}), ("144.2*2", {"status": "unknown"}),
        ("0.18", {"status": "cut"}), ("1*0.18", {"status": "unknown"}),
        ("2^^3", {"status": "unread"}),
    ],
)  # fmt: skip
def test_a_calculation_is_right_or_a_known_mistake_by_its_value(text, verdict, judge):
    question = {"kind": "number", "tolerance": 0.001, "table": ""}
    variant = {"right": [3 / 16], "mistakes": [[math.exp(2)], [288]]}
    assert judge(question=question, variant=variant, answer=[text]) == verdict


@pytest.mark.parametrize(
    ("chapter", "name", "guesses"),
    [
        # all scores taken for equal
        ("dot_product", "weight_of_a_key", ["1/3"]),
        # that, half of the weight, and a sign that was lost
        ("positional", "position_of_an_output", ["{m}", "{base}", "{base}*({m} + 1)"]),
    ],
)
def test_each_likely_guess_has_a_sentence_of_its_own(chapter, name, guesses, judge):
    question = load(chapter)[name]
    for variant in question["variants"]:
        base, *_, m = re.findall(r"\d+", variant["asks"])
        texts = [guess.format(base=base, m=m) for guess in guesses]
        verdicts = [judge(question=question, variant=variant, answer=[text]) for text in texts]
        assert {verdict["status"] for verdict in verdicts} == {"mistake"}, variant["asks"]
        assert len({verdict["place"] for verdict in verdicts}) == len(guesses), variant["asks"]


def test_what_is_said_of_a_map_has_room_for_its_number():
    for question in all_questions():
        if question.kind == "maps":
            for sentence in question.says:
                assert len(re.findall(r"\bthis map\b", sentence, re.I)) == 1, sentence


@pytest.mark.parametrize(
    ("text", "status"),
    [("1/3", "right"), ("0.33", "right"), ("0,333", "right"), ("33 %", "right"),
     ("0.3", "digits"), ("0.4", "unknown"), ("1", "unknown"), ("0", "unknown"),
     ("0.0", "unknown"), ("2/3", "unknown"), ("1/4", "unknown"), ("ln 1", "unknown"),
     ("l = 0.3", "digits"), ("scale = 33 %", "right"), ("a third", "unread")],
)  # fmt: skip
def test_a_third_is_right_with_two_digits_and_needs_more_with_one(text, status, judge):
    question = {"kind": "number", "tolerance": 0.005, "table": ""}
    variant = {"right": [1 / 3], "mistakes": []}
    assert judge(question=question, variant=variant, answer=[text])["status"] == status


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        # a truncated number is not rounded, but nearly right
        ("0.18", {"status": "cut"}), ("0.19", {"status": "digits"}),
        ("0.17", {"status": "unknown"}),
        # 13 is not 13.5 rounded, and 14 is; half of it in a decimal may go either way
        ("13", {"status": "unknown"}), ("14", {"status": "mistake", "place": 0}),
        ("13.5", {"status": "mistake", "place": 0}), ("7", {"status": "unknown"}),
    ],
)  # fmt: skip
def test_a_number_may_be_rounded_but_not_cut_off(text, verdict, judge):
    question = {"kind": "number", "tolerance": 0.002, "table": ""}
    variant = {"right": [0.1875], "mistakes": [[13.5]]}
    assert judge(question=question, variant=variant, answer=[text]) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("20", {"status": "mistake", "place": 0}), ("20,0", {"status": "mistake", "place": 0}),
        ("20,000", {"status": "comma"}), ("7,500", {"status": "comma"}),
        ("2,000", {"status": "mistake", "place": 1}), ("2,500", {"status": "right"}),
        ("3,250", {"status": "right"}),
    ],
)  # fmt: skip
def test_a_comma_before_three_digits_is_asked_about_where_it_matters(text, verdict, judge):
    question = {"kind": "number", "tolerance": 0.002, "table": ""}
    variant = {"right": [2.5], "mistakes": [[20], [2000]]}
    if text.startswith("3"):
        variant["right"] = [3250]
    assert judge(question=question, variant=variant, answer=[text]) == verdict


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        (["1/4", "1"], {"status": "unknown"}),
        (["-4.4", "0"], {"status": "mistake", "place": 0}),
        (["0.1", "1"], {"status": "digits"}),
        (["1", "1/8"], {"status": "exchanged"}),
        (["576", "1"], {"status": "unknown"}),
    ],
)
def test_a_known_mistake_may_be_rounded_too(texts, verdict, judge):
    question = {"kind": "row", "tolerance": 0.005, "table": ""}
    variant = {"right": [1 / 8, 1], "mistakes": [[-4.394, 0]]}
    assert judge(question=question, variant=variant, answer=texts) == verdict


@pytest.mark.parametrize("chapter", chapters())
def test_another_one_is_another_example_and_no_placeholder_is_an_answer(chapter):
    for name, question in load(chapter).items():
        variants = question["variants"]
        example_texts = [
            (variant["asks"], sorted(map(str, variant["options"]))) for variant in variants
        ]
        examples = example_texts[: question["examples"]]
        assert all(example not in examples[:i] for i, example in enumerate(examples)), name
        assert all(example in examples for example in example_texts), name
        if question["kind"] == "number":
            box = page_of(chapter).box(name)
            (placeholder,) = re.findall(r'placeholder="such as ([\d/]+)"', box)
            answers = [number for variant in variants for number in variant["right"]]
            assert all(abs(Fraction(placeholder) - number) > 1e-3 for number in answers), name


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([0.5], "1/2, or 0.5"), ([31 / 32], "31/32, about 0.9688"), ([-2.0], "−2"),
        ([0.7000000477], "7/10, or 0.7"), ([0.68], "0.68"), ([2.718], "2.718"),
        ([12.000000000000004], "12"), ([1 / 8, 1, 1 / 8], "1/8, 1, 1/8 (or 0.125, 1, 0.125)"),
        ([-0.96, 0.28], "−0.96, 0.28"),
    ],
)  # fmt: skip
def test_an_answer_is_a_fraction_where_that_says_more(numbers, text):
    assert in_full(numbers) == text


def test_a_placeholder_is_of_the_kind_of_the_answers():
    assert [
        example_number([3]),
        example_number([12.000000000000004, 14]),
        example_number([0.5, 3]),
    ] == ["12", "22", "1/4"]
    assert example_number([0.25, 3 / 7]) == "5/9"


def test_a_logarithm_and_a_row_of_numbers_stay_on_one_line():
    text = "(2 ln 2, 0, −1) and `(1, 2)` of $(1, 0)$, or 2 ln 3 (see below, 2)"
    unbroken_text = join_lines(text).replace("\N{NO-BREAK SPACE}", "_")
    assert unbroken_text == "(2_ln_2,_0,_−1) and `(1, 2)` of $(1, 0)$, or 2_ln_3 (see below, 2)"


def test_a_minus_stays_with_what_follows_and_code_is_copied_as_it_is_written():
    line = "    def f(x=-1) -> int: return x[:-n] - 2"
    code_element = BeautifulSoup(code_html(line), "html.parser").code
    assert code_element.text == line.strip()
    assert [element.text for element in code_element.select(".joined")] == ["-1", "->", "-n"]
