"""Memory that is shared, writes and the graph: what a program of several calls comes to.

Each program runs with torch and with the page's, and prints, returns and raises the same.
"""

import re
from typing import Any

import pytest
import torch

from tests.torch_over_numpy.drawn import alike, results
from torch_over_numpy.load import as_modules, as_torch

PAGE = as_modules()["torch"]


def x(t: Any, requires_grad: bool = True) -> Any:
    made = t.arange(1, 13, dtype=t.float64).reshape(3, 4).clone()
    return made.requires_grad_(requires_grad)


def gradient(t: Any, out: Any, leaf: Any) -> Any:
    along = t.linspace(-1, 2, out.numel(), dtype=t.float64).cos().reshape(out.shape)
    return t.autograd.grad((out * along).sum(), leaf, allow_unused=True)[0]


def written_at_places(t):
    leaf = x(t)
    out = t.zeros(3, 4, dtype=t.float64)
    out[0] = leaf[1] * 2
    out[1:, 1:3] = leaf[:2, 2:].exp()
    out[t.tensor([2, 2]), t.tensor([0, 3])] = leaf[0, :2]
    return out, gradient(t, out, leaf)


def written_by_mask(t):
    leaf = x(t)
    out = leaf * 1
    out[leaf.detach() > 5] = -1.0
    out[:, 0] *= 3
    return out, gradient(t, out, leaf)


def written_through_a_view(t):
    leaf = x(t)
    out = leaf.clone()
    view = out.mT[1:3]
    view.mul_(leaf[:, :2].mT)
    view[0] += 1
    return out, view, gradient(t, out, leaf), gradient(t, view * 2, leaf)


def view_of_what_is_written_later(t):
    leaf = x(t)
    out = leaf * 2
    row = out[1]
    out.mul_(leaf)
    return row, gradient(t, row, leaf)


def views_share_memory(t):
    base = x(t, False)
    base.view(-1)[3] = 100
    base.unflatten(1, (2, 2))[:, 0, 1] = -5
    base.diagonal().fill_(7)
    base.mT.unsqueeze(0).squeeze(0)[2] *= 2
    base.reshape(12)[11] = 50
    base.detach()[0, 0] = 9
    base.unfold(1, 2, 2)[0, 1] = 3
    parts = base.split(2, dim=1)
    parts[1][2] = 0
    return base, base.contiguous()[0, 0], base.flatten()


def copies_do_not(t):
    base = x(t, False)
    for copy in (base.clone(), base + 0, base[[0, 1]], base[base > 3], base.mT.reshape(-1)):
        copy.fill_(0)
    return base


def in_place_on_a_sum(t):
    leaf = x(t)
    total = t.zeros(4, dtype=t.float64)
    for row in leaf:
        total += row * row
    return total, gradient(t, total, leaf)


def changed_after_it_was_saved(t):
    leaf = x(t)
    state = leaf * 2
    out = state * leaf
    state += 1
    return gradient(t, out, leaf)


def result_changed_after_it_was_saved(t):
    leaf = x(t)
    out = leaf.exp()
    out.add_(1)
    return gradient(t, out, leaf)


def changed_after_a_sum(t):
    leaf = x(t)
    part = leaf * 2
    out = part + 1
    part.zero_()
    return gradient(t, out, leaf)


def mask_changed_later(t):
    leaf = x(t)
    mask = leaf.detach() > 4
    out = leaf.masked_fill(mask, 0.0)
    mask.logical_not_()
    return gradient(t, out, leaf)


def index_changed_later(t):
    leaf = x(t)
    places = t.tensor([0, 2])
    out = leaf[places]
    places.mul_(0)
    return gradient(t, out, leaf)


def mask_of_an_index_changed_later(t):
    leaf = x(t)
    mask = leaf.detach() > 4
    out = leaf[mask]
    mask.logical_not_()
    return gradient(t, out, leaf)


def places_changed_later(t):
    leaf = x(t)
    places = t.tensor([[0, 2]])
    out = leaf.gather(0, places)
    places.mul_(0)
    return gradient(t, out, leaf)


def leaf_written(t):
    leaf = x(t)
    leaf += 1


