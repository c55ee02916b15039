"""The workbench on a right method, on one that is not causal, on one with a false state."""

import csv
import re
from dataclasses import replace
from statistics import fmean

import pytest

from attncourse.data.addresses import addresses
from attncourse.data.batches import NO_LABEL
from attncourse.workbench import checks, protocol, recall, results, session, workbench
from attncourse.workbench.checks import prepared, run_checks
from attncourse.workbench.counts import count_method, state_after
from attncourse.workbench.fresh import continue_anew
from attncourse.workbench.layers import UnfitError, load_method
from attncourse.workbench.methods import METHODS
from attncourse.workbench.ours import recognized
from tests import ROOT
from tests.attncourse.workbench_methods import (
    FALSE_STATE,
    HIDDEN_SUM,
    LINEAR,
    OUTPUT,
    RIGHT,
    UNUSUAL,
)

# what is said of the right method after an edit
EDITS = {
    "texts: a text of 67 tokens has the shape (2, 67, 64), and its output has (2, 67, 1)": (
        OUTPUT,
        OUTPUT + "[..., :1]",
    ),
    "texts: a text of 67 tokens raises ValueError: two texts": (
        "v = self.w_v(x)\n",
        "v = self.w_v(x)\n        if len(x) == 2: raise ValueError('two texts')\n",
    ),
    "texts: a second call gives token 0 another output than the first": (
        "v = self.w_v(x)\n",
        "v = self.w_v(x) + torch.rand(())\n",
    ),
    "texts: token 0 has another output beside a second text than alone": (
        "v = self.w_v(x)\n",
        "v = self.w_v(x).cumsum(0).flip(0)\n",
    ),
    "causal: when token 1 changes, so does the output of token 0 before it": (".tril()", ""),
    "causal: when token 2 changes, so does the output of token 0 before it": (
        OUTPUT,
        OUTPUT + " + (self.rate - 3) * x.roll(-2, -2)",
    ),
    "causal: the output of token 0 has a gradient from token 1 behind it": (
        OUTPUT,
        OUTPUT + " + x.roll(-1, -2) - x.roll(-1, -2).detach()",
    ),
    "causal: in training: when token 1 changes, so does the output of token 0 before it": (
        OUTPUT,
        OUTPUT + " + (x.roll(-1, -2) if self.training else 0)",
    ),
    "causal: in training: when token 1 changes, so does the output of token 0": (
        OUTPUT,
        "z = self.w_o(weights @ v)\n        return z - z.mean((0, 1)) if self.training else z",
    ),
    "texts: a text of 67 tokens has the dtype torch.float32, and its output has torch.float16": (
        OUTPUT,
        OUTPUT + ".half()",
    ),
    "texts: a text of 67 tokens has the shape (2, 67, 64), and its output has list": (
        OUTPUT,
        OUTPUT + ".tolist()",
    ),
    "texts: a text of 67 tokens raises SystemExit": (OUTPUT, "raise SystemExit"),
    "texts: a text of 67 tokens raises RuntimeError": (OUTPUT, OUTPUT + " + torch.zeros(10**15)"),
    "any length: token 0 has another output in a text of 1 than in one of 200": (
        OUTPUT,
        OUTPUT + " / x.shape[-2]",
    ),
    "any length: a text of 200 tokens raises IndexError": ("position = torch.arange(x.shape[-2])",
        "position = torch.arange(128)[torch.arange(x.shape[-2])]"),
    "padding: token 0 of a text of 50 tokens has another output with padding behind it": (
        "~mask.mT",
        "mask.mT",
    ),
    "padding: token 50 of a text without padding has another output beside one": (
        "~mask.mT",
        "~mask.all(0).mT",
    ),
    "learning: unused learns from no token": (
        "self.rate = ",
        "self.unused = nn.Parameter(torch.ones(3))\n        self.rate = ",
    ),
    "cache step: the layer has no empty_state(x) and step(state, x)": ("def step(", "def next("),
    "cache step: the step of token 0 fails: a state is a tuple of tensors": (
        "return (mean,)",
        "return [mean]",
    ),
    "cache step: token 1 has another output step by step than in the whole text": (
        "self.rate.sigmoid() * state[0]",
        "0.5 * state[0]",
    ),
    "cache step: token 1 has another output step by step": (
        "self.rate.sigmoid() * state[0] + ", ""
    ),
    "cache step: the step of token 0 fails: the token has the shape (2, 64), and its output has": (
        "self.w_o(mean)\n",
        "[self.w_o(mean)]\n",
    ),
    "cache step: the step of token 0 fails: IndexError": ("state[0]", "state[1]"),
    "cache step: empty_state raises AttributeError": ("zeros_like(x)", "zeroes_like(x)"),
}  # fmt: skip
# modules of which nothing can be made
UNFIT = {
    "mine.py has neither a function attend(q, k, v, mask=None) nor a class": "x = 1",
    "mine.py cannot be imported: SyntaxError": "class (",
    "mine.py cannot be imported: SystemExit": "raise SystemExit",
    "EXPECTED is a dictionary with some of bits, recall, state": "EXPECTED = {'bytes': 1}",
    "EXPECTED['bits'] is not a number": "EXPECTED = {'bits': 'few'}",
    "EXPECTED is read without running your code": "EXPECTED = {'state': 3 * 256}",
    "it cannot be made with d_model and heads: TypeError": RIGHT.replace(
        "d_model, heads", "d_model"
    ),
}


