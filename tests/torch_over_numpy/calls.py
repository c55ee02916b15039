"""What each function is called with: a strategy of its arguments by its name, for all its homes."""

from hypothesis import strategies as st

from tests.torch_over_numpy.drawn import ALL, FLOATING, HALF, WHOLE, Dtype, T, tensors

# arguments, and those that go by name
Calls = st.SearchStrategy[tuple[tuple, dict]]
AXIS = st.integers(-4, 3)
AXES = AXIS | st.none() | st.lists(AXIS, min_size=1, max_size=2).map(tuple)
KEEP = st.booleans()
SIGNS = st.sampled_from([1.0, -2.0, 0.5, 0, 3, True])
SMALL_FLOATS = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
FLOATS = tensors(FLOATING)


def called(*args: st.SearchStrategy, **kwargs: st.SearchStrategy) -> Calls:
    return st.tuples(st.tuples(*args), st.fixed_dictionaries(kwargs))


def optional(**kwargs: st.SearchStrategy) -> st.SearchStrategy[dict]:
    return st.fixed_dictionaries({}, optional=kwargs)


def with_options(*args: st.SearchStrategy, **kwargs: st.SearchStrategy) -> Calls:
    return st.tuples(st.tuples(*args), optional(**kwargs))


@st.composite
def fitting(draw, *dtypes, numbers=None, odd=False):
    """Tensors that broadcast, but for one in ten."""
    shape = draw(st.lists(st.sampled_from([2, 3, 1, 4]), max_size=3))
    found = []
    for each in dtypes:
        own = [size if draw(st.integers(0, 4)) else 1 for size in shape]
        own = own[draw(st.integers(0, len(own))) if draw(st.integers(0, 3)) == 0 else 0 :]
        if not draw(st.integers(0, 9)):
            own = [*own, 5]
        one = draw(tensors(each, shapes=st.just(tuple(own)), numbers=numbers, odd=odd))
        found.append(one)
    return tuple(found)


def pairs(dtypes=ALL, others=None, odd=False, numbers=None) -> Calls:
    """Two tensors of any dtypes, or a tensor and a number."""
    two = fitting(dtypes, others or dtypes, odd=odd, numbers=numbers)
    number = SIGNS if numbers is None else numbers
    return st.tuples(two | st.tuples(tensors(dtypes), number), st.just({}))