def view_of_a_leaf_written(t):
    leaf = x(t)
    leaf[0] = 1


def leaf_written_without_graph(t):
    leaf = x(t)
    with t.no_grad():
        leaf[0] = 1
        leaf.mul_(2)
    return leaf, gradient(t, leaf * leaf, leaf)


def leaf_that_is_a_view(t):
    whole = t.ones(3, 4, dtype=t.float64)
    leaf = whole[:2].requires_grad_()
    out = leaf[1:] * 2
    return out, gradient(t, out, leaf), whole.requires_grad


def one_of_several_views_written(t):
    leaf = x(t)
    for row in leaf * 1:
        row += 1


def expanded_written(t):
    t.zeros(3, 1).expand(3, 4).add_(1)


def backward_twice(t):
    leaf = x(t)
    out = (leaf * leaf).sum()
    out.backward()
    out.backward()


def backward_twice_with_the_graph(t):
    leaf = x(t)
    out = (leaf * leaf).sum()
    out.backward(retain_graph=True)
    out.backward()
    return leaf.grad


def several_uses(t):
    leaf = x(t)
    first = leaf.softmax(-1)
    out = first @ leaf.mT + first.sum()
    return gradient(t, out, leaf)


def gradient_of_what_is_no_leaf(t):
    leaf = x(t)
    middle = leaf.exp()
    return t.autograd.grad((middle * leaf).sum(), [middle, leaf])


def unused(t):
    return t.autograd.grad((x(t) * 2).sum(), x(t))


def no_graph(t):
    x(t, False).sum().backward()


def not_a_single_number(t):
    (x(t) * 2).backward()


def detached(t):
    leaf = x(t)
    out = leaf * leaf.detach()
    return out.detach().requires_grad, gradient(t, out, leaf)


def switched_off(t):
    leaf = x(t)
    with t.no_grad():
        first = leaf * 2
        with t.enable_grad():
            second = leaf * 2
    with t.set_grad_enabled(False):
        third = leaf * 2

    @t.no_grad()
    def function():
        return leaf * 2

    flags = [first.requires_grad, second.requires_grad, third.requires_grad]
    return [*flags, function().requires_grad, (leaf * 2).requires_grad]


def whole_numbers_want_no_gradient(t):
    t.arange(3).requires_grad_()


def flag_of_what_is_no_leaf(t):
    (x(t) * 2).requires_grad_(False)


def a_jacobian(t):
    square = t.eye(2, dtype=t.float64) + 1
    return t.autograd.functional.jacobian(lambda y: (y @ square).sin(), x(t, False)[:, :2])


def derivatives_of_functions(t):
    point = x(t, False)[0]
    by_rows = t.func.jacrev(lambda y: y * y)(point)
    return by_rows, t.func.jacfwd(lambda y: y.sin())(point), t.func.grad(lambda y: y.norm())(point)


def along_a_direction(t):
    return t.autograd.functional.jvp(lambda y: y * y.sum(), x(t, False), x(t, False) / 3)


class_of_a_layer = """
class Layer(t.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = t.nn.Linear(4, 2)
        self.scale = t.nn.Parameter(t.ones(2))
        self.register_buffer("shift", t.ones(2))
        self.layers = t.nn.ModuleList([t.nn.LayerNorm(2), t.nn.Dropout(0.5)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(self.linear(x) if layer is self.layers[0] else x)
        return x * self.scale + self.shift
"""


def a_module(t):
    names: dict = {"t": t}
    exec(class_of_a_layer, names)
    layer = names["Layer"]().double().eval()
    shapes = {name: tuple(weight.shape) for name, weight in layer.named_parameters()}
    weights = {
        name: t.linspace(-1, 1, weight.numel(), dtype=t.float64).reshape(weight.shape)
        for name, weight in layer.named_parameters()
    }
    leaves = [weight.requires_grad_() for weight in weights.values()]
    out = t.func.functional_call(layer, weights, (x(t),))
    found = t.autograd.grad(out.sin().sum(), leaves)
    kept = layer.training, layer.layers[1].training
    return out, [*found], [*shapes.items()], *kept


