"""Exercise GatedCell: one step of a recurrent network that decides what to keep (GRU)."""

from attncourse.course.recurrence.exercises.shared.written import FAR, TORCH_RECURRENCE, far_tokens
from judge import variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over the sentences: take the step for all of them at once"

exercise = Exercise.read(
    __name__,
    forbidden=TORCH_RECURRENCE,
    generic_hints={
        "axes_from_the_front": "the thirds are cut from the second axis: cut the last one, "
        "whatever is in front",
        "loops": LOOP,
        "loops_over_a_batch": LOOP,
    },
)
Worked = exercise.valid(variants.worked(exercise))


@exercise.reference
class ByHand(Worked):
    def forward(self, x, state):
        def gate(k, rows, weight, bias):
            gate_rows = slice(k * state.shape[-1], (k + 1) * state.shape[-1])
            return (weight[gate_rows] * rows[..., None, :]).sum(-1) + bias[gate_rows]

        from_token = [gate(k, x, self.weight_ih, self.bias_ih) for k in range(3)]
        from_state = [gate(k, state, self.weight_hh, self.bias_hh) for k in range(3)]
        r, z = ((a + b).sigmoid() for a, b in zip(from_token[:2], from_state[:2], strict=True))
        candidate = (from_token[2] + r * from_state[2]).tanh()
        return (1 - z) * candidate + z * state


def draw_weights(draw, d, h):
    """Weights for a cell of this size."""
    weights = {"weight_ih": draw.normal(3 * h, d), "weight_hh": draw.normal(3 * h, h)}
    return weights | {name: draw.normal(3 * h) for name in ("bias_ih", "bias_hh")}


@exercise.cases
def cases(draw):
    d, h = draw.sizes(2, 4, 7)
    weights, sizes = draw_weights(draw, d, h), f"d={d}, h={h}"

    def case(about, *batch, d=d, h=h, x=None, **options):
        args = draw.normal(*batch, d) if x is None else x, draw.normal(*batch, h)
        return Case(about, args, build=(d, h), **({"weights": weights} | options))

    longer_inputs = draw.normal(24, d), draw.normal(24, h)
    yield case(f"a batch of 2, {sizes}", 2, longer=longer_inputs)
    yield case(f"one token without a batch, {sizes}")
    yield case(f"two leading axes, {sizes}", 2, 3)
    yield case("d=h=3, a batch of 3", 3, d=3, h=3, weights=draw_weights(draw, 3, 3))
    x, bias = far_tokens(draw.normal(4, d), weights["weight_ih"], weights["bias_ih"])
    yield case(FAR, 4, x=x, gradient=False, weights=weights | {"bias_ih": bias})
    large = {name: 1000 * weight for name, weight in weights.items()}
    yield case("weights around 1000", 2, weights=large)
    yield case("d=h=1", 2, d=1, h=1, weights=draw_weights(draw, 1, 1))


variants.right(exercise,
    "return torch.lerp(candidate, state, z)",
    "weights, biases = self.weight_ih.chunk(3), self.bias_ih.split(len(self.bias_ih) // 3)\n"
    "x_r, x_z, x_n = map(nn.functional.linear, (x, x, x), weights, biases)\n"
    "read = state @ self.weight_hh.mT + self.bias_hh\n"
    "h_r, h_z, h_n = read.split(len(self.bias_hh) // 3, dim=-1)",
    # the gates in one
    'read = torch.einsum("...c,gc->...g", x, self.weight_ih).add(self.bias_ih)\n'
    "x_r, x_z, x_n = read.chunk(3, dim=-1)\n"
    "gates = torch.sigmoid(torch.cat([x_r + h_r, x_z + h_z], dim=-1))\n"
    "r, z = gates.tensor_split(2, dim=-1)\n"
    "return candidate + z * (state - candidate)",
    # random at first
    (every("torch.zeros("), "torch.rand("),
)  # fmt: skip

TOKEN = (
    "r multiplies the token's part: let it only say how much of the old state the candidate sees"
)
PARAMETERS = (
    "its parameters should be weight_ih (3h, d), weight_hh (3h, h), bias_ih (3h,) and bias_hh "
    "(3h,), each an nn.Parameter of that name"
)
variants.wrong(exercise, {
    "the gates are swapped: the first third should be r, the second z": ("r, z =", "z, r ="),
    "candidate and old state are swapped: z should be the weight of the old state":
        "return z * candidate + (1 - z) * state",
    "r multiplies the state before the matrix does: let it multiply the product instead":
        "w_n, b_n = self.weight_hh.chunk(3)[2], self.bias_hh.chunk(3)[2]\n"
        "candidate = torch.tanh(x_n + (r * state) @ w_n.mT + b_n)",
    "r leaves out the bias of the state's third: multiply that by r, too":
        "b_n = self.bias_hh.chunk(3)[2]\n"
        "candidate = torch.tanh(x_n + r * (h_n - b_n) + b_n)",
    "r is not used: it should say how much of the old state the candidate sees":
        "candidate = torch.tanh(x_n + h_n)",
    TOKEN: [
        "candidate = torch.tanh(r * (x_n + h_n))", "candidate = torch.tanh(r * x_n + h_n)"],
    "a bias is left out: add both, that of the token and that of the state": [
        (" + self.bias_hh", ""),
        "b_r, b_z, _ = self.bias_hh.chunk(3)\n"
        "r, z = (x_r + h_r - b_r).sigmoid(), (x_z + h_z - b_z).sigmoid()"],
    "the candidate has lost its negative numbers: let nothing follow its tanh":
        "candidate = torch.tanh(x_n + r * h_n).relu()",
    "exp overflows where a number is large, and the gradient is NaN: use torch.sigmoid": [
        "r, z = 1 / (1 + (-x_r - h_r).exp()), 1 / (1 + (-x_z - h_z).exp())",
        "e_r, e_z = (x_r + h_r).exp(), (x_z + h_z).exp()\n"
        "r, z = e_r / (1 + e_r), e_z / (1 + e_z)"],
    "the candidate comes back alone: mix it with the old state": "return candidate",
    "it draws random numbers: the same input must give the same result":
        "return nn.functional.dropout((1 - z) * candidate + z * state, 0.1, self.training)",
    "the candidate goes through a sigmoid: take tanh, so that it can be negative":
        "candidate = torch.sigmoid(x_n + r * h_n)",
    PARAMETERS: [
        "self.weight_ih = nn.Parameter(torch.zeros(d, 3 * h))\n"
        "self.weight_hh = nn.Parameter(torch.zeros(h, 3 * h))",
        "self.weight_ih = nn.Linear(d, 3 * h)\nself.weight_hh = nn.Linear(h, 3 * h)\n"
        "self.bias_ih = None\nself.bias_hh = None"],
    "no gradient reaches the old state: don't detach it": (
        "state @", "state.detach() @", "z * state", "z * state.detach()"),
    "no gradient reaches the old state through z * state: don't detach anything":
        "return (1 - z) * candidate + z * state.detach()",
    "no gradient reaches the old state through the gates: don't detach anything": (
        "state @", "state.detach() @"),
    "no gradient flows through the gates: neither detach r and z nor make them under no_grad": (
        every("sigmoid()"), "sigmoid().detach()"),
    "the old state changes: write the new one into a new tensor": [
        "return state.copy_((1 - z) * candidate + z * state)",
        # where no gradient is asked for, autograd does not mind
        "new = (1 - z) * candidate + z * state\n"
        "return new if torch.is_grad_enabled() else state.copy_(new)"],
})  # fmt: skip
