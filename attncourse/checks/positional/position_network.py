"""Exercise PositionNetwork: a small network that makes a vector of a position."""

import torch
import torch.nn.functional as F
from torch import nn

from attncourse.checks.exercise import Case, Exercise

exercise = Exercise(
    name="PositionNetwork",
    chapter="positional",
    title="A network that knows the way",
    kind="build",
    difficulty=2,
    minutes=25,
    points=15,
    hints=(
        "The network's input is one number, the position, and its output a vector of width d. A "
        "linear layer maps the last axis, so give it all positions at once, one below the other.",
        "In __init__, the two layers, and keep length. In forward, the positions 0 to n - 1 in the "
        "dtype and on the device of x, divided by length, as a column (n, 1). Then hidden, tanh, "
        "out: that is (n, d), and x + (n, d) broadcasts over any leading axes.",
        "t = torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)[:, None] / self.length, "
        "then self.out(torch.tanh(self.hidden(t)))",
    ),
)


@exercise.reference
class ByHand(nn.Module):
    def __init__(self, d, hidden, length):
        super().__init__()
        self.hidden, self.out, self.length = nn.Linear(1, hidden), nn.Linear(hidden, d), length

    def forward(self, x):
        t = torch.arange(x.shape[-2], dtype=x.dtype) / self.length
        # one hidden unit after the other
        units = zip(self.hidden.weight[:, 0], self.hidden.bias, self.out.weight.T, strict=True)
        made = [(t * slope + bias).tanh()[:, None] * out for slope, bias, out in units]
        return x + sum(made) + self.out.bias


def drawn(draw, d, hidden):
    """Weights for a network of this size."""
    shapes = {"hidden.weight": (hidden, 1), "hidden.bias": (hidden,)}
    shapes |= {"out.weight": (d, hidden), "out.bias": (d,)}
    return {name: draw.normal(*shape) for name, shape in shapes.items()}


@exercise.cases
def cases(draw):
    d, hidden, length = 4, 5, draw.integer(10, 12)
    n = draw.integer(6, 8)
    x, sizes = draw.normal(2, n, d), f"n={n}, d={d}, hidden={hidden}, length={length}"
    weights = drawn(draw, d, hidden)

    def case(about, x, longer=None):
        return Case(about, (x,), build=(d, hidden, length), weights=weights, longer=longer)

    yield case(f"a batch of 2, {sizes}", x, longer=(x.repeat(1, 16, 1),))
    yield case(f"one sequence without a batch, {sizes}", x[0])
    yield case(f"two leading axes, {sizes}", draw.normal(3, 2, n, d))
    yield case(f"a sequence as long as length={length}", draw.normal(2, length, d))
    yield case(
        f"a sequence of {3 * length}, longer than length={length}", draw.normal(3 * length, d)
    )
    yield case("one token", x[:, :1])
    narrow = {"build": (1, 3, length), "weights": drawn(draw, 1, 3)}
    yield Case("d=1, hidden=3", (x[..., :1],), **narrow)
    # more rows than a table that is made once may have; the tanh bends far out, where float32 is
    # coarse, and an error of its rounding shows
    far = drawn(draw, 2, 3)
    far["hidden.bias"] = far["hidden.weight"][:, 0] * (-4500 / length)
    rows, about = draw.normal(5003, 2), "a sequence of 5003, d=2, hidden=3"
    yield Case(about, (rows,), build=(2, 3, length), weights=far, gradient=False)


@exercise.valid
class Network(nn.Module):
    """The right answer, with the places where a wrong one departs from it as methods."""

    def __init__(self, d, hidden, length):
        super().__init__()
        self.hidden, self.out, self.length = nn.Linear(1, hidden), nn.Linear(hidden, d), length

    def count(self, x):
        return torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)

    def positions(self, x):
        return self.count(x) / self.length

    def between(self, inner):
        return inner.tanh()

    def encode(self, x):
        return self.out(self.between(self.hidden(self.positions(x)[:, None])))

    def forward(self, x):
        return x + self.encode(x)


