"""Exercise GatedCell: one step of a recurrent network that decides what to keep (GRU)."""

import torch
import torch.nn.functional as F
from torch import nn

from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.recurrence.shared.written import TORCH_RECURRENCE

exercise = Exercise(
    name="GatedCell",
    chapter="recurrence",
    title="A cell that decides what to keep",
    kind="build",
    difficulty=2,
    minutes=30,
    points=15,
    hints=(
        "Multiply first, with all three matrices at once, and cut after: x gives 3h numbers, the "
        "state gives 3h numbers, and each has a third for r, one for z and one for the candidate.",
        "For r and z, add the thirds of x and of the state, then sigmoid. For the candidate, the "
        "third of the state is multiplied with r first, its bias included, then added, then tanh. "
        "The new state is a mean of candidate and old state, and z is the weight of the old one.",
        "(x @ self.weight_ih.mT + self.bias_ih).chunk(3, dim=-1) gives the three of x; with those "
        "of the state, the candidate is torch.tanh(x_n + r * h_n)",
    ),
    also_forbidden=TORCH_RECURRENCE,
)


@exercise.reference
class ByHand(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.zeros(3 * h, d))
        self.weight_hh = nn.Parameter(torch.zeros(3 * h, h))
        self.bias_ih = nn.Parameter(torch.zeros(3 * h))
        self.bias_hh = nn.Parameter(torch.zeros(3 * h))

    def forward(self, x, state):
        def third(k, rows, weight, bias):
            part = slice(k * state.shape[-1], (k + 1) * state.shape[-1])
            return (weight[part] * rows[..., None, :]).sum(-1) + bias[part]

        read = [third(k, x, self.weight_ih, self.bias_ih) for k in range(3)]
        kept = [third(k, state, self.weight_hh, self.bias_hh) for k in range(3)]
        r, z = ((a + b).sigmoid() for a, b in zip(read[:2], kept[:2], strict=True))
        candidate = (read[2] + r * kept[2]).tanh()
        return (1 - z) * candidate + z * state


def drawn(draw, d, h):
    """Weights for a cell of this size."""
    shapes = {"weight_ih": (3 * h, d), "weight_hh": (3 * h, h)}
    shapes |= {"bias_ih": (3 * h,), "bias_hh": (3 * h,)}
    return {name: draw.normal(*shape) for name, shape in shapes.items()}


@exercise.cases
def cases(draw):
    d, h = draw.sizes(2, 4, 7)
    weights, sizes = drawn(draw, d, h), f"d={d}, h={h}"

    def case(about, *batch, longer=None):
        args = draw.normal(*batch, d), draw.normal(*batch, h)
        return Case(about, args, build=(d, h), weights=weights, longer=longer)

    long = draw.normal(12, d), draw.normal(12, h)
    yield case(f"a batch of 2, {sizes}", 2, longer=long)
    yield case(f"one token without a batch, {sizes}")
    yield case(f"two leading axes, {sizes}", 2, 3)
    square = {"build": (3, 3), "weights": drawn(draw, 3, 3)}
    yield Case("d=h=3, a batch of 3", (draw.normal(3, 3), draw.normal(3, 3)), **square)
    # what float32 cannot hold: a bias takes away what the inputs have in common
    bias = {"bias_ih": weights["bias_ih"] - 1e5 * weights["weight_ih"][:, 0]}
    x = torch.cat([draw.normal(4, 1) + 1e5, draw.normal(4, d - 1)], dim=-1)
    about = "100000 added to the first number of every token"
    yield Case(about, (x, draw.normal(4, h)), build=(d, h), weights=weights | bias)
    large = {name: 1000 * weight for name, weight in weights.items()}
    args = draw.normal(2, d), draw.normal(2, h)
    yield Case("weights around 1000", args, build=(d, h), weights=large)
    one = {"build": (1, 1), "weights": drawn(draw, 1, 1)}
    yield Case("d=h=1", (draw.normal(2, 1), draw.normal(2, 1)), **one)


class Cell(nn.Module):
    """The right answer, with the places where a wrong one departs from it as methods."""

    def __init__(self, d, h):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.zeros(3 * h, d))
        self.weight_hh = nn.Parameter(torch.zeros(3 * h, h))
        self.bias_ih = nn.Parameter(torch.zeros(3 * h))
        self.bias_hh = nn.Parameter(torch.zeros(3 * h))

    def cut(self, rows):
        return rows.chunk(3, dim=-1)

    def read(self, x):
        return self.cut(x @ self.weight_ih.mT + self.bias_ih)

    def kept(self, state):
        return self.cut(state @ self.weight_hh.mT + self.bias_hh)

    def candidate(self, read, kept, r, state):
        return torch.tanh(read + r * kept)

    def mix(self, candidate, state, z):
        return (1 - z) * candidate + z * state

    def gates(self, read, kept):
        return (read[0] + kept[0]).sigmoid(), (read[1] + kept[1]).sigmoid()

    def forward(self, x, state):
        read, kept = self.read(x), self.kept(state)
        r, z = self.gates(read, kept)
        return self.mix(self.candidate(read[2], kept[2], r, state), state, z)


exercise.valid(Cell)


@exercise.valid
class MovedByOneMinusZ(Cell):
    def mix(self, candidate, state, z):
        return torch.lerp(candidate, state, z)


