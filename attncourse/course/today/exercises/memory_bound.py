"""Exercise memory_bound: the length from which on a step of decoding waits for the memory."""

import math
from fractions import Fraction

from judge import variants
from judge.exercise import Case, Exercise

exercise = Exercise.read(
    __name__,
    differentiable=False,
    without={"loops": "it is given numbers alone, and may try one length after the other"},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_two_lines(batch, parameters, row_bytes, row_flops, bandwidth, speed):
    def loading_less_computing(n):
        loading = Fraction(2 * parameters + batch * n * row_bytes, bandwidth)
        return loading - Fraction(batch * (2 * parameters + n * row_flops), speed)

    at_none, at_one = loading_less_computing(0), loading_less_computing(1)
    if at_none > 0:
        return 0
    if at_one <= at_none:
        return None
    return math.floor(at_none / (at_none - at_one)) + 1


@exercise.cases
def cases(draw):
    def case(text, *numbers):
        names = "batch", "parameters", "row_bytes", "row_flops", "bandwidth", "speed"
        said = ", ".join(f"{name}={x}" for name, x in zip(names, numbers, strict=True))
        return Case(f"{text}: {said}", numbers)

    yield case("the example", 4, 10, 3, 2, 1, 3)
    for _ in range(3):
        # the machine can do `ratio` operations a byte; the batch is larger
        bandwidth, ratio = draw.integer(2, 9), draw.integer(5, 12)
        batch, speed = ratio + draw.integer(2, 9), ratio * bandwidth + draw.integer(0, 1)
        parameters, row_bytes = draw.integer(5000, 9000), draw.integer(7, 20)
        row_flops = row_bytes * draw.integer(2, ratio - 2) + 1
        yield case("a large batch", batch, parameters, row_bytes, row_flops, bandwidth, speed)
    yield case("a small batch", 2, 1000, 5, 7, 3, 31)
    yield case("one text", 1, 1000, 5, 7, 3, 31)
    # at n = 0 both take as long
    yield case("a batch for which the weights take as long to load as to use", 8, 50, 5, 7, 2, 16)
    yield case("as long for the weights, and then never", 8, 50, 5, 60, 2, 16)
    # lines that meet at a whole n, 6
    yield case("lines that meet at a whole number", 10, 3, 2, 3, 1, 2)
    yield case("a steep line of computing", 40, 700, 3, 80, 2, 17)
    yield case("two lines with the same slope", 40, 700, 3, 24, 2, 16)
    yield case("a steep line of computing, and a small batch", 3, 700, 3, 80, 2, 17)
    yield case("Llama 3.1 8B on an H100, a batch of 512",
               512, 8 * 10**9, 131072, 524288, 3350 * 10**9, 989 * 10**12)  # fmt: skip
    yield case("Llama 3.1 8B on an H100, a batch of 295",
               295, 8 * 10**9, 131072, 524288, 3350 * 10**9, 989 * 10**12)  # fmt: skip
    # absorbed: nearly as many operations a byte as the machine can do
    yield case("latents in 61 layers on an H100, a batch of 4096",
               4096, 37 * 10**9, 70272, 16990208, 3350 * 10**9, 989 * 10**12)  # fmt: skip
    yield case("a machine that loads faster than it computes", 3, 1000, 5, 2, 7, 5)
    # a float has fewer digits: the quotient is 5 less a little
    row_bytes = 10**17
    parameters = (5 * 3 * (2 * row_bytes - 1) - 1) // 2
    yield case("lines that meet just before a whole number", 3, parameters, row_bytes, 1, 1, 2)


variants.right(exercise,
    "return math.floor(Fraction(-start, slope)) + 1",
    "start = 2 * parameters * (speed - batch * bandwidth)\n"
    "return -((start - 1) // slope) if slope > 1 else -start + 1",
    "weights, of_weights = 2 * parameters * speed, 2 * parameters * batch * bandwidth\n"
    "loading, computing = batch * row_bytes * speed, batch * row_flops * bandwidth\n"
    "return None if loading <= computing "
    "else (of_weights - weights) // (loading - computing) + 1",
)  # fmt: skip
ONCE = "the weights are loaded once for each text: they serve the whole batch, so count them once"
variants.wrong(exercise, {
    ONCE: "start = 2 * parameters * batch * speed - 2 * parameters * batch * bandwidth",
    "the weights are used once for the whole batch: each text takes 2 operations for each of them":
        "start = 2 * parameters * speed - 2 * parameters * bandwidth",
    "one operation is counted for each parameter: count two, a product and a sum":
        "start = 2 * parameters * speed - parameters * batch * bandwidth",
    "one byte is counted for each parameter: count two":
        "start = parameters * speed - 2 * parameters * batch * bandwidth",
    "four bytes are counted for each parameter: count two":
        "start = 4 * parameters * speed - 2 * parameters * batch * bandwidth",
    "the factor 2 of the weights is left out: count 2 bytes and 2 operations for each parameter":
        "start = parameters * speed - parameters * batch * bandwidth",
    "one cache is counted for all texts: each text has a cache of its own to load and to use":
        "slope = row_bytes * speed - row_flops * bandwidth",
    "one cache is loaded for all texts: each has one of its own to load":
        "slope = row_bytes * speed - batch * row_flops * bandwidth",
    "attention is computed for one text: compute it for each of them":
        "slope = batch * row_bytes * speed - row_flops * bandwidth",
    "the operations of attention are left out: add row_flops for each token in the cache":
        "slope = batch * row_bytes * speed",
    "loading does not grow with n, so a large batch is never bound by memory: load row_bytes for "
    "each token in the caches": ["slope = -batch * row_flops * bandwidth", "return None"],
    "two bytes are counted for each byte of the cache: row_bytes are bytes already": [
        "slope = batch * (2 * row_bytes * speed - row_flops * bandwidth)"],
    "two operations are counted for each operation of attention: row_flops has them all": [
        "slope = batch * (row_bytes * speed - 2 * row_flops * bandwidth)"],
    "speed and bandwidth are swapped: bytes are divided by the bandwidth, operations by the speed":
        "start = 2 * parameters * bandwidth - 2 * parameters * batch * speed\n"
        "slope = batch * (row_bytes * bandwidth - row_flops * speed)",
    "the weights are left out: they take time to load and to use, too": [
        "return 0 if row_bytes * speed > row_flops * bandwidth else None",
        "start = 0", "start = 0\nreturn 1"],
    "at this length both may take as long: take the first at which loading takes longer": [
        "return -(start // slope)", "return -start // slope + (-start % slope > 0)"],
    "this is the last length at which loading does not take longer: return the next one":
        "return -start // slope",
    "the lines meet there: return the first whole length above it": [
        "return -start / slope"],
    "it is rounded to the nearest whole number: take the first one above the quotient": [
        "return round(-start / slope)", "return round(Fraction(-start, slope))"],
    "one is added after rounding up: round down before you add 1": [
        "return -(start // slope) + 1"],
    "one is added after rounding to the nearest: round down before you add 1": [
        "return round(Fraction(-start, slope)) + 1"],
    "a float holds 16 digits, and these numbers have more: divide ints, with //": [
        "return math.floor(-start / slope) + 1", "return int(-start / slope) + 1",
        "return int(-start / slope + 1)"],
    "the value is right, but it is a float: a length should be an int": [
        "return float(-start // slope + 1)"],
    "for a small batch the length is negative: at 0 tokens loading takes longer already, so return "
    "0": (
        "    if start > 0:\n        return 0\n", ""),
    "for a small batch the answer is 1: with no token in the cache loading takes longer already, "
    "so return 0": ("return 0", "return 1"),
    "for a small batch it returns None: loading always takes longer, so return 0": (
        "return 0", "return None"),
    "where both take as long at 0 tokens, it returns 0: wait until loading takes longer": (
        "start > 0", "start >= 0"),
    "if loading never takes longer, it fails or gives a negative length: return None": [
        ("    if slope <= 0:\n        return None\n", ""),
        ("slope <= 0", "slope == 0"), ("slope <= 0", "slope < 0")],
    "if loading never takes longer, it returns a number: return None": [
        ("return None", f"return {number}") for number in ("0", "-1", "math.inf")],
    "whether loading ever takes longer is asked first: a small batch is bound by memory at 0 "
    "tokens, whatever the slope is": [
        ("    if start > 0:", "    if slope <= 0:\n        return None\n    if start > 0:")],
    "it asks when computing takes longer: ask when loading does": [
        "start = 2 * parameters * batch * bandwidth - 2 * parameters * speed\n"
        "slope = batch * (row_flops * bandwidth - row_bytes * speed)"],
    "it stops before the length is found: go on, because that may be in the millions": [
        "return next((n for n in range(1000) if start + slope * n > 0), None)",
        "return next((n for n in range(10000) if start + slope * n > 0), None)"],
    "this is the batch from which on computing takes longer: return a number of tokens": [
        "return speed // bandwidth", "return speed // bandwidth + 1"],
    "the length is that of all texts together: divide by the batch, because each has n tokens": [
        "return batch * (-start // slope + 1)"],
})  # fmt: skip