def called_for_each(t):
    leaf = x(t)
    rows = t.vmap(lambda row, all: all @ row.exp(), in_dims=(0, None))(leaf, leaf)
    nested = t.vmap(t.vmap(lambda y: (y * 2, y.sin())))(leaf)
    return rows, nested, gradient(t, rows, leaf)


def called_for_each_by_its_number(t):
    return t.vmap(lambda row: row if row.sum() > 0 else -row)(x(t))


def a_list_as_index(t):
    base = x(t, False)
    return base[[0, 2]], base[[True, False, True]], base[:, [1]], base[..., None, 0], base[[]]


def numbers_and_places_as_index(t):
    base = t.arange(24).reshape(2, 3, 4)
    places = t.tensor([1, 0])
    return base[0, :, places], base[places, :, 1], base[:, places][:, :, places], base[1, places, 2]


def beyond_the_end(t):
    return x(t)[3]


def too_many_indices(t):
    return x(t)[0, 0, 0]


def a_floating_index(t):
    return x(t)[t.tensor([0.0])]


def a_mask_of_another_size(t):
    return x(t)[t.tensor([True, False])]


def a_whole_tensor_is_asked(t):
    return 1 if x(t) > 2 else 0


def numbers_of_python(t):
    one = t.tensor([2.5])
    whole = t.tensor(3)
    return float(one), int(whole), bool(whole), [1, 2, 3, 4][whole], round(one.item(), 1), len(one)


def promotion(t):
    single, whole, none = t.ones(2), t.ones(2, dtype=t.int64), t.tensor(1.5, dtype=t.float64)
    return [
        str((a * b).dtype) for a in (single, whole, none, 2, 2.5) for b in (single, whole, none)
    ]


def shapes(t):
    base = x(t)
    size = base.shape
    return str(size), size[0], tuple(size[:-1] + size), (2, *size), size == (3, 4), size.numel()


def complex_numbers(t):
    leaf = x(t)
    turned = t.polar(t.ones_like(leaf), leaf) * t.complex(leaf, leaf)
    out = t.cat([turned.real, turned.imag])
    pairs = t.view_as_real(t.view_as_complex(leaf.reshape(3, 2, 2)))
    return out, gradient(t, out, leaf), gradient(t, pairs, leaf)


def decompositions(t):
    base = x(t, False) + t.eye(3, 4, dtype=t.float64)
    u, s, vh = t.linalg.svd(base, full_matrices=False)
    q, r = t.linalg.qr(base.mT)
    values, vectors = t.linalg.eigh(base @ base.mT)
    found = t.linalg.eig(base[:, :3]).eigenvalues
    old = t.svd(base)
    return (
        found.abs().sort().values,
        old.U * old.S @ old.V.mT,
        u * s @ vh,
        q @ r,
        vectors * values @ vectors.mT,
    )


PROGRAMS = [
    one
    for name, one in [*globals().items()]
    if callable(one)
    and getattr(one, "__module__", None) == __name__
    and name not in ("x", "gradient")
]


def outcome(program: Any, library: Any) -> Any:
    try:
        return "returned", results(program(library))
    except Exception as error:
        return "raised", type(error).__name__, re.sub(r"\d+|\w+Backward\w*", "", str(error))[:60]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_a_program_does_what_it_does_with_torch(program):
    expected, got = outcome(program, torch), outcome(program, PAGE)
    assert got[0] == expected[0] and alike(got, expected), (got, expected)


DRAWS = [
    lambda t, g: t.randn(3, 5, generator=g, dtype=t.float64),
    lambda t, g: t.randn(3, generator=g, dtype=t.float64),
    lambda t, g: t.randn(17, generator=g),
    lambda t, g: t.rand(2, 9, generator=g),
    lambda t, g: t.rand(7, generator=g, dtype=t.float64),
    lambda t, g: t.randint(-3, 9, (5,), generator=g),
    lambda t, g: t.randint(2**40, (5,), generator=g),
    lambda t, g: t.randperm(11, generator=g),
    lambda t, g: t.zeros(4, 5).normal_(1.0, 2.0, generator=g),
    lambda t, g: t.zeros(20).normal_(generator=g),
    lambda t, g: t.nn.init.uniform_(t.zeros(5), -1, 1, generator=g),
]