@exercise.valid
class LayersInOne(Network):
    def __init__(self, d, hidden, length):
        super().__init__(d, hidden, length)
        self.between = nn.Tanh()

    def forward(self, x):
        t = torch.linspace(0, 1, self.length + 1, dtype=x.dtype, device=x.device)[1] * self.count(x)
        return self.encode_all(t.reshape(-1, 1)).expand_as(x) + x

    def encode_all(self, t):
        for layer in (self.hidden, self.between, self.out):
            t = layer(t)
        return t


@exercise.valid
class WithItsWeights(Network):
    def encode(self, x):
        inner = torch.outer(self.positions(x), self.hidden.weight[:, 0]) + self.hidden.bias
        return F.linear(torch.tanh(inner), self.out.weight, self.out.bias)


@exercise.valid
class DropoutInTraining(Network):
    def __init__(self, d, hidden, length):
        super().__init__(d, hidden, length)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(super().forward(x))


@exercise.valid
class ForEverySequence(Network):
    def encode(self, x):
        t = torch.ones_like(x[..., :1]).cumsum(-2) - 1
        return self.out(torch.tanh(self.hidden(t / self.length)))


@exercise.mutant("the positions are not divided by length: the network's input is t / length")
class PositionsAsTheyAre(Network):
    def positions(self, x):
        return self.count(x)


@exercise.mutant("the positions are divided by n: position 3 would change with the sentence")
class DividedByTheLengthAtHand(Network):
    def positions(self, x):
        return self.count(x) / x.shape[-2]


@exercise.mutant("the positions run from 0 to 1: position 3 would change with the sentence")
class FromZeroToOne(Network):
    def positions(self, x):
        return self.count(x) / max(x.shape[-2] - 1, 1)


@exercise.mutant("the last position is n / length: counted from 0, it is (n - 1) / length")
class UpToNItself(Network):
    def positions(self, x):
        n = x.shape[-2]
        return torch.linspace(0, n / self.length, n, dtype=x.dtype, device=x.device)


@exercise.mutant(
    "in a sequence longer than length n is divided by: the input is t / length there, too"
)
class DividedByTheLarger(Network):
    def positions(self, x):
        return self.count(x) / max(self.length, x.shape[-2])


@exercise.mutant("the positions are divided by length - 1: the network's input is t / length")
class DividedByOneLess(Network):
    def positions(self, x):
        return self.count(x) / (self.length - 1)


@exercise.mutant("the positions are divided by the width: the network's input is t / length")
class DividedByTheWidth(Network):
    def positions(self, x):
        return self.count(x) / x.shape[-1]


@exercise.mutant("the positions count from 1: the first is 0")
class CountedFromOne(Network):
    def positions(self, x):
        return (self.count(x) + 1) / self.length


@exercise.mutant("the positions run from -1 to 1: the network's input is t / length")
class FromMinusOneToOne(Network):
    def positions(self, x):
        return 2 * self.count(x) / self.length - 1


@exercise.mutant("t / length is cut to a whole number, so nearly all are 0: divide with /, not //")
class CutToWholeNumbers(Network):
    def positions(self, x):
        return self.count(x) // self.length


@exercise.mutant("nothing bends between the two layers, and so they are one: put a tanh there")
class WithoutTanh(Network):
    def between(self, inner):
        return inner


OTHER = "between the layers stands another function: here it is tanh"


@exercise.mutant(OTHER)
class WithRelu(Network):
    def between(self, inner):
        return inner.relu()


@exercise.mutant(OTHER)
class WithSigmoid(Network):
    def between(self, inner):
        return inner.sigmoid()


@exercise.mutant("a tanh comes after the last layer, too: its output is added as it is")
class TanhAtTheEnd(Network):
    def encode(self, x):
        return super().encode(x).tanh()


@exercise.mutant("the tanh comes after the last layer: it belongs between the two")
class TanhOnlyAtTheEnd(WithoutTanh):
    def encode(self, x):
        return super().encode(x).tanh()


@exercise.mutant("x is missing: add the encoding to it")
class EncodingOnly(Network):
    def forward(self, x):
        return self.encode(x)


@exercise.mutant("x is missing: add the encoding to it")
class EncodingOnlyForEverySequence(Network):
    def forward(self, x):
        return self.encode(x).expand_as(x)


@exercise.mutant("x is multiplied with the encoding: add it")
class Multiplied(Network):
    def forward(self, x):
        return x * self.encode(x)