@pytest.fixture
def write(tmp_path):
    """Writes a method's file."""

    def written(text):
        path = tmp_path / "mine.py"
        path.write_text(text, "utf-8")
        return path

    return written


@pytest.fixture
def in_process(monkeypatch):
    """What a fresh process does is done in this one, with the file run anew."""
    monkeypatch.setattr(checks, "continue_in_fresh_process", continue_anew)


@pytest.fixture
def short(monkeypatch, cache, in_process):
    """Trainings of a step a part, on the sample."""
    corpus = replace(addresses(offline=True), sample=False)
    monkeypatch.setattr(session, "addresses", lambda: corpus)
    for module, name in ((protocol, "STEPS"), (protocol, "QUICK_STEPS"), (recall, "STEPS")):
        monkeypatch.setattr(module, name, protocol.PARTS)


def objection(path) -> str:
    """The sentence that is said of a method."""
    with pytest.raises(UnfitError) as caught:
        list(run_checks(load_method(path)))
    return str(caught.value)


def test_a_right_method_passes_each_check(write):
    assert [line.partition(": ")[2] for line in run_checks(load_method(write(RIGHT)))] == 6 * ["ok"]


def test_a_false_state_is_found_in_a_fresh_process(write):
    assert objection(write(FALSE_STATE)).startswith(
        "cache step: in a fresh process: the step of token 7 fails: AttributeError"
    )
    in_class = FALSE_STATE.replace("self.mean", "Fading.mean").replace(
        "class Fading(nn.Module):", "class Fading(nn.Module):\n    mean = 0.0"
    )
    assert objection(write(in_class)) == (
        "cache step: token 7 has another output in a fresh process that has the weights and the "
        "state from before token 7: the state lacks something"
    )


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_method_passes_each_check(name, write, in_process):
    assert len(list(run_checks(load_method(write(UNUSUAL[name]))))) == 6


@pytest.mark.parametrize("persistent", [False, True])
def test_a_function_that_keeps_more_than_keys_and_values_is_refused(persistent, write, in_process):
    said = objection(write(HIDDEN_SUM.format(persistent=persistent)))
    # the numbers that it keeps, or their shape
    ends = "attend keeps something besides keys and values", "were they kept in a call?"
    assert said.startswith("cache step: in a fresh process" * persistent) and said.endswith(ends)


