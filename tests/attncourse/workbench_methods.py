"""Methods for the tests of the workbench: one that is right, others that are, and wrong ones."""

RIGHT = """
import torch
from torch import nn

EXPECTED = {"state": 768}

class Helper(nn.Module):
    pass

class Fading(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.w_v, self.w_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.rate = nn.Parameter(torch.tensor(3.0))

    def forward(self, x, mask=None):
        v = self.w_v(x)
        if mask is not None:
            v = v.masked_fill(~mask.mT, 0)
        position = torch.arange(x.shape[-2])
        distance = (position[:, None] - position).abs()
        weights = (self.rate.sigmoid() ** distance).tril()
        return self.w_o(weights @ v)

    def empty_state(self, x):
        return (torch.zeros_like(x),)

    def step(self, state, x):
        mean = self.rate.sigmoid() * state[0] + self.w_v(x)
        return (mean,), self.w_o(mean)
"""
HIDING = """
    def empty_state(self, x):
        self.mean = torch.zeros_like(x)
        return (x[..., :1],)

    def step(self, state, x):
        self.mean = self.rate.sigmoid() * self.mean + self.w_v(x)
        return state, self.w_o(self.mean)
"""
NOT_CAUSAL = RIGHT.replace(".tril()", "")
FALSE_STATE = RIGHT + HIDING
OUTPUT = "return self.w_o(weights @ v)"
# unusual methods that are right
LINEAR = """
import torch
from torch import nn
from torch.nn import functional as F

"""
UNUSUAL = {
    "distances lower scores": LINEAR
    + """
def attend(q, k, v, mask=None):
    n, m = q.shape[-2], k.shape[-2]
    key = torch.arange(m)
    query = key[m - n :, None]
    seen = query >= key if mask is None else (query >= key) & mask
    scores = q @ k.mT / 4 - (query - key) / 8
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v
""",
    "convolution": LINEAR
    + """
class Convolution(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.taps = nn.Parameter(torch.randn(3, d_model))

    def forward(self, x):
        padded = F.pad(x, (0, 0, 2, 0))
        return sum(tap * padded[:, i : i + x.shape[1]] for i, tap in enumerate(self.taps))

    def empty_state(self, x):
        return (x.new_zeros(len(x), 2, x.shape[-1]),)

    def step(self, state, x):
        rows = torch.cat([state[0], x[:, None]], 1)
        return (rows[:, 1:],), (rows * self.taps).sum(1)
""",
    "LSTM": LINEAR
    + """
class Recurrent(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.lstm = nn.LSTM(d_model, d_model, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]

    def empty_state(self, x):
        return torch.zeros_like(x), torch.zeros_like(x)

    def step(self, state, x):
        z, (h, c) = self.lstm(x[:, None], (state[0][None], state[1][None]))
        return (h[0], c[0]), z[:, 0]
""",
    "a method for each layer": LINEAR
    + """
class Shift(nn.Module):
    def __init__(self, d_model, heads, layer):
        super().__init__()
        self.by, self.w = 1 + layer, nn.Linear(d_model, d_model)

    def forward(self, x):
        return self.w(F.pad(x, (0, 0, self.by, 0))[:, : x.shape[1]])

    def empty_state(self, x):
        return (x.new_zeros(len(x), self.by, x.shape[-1]),)

    def step(self, state, x):
        rows = torch.cat([state[0], x[:, None]], 1)
        return (rows[:, 1:],), self.w(rows[:, 0])
""",
    "an auxiliary loss": LINEAR
    + """
class Selecting(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.w, self.gate = nn.Linear(d_model, d_model), nn.Linear(d_model, 1)

    def forward(self, x):
        score = self.gate(x.detach())
        if self.training:
            self.auxiliary_loss = (score.sigmoid().mean() - 0.5) ** 2
        return self.w(x * (score > 0))

    def empty_state(self, x):
        return ()

    def step(self, state, x):
        return (), self.forward(x)
""",
    "no parameters": LINEAR
    + """
class Mean(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()

    def forward(self, x):
        return x.cumsum(1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]

    def empty_state(self, x):
        return torch.zeros_like(x), x.new_zeros(len(x), 1)

    def step(self, state, x):
        total, count = state[0] + x, state[1] + 1
        return (total, count), total / count
""",
    "it drops in training": LINEAR
    + """
class Dropping(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.w, self.drop = nn.Linear(d_model, d_model), nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(self.w(x))

    def empty_state(self, x):
        return (x[:, :0],)

    def step(self, state, x):
        return state, self.w(x)
""",
}
# functions whose state is more than keys and values
HIDDEN_SUM = """
import torch
from torch import nn

class Summing(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("S", torch.zeros(()), persistent={persistent})

    def forward(self, q, k, v, mask=None):
        k = k if mask is None else k * mask.mT
        if q.shape[-2] > 1 or k.shape[-2] == 1:
            products = (k[..., :, None] * v[..., None, :]).cumsum(-3)
            self.S = products[..., -1, :, :].detach()
            return (q[..., None, :] @ products).squeeze(-2)
        self.S = self.S + k[..., -1, :, None] * v[..., -1, None, :]
        return q @ self.S

attend = Summing()
"""
