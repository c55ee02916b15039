"""Exercise lsh_buckets: buckets by direction, which forget the sign (Reformer)."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

FRONT = "axes are counted from the front, so other leading axes fail: count from the end, dim=-1"
LOOP = "it loops over tokens or sentences: take one product for all of them"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP, "axes_from_the_front": FRONT},
    without={"ties": "the text leaves open which of two directions counts that fit equally well"},
)
exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


@exercise.reference
def by_hand(x, rotations):
    d, half = rotations.shape
    buckets = []
    for vector in x.reshape(-1, d):
        projections = [float(vector @ rotations[:, c]) for c in range(half)]
        products = projections + [-projection for projection in projections]
        buckets.append(products.index(max(products)))
    return torch.tensor(buckets, device=x.device).reshape(x.shape[:-1])


@exercise.cases
def cases(draw):
    half = draw.integer(3, 4)
    n, d = 12, half + draw.integer(2, 3)
    x, rotations = draw.normal(3, n, d), draw.normal(d, half)
    longer_inputs = draw.normal(12, 8 * n, d), rotations
    sizes = f"n={n}, d={d}, {2 * half} buckets"
    yield Case(f"a batch of 3, {sizes}", (x, rotations), longer=longer_inputs)
    yield Case(f"no batch, {sizes}", (x[0], rotations))
    yield Case("two leading axes, 8 buckets", (draw.normal(2, 3, 10, 6), draw.normal(6, 4)))
    yield Case("each vector, then its opposite", (torch.cat([x, -x], dim=1), rotations))
    yield Case("two buckets", (x, rotations[:, :1]))
    yield Case("short vectors", (1e-6 * x, rotations))
    yield Case("long vectors, 16 buckets", (1000 * x[..., :3], draw.normal(3, 8)))
    yield Case("one vector", (x[:, :1], rotations))
    # too near each other for float32
    near_columns = torch.cat([rotations[:, :1], rotations[:, :1] * (1 + 1e-10)], dim=1)
    yield Case("two columns that differ in the tenth digit", (x, near_columns))


@exercise.valid
def moved_by_half_where_negative(x, rotations):
    along = x @ rotations
    at = along.abs().argmax(-1)
    product = along.gather(-1, at[..., None])[..., 0]
    return at + rotations.shape[-1] * (product < 0)


variants.right(exercise,
    "products = x @ torch.cat([rotations, -rotations], dim=1)\n"
    "return products.max(dim=-1).indices",
    "units = torch.nn.functional.normalize(x, dim=-1)\n"
    'along = torch.einsum("...d,db->...b", units, rotations)',
    # the larger of two
    "return along.argmax(-1).where(along.amax(-1) >= -along.amin(-1),\n"
    "                              along.argmin(-1) + rotations.size(1))",
)  # fmt: skip
CODE = "code = ((along > 0) * 2 ** torch.arange(along.shape[-1], device=x.device)).sum(-1)\n"
variants.wrong(exercise, {
    "half of the directions are gone: count the opposite of each as well": "products = along",
    "the columns are gone, and only their opposites are left: keep both": "products = -along",
    "these are the buckets of -x: take the largest product, and put the columns before their "
    "opposites": ["products = torch.cat([-along, along], dim=-1)", ("argmax", "argmin")],
    "the opposites come in reverse: that of column c should be bucket b / 2 + c":
        "products = torch.cat([along, -along.flip(-1)], dim=-1)",
    "all signs make one code: take for a bucket the one direction with the largest product": [
        f"{CODE}return code", f"{CODE}return code % products.shape[-1]"],
    "an opposite is taken only where no product is positive: take it wherever its product "
    "is larger":
        "return along.argmax(-1).where(along.amax(-1) > 0, along.argmin(-1) + along.shape[-1])",
    "the columns are used as they are: do not divide them by their lengths":
        "along = x @ torch.nn.functional.normalize(rotations, dim=0)",
    "this picks the nearest direction, which a long one seldom is: pick that of the "
    "largest product":
        "squares = torch.cat([rotations, rotations], dim=-1).square().sum(-2)\n"
        "return (products - squares / 2).argmax(dim=-1)",
    "the opposites are on the wrong axis: put them beside the columns, on the last": [
        "products = torch.cat([along, -along], dim=-2)",
        "products = torch.cat([along, -along], dim=0)"],
    "argmax runs over the tokens: let each token pick one of the directions":
        "return products.argmax(dim=-2)",
    "argmax runs over all numbers at once: say dim=-1": "return products.argmax()",
    "these are the products: return the number of the largest": "return products.amax(dim=-1)",
    "the buckets are made floating-point numbers: leave them int64, as argmax gives them":
        "return products.argmax(dim=-1).to(x.dtype)",
    messages.FLOAT32_INSIDE: [
        "along = x.float() @ rotations.float()", "along = (x @ rotations).float()"],
    messages.SQUEEZES: "return products.argmax(dim=-1).squeeze()",
    FRONT: (every("dim=-1"), "dim=1"),
    LOOP: "along = torch.stack([one @ rotations for one in x.unbind(-2)], dim=-2)",
    messages.CHANGES: "along = x.div_(x.norm(dim=-1, keepdim=True)) @ rotations",
})  # fmt: skip
variants.wrong(exercise, {
    "a column and its opposite get numbers next to each other: they should be b / 2 apart":
        "return 2 * at + (product < 0)",
    "the opposites begin at the wrong number: there are b / 2 columns, not d":
        "return at + x.shape[-1] * (product < 0)",
    "the sign of another number decides: ask for that of the largest product": [
        "product = along.sum(-1)", "product = along[..., 0]"],
    "the sign is kept in the number: number the buckets from 0 to b - 1":
        "return at * product.sign().long()",
}, of=moved_by_half_where_negative)  # fmt: skip