@pytest.mark.parametrize("seed", [0, 2**40 + 1])
def test_a_seed_draws_the_numbers_that_torch_draws(seed):
    drawn = [
        [results(draw(t, g)) for _ in range(2) for draw in DRAWS]
        for t in (torch, PAGE)
        for g in [t.Generator().manual_seed(seed)]
    ]
    assert alike(*drawn)


def test_a_state_is_put_back():
    state = PAGE.get_rng_state()
    one = PAGE.randn(3)
    PAGE.set_rng_state(state)
    assert PAGE.randn(3).equal(one)
    with PAGE.random.fork_rng(devices=[]):
        two = PAGE.randn(3)
    assert PAGE.randn(3).equal(two)


SHOWN = [
    lambda t: t.tensor([1.0, -2.5, 3.25]),
    lambda t: t.tensor([[1, 20], [300, -4]]),
    lambda t: t.tensor([[True, False]]),
    lambda t: t.tensor(3.0),
    lambda t: t.tensor([]),
    lambda t: t.zeros(2, 0),
    lambda t: t.tensor([1e-6, 1.0]),
    lambda t: t.tensor([1e10, 1.5]),
    lambda t: t.tensor([float("nan"), float("inf"), 1.0]),
    lambda t: t.arange(30.0).reshape(2, 3, 5) / 7,
    lambda t: t.arange(30),
    lambda t: t.arange(2000),
    lambda t: t.arange(4, dtype=t.float64).requires_grad_(),
    lambda t: t.ones(2, 3, dtype=t.float64),
    lambda t: t.ones(2, dtype=t.bfloat16),
    lambda t: t.float32,
    lambda t: t.ones(2).shape,
]


@pytest.mark.parametrize("make", SHOWN)
def test_a_tensor_is_shown_as_torch_shows_it(make):
    assert repr(make(PAGE)) == repr(make(torch))


def test_modes_see_what_is_called_and_what_is_made():
    called, made = [], []

    class Calls(PAGE.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            called.append(function.__name__)
            return function(*args, **(kwargs or {}))

    class Made(PAGE.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            made.append(operation._schema)
            return operation(*args, **(kwargs or {}))

    one = PAGE.ones(2, 3)
    with Calls(), Made():
        PAGE.nn.functional.softmax(one, -1)
        one.mT.add_(1)
    assert called == ["softmax", "add_"]
    views = [bool(one.returns[0].alias_info) for one in made]
    assert views.count(True) == 2 and [one.is_mutable for one in made].count(True) == 1


def test_tensors_of_two_devices_do_not_meet():
    there = PAGE.ones(2, 3).to("meta")
    assert (there @ there.mT * 2 + PAGE.tensor(1.0))[0, 0].item() == 7
    for meet in (lambda: there + PAGE.ones(3), lambda: PAGE.cat([there, PAGE.ones(2, 3)])):
        with pytest.raises(RuntimeError, match="meta and cpu"):
            meet()
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        there.to("cuda")


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda t: t.compile, "torch.compile"),
        (lambda t: t.ones(2).frexp, "torch.Tensor.frexp"),
        (lambda t: t.nn.LSTM, "torch.nn.LSTM"),
        (lambda t: t.ones(2) << 1, "torch.Tensor.__lshift__"),
        (lambda t: t.nn.Linear(2, 2).apply(t.nn.init.zeros_), "torch.nn.Module.apply"),
        (lambda t: t.add(t.ones(2), 1, out=t.ones(2)), "torch.add(out=)"),
    ],
)
def test_what_is_absent_says_where_it_works(ask, name):
    with pytest.raises(AttributeError, match=re.escape(f"`{name}` works in the notebook")):
        ask(PAGE)


@pytest.mark.parametrize("ask", [lambda t: t.sofmax, lambda t: t.ones(2).softmx])
def test_what_torch_does_not_have_either_is_said_as_torch_says_it(ask):
    with pytest.raises(AttributeError) as page:
        ask(PAGE)
    with pytest.raises(AttributeError) as notebook:
        ask(torch)
    assert str(page.value) == str(notebook.value)


def test_where_there_is_torch_it_is_taken():
    assert as_torch() is torch
