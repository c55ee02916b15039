"""Exercise GatedCell: one step of a recurrent network that decides what to keep (GRU)."""

import torch
from torch import nn

from attncourse.course.recurrence.exercises.shared.written import FAR, TORCH_RECURRENCE, far
from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the sentences: one step serves them all"

exercise = Exercise.read(
    __name__,
    forbidden=TORCH_RECURRENCE,
    usual_hints={
        "axes_from_the_front": "the thirds are cut from the second axis: cut the last one, "
        "whatever is in front",
        "loops": LOOP,
        "loops_over_a_batch": LOOP,
    },
)


@exercise.valid
class Cell(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.zeros(3 * h, d))
        self.weight_hh = nn.Parameter(torch.zeros(3 * h, h))
        self.bias_ih = nn.Parameter(torch.zeros(3 * h))
        self.bias_hh = nn.Parameter(torch.zeros(3 * h))

    def forward(self, x, state):
        x_r, x_z, x_n = (x @ self.weight_ih.mT + self.bias_ih).chunk(3, dim=-1)
        h_r, h_z, h_n = (state @ self.weight_hh.mT + self.bias_hh).chunk(3, dim=-1)
        r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
        candidate = torch.tanh(x_n + r * h_n)
        return (1 - z) * candidate + z * state


@exercise.reference
class ByHand(Cell):
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
    weights = {"weight_ih": draw.normal(3 * h, d), "weight_hh": draw.normal(3 * h, h)}
    return weights | {name: draw.normal(3 * h) for name in ("bias_ih", "bias_hh")}


@exercise.cases
def cases(draw):
    d, h = draw.sizes(2, 4, 7)
    weights, sizes = drawn(draw, d, h), f"d={d}, h={h}"

    def case(about, *batch, d=d, h=h, x=None, **known):
        args = draw.normal(*batch, d) if x is None else x, draw.normal(*batch, h)
        return Case(about, args, build=(d, h), **({"weights": weights} | known))

    long = draw.normal(24, d), draw.normal(24, h)
    yield case(f"a batch of 2, {sizes}", 2, longer=long)
    yield case(f"one token without a batch, {sizes}")
    yield case(f"two leading axes, {sizes}", 2, 3)
    yield case("d=h=3, a batch of 3", 3, d=3, h=3, weights=drawn(draw, 3, 3))
    x, bias = far(draw.normal(4, d), weights["weight_ih"], weights["bias_ih"])
    yield case(FAR, 4, x=x, gradient=False, weights=weights | {"bias_ih": bias})
    large = {name: 1000 * weight for name, weight in weights.items()}
    yield case("weights around 1000", 2, weights=large)
    yield case("d=h=1", 2, d=1, h=1, weights=drawn(draw, 1, 1))


READ, RESET = "(x @ self.weight_ih.mT + self.bias_ih).chunk(3, dim=-1)", "r * h_n"
GATES = "(x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()"
MIX, LAST = "(1 - z) * candidate + z * state", "self.bias_hh.chunk(3)[2]"
THIRDS = "zip(self.weight_ih.chunk(3), self.bias_ih.split(len(self.bias_ih) // 3), strict=True)"
variants.right(
    exercise,
    (MIX, "torch.lerp(candidate, state, z)"),
    (READ, f"(nn.functional.linear(x, *third) for third in {THIRDS})",
     "chunk(3, dim", "split(len(self.bias_hh) // 3, dim"),
    # the gates in one
    (READ, 'torch.einsum("...c,gc->...g", x, self.weight_ih).add(self.bias_ih).chunk(3, dim=-1)',
     GATES, "torch.sigmoid(torch.cat([x_r + h_r, x_z + h_z], -1)).tensor_split(2, dim=-1)",
     MIX, "candidate + z * (state - candidate)"),
    # random at first
    (every("torch.zeros("), "torch.rand("),
)  # fmt: skip

TOKEN = "r meets the token: it says how much of the old state the candidate sees, and no more"
PARAMETERS = (
    "its parameters should be weight_ih (3h, d), weight_hh (3h, h), bias_ih (3h,) and bias_hh "
    "(3h,), each an nn.Parameter of that name"
)
variants.wrong(exercise, {
    "the gates have changed places: the first third is r, the second z": ("r, z =", "z, r ="),
    "candidate and old state have changed places: z is the weight of the old state": (
        MIX, "z * candidate + (1 - z) * state"),
    "r meets the state before the matrix: here it is multiplied by the product": (
        RESET, f"(r * state) @ self.weight_hh.chunk(3)[2].mT + {LAST}"),
    "r leaves out the bias of the state's third: multiply it, too": (
        RESET, f"r * (h_n - {LAST}) + {LAST}"),
    "r is not used: it says how much of the old state the candidate sees": (RESET, "h_n"),
    TOKEN: [("x_n + r * h_n", "r * (x_n + h_n)"), ("x_n + r * h_n", "r * x_n + h_n")],
    "a bias is left out: there is one for the token and one for the state": [
        (" + self.bias_hh", ""),
        ("r, z = ", "b_r, b_z, _ = self.bias_hh.chunk(3)\n"
         "        h_r, h_z = h_r - b_r, h_z - b_z\n        r, z = ")],
    "the candidate has no negative numbers: nothing follows its tanh": (
        "torch.tanh(x_n + r * h_n)", "torch.tanh(x_n + r * h_n).relu()"),
    "exp overflows where a number is large, and the gradient is NaN: use torch.sigmoid": [
        (GATES, "1 / (1 + (-x_r - h_r).exp()), 1 / (1 + (-x_z - h_z).exp())"),
        (GATES, "(e := (x_r + h_r).exp()) / (1 + e), (e := (x_z + h_z).exp()) / (1 + e)")],
    "the candidate comes back alone: mix it with the old state": (MIX, "candidate"),
    "it draws random numbers: the same input must give the same result": (
        MIX, f"nn.functional.dropout({MIX}, 0.1, self.training)"),
    "the candidate has a sigmoid: it has tanh, so that it can be negative": (
        "torch.tanh", "torch.sigmoid"),
    PARAMETERS: [
        ("zeros(3 * h, d)", "zeros(d, 3 * h)", "zeros(3 * h, h)", "zeros(h, 3 * h)"),
        ("nn.Parameter(torch.zeros(3 * h, d))", "nn.Linear(d, 3 * h)",
         "nn.Parameter(torch.zeros(3 * h, h))", "nn.Linear(h, 3 * h)",
         every("nn.Parameter(torch.zeros(3 * h))"), "None")],
    "no gradient reaches the old state: it may not be detached": (
        "state @", "state.detach() @", "z * state", "z * state.detach()"),
    "no gradient reaches the old state through z * state: nothing may be detached": (
        "z * state", "z * state.detach()"),
    "no gradient reaches the old state through the gates: nothing may be detached": (
        "state @", "state.detach() @"),
    "no gradient flows through the gates: r and z may not be detached, nor made under no_grad": (
        GATES, GATES.replace("sigmoid()", "sigmoid().detach()")),
    "the old state changes: write the new one into a new tensor": [
        (MIX, f"state.copy_({MIX})"),
        # where no gradient is asked for, autograd does not mind
        (MIX, f"state.copy_({MIX}) if not torch.is_grad_enabled() else {MIX}")],
})  # fmt: skip
