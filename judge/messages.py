"""Messages on generic mistakes, known by what they do or by how they end."""

FLOAT32 = "the result is always float32: keep the dtype of the inputs"
FLOAT64 = "the result is always float64: keep the dtype of the inputs"
FLOAT32_INSIDE = (
    "your code rounds to float32 along the way: keep the dtype of the inputs throughout"
)
HALF_INSIDE = "your code rounds to 16 bits along the way: keep the dtype of the inputs throughout"
NEARLY = (
    "the numbers are nearly right: did you add an epsilon, or compute part of them in float32, as "
    "`torch.arange(n) / k` does? If not, look for a place where you subtract two large numbers"
)
NEARLY_ZERO = (
    "numbers that should be 0 are only close to 0: do you mask with a number that isn't low "
    "enough, add an epsilon, or compute part of them in float32? If not, look for a place where "
    "you subtract two large numbers"
)
ROUNDED = {FLOAT32, FLOAT64, FLOAT32_INSIDE, HALF_INSIDE, NEARLY, NEARLY_ZERO}
NAN_GRADIENT = (
    "the numbers are right, but a gradient is NaN: do you compute a NaN, such as 0 / 0, and "
    "replace it only afterwards, or take the square root of 0?"
)
REFUSES_ALL = (
    "your test refuses every right answer: check the formula and the tolerance that it uses"
)
# of which it is said what it accepts; its own formula mostly makes the same mistake
ACCEPTS = (
    "your test refuses every right answer, but accepts {}: does the formula in your test make "
    "the same mistake?"
)
OWN_ERROR = "your test raises an error of its own for every function it's given, even a right one"
DEVICE = "your code makes a tensor on the CPU: make it on the device of an input"
DETACHED = "no gradient flows back to the inputs: don't detach anything"
CUT_OFF = (
    "the numbers are right, but in this case they aren't computed from the inputs, so backward() "
    "fails: compute them from the inputs, and the gradient will be 0"
)
LOOPS = "your code loops in Python, so a longer input takes more steps: work on whole tensors"
NO_END = "your code runs on and on: is there a loop that never ends, or visits every number?"
STEPS = (
    "your code takes too many steps: do you repeat something that can be done in one go, or is "
    "there a loop that never ends?"
)
CHANGES = "your code changes an input: work on a new tensor"
BATCH = "your code needs a batch axis: it should work with any leading axes, or none"
FRONT = "your code counts an axis from the front: count it from the end, where -1 is the last"
BATCHES = (
    "your code is right without a batch and wrong with one: does an operation run across the "
    "whole batch?"
)
MIXES = (
    "an item gets a different result in a batch than on its own: does an operation run across "
    "the whole batch?"
)
TOO_LARGE = "your code makes an intermediate tensor that is too large"
VIEW = "view fails where an input isn't contiguous: use reshape, or call contiguous() first"
SQUEEZES = (
    "your result has lost an axis of size 1: squeeze() removes every such axis, so name the one "
    "you mean"
)
REMEMBERS = (
    "your code returns the result of an earlier call: compute it anew, even if all the sizes are "
    "the same"
)
KEEPS = "your module keeps the input of an earlier call: use the input of the current call"
MARKS = "requires_grad_ changes the input itself: call it on a copy, such as x.detach().clone()"
DTYPES = (
    "an operation gets tensors of two dtypes: make a new tensor with the dtype and the device of "
    "an input (dtype=x.dtype, device=x.device)"
)
TRUTH = (
    "`or`, `and`, `not` and `if` need one True or False, but a tensor has many: ask a question "
    "with one answer, such as `x is None`"
)
NOTHING = "there's a None where a tensor should be: did you forget a return or an argument?"
# with the name of the argument before it
LEFT_OUT = " is None in this call: check for None before you use it"
NO_GPU = (
    "your code asks for a GPU by name, but there may be none: use the device of an input, x.device"
)
TURNED = ".T reverses all axes, the batch axis included: use .mT, which swaps only the last two"
MATRICES_ALONE = (
    "mm, bmm and t() need a fixed number of axes: use @ and .mT, which allow any leading axes"
)
INVERTED = "~ inverts a boolean tensor, but this one holds numbers: keep the mask boolean"
NO_MASK = "your mask holds numbers where torch needs True and False: keep it boolean"
IN_PLACE = "a tensor that requires a gradient can't be changed in place: make a new tensor"
NUMPY = "NumPy doesn't track gradients, so none would reach the inputs: use torch's functions"
NUMPY_ON_CPU = (
    "NumPy works only on the CPU, but an input may be on another device: use torch's functions"
)
TWO_RESULTS = (
    "max, min and sort along an axis return two results, the values and their indices: take the "
    "one you need"
)
NO_FLOATS = "a function for floating-point numbers gets integers or a mask: convert them first"
FLOATING_INDEX = "an index holds floating-point numbers: convert it to integers (int64)"
PLAIN_NUMBER = (
    "a torch function gets a plain number, but needs a tensor: for a plain number, use ** 0.5 or "
    "math"
)
NO_PRODUCT = (
    "the shapes in a matrix product don't match: the first matrix needs as many columns as the "
    "second has rows"
)
NO_BROADCAST = (
    "the shapes of two tensors don't broadcast: counting from the last axis, sizes must be "
    "equal, or one of them must be 1"
)