@st.composite
def indexed(draw, dtypes=FLOATING, sources=0, along=True):
    """A tensor, an axis, an index along it, and perhaps a source of the index's shape."""
    x = draw(tensors(dtypes, low=1, shapes=st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    dim = draw(st.integers(-len(x.shape), len(x.shape) - 1))
    size = x.shape[dim]
    shape = [draw(st.integers(1, each)) for each in x.shape]
    shape[dim] = draw(st.integers(1, 4))
    numbers = st.integers(0, size - 1 + (not draw(st.integers(0, 9))))
    index = draw(tensors(["int64"], shapes=st.just(tuple(shape)), numbers=numbers))
    source = [draw(tensors([x.dtype], shapes=st.just(tuple(shape)))) for _ in range(sources)]
    return (x, dim, index, *source), {}


@st.composite
def distinct(draw, calls):
    """The call with an index that names no place twice: of two numbers, either may be the last."""
    (x, dim, index, *source), kwargs = draw(calls)
    here = tuple(index.shape[:dim]) if dim >= 0 else index.shape[: len(index.shape) + dim]
    axis = len(here)
    inner = 1
    for size in index.shape[axis + 1 :]:
        inner *= size
    count = min(index.shape[axis], x.shape[axis])
    shape = (*index.shape[:axis], count, *index.shape[axis + 1 :])
    start = draw(st.integers(0, x.shape[axis] - count))
    total = 1
    for size in shape:
        total *= size
    numbers = tuple(start + place // inner % count for place in range(total))
    source = [T(s.dtype, shape, s.numbers[:total]) for s in source]
    return (x, dim, T("int64", shape, numbers), *source), kwargs


@st.composite
def rows_named(draw, source=False):
    """A tensor, an axis, and an index of one axis of places along it."""
    x = draw(tensors(FLOATING, shapes=st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    dim = draw(st.integers(-len(x.shape), len(x.shape) - 1))
    places = draw(st.permutations(range(x.shape[dim])))[: draw(st.integers(1, 3))]
    index = T("int64", (len(places),), tuple(places))
    if not source:
        return (x, dim, index), {}
    shape = [*x.shape]
    shape[dim] = len(places)
    return (x, dim, index, draw(tensors([x.dtype], shapes=st.just(tuple(shape))))), {}


@st.composite
def matrices(draw, dtypes=FLOATING, first=None, second=None):
    """Two tensors whose product is defined, but for one in ten."""
    dtype = draw(st.sampled_from(dtypes))
    n, m, k = (draw(st.integers(1, 3)) for _ in range(3))
    other = m + (not draw(st.integers(0, 9)))
    batch = draw(st.lists(st.integers(1, 2), max_size=2))
    own = [size if draw(st.booleans()) else 1 for size in batch]
    one = first or draw(st.sampled_from([(m,), (n, m), (*batch, n, m)]))
    two = second or draw(st.sampled_from([(other,), (other, k), (*own, other, k)]))
    return (
        draw(tensors([dtype], shapes=st.just(tuple(one)))),
        draw(tensors([dtype], shapes=st.just(tuple(two)))),
    ), {}


@st.composite
def regular(draw):
    """Square matrices that can be inverted: the diagonal is the largest."""
    n = draw(st.integers(1, 3))
    batch = draw(st.lists(st.integers(1, 2), max_size=1))
    small = st.sampled_from([0.5, -0.25, 0.125, -0.5, 0.0625])
    shape = (*batch, n, n)
    found = draw(tensors(["float64"], shapes=st.just(shape), numbers=small, layouts=["rows"]))
    numbers = list(found.numbers)
    for place in range(len(numbers)):
        row, column = divmod(place % (n * n), n)
        numbers[place] += (3.0 + row) * (row == column)
    return T("float64", shape, tuple(numbers))


@st.composite
def symmetric(draw):
    found = draw(regular())
    n = found.shape[-1]
    numbers = [
        found.numbers[place - place % (n * n) + max(i, j) * n + min(i, j)]
        for place in range(len(found.numbers))
        for i, j in [divmod(place % (n * n), n)]
    ]
    return T(found.dtype, found.shape, tuple(numbers))


@st.composite
def lists_of_tensors(draw, along=True):
    """Tensors of sizes that fit along an axis, but for one in ten."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    some = []
    for _ in range(draw(st.integers(1, 3))):
        own = [*shape]
        if along:
            own[dim] = draw(st.integers(0, 3))
        if not draw(st.integers(0, 12)):
            own[0] += 1
        some.append(draw(tensors(FLOATING, shapes=st.just(tuple(own)))))
    return (some, dim), {}


@st.composite
def in_another_shape(draw, spread=False):
    """A tensor and sizes that hold its numbers, one of which may be -1."""
    x = draw(tensors(shapes=st.sampled_from([(6,), (2, 3), (3, 4), (2, 3, 2), (1, 6), (), (0, 3)])))
    sizes = draw(
        st.sampled_from(
            [
                (6,),
                (3, 2),
                (-1,),
                (2, -1),
                (12,),
                (4, 3),
                (-1, 2),
                (1, 6, 1),
                (),
                (2, 2, 3),
                (0,),
                (5,),
            ]
        )
    )
    return ((x, *sizes) if spread else (x, sizes)), {}


@st.composite
def expanding(draw, spread=True):
    x = draw(tensors(low=0, high=2, shapes=st.lists(st.sampled_from([1, 2, 3]), max_size=2)))
    sizes = [
        size if size > 1 and draw(st.integers(0, 9)) else draw(st.sampled_from([-1, 2, 3]))
        for size in x.shape
    ]
    sizes = [*draw(st.lists(st.integers(1, 2), max_size=1)), *sizes]
    return ((x, *sizes) if spread and sizes else (x, tuple(sizes))), {}


@st.composite
def permuted(draw, spread=False):
    x = draw(tensors(high=3))
    order = tuple(draw(st.permutations(range(len(x.shape)))))
    order = tuple(i - len(order) if draw(st.booleans()) else i for i in order)
    return ((x, *order) if spread and order else (x, order)), {}


@st.composite
def moved(draw):
    x = draw(tensors(high=3, low=1))
    axis = st.integers(-len(x.shape), len(x.shape) - 1)
    return (x, draw(axis), draw(axis)), {}


@st.composite
def classes(draw, floating=False):
    """Scores of classes, and the right ones, of which some do not count."""
    n, c = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    scores = draw(tensors(FLOATING, shapes=st.just((n, c)), layouts=["rows", "columns"]))
    right = draw(st.lists(st.integers(0, c - 1), min_size=n, max_size=n))
    if n > 1 and draw(st.booleans()):
        right[1] = -100
    return (scores, T("int64", (len(right),), tuple(right))), {
        "reduction": draw(st.sampled_from(["mean", "sum", "none"]))
    }


@st.composite
def masked(draw, value=None):
    x, mask = draw(fitting(ALL, ["bool"]))
    if value is None:
        return (x, mask, draw(st.sampled_from([0, 1.5, -2, float("-inf"), True]))), {}
    return (x, mask), {}


@st.composite
def equations(draw):
    dtype = draw(st.sampled_from(FLOATING))
    sizes = {"i": 2, "j": 3, "k": 4, "b": 2}
    equation = draw(
        st.sampled_from(
            ["ij,jk->ik", "...ij,...kj->...ik", "bij,bjk->bik", "ij->ji", "ij->", "i,j->ij",
             "ij,ij->i", "...i,i->...", "ij,jk", "b...i,ij->b...j", "ij,kj,k->ik", "i,i->",
             "ij->j", "ij,j->ij", "ii->i"]
        )
    )  # fmt: skip
    terms = equation.partition("->")[0].split(",")
    shapes = [
        tuple(
            n
            for part in term.replace("...", ".")
            for n in (draw(st.sampled_from([(), (2,), (1, 2)])) if part == "." else (sizes[part],))
        )
        for term in terms
    ]
    gradients = "ii" not in equation
    some = [
        draw(tensors([dtype if gradients else "int64"], shapes=st.just(shape))) for shape in shapes
    ]
    return (equation, *some), {}


def sized(*dtypes) -> Calls:
    sizes = st.lists(st.integers(0, 3), min_size=1, max_size=3)
    kwargs = optional(dtype=st.sampled_from([Dtype(each) for each in (*ALL, *HALF)]))
    return st.tuples(sizes.map(tuple) | sizes.map(lambda some: (tuple(some),)), kwargs)


def with_keepdim(call):
    """The call, with `keepdim` where it names an axis: without one, torch knows no such keyword."""
    args, kwargs = call
    return args, {**kwargs, "keepdim": True} if kwargs.get("dim") else kwargs


ONE = st.tuples(tensors().map(lambda x: (x,)), st.just({}))
ONE_FLOATING = called(FLOATS)
ODD = called(tensors(FLOATING, odd=True))
REDUCED = called(tensors()) | with_options(tensors(), dim=AXES).map(with_keepdim)
ALONG = called(tensors(), AXIS)
ALONG_FLOATING = called(FLOATS, AXIS)
ALONG_OR_ALL = with_options(tensors(high=2), dim=AXIS, keepdim=KEEP)
DTYPE = st.sampled_from([Dtype(each) for each in ALL])

# no two equal: of several that are the largest, it is chance which is named
DISTINCT = tensors(
    ["float64"], low=1, high=2, numbers=st.floats(-9, 9), layouts=["rows"], unique=True
)

CALLS: dict[str, Calls] = {}


def of(names: str, calls: Calls) -> None:
    CALLS.update(dict.fromkeys(names.split(), calls))


of(
    "abs absolute ceil cos erf exp floor log log10 log1p log2 neg reciprocal relu round rsqrt "
    "sigmoid sign sin sqrt square tanh trunc isnan isinf isfinite logical_not nan_to_num "
    "bitwise_not entr conj resolve_conj",
    ONE | ODD | called(tensors(HALF, layouts=["rows"])),
)
of("elu gelu silu", called(FLOATS))
of(
    "add sub subtract mul multiply div divide maximum minimum eq ne not_equal lt less le "
    "less_equal gt greater ge greater_equal logical_and logical_or",
    pairs() | pairs(FLOATING, odd=True) | pairs((*HALF, "float32", "int64")),
)
of(
    "bitwise_and bitwise_or bitwise_xor",
    pairs((*WHOLE, "bool", "float32"), numbers=st.booleans() | st.integers(0, 9)),
)
of("floor_divide remainder", pairs((*FLOATING, "int64"), numbers=st.sampled_from([1, 2, -3])))
of(
    "pow",
    pairs(FLOATING, numbers=SMALL_FLOATS)
    | called(tensors(WHOLE), st.integers(0, 3))
    | called(FLOATS, st.sampled_from([2, 3, 0.5, -1, 0])),
)
of("xlogy", pairs(FLOATING, numbers=SMALL_FLOATS))
of("heaviside logaddexp", st.tuples(fitting(["float64"], ["float64"]), st.just({})))
of(
    "lerp",
    st.tuples(fitting(["float64"], ["float64"], ["float64"]), st.just({}))
    | called(FLOATS, FLOATS, SMALL_FLOATS),
)
of(
    "addcmul",
    st.tuples(fitting(FLOATING, FLOATING, FLOATING, numbers=SMALL_FLOATS), st.just({})),
)
of(
    "clamp",
    with_options(
        tensors((*FLOATING, "int64")),
        min=st.sampled_from([-1, 0, 0.5, None]),
        max=st.sampled_from([0, 1, 2.5, None]),
    ),
)
of("clip", CALLS["clamp"])
of("clamp_min clamp_max", called(tensors((*FLOATING, "int64")), st.sampled_from([-1, 0, 0.5])))
of("sum nansum", st.one_of(REDUCED, with_options(tensors(), dim=AXES, dtype=DTYPE)))
of("mean nanmean amax amin", REDUCED)
of("prod", called(tensors(), AXIS, KEEP) | ONE)
of("std var", with_options(FLOATS, dim=AXES, keepdim=KEEP, correction=st.sampled_from([0, 1])))
of("all any", REDUCED)
of("argmax argmin", ALONG_OR_ALL)
of("max min", ONE | with_options(tensors(high=2), dim=AXIS))
of("count_nonzero", called(tensors(), AXES))
of("median", called(DISTINCT, AXIS))
of("mode", called(tensors(["int64"], low=1, numbers=st.integers(0, 2)), st.just(-1)))
of(
    "pad_sequence",
    called(
        st.lists(
            tensors(["float64"], shapes=st.tuples(st.integers(1, 3), st.just(2))), min_size=1
        ).filter(lambda some: len(some) < 4),
        KEEP,
    ),
)
of("kthvalue", called(DISTINCT, st.just(1), AXIS))
of("logsumexp", called(FLOATS, AXIS) | called(tensors(FLOATING, odd=True), st.just(-1), KEEP))
of(
    "softmax log_softmax",
    called(FLOATS, AXIS)
    | called(tensors(FLOATING, odd=True), st.just(-1))
    | called(tensors(["int64"], shapes=st.just((2, 3))), AXIS),
)
of(
    "cumsum",
    ALONG
    | st.tuples(
        st.tuples(FLOATS, AXIS),
        optional(dtype=st.sampled_from([Dtype("float32"), Dtype("float64")])),
    ),
)
of("cumprod", ALONG)
of("logcumsumexp", ALONG_FLOATING)
of("cummax", called(tensors(FLOATING, low=1), st.just(0)))
of(
    "diff",
    with_options(tensors((*FLOATING, "int64", "bool"), low=1), n=st.integers(1, 2), dim=AXIS),
)
of(
    "norm",
    ONE_FLOATING
    | with_options(FLOATS, p=st.sampled_from([1, 2, 3, float("inf")]), dim=AXIS, keepdim=KEEP),
)
of(
    "vector_norm",
    with_options(
        FLOATS,
        ord=st.sampled_from([1, 2, 3, 0, float("inf"), -float("inf")]),
        dim=AXES,
        keepdim=KEEP,
    ),
)

of("view reshape", in_another_shape() | in_another_shape(spread=True))
of("torch.reshape", in_another_shape())
of(
    "view_as reshape_as",
    called(
        tensors(shapes=st.sampled_from([(6,), (2, 3)])),
        tensors(shapes=st.sampled_from([(3, 2), (6,), (4,)])),
    ),
)
of("flatten", with_options(tensors(), start_dim=AXIS, end_dim=AXIS))
of("ravel clone contiguous t detach squeeze", ONE)
of("t_", called(tensors(high=3, layouts=["rows"])))
of(
    "unflatten",
    called(tensors(low=1), AXIS, st.sampled_from([(2, -1), (1, 2), (-1,), (2, 2), (3, 1)])),
)
of("permute", permuted() | permuted(spread=True))
of("torch.permute", permuted())
of("transpose swapaxes", called(tensors(), AXIS, AXIS))
of("movedim moveaxis", moved())
of("unsqueeze", ALONG)
of("squeeze", ONE | called(tensors(), AXIS))
of("expand", expanding())
of("broadcast_to", expanding(spread=False))
of("expand_as type_as", called(tensors(FLOATING, high=2), tensors(FLOATING, high=3)))
of("broadcast_tensors", st.tuples(fitting(FLOATING, FLOATING), st.just({})))
of(
    "broadcast_shapes",
    called(st.sampled_from([(2, 1), (3,), (1,)]), st.sampled_from([(3,), (2, 3), (4, 1, 1), ()])),
)
of("select", called(tensors(low=1), AXIS, st.integers(-2, 2)))
of("narrow", called(tensors(low=1), AXIS, st.integers(-1, 2), st.integers(0, 3)))
of("unbind", called(tensors(low=0), AXIS))
of(
    "split",
    called(tensors(low=1), st.integers(1, 3) | st.sampled_from([(1, 2), [2, 2], (3,)]), AXIS),
)
of("chunk tensor_split", called(tensors(low=1), st.integers(1, 4), AXIS))
of(
    "diagonal",
    with_options(tensors(low=2), offset=st.integers(-1, 1))
    | called(tensors(low=2), st.just(0), AXIS, AXIS),
)
of("unfold", called(tensors(low=1), AXIS, st.integers(1, 3), st.integers(1, 2)))
of(
    "as_strided",
    called(
        tensors(FLOATING, shapes=st.just((3, 4)), layouts=["rows"]),
        st.just((2, 3)),
        st.sampled_from([(4, 1), (1, 2), (3, 1)]),
        st.integers(0, 2),
    ),
)

of("cat concat concatenate", lists_of_tensors())
of("stack", lists_of_tensors(along=False))
of("hstack vstack", lists_of_tensors().map(lambda call: ((call[0][0],), {})))
of("repeat tile", called(tensors(FLOATING, high=2), st.integers(1, 2), st.integers(0, 3)))
of("torch.tile", called(tensors(FLOATING, high=2), st.tuples(st.integers(1, 2), st.integers(0, 3))))
of(
    "repeat_interleave",
    called(tensors(high=2), st.integers(0, 3))
    | called(tensors(high=2, low=1), st.integers(1, 2), AXIS),
)
of("flip", called(tensors(), st.lists(AXIS, max_size=2).map(tuple)))
of("roll", called(tensors(), st.integers(-3, 3)) | called(tensors(low=1), st.integers(-3, 3), AXIS))
of("tril triu", with_options(tensors(low=1), diagonal=st.integers(-2, 2)))
of("diag", with_options(tensors(FLOATING, high=2), diagonal=st.integers(-1, 1)))
of("diag_embed", with_options(tensors(FLOATING, low=1, high=2), offset=st.integers(-1, 1)))
of(
    "block_diag",
    st.tuples(
        st.tuples(tensors(FLOATING, low=2, high=2), tensors(FLOATING, low=2, high=2)), st.just({})
    ),
)
of(
    "pad",
    called(
        FLOATS,
        st.sampled_from([(1, 0), (0, 2, 1, 0), (-1, 1), (1,)]),
        **{"value": st.sampled_from([0.0, 1.5, None])},
    ),
)
of(
    "one_hot",
    called(tensors(["int64"], numbers=st.integers(0, 3), low=1), st.sampled_from([4, 3, 5])),
)
of(
    "meshgrid cartesian_prod",
    st.tuples(
        st.tuples(
            tensors(["int64"], low=1, high=1, shapes=st.just((2,))),
            tensors(["int64"], shapes=st.just((3,))),
        ),
        st.just({}),
    ),
)
of("tril_indices triu_indices", called(st.integers(1, 4), st.integers(1, 4), st.integers(-1, 1)))

of("gather", indexed())
of(
    "take_along_dim",
    indexed()
    .map(lambda call: ((call[0][0], call[0][2], call[0][1]), {}))
    # torch does not look whether a place is there along an axis of size 1
    .filter(lambda call: max(call[0][1].numbers) < call[0][0].shape[call[0][2]]),
)
of("scatter", distinct(indexed(sources=1)))
of("scatter_add", indexed(sources=1))
of(
    "scatter_reduce",
    indexed(dtypes=["int64"], sources=1).flatmap(
        lambda call: st.sampled_from(["sum", "amax", "amin", "prod"]).map(
            lambda how: ((*call[0], how), {})
        )
    ),
)
of("index_select", rows_named())
of("index_add index_copy", rows_named(source=True))
of("index_fill", rows_named().map(lambda call: ((*call[0], 1.5), {})))
of(
    "index_put",
    called(
        tensors(FLOATING, shapes=st.just((3, 4))),
        st.just((T("int64", (2,), (2, 0)),)),
        tensors(FLOATING, shapes=st.sampled_from([(2, 4), (4,), ()])),
    ),
)
of("masked_fill", masked())
of("masked_select", masked(value=False))
of(
    "masked_scatter",
    called(
        tensors(["float64"], shapes=st.just((2, 3))),
        tensors(["bool"], shapes=st.sampled_from([(2, 3), (3,)])),
        tensors(["float64"], shapes=st.just((6,))),
    ),
)
of(
    "where",
    st.tuples(fitting(["bool"], FLOATING, FLOATING), st.just({}))
    | called(
        tensors(["bool"], shapes=st.just((2,))), st.just(1.5), tensors(ALL, shapes=st.just((2,)))
    )
    | called(tensors(["bool", "int64"])),
)
of("torch.Tensor.where", st.tuples(fitting(FLOATING, ["bool"], FLOATING), st.just({})))
of(
    "fill_diagonal_",
    called(
        tensors(["float64"], shapes=st.sampled_from([(3, 3), (2, 3)]), layouts=["rows"]),
        st.just(2.5),
    ),
)
of("fill_", called(tensors(layouts=["rows"]), st.sampled_from([0, 1, 2.5])))
of("zero_", called(tensors(layouts=["rows", "columns"])))
of(
    "copy_",
    called(
        tensors(shapes=st.just((2, 3)), layouts=["rows", "steps"]),
        tensors(shapes=st.sampled_from([(2, 3), (3,), (1, 3), (2,)])),
    ),
)

of(
    "sort argsort",
    called(
        tensors((*FLOATING, "int64"), low=0), AXIS, st.booleans(), **{"stable": st.just(True)}
    ).map(
        lambda call: (call[0][:1], {"dim": call[0][1], "descending": call[0][2], "stable": True})
    ),
)
of("nonzero argwhere", called(tensors(low=1)))
of("unique", called(tensors((*WHOLE, "bool"), low=1)))
of("topk", called(tensors(["float64"], low=1, numbers=st.floats(-9, 9)), st.integers(0, 3), AXIS))
of("bincount", called(tensors(["int64"], numbers=st.integers(0, 4), low=1, high=1)))
of("equal", pairs(FLOATING, numbers=SMALL_FLOATS).filter(lambda call: isinstance(call[0][1], T)))
of(
    "isclose allclose",
    st.tuples(
        fitting(["float64"], ["float64"], odd=True),
        optional(rtol=st.just(0.5), atol=st.just(0.1), equal_nan=KEEP),
    ),
)
of(
    "assert_close",
    st.tuples(fitting(FLOATING, FLOATING, numbers=st.sampled_from([1.0, 1.0000001])), st.just({})),
)
of("isin", called(tensors(["int64"]), tensors(["int64"], layouts=["rows"])))
of(
    "searchsorted",
    called(
        st.just(T("float64", (4,), (-1.0, 0.0, 0.5, 2.0))), tensors(["float64"]), **{"right": KEEP}
    ),
)
of(
    "bucketize",
    called(
        tensors(["float64"]), st.just(T("float64", (4,), (-1.0, 0.0, 0.5, 2.0))), **{"right": KEEP}
    ),
)

of(
    "matmul",
    matrices() | matrices(dtypes=["int64"]) | st.tuples(st.tuples(FLOATS, FLOATS), st.just({})),
)
of("mm bmm mv dot", matrices() | st.tuples(st.tuples(FLOATS, FLOATS), st.just({})))
of(
    "outer",
    st.tuples(st.tuples(tensors(FLOATING, high=2), tensors(FLOATING, low=1, high=1)), st.just({})),
)
of("kron", st.tuples(st.tuples(tensors(FLOATING, high=2), tensors(FLOATING, high=2)), st.just({})))
of(
    "vecdot",
    called(
        tensors(["float64"], shapes=st.just((2, 3))),
        tensors(["float64"], shapes=st.sampled_from([(2, 3), (3,)])),
    ),
)
of(
    "tensordot",
    called(
        tensors(["float64"], shapes=st.just((2, 3))),
        tensors(["float64"], shapes=st.just((3, 2))),
        st.just(1),
    ),
)
of("einsum", equations())
of("inv inverse matrix_exp", called(regular()))
of(
    "solve",
    called(regular(), tensors(["float64"], shapes=st.sampled_from([(1, 2), (2, 2), (3,), (3, 2)]))),
)
of("matrix_power", called(regular(), st.integers(-1, 3)))
of(
    "svdvals pinv matrix_rank",
    called(regular()),
)
of("eigvalsh", called(symmetric()))
of("matrix_norm", called(regular(), st.sampled_from(["fro", 2, "nuc", 1, float("inf")])))
of("torch.linalg.norm", called(FLOATS) | called(regular(), st.sampled_from([2, "fro"])))
of(
    "cdist",
    called(
        tensors(["float64"], shapes=st.just((3, 2))), tensors(["float64"], shapes=st.just((4, 2)))
    ),
)

of("zeros ones", sized())
of("zeros_like ones_like", st.tuples(st.tuples(tensors()), optional(dtype=DTYPE)))
of("new_zeros new_ones", called(tensors(), st.integers(0, 3), st.integers(0, 3)))
of(
    "full",
    called(st.lists(st.integers(0, 3), max_size=2).map(tuple), st.sampled_from([1, 2.5, True])),
)
of("full_like", called(tensors(), st.sampled_from([1, 2.5, True])))
of("new_full", called(tensors(), st.just((2, 3)), st.sampled_from([1, 2.5])))
of("new_tensor", called(tensors(), st.sampled_from([[1, 2], [0.5], 3, []])))
of(
    "tensor as_tensor asarray",
    called(
        st.sampled_from([[1, 2], [[1.5], [2]], 3, 2.5, True, [], [[True, False]], [1, 2.0]]),
    ),
)
of("eye", called(st.integers(0, 4)) | called(st.integers(0, 3), st.integers(0, 3)))
of(
    "arange",
    called(st.sampled_from([0, 3, 5.0]))
    | called(st.integers(-3, 3), st.integers(-3, 6), st.sampled_from([1, 2, -1, 0.5])),
)
of("linspace", called(st.sampled_from([0, -1.5]), st.sampled_from([1, 3.0]), st.integers(0, 5)))
of("logspace", called(st.just(0), st.just(2), st.integers(1, 4)))
of("to type", called(tensors(), DTYPE))
of("float double half bfloat16 long int short bool", called(tensors((*ALL, *HALF))))
of("item", called(tensors(high=1)))
of(
    "tolist numel dim size is_floating_point is_complex cpu stride is_contiguous",
    called(
        tensors(
            shapes=st.lists(st.integers(2, 3), max_size=3), layouts=["rows", "columns", "steps"]
        )
    ),
)
of("is_tensor", called(tensors() | st.just(3)))
of(
    "complex",
    called(
        tensors(["float64"], shapes=st.just((2, 3))), tensors(["float64"], shapes=st.just((2, 3)))
    ),
)
of(
    "polar",
    called(
        tensors(["float64"], shapes=st.just((2, 3))), tensors(["float64"], shapes=st.just((2, 3)))
    ),
)
of("view_as_complex", called(tensors(["float64"], shapes=st.just((3, 2)), layouts=["rows"])))

of(
    "linear",
    called(
        tensors(["float64"], shapes=st.sampled_from([(3,), (2, 3), (2, 2, 3)])),
        tensors(["float64"], shapes=st.just((4, 3))),
        tensors(["float64"], shapes=st.just((4,))) | st.none(),
    ),
)
of(
    "layer_norm",
    called(
        tensors(["float64"], shapes=st.sampled_from([(2, 3), (2, 2, 3), (2, 4)])),
        st.just((3,)),
        tensors(["float64"], shapes=st.just((3,))) | st.none(),
        tensors(["float64"], shapes=st.just((3,))) | st.none(),
    ),
)
of(
    "rms_norm",
    called(
        tensors(["float64"], shapes=st.just((2, 3))),
        st.just((3,)),
        tensors(["float64"], shapes=st.just((3,))) | st.none(),
    ),
)
of("normalize", with_options(tensors(["float64"], low=2), dim=AXIS))
of(
    "embedding",
    called(
        tensors(["int64"], numbers=st.integers(0, 3)),
        tensors(["float64"], shapes=st.just((4, 2)), layouts=["rows"]),
        padding_idx=st.sampled_from([None, 1, -1]),
    ),
)
of("nll_loss cross_entropy", classes())
of(
    "conv1d",
    called(
        tensors(["float64"], shapes=st.sampled_from([(2, 3, 5), (3, 5)])),
        tensors(["float64"], shapes=st.just((4, 3, 3))),
        tensors(["float64"], shapes=st.just((4,))) | st.none(),
        **{"padding": st.sampled_from([0, 1, "same"])},
    ),
)
of(
    "cosine_similarity",
    called(
        tensors(["float64"], shapes=st.just((2, 3))), tensors(["float64"], shapes=st.just((2, 3)))
    ),
)
of(
    "interpolate",
    called(
        tensors(["float64"], shapes=st.just((1, 2, 4))),
        st.integers(1, 7),
        mode=st.just("linear"),
        align_corners=KEEP,
    )
    | called(tensors(["float64"], shapes=st.just((1, 2, 4))), st.integers(1, 7)),
)
of(
    "max_pool2d",
    called(
        tensors(
            ["float64"],
            shapes=st.just((1, 4, 6)),
            numbers=st.floats(-9, 9),
            layouts=["rows"],
            unique=True,
        ),
        st.sampled_from([2, (2, 3)]),
    ),
)