@exercise.mutant("x is scaled on the way: the encoding is added to x as it is")
class XScaledByTheRoot(Network):
    def forward(self, x):
        return x * x.shape[-1] ** 0.5 + self.encode(x)


LONGER = "positions beyond length are not served: the network takes any number, so any n"


@exercise.mutant(LONGER)
class TableOfLengthRows(Network):
    def encode(self, x):
        return super().encode(x.new_zeros(self.length, x.shape[-1]))[: x.shape[-2]]


@exercise.mutant(LONGER)
class HeldAtTheLastPosition(Network):
    def positions(self, x):
        return self.count(x).clamp(max=self.length - 1) / self.length


ENOUGH = "positions far beyond length are not served: the network takes any number, so any n"


@exercise.mutant(ENOUGH)
class TableOfFiveThousandRows(Network):
    def positions(self, x):
        return super().positions(x)[:5000]


@exercise.mutant(ENOUGH)
class HeldFarBeyondLength(Network):
    def positions(self, x):
        return super().positions(x).clamp(max=3)


SIZES = "the layers have sizes of their own: make them from d and hidden"


@exercise.mutant(SIZES)
class SizesFixed(Network):
    def __init__(self, d, hidden, length):
        super().__init__(4, 5, length)


@exercise.mutant(SIZES)
class HiddenSizeFromTheWidth(Network):
    def __init__(self, d, hidden, length):
        super().__init__(d, d + 1, length)


@exercise.mutant("squeeze takes away every axis of size 1, the width among them: leave it out")
class Squeezed(Network):
    def encode(self, x):
        return super().encode(x).squeeze()


@exercise.mutant("n is taken from the front: the length is the last axis but one, shape[-2]")
class LengthCountedFromTheFront(Network):
    def count(self, x):
        return torch.arange(x.shape[1], dtype=x.dtype, device=x.device)


@exercise.mutant("it needs one batch axis: any leading axes, or none, should work")
class BatchAxisAssumed(Network):
    def forward(self, x):
        batch, n, d = x.shape
        return x + self.encode(x).expand(batch, n, d)


@exercise.mutant("the positions lack an axis: a linear layer maps the last axis, here of size 1")
class PositionsWithoutAnAxis(Network):
    def encode(self, x):
        return self.out(torch.tanh(self.hidden(self.positions(x))))


@exercise.mutant("the positions are float32 whatever x is: make them in the dtype of x")
class PositionsInFloat32(Network):
    def count(self, x):
        return torch.arange(x.shape[-2], device=x.device).float()


@exercise.mutant("the positions are float32 whatever x is: make them in the dtype of x")
class PositionsRoundedToFloat32(Network):
    def positions(self, x):
        return (self.count(x).float() / self.length).to(x.dtype)


@exercise.mutant("a new tensor is made on the CPU: give it the device of x")
class PositionsOnTheCpu(Network):
    def count(self, x):
        return torch.arange(x.shape[-2], dtype=x.dtype)


@exercise.mutant("it loops over the positions: the layers take all of them at once")
class LoopOverPositions(Network):
    def encode(self, x):
        rows = []
        for t in self.positions(x):
            inner = torch.tanh(t * self.hidden.weight[:, 0] + self.hidden.bias)
            rows.append(self.out.weight @ inner + self.out.bias)
        return torch.stack(rows)


@exercise.mutant("no gradient reaches the network, so it cannot learn: detach nothing")
class NetworkDetached(Network):
    def encode(self, x):
        return super().encode(x).detach()


@exercise.mutant("no gradient reaches x: detach nothing")
class InputDetached(Network):
    def forward(self, x):
        return x.detach() + self.encode(x)


@exercise.mutant("the input changes: x + ... makes a new tensor, x += ... does not")
class AddedInPlace(Network):
    def forward(self, x):
        x += self.encode(x)
        return x


@exercise.mutant("the result is always float32: keep the dtype of x")
class AlwaysFloat32(Network):
    def forward(self, x):
        return super().forward(x).float()


@exercise.mutant("the result is always float64: keep the dtype of x")
class AlwaysFloat64(Network):
    def forward(self, x):
        return super().forward(x).double()
