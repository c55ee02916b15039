"""Messages on generic mistakes, known by what they do or by how they end."""

FLOAT32 = "the result is always float32: keep the dtype of the inputs"
FLOAT64 = "the result is always float64: keep the dtype of the inputs"
FLOAT32_INSIDE = "the numbers were rounded to float32 on the way: stay in the dtype of the inputs"
HALF_INSIDE = "the numbers were rounded to 16 bits on the way: stay in the dtype of the inputs"
NEARLY = (
    "the numbers are nearly right: did you add an epsilon, or is a part of them float32, as "
    "`torch.arange(n) / k` is? If neither, look for a difference of two large numbers"
)
NEARLY_ZERO = (
    "what should be 0 is only nearly 0: is a masked number not low enough, did you add an "
    "epsilon, or is a part float32? If none of these, look for a difference of two large numbers"
)
ROUNDED = {FLOAT32, FLOAT64, FLOAT32_INSIDE, HALF_INSIDE, NEARLY, NEARLY_ZERO}
NAN_GRADIENT = (
    "the numbers are right, but a gradient is NaN: do you replace a NaN too late, as that of "
    "0 / 0 after the division, or take the root of 0?"
)
REFUSES_ALL = "your test refuses every right answer: check its own formula and its tolerance"
# of which it is said what it accepts; its own formula mostly makes the same mistake
ACCEPTS = (
    "your test refuses every right answer, and accepts {}: does its own formula make that mistake?"
)
OWN_ERROR = "your test itself ends in an error, whatever function it's given, even a right one"
DEVICE = "a new tensor is made on the CPU: give it the device of an input"
DETACHED = "no gradient flows back: don't detach anything"
CUT_OFF = (
    "the numbers are right, but here they don't come from the inputs, so backward() fails: "
    "compute them from the inputs, which gives a gradient of 0"
)
LOOPS = "it loops in Python, and a longer input takes more steps: use whole tensors"
NO_END = "it runs on and on: does a loop never end, or go through single numbers?"
STEPS = (
    "it takes too many steps: do you repeat something that can be done in one go, or does a loop "
    "never end?"
)
CHANGES = "an input changes: work on a new tensor"
BATCH = "it needs a batch axis: any leading axes, or none, should work"
FRONT = "an axis is counted from the front: count it from the end, where -1 is the last"
BATCHES = "it's right without a batch and wrong with one: does something run over the whole batch?"
MIXES = (
    "in a batch, an item gets another result than by itself: does something run over the whole "
    "batch?"
)
TOO_LARGE = "a tensor made on the way is too large"
VIEW = "an input may be stored by columns, and view then fails: use reshape, or contiguous() first"
SQUEEZES = "an axis of size 1 is lost: squeeze() removes them all, so say which"
REMEMBERS = "it returns an earlier call's result: work it out anew, even if all sizes are the same"
KEEPS = "it keeps what an earlier call was given: work with the input of the call at hand"
MARKS = "requires_grad_ marks an input for gradients: mark a copy, such as x.detach().clone()"
DTYPES = (
    "tensors of two dtypes meet: give a new one the dtype of an input, and its device "
    "(dtype=x.dtype, device=x.device)"
)
TRUTH = (
    "`or`, `and`, `not` and `if` ask whether a whole tensor is true: compare it, as in `is None`"
)
NOTHING = "something is None where a tensor should be: is a return missing, or an argument?"
# with the name of the argument before it
LEFT_OUT = " is None in this call: check for None before you use it"
NO_GPU = "it asks for a GPU by name, and there may be none: use the device of an input, x.device"
TURNED = ".T reverses all axes, even those of a batch: .mT swaps only the last two"
MATRICES_ALONE = "mm, bmm and t() want a fixed number of axes: @ and .mT take any leading ones"
INVERTED = "~ inverts a boolean tensor, and this one holds numbers: keep the mask boolean"
NO_MASK = "a mask of numbers is used where a boolean one is needed: keep it boolean"
IN_PLACE = "a tensor that needs a gradient is changed in place: make a new one"
NUMPY = "NumPy doesn't track gradients, so none could flow back: stay with torch's functions"
NUMPY_ON_CPU = (
    "NumPy works only on the CPU, and an input may be elsewhere: stay with torch's functions"
)
TWO_RESULTS = "max, min and sort along an axis give two results: the values, then their indices"
NO_FLOATS = "integers, or a mask, meet a function for floating-point numbers: convert them first"
FLOATING_INDEX = "an index holds floating-point numbers: it needs integers, int64"
PLAIN_NUMBER = (
    "a torch function gets a plain number, but needs a tensor: for a number, use ** 0.5 or math"
)
NO_PRODUCT = "a product doesn't fit: the first factor needs as many columns as the second has rows"
NO_BROADCAST = "two tensors don't fit: from the last axis back, sizes must agree, or one must be 1"

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
    "generator": "it yields its result: return it",
    "coroutine": "it's an async function: write a plain def",
    "function": "it returns a function: call it",
}

TWO = "there are two mistakes. First: {}. Second: {}"


def is_of_an_error(message: str) -> bool:
    """Whether it says what an error of torch's or Python's mostly comes from."""
    return message in TORCH_SAYS.values() or message.endswith(LEFT_OUT)


def leading(wrong: set[int], right: set[int]) -> str:
    """What is said of an answer that is right with so many leading axes, and wrong with others."""
    is_right, is_wrong = (" or ".join(map(str, sorted(counts))) for counts in (right, wrong))
    return (
        f"leading axes: it's right with {is_right} and wrong with {is_wrong}: count axes from "
        "the end, and let nothing run over the leading ones, so that any number works"
    )