@exercise.valid
class SixMatrices(Cell):
    def cut(self, rows):
        h = rows.shape[-1] // 3
        return rows[..., :h], rows[..., h : 2 * h], rows[..., 2 * h :]

    def read(self, x):
        pairs = zip(
            self.weight_ih.split(len(self.weight_ih) // 3), self.bias_ih.chunk(3), strict=True
        )
        return [F.linear(x, weight, bias) for weight, bias in pairs]


@exercise.valid
class GatesInOne(Cell):
    def forward(self, x, state):
        h = state.size(-1)
        read = torch.einsum("...c,gc->...g", x, self.weight_ih) + self.bias_ih
        kept = torch.einsum("...c,gc->...g", state, self.weight_hh) + self.bias_hh
        both = torch.sigmoid(read[..., : 2 * h] + kept[..., : 2 * h])
        r, z = both.unflatten(-1, (2, h)).unbind(-2)
        candidate = (read[..., 2 * h :] + kept[..., 2 * h :] * r).tanh()
        return candidate + z * (state - candidate)


@exercise.valid
class RandomAtFirst(Cell):
    def __init__(self, d, h):
        super().__init__(d, h)
        for weight in self.parameters():
            nn.init.uniform_(weight, -(h**-0.5), h**-0.5)


@exercise.mutant("the gates have changed places: the first third is r, the second z")
class UpdateFirst(Cell):
    def gates(self, read, kept):
        return super().gates(read, kept)[::-1]


@exercise.mutant("candidate and old state have changed places: z is the weight of the old state")
class WeightsSwapped(Cell):
    def mix(self, candidate, state, z):
        return z * candidate + (1 - z) * state


@exercise.mutant("r meets the state before the matrix: here it is multiplied with the product")
class ResetBeforeTheMatrix(Cell):
    def candidate(self, read, kept, r, state):
        h = state.shape[-1]
        kept = (r * state) @ self.weight_hh[2 * h :].mT + self.bias_hh[2 * h :]
        return torch.tanh(read + kept)


@exercise.mutant("r leaves out the bias of the state's third: multiply it, too")
class BiasNotReset(Cell):
    def candidate(self, read, kept, r, state):
        bias = self.bias_hh[2 * state.shape[-1] :]
        return torch.tanh(read + r * (kept - bias) + bias)


@exercise.mutant("r is not used: it says how much of the old state the candidate sees")
class NoReset(Cell):
    def candidate(self, read, kept, r, state):
        return torch.tanh(read + kept)


RESET = "r meets the token: it says how much of the old state the candidate sees, and no more"


@exercise.mutant(RESET)
class ResetOnBoth(Cell):
    def candidate(self, read, kept, r, state):
        return torch.tanh(r * (read + kept))


@exercise.mutant(RESET)
class ResetOnTheToken(Cell):
    def candidate(self, read, kept, r, state):
        return torch.tanh(r * read + kept)


@exercise.mutant("a bias is left out: there is one for the token and one for the state")
class OneBias(Cell):
    def kept(self, state):
        return self.cut(state @ self.weight_hh.mT)


@exercise.mutant(
    "exp overflows where a number is large, and the gradient is NaN: use torch.sigmoid"
)
class SigmoidByExp(Cell):
    def gates(self, read, kept):
        return [1 / (1 + (-a - b).exp()) for a, b in zip(read[:2], kept[:2], strict=True)]


@exercise.mutant("the candidate comes back alone: mix it with the old state")
class CandidateOnly(Cell):
    def mix(self, candidate, state, z):
        return candidate


@exercise.mutant("the candidate has a sigmoid: it has tanh, so that it can be negative")
class SigmoidForTanh(Cell):
    def candidate(self, read, kept, r, state):
        return torch.sigmoid(read + r * kept)


@exercise.mutant("the thirds are cut from the second axis: cut the last one, whatever is in front")
class CutFromTheFront(Cell):
    def cut(self, rows):
        return rows.chunk(3, dim=1)


PARAMETERS = (
    "its parameters should be weight_ih (3h, d), weight_hh (3h, h), bias_ih (3h,) and bias_hh "
    "(3h,), each an nn.Parameter of that name"
)


@exercise.mutant(PARAMETERS)
class WeightsTransposed(Cell):
    def __init__(self, d, h):
        super().__init__(d, h)
        self.weight_ih = nn.Parameter(torch.zeros(d, 3 * h))
        self.weight_hh = nn.Parameter(torch.zeros(h, 3 * h))


@exercise.mutant(PARAMETERS)
class Layers(Cell):
    def __init__(self, d, h):
        super().__init__(d, h)
        del self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        self.weight_ih, self.weight_hh = nn.Linear(d, 3 * h), nn.Linear(h, 3 * h)


@exercise.mutant("no gradient reaches the old state: it may not be detached")
class StateDetached(Cell):
    def forward(self, x, state):
        return super().forward(x, state.detach())


@exercise.mutant("the old state changes: write the new one into a new tensor")
class WrittenIntoTheState(Cell):
    def forward(self, x, state):
        new = super().forward(x, state)
        return state.copy_(new)


@exercise.mutant("it loops over the sentences: one step serves them all")
class LoopOverSentences(Cell):
    def forward(self, x, state):
        if x.dim() == 1:
            return super().forward(x, state)
        return torch.stack([self.forward(*pair) for pair in zip(x, state, strict=True)])


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
class AlwaysFloat32(Cell):
    def forward(self, x, state):
        return super().forward(x, state).float()


@exercise.mutant("a new tensor is made on the CPU: give it the device of an input")
class OnesOnTheCpu(Cell):
    def mix(self, candidate, state, z):
        ones = torch.ones(state.shape[-1], dtype=state.dtype, device="cpu")
        return (ones - z) * candidate + z * state