def test_methods_of_the_page_pass_and_what_they_expect_is_true(write, in_process):
    page = (ROOT / "reference" / "workbench.md").read_text("utf-8")
    codes = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(codes) == 2
    for code in codes:
        method = load_method(write(code))
        assert len(list(run_checks(method))) == 6
    counts = count_method(method.model)
    expected = counts.short_state, counts.write_operations
    assert expected == (method.expected["state"], method.expected["operations"])


COPIES = {
    "a layer of the course": "from attncourse.today import LatentAttention\n"
    "class Mine(LatentAttention):\n    pass",
    "linear": "from attncourse.linear import linear_attention\n"
    "def attend(q, k, v, mask=None):\n    return linear_attention(q, k, v, True, mask)",
    "attention": LINEAR
    + """
class Mine(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.out, self.value, self.key, self.query = (nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (4, 16)).transpose(1, 2)
                   for w in (self.query, self.key, self.value))
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(z.transpose(1, 2).flatten(-2))
""",
    "LatentAttention, d_latent=16, d_rotary=16": LINEAR
    + """
from attncourse.today import LatentAttention

class Mine(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.inner = LatentAttention(d_model, heads, 16)

    def forward(self, x):
        return self.inner(x)
""",
    None: RIGHT,
}


@pytest.mark.parametrize("name", COPIES)
def test_a_method_of_the_course_is_known_again_under_other_names(name, write):
    assert recognized(prepared(load_method(write(COPIES[name])), 0)) == name


@pytest.mark.parametrize("sentence", EDITS)
def test_what_is_wrong_is_one_sentence_with_its_token(sentence, write, in_process):
    old, new = EDITS[sentence]
    assert old in RIGHT
    said = objection(write(RIGHT.replace(old, new)))
    assert said.startswith(sentence) and "\n" not in said


@pytest.mark.parametrize("sentence", UNFIT)
def test_a_file_without_a_method_is_one_sentence(sentence, write):
    assert objection(write(UNFIT[sentence])).startswith(sentence)


def test_a_declared_signal_is_enough_to_learn_from(write):
    text = RIGHT.replace(
        "self.rate = ", "self.unused = nn.Parameter(torch.ones(3))\n        self.rate = "
    ).replace(
        "v = self.w_v(x)\n", "v = self.w_v(x)\n        self.auxiliary_loss = self.unused.sum()\n"
    )
    assert "learning: ok" in run_checks(load_method(write(text)))


@pytest.mark.parametrize(
    "text",
    [
        "from attncourse.transformer import Causal\nattend = Causal()",
        "from attncourse.linear import linear_attention\n"
        "def attend(q, k, v, mask=None):\n    return linear_attention(q, k, v, True, mask)",
    ],
)
def test_a_function_of_queries_keys_and_values_is_wrapped(text, write, in_process):
    lines = run_checks(load_method(write(text)))
    # linear attention cannot go on from keys and values with one query alone
    sentence = None
    try:
        lines = list(lines)
    except UnfitError as error:
        sentence = str(error)
    if "linear" in text:
        assert sentence.startswith("cache step: the step of token 1 fails")
    else:
        assert lines[-1] == "cache step: ok"


def test_states_are_counted_by_what_a_text_needs():
    d, layers, wide = protocol.D_MODEL, protocol.DEPTH, 4
    assert state_after(128, METHODS["softmax"]) == 128 * 2 * d * layers * wide
    assert state_after(128, METHODS["two groups"]) == 128 * d * layers * wide
    assert state_after(128, METHODS["latent"]) == 128 * (32 + 16) * layers * wide
    # in each of four heads a matrix and a sum of keys
    assert state_after(7, METHODS["linear"]) == 4 * (16 * 16 + 16) * layers * wide


def test_work_is_counted_by_hand(write):
    d, layers = protocol.D_MODEL, protocol.DEPTH
    counts = count_method(load_method(write(RIGHT)).model)
    # the matrices of v and of the output, and the step's
    assert counts.write_operations == layers * 2 * 2 * d * d
    assert counts.short_state == counts.long_state == layers * d * 4


