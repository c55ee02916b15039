"""Exercise PositionNetwork: a small network that makes a vector of a position."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

CHANGES = "you change the input: x + ... makes a new tensor, but x += ... doesn't"
exercise = Exercise.read(
    __name__,
    generic_hints={
        "changes_its_input": CHANGES,
        "loops": "you loop over the positions: the layers can take all of them at once",
    },
)
Worked = exercise.valid(variants.worked(exercise))


@exercise.reference
class ByHand(Worked):
    def forward(self, x):
        t = torch.arange(x.shape[-2], dtype=x.dtype) / self.length
        # one hidden unit after the other
        units = zip(self.hidden.weight[:, 0], self.hidden.bias, self.out.weight.T, strict=True)
        outputs = [(t * slope + bias).tanh()[:, None] * out for slope, bias, out in units]
        return x + sum(outputs) + self.out.bias


def draw_weights(draw, d, hidden):
    """Weights for a network of this size."""
    shapes = {"hidden.weight": (hidden, 1), "hidden.bias": (hidden,)}
    shapes |= {"out.weight": (d, hidden), "out.bias": (d,)}
    return {name: draw.normal(*shape) for name, shape in shapes.items()}


@exercise.cases
def cases(draw):
    d, hidden, length = 4, 5, draw.integer(10, 12)
    n = draw.integer(6, 8)
    x, sizes = draw.normal(2, n, d), f"n={n}, d={d}, hidden={hidden}, length={length}"
    weights = draw_weights(draw, d, hidden)

    def case(about, x, longer=None):
        return Case(about, (x,), build=(d, hidden, length), weights=weights, longer=longer)

    yield case(f"a batch of 2, {sizes}", x, longer=(x.repeat(1, 16, 1),))
    yield case(f"one sequence without a batch, {sizes}", x[0])
    yield case(f"two leading axes, {sizes}", draw.normal(3, 2, n, d))
    yield case(f"a sequence as long as length={length}", draw.normal(2, length, d))
    about = f"a sequence of {3 * length}, longer than length={length}"
    yield case(about, draw.normal(3 * length, d))
    yield case("one token", x[:, :1])
    narrow = {"build": (1, 3, length), "weights": draw_weights(draw, 1, 3)}
    yield Case("d=1, hidden=3", (x[..., :1],), **narrow)
    # more rows than a table that is made once may have; the tanh bends far out, where float32 is
    # coarse, and an error of its rounding shows
    far_weights = draw_weights(draw, 2, 3)
    far_weights["hidden.bias"] = far_weights["hidden.weight"][:, 0] * (-4500 / length)
    rows, about = draw.normal(5003, 2), "a sequence of 5003, d=2, hidden=3"
    yield Case(about, (rows,), build=(2, 3, length), weights=far_weights, gradient=False)


variants.right(exercise,
    "self.between = nn.Tanh()\nself.length = length\n"
    "first = torch.linspace(0, 1, self.length + 1, dtype=x.dtype, device=x.device)[1]\n"
    "scaled = first * positions\n"
    "inner = self.between(self.hidden(scaled[:, None]))\n"
    "return encoding.expand_as(x) + x",
    "inner = (torch.outer(scaled, self.hidden.weight[:, 0]) + self.hidden.bias).tanh()\n"
    "encoding = nn.functional.linear(inner, self.out.weight, self.out.bias)",
    "positions = torch.ones_like(x[..., 0]).cumsum(-1) - 1\n"
    "inner = torch.tanh(self.hidden(scaled[..., None]))",
)  # fmt: skip
variants.wrong(exercise, {
    "the positions are not divided by length: the network's input should be t / length":
        "scaled = positions",
    "it draws random numbers: the same input must give the same result":
        "self.dropout = nn.Dropout(0.1)\nself.length = length\nreturn self.dropout(x + encoding)",
    "the positions are divided by n, so position 3 is encoded differently in longer sentences: "
    "divide by length":
        "scaled = positions / n",
    "the positions are scaled to run from 0 to 1, so position 3 is encoded differently in longer "
    "sentences: divide by length":
        "scaled = positions / max(n - 1, 1)",
    "the inputs run up to n / length: the last position is n - 1, so they should end at (n - 1) / "
    "length":
        "scaled = torch.linspace(0, n / self.length, n, dtype=x.dtype, device=x.device)",
    "in sequences longer than length, the positions are divided by n: always divide them by length":
        "scaled = positions / max(self.length, n)",
    "the positions are divided by length - 1: the network's input should be t / length":
        "scaled = positions / max(self.length - 1, 1)",
    "the positions are divided by the width: the network's input should be t / length":
        "scaled = positions / x.shape[-1]",
    "the positions start at 1: the first should be 0": "scaled = (positions + 1) / self.length",
    "the positions run from -1 to 1: the network's input should be t / length":
        "scaled = 2 * positions / self.length - 1",
    "t / length is rounded down to a whole number, which is often 0: divide with /, not with //":
        "scaled = positions // self.length",
    "there is no activation between the two layers, so together they are just one linear layer: "
    "put a tanh between them":
        "inner = self.hidden(scaled[:, None])",
    "the activation between the layers isn't tanh: use tanh, as in the equation": [
        ("tanh", "relu"), ("tanh", "sigmoid")],
    "there is a second tanh, after the last layer: add that layer's output to x as it is":
        "encoding = self.out(inner).tanh()",
    "the tanh comes after the last layer: put it between the two layers":
        "inner = self.hidden(scaled[:, None])\nencoding = self.out(inner).tanh()",
    "you return the encoding alone: add it to x": [
        "return encoding", "return encoding.expand_as(x)"],
    "x is multiplied by the encoding: add the encoding to x instead": "return x * encoding",
    "you scale x before you add the encoding: leave x as it is":
        "return x * x.shape[-1] ** 0.5 + encoding",
    "positions beyond length go wrong: n may be larger than length, and the network can take any "
    "number": [
        ("arange(n", "arange(self.length", "+ encoding", "+ encoding[:n]"),
        "scaled = positions.clamp(max=self.length - 1) / self.length",
        "scaled = (positions / self.length).clamp(max=1)"],
    "positions far beyond length go wrong: n may be much larger than length, and the network can "
    "take any number": [
        "scaled = (positions / self.length)[:5000]",
        "scaled = (positions / self.length).clamp(max=3)"],
    "the sizes of the layers don't follow the arguments: make the layers from d and hidden": [
        "self.hidden, self.out = nn.Linear(1, 5), nn.Linear(5, 4)",
        "self.hidden, self.out = nn.Linear(1, d + 1), nn.Linear(d + 1, d)"],
    "you reuse the encoding of an earlier call, but the weights may have changed since: compute it "
    "in every call":
        "self.kept = None\nself.length = length\n"
        "if self.kept is None or len(self.kept) < n:\n    self.kept = self.out(inner)\n"
        "encoding = self.kept[:n]",
    "squeeze() removes every axis of size 1, and n or d may be 1: don't use it":
        "return x + encoding.squeeze()",
    "you take n from the second axis: take it from the last axis but one, shape[-2]":
        "n = x.shape[1]",
    "the positions have only one axis: a linear layer maps the last axis, so add one of size 1": (
        "[:, None]", ""),
    "the positions are always float32: make them in the dtype of x": [
        ("dtype=x.dtype", "dtype=torch.float32"),
        "scaled = (positions.float() / self.length).to(x.dtype)"],
    "no gradient reaches the network, so it cannot learn: don't detach anything":
        "return x + encoding.detach()",
    "no gradient reaches x: don't detach anything": "return x.detach() + encoding",
    CHANGES: "x += encoding\nreturn x",
})  # fmt: skip