DTYPES_DIFFER = (
    r"same (scalar |data|d)types?\b|expected scalar type|dtypes match|dtype to be equal|"
    r"expected dtype \w+ for|^\w+ did not match \w+$"
)
# by what torch says of it, or Python
TORCH_SAYS = {
    "Boolean value of Tensor with more than one value": TRUTH,
    DTYPES_DIFFER: DTYPES,
    "NoneType": NOTHING,
    r"not compiled with CUDA|NVIDIA driver|No CUDA GPUs|linked with support for mps": NO_GPU,
    r"must be a 3D tensor|must be a matrix|^t\(\) expects": MATRICES_ALONE,
    r"^~ \(operator\.invert\)|^bitwise_not": INVERTED,
    r"only supports boolean masks|condition to be a boolean tensor": NO_MASK,
    "leaf Variable that requires grad": IN_PLACE,
    r"Can't call numpy\(\)": NUMPY,
    r"numpy\(\) is not supported for tensor subclasses": NUMPY_ON_CPU,
    r"torch\.return_types": TWO_RESULTS,
    r"could not infer output dtype|not implemented for '(Long|Int|Bool)'": NO_FLOATS,
    "tensors used as indices must be": FLOATING_INDEX,
    r"argument 'input' \(position 1\) must be Tensor, not (int|float)": PLAIN_NUMBER,
    "mat1 and mat2 shapes|dimensions of batch2|^inconsistent tensor size|size mismatch": NO_PRODUCT,
    r"size of tensor a \(\d+\) must match": NO_BROADCAST,
}
# these say more than the axes with which an answer fails
CAUSES = {VIEW, TURNED, NO_GPU, MATRICES_ALONE, INVERTED, NO_MASK, NUMPY}
# by the type of what comes back
RETURNED = {
    "generator": "your function yields its result: return it instead",
    "coroutine": "your function is async: write a plain def",
    "function": "your code returns a function: call it, and return its result",
}

TWO = "there are two mistakes. First: {}. Second: {}"


def is_of_an_error(message: str) -> bool:
    """Whether it says what an error of torch's or Python's mostly comes from."""
    return message in TORCH_SAYS.values() or message.endswith(LEFT_OUT)


def leading(wrong: set[int], right: set[int]) -> str:
    """What is said of an answer that is right with so many leading axes, and wrong with others."""
    is_right, is_wrong = (" or ".join(map(str, sorted(counts))) for counts in (right, wrong))
    axes = "axis" if is_right == "1" else "axes"
    return (
        f"your code is right with {is_right} leading {axes} and wrong with {is_wrong}: count axes "
        "from the end, and let no operation run across the leading ones"
    )
