"""Exercise hybrid_cache: the bytes that a model with layers of three kinds keeps of a text."""

from judge import variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    without={"loops": "it is given sizes alone, and may walk through the layers"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def layer_by_layer(kinds, n, window, kv_heads, d, heads, width):
    total = 0
    for kind in kinds:
        tokens = {"full": n, "window": n if n < window else window, "delta": 0}[kind]
        total += tokens * kv_heads * (d + d) * width
        if kind == "delta":
            total += heads * d * d * 4
    return total


@exercise.cases
def cases(draw):
    # no size is that of another, and window is no multiple of d
    kv_heads, heads, d = draw.sizes(3, 3, 9)
    window, n = 11 * draw.integer(4, 6), 13 * draw.integer(10, 20)
    sizes = window, kv_heads, d, heads
    text = f"n={n}, window={window}, kv_heads={kv_heads}, d={d}, heads={heads}"
    mixed = ["delta", "delta", "window", "delta", "full", "window", "full"]
    yield Case(f"all three kinds, {text}, width=2", (mixed, n, *sizes, 2))
    yield Case(f"all three kinds, {text}, width=4", (mixed, n, *sizes, 4))
    yield Case(f"all three kinds, {text}, width=1", (mixed, n, *sizes, 1))
    yield Case(f"full layers alone, {text}, width=2", (["full"] * 3, n, *sizes, 2))
    yield Case(f"windows alone, {text}, width=2", (["window"] * 5, n, *sizes, 2))
    yield Case(f"delta layers alone, {text}, width=2", (["delta"] * 4, n, *sizes, 2))
    yield Case("a text shorter than the window, width=2", (mixed, window - 7, *sizes, 2))
    yield Case("a text as long as the window, width=2", (mixed, window, *sizes, 2))
    yield Case("one token, width=2", (mixed, 1, *sizes, 2))
    yield Case("no token yet, width=2", (mixed, 0, *sizes, 2))
    yield Case("no layer", ([], n, *sizes, 2))
    kimi = ["delta", "delta", "delta", "full"] * 6 + ["delta", "delta", "full"]
    yield Case("27 layers and a million tokens", (kimi, 2**20, 128, 32, 128, 32, 2))


variants.right(exercise,
    'rows = kinds.count("full") * n + kinds.count("window") * min(n, window)\n'
    'return rows * row + kinds.count("delta") * state',
    "from collections import Counter\nrow = kv_heads * d * width + kv_heads * d * width\n"
    "windowed = (n if n < window else window) * row\n"
    "return sum(each[kind] * count for kind, count in Counter(kinds).items())",
    "total = 0\n"
    'for kind in kinds:\n    if kind == "full":\n        total += full\n'
    '    elif kind == "window":\n        total += windowed\n'
    "    else:\n        total += state\nreturn total",
)  # fmt: skip
ALONE = "keys alone are counted: a token has a value as well, so count both"
BY_WIDTH = (
    "the keys and values are counted with 4 bytes a number: only the states are in float32, so "
    "take `width`"
)
KV_HEADS = "the keys are counted for `heads` heads: only kv_heads of them are kept"
SIXTEEN = "the keys and values are counted with 2 bytes a number: take `width`"
NO_BYTES = "the keys and values have no bytes: multiply their numbers by `width`"
ALL = "sum(each[kind] for kind in kinds)"
variants.wrong(exercise, {
    ALONE: [f"{name} = {tokens}kv_heads * d * width" for name, tokens in (
        ("row", ""), ("full", "n * "), ("windowed", "min(n, window) * "))],
    "a key and a value are counted twice each: a row is 2 * kv_heads * d numbers":
        "row = 4 * kv_heads * d * width",
    BY_WIDTH: [f"{name} = {tokens}2 * kv_heads * d * 4" for name, tokens in (
        ("row", ""), ("full", "n * "), ("windowed", "min(n, window) * "))],
    SIXTEEN: "row = 2 * kv_heads * d * 2",
    NO_BYTES: [f"{name} = {tokens}2 * kv_heads * d" for name, tokens in (
        ("row", ""), ("full", "n * "), ("windowed", "min(n, window) * "))],
    KV_HEADS: ["row = (heads + kv_heads) * d * width",
               *(f"{name} = {tokens}2 * heads * d * width" for name, tokens in (
                   ("row", ""), ("full", "n * "), ("windowed", "min(n, window) * ")))],
    "one head of keys and values is counted: each of the kv_heads heads keeps its own":
        "row = 2 * d * width",
    "the width of a head is left out: a key has d numbers in each head":
        "row = 2 * kv_heads * width",
    "a key is taken for a matrix: it has d numbers in each head, as a value has":
        "row = 2 * kv_heads * d * d * width",
    "a window is counted whole although the text is shorter: count the tokens that there are":
        "windowed = window * row",
    "layers with a window are counted as full ones: they keep no more than `window` tokens":
        "windowed = n * row",
    "full layers are counted as if they had a window: they keep all n tokens":
        "full = min(n, window) * row",
    "layers with a window are left out: count the last tokens that they keep": "windowed = 0",
    "the full layers are left out: count the keys and values of all n tokens": "full = 0",
    "the larger of n and the window is taken: a layer keeps the last `window` tokens at most":
        "windowed = max(n, window) * row",
    "the window is counted on both sides of the last token: it lies before it, and holds `window` "
    "tokens": [
        "windowed = min(n, 2 * window) * row", "windowed = min(n, 2 * window + 1) * row"],
    "a window is one token too wide: the last token is one of the `window` that it holds":
        "windowed = min(n, window + 1) * row",
    "a window is one token too narrow: the last token is one of the `window` that it holds":
        "windowed = min(n, max(window - 1, 0)) * row",
    "what is left over when n is divided by the window is counted: a layer keeps the last `window` "
    "tokens, or all if there are fewer": "windowed = n % window * row",
    "the pairs of tokens are counted: a cache keeps rows, one for each token": [
        "full = n * n * row", "full = n * (n + 1) // 2 * row"],
    "a state has as many bytes a number as the keys: it is kept in float32, so count 4":
        "state = heads * d * d * width",
    "the states have no bytes: count 4 for each of their numbers": "state = heads * d * d",
    "the states have 32 bytes a number: float32 has 32 bits, which are 4 bytes":
        "state = heads * d * d * 32",
    "with no token yet nothing is counted: a state has its size from the start": [
        ("return sum", "if n == 0:\n        return 0\n    return sum"),
        "state = heads * d * d * 4 if n else 0"],
    "the states have twice the bytes: a head has one, and a number of float32 takes 4 bytes":
        "state = heads * d * d * 8",
    "these are numbers: multiply those of the keys and values by `width`, and those of the states "
    "by 4": "row = 2 * kv_heads * d\nstate = heads * d * d",
    "a state is counted for each token: it has the same size whatever the length is": [
        "state = n * heads * d * d * 4", "state = min(n, window) * heads * d * d * 4"],
    "a state is taken for a vector: it has d times d numbers": [
        "state = heads * d * 4", "state = heads * 2 * d * 4"],
    "a sum of keys is kept beside the state: the delta rule has none, so count d times d numbers": [
        "state = heads * (d * d + d) * 4", "state = heads * (d * d + 2 * d) * 4"],
    "a delta layer keeps a key and a value as well: a state is all that it keeps": [
        "state = heads * d * d * 4 + row", "state = heads * d * d * 4 + full",
        "state = heads * d * d * 4 + windowed"],
    "the states are counted for kv_heads heads: a delta layer has `heads` of them":
        "state = kv_heads * d * d * 4",
    "one state is counted for a layer: each of its heads has one": "state = d * d * 4",
    "a state is as wide as all heads together: each head has d times d numbers of its own":
        "state = (heads * d) ** 2 * 4",
    "d is divided among the heads: it is the width of each of them":
        "state = heads * (d // heads) ** 2 * 4",
    "the states are left out: the delta layers keep one for each head": "state = 0",
    "this is one layer of each kind: multiply by the number of such layers": [
        "return full + windowed + state", "return sum(each[kind] for kind in set(kinds))"],
    "this is the first layer alone: add up the bytes of all, and return once the loop is over": [
        "return each[kinds[0]] if kinds else 0",
        (f"return {ALL}", "for kind in kinds:\n        return each[kind]")],
    "a kind may have no layer: count it as 0, as kinds.count(...) does": [
        "counts = {kind: kinds.count(kind) for kind in kinds}\n"
        'return counts["full"] * full + counts["window"] * windowed + counts["delta"] * state'],
    "this is the last layer alone: add up the bytes of all":
        "return each[kinds[-1]] if kinds else 0",
    "this is the largest layer alone: add up the bytes of all":
        "return max((each[kind] for kind in kinds), default=0)",
    "every layer is counted in all three ways: count each as the kind that it is":
        "return len(kinds) * (full + windowed + state)",
    "every layer is counted as a full one: count each as the kind that it is":
        "return len(kinds) * full",
    "these are bits: return bytes": f"return 8 * {ALL}",
    "these are thousands of bytes, or more: return bytes": [
        f"return {ALL} {by}"
        for by in ("/ 1000", "/ 1024", "// 1024", "/ 1e6", "/ 2**20", "// 2**20", "/ 2**30")
    ],
    "this is an average over the layers: add up the bytes of all":
        f"return {ALL} // max(1, len(kinds))",
    "this is divided by the length: return the bytes of the whole text":
        f"return {ALL} // max(n, 1)",
    "the value is right, but it is a float: a number of bytes should be an int":
        f"return float({ALL})",
})  # fmt: skip