def test_recall_asks_for_what_followed(g):
    batch, length = recall.recall_batch(3, 5, g), recall.LENGTH
    for tokens, labels in zip(batch.tokens.tolist(), batch.labels.tolist(), strict=True):
        said, again = tokens[:length], tokens[length + 5 :]
        assert labels[length + 5 :] == said[1:] and again == said[:-1]
        assert set(labels[: length + 5]) == {NO_LABEL}


def test_a_quick_training_can_be_stopped_and_ends_among_the_course_s_methods(
    write, short, monkeypatch, tmp_path, capsys
):
    store(tmp_path, monkeypatch, "today_quick", {"softmax": [2.0, 2.1], "linear": [3.9, 4.0]})
    store(tmp_path, monkeypatch, "today", {"softmax": [1.4, 1.41], "linear": [1.6, 1.61]})
    path, fit = write(RIGHT), protocol.fit

    def interrupted(*args, track, **options):
        def stopping(parts):
            for part in track(parts):
                if part == 3:
                    raise KeyboardInterrupt
                yield part

        fit(*args, track=stopping, **options)

    monkeypatch.setattr(protocol, "fit", interrupted)
    monkeypatch.setattr(protocol, "seconds_a_step", lambda *args: 1.0)
    assert workbench(path, quick=True) is None
    assert "Stopped: the same call goes on" in capsys.readouterr().out
    monkeypatch.setattr(protocol, "fit", fit)
    report = workbench(path, quick=True)
    out = capsys.readouterr().out
    assert "addresses goes on where it stopped" in out and "20 steps, in all about 2" in out
    text = str(report)
    assert "expected 768, measured 768" in text
    assert "orders 1 of 1 pairs of methods as the full one does" in text
    assert "●" in text and "○" in text and "<svg" in report._repr_html_()
    # what was measured is not measured again
    monkeypatch.setattr(protocol, "fit", None)
    assert str(workbench(path, quick=True)) == text


def store(folder, monkeypatch, name, bits) -> None:
    """Store results as the benchmark does."""
    monkeypatch.setattr(results, "IN_THE_WHEEL", folder)
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [("method", "seed", "bits")]
        rows += [(key, i, x) for key, values in bits.items() for i, x in enumerate(values)]
        csv.writer(file).writerows(rows)


def test_a_full_training_measures_recall_too(write, short, capsys):
    report = workbench(write(RIGHT))
    assert len(report.shares) == len(recall.DISTANCES)
    assert "recalled at 512 tokens" in str(report)


def test_only_pairs_beyond_the_spread_of_seeds_are_ordered():
    full = {"a": [1.0, 1.2], "b": [1.1, 1.3], "c": [2.0, 2.2], "once": [9.0]}
    quick = {"a": [5.0], "b": [4.0], "c": [4.5], "once": [1.0]}
    # a and b are too near each other; quick has b before c, as it should, but c before a
    assert results.pairs_in_order(quick, full) == (1, 2)


def test_the_chapter_says_what_was_measured():
    # the section "Eight methods on the same work" of the chapter `today`
    bits, near, far = (
        {name: fmean(values) for name, values in results.stored(file, column).items()}
        for file, column in (("today", "bits"), ("today_recall", "128"), ("today_recall", "512"))
    )
    more = {name: x - bits["softmax"] for name, x in bits.items()}
    assert bits.keys() == near.keys() == METHODS.keys()
    assert round(more.pop("linear"), 2) == 0.14
    assert all(0.01 < more.pop(name) < 0.02 for name in ("per-channel delta", "hybrid"))
    assert max(map(abs, more.values())) < 0.01
    assert min(near.values()) > 0.93
    assert {name for name, x in far.items() if x > 0.93} == {
        "latent",
        "per-channel delta",
        "hybrid",
    }
    assert (
        far["softmax"] < 0.5
        and round(far["linear"], 1) == 0.8
        and round(1 / far["pooled by 4"]) == 7
    )
