"""Exercise CrossAttention: a layer whose queries and keys come from two sequences."""

import torch
from torch import nn
from torch.nn.functional import dropout, linear

from attncourse.checks.dot_product.shared.masked_softmax import softmax
from attncourse.checks.exercise import Case, Exercise
from attncourse.checks.multi_head.shared import heads as ways
from attncourse.checks.multi_head.shared.heads import join, split
from attncourse.dot_product import attention

exercise = Exercise(
    name="CrossAttention",
    chapter="multi_head",
    title="Attend to another sequence",
    kind="build",
    difficulty=2,
    minutes=15,
    points=15,
    hints=(
        "The queries ask on behalf of x, the keys and values answer for the context. Between the "
        "four linear maps stands what attend_in_heads does.",
        "Each of w_q, w_k, w_v gives d_model numbers; w_q reads d_model of them, w_k and w_v read "
        "d_context. Split all three into heads, attend in each with the mask for every head, join, "
        "and give the result to w_o.",
        "self.w_k = nn.Linear(d_context, d_model, bias=False) is one of the four; "
        "q, k, v = self.w_q(x), self.w_k(context), self.w_v(context) begins forward",
    ),
)


@exercise.reference
class HeadByHead(nn.Module):
    def __init__(self, d_model, d_context, heads):
        super().__init__()
        self.heads = heads
        self.w_q, self.w_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
        self.w_k, self.w_v = (nn.Linear(d_context, d_model, bias=False) for _ in range(2))

    def forward(self, x, context, mask=None):
        projected = self.w_q(x), self.w_k(context), self.w_v(context)
        out = []
        for q, k, v in zip(*(part.chunk(self.heads, dim=-1) for part in projected), strict=True):
            scores = torch.einsum("...ic,...jc->...ij", q, k) / q.shape[-1] ** 0.5
            allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
            top = scores.detach().masked_fill(~allowed, -torch.inf).amax(-1, keepdim=True)
            shifted = scores - top.where(top.isfinite(), 0.0)
            parts = shifted.masked_fill(~allowed, -torch.inf).exp()
            total = parts.sum(-1, keepdim=True)
            out.append(parts / total.where(total > 0, 1.0) @ v)
        return self.w_o(torch.cat(out, dim=-1))


def layer(draw, d_model, d_context, heads, scale=1.0):
    """What builds the layer, and its weights."""
    sizes = {"w_q": d_model, "w_k": d_context, "w_v": d_context, "w_o": d_model}
    weights = {
        f"{name}.weight": draw.normal(d_model, size) / size**0.5 for name, size in sizes.items()
    }
    weights["w_q.weight"] *= scale
    return {"build": (d_model, d_context, heads), "weights": weights}


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 4, 6)
    # a head's width for which no wrong scale of those below is another one, or the right one
    d_model, d_context = 3 * (5 + 2 * draw.integer(0, 1)), 8
    x, context = draw.normal(2, n, d_model), draw.normal(2, m, d_context)
    made = layer(draw, d_model, d_context, 3)
    said = f"n={n}, m={m}, d_model={d_model}, d_context=8, 3 heads"
    long = draw.normal(2, 48 + n, d_model), draw.normal(2, 48 + m, d_context)
    yield Case(f"a batch of 2, {said}", (x, context), longer=long, **made)
    yield Case(f"no batch, {said}", (x[0], context[0]), **made)
    axes = draw.normal(2, 3, 4, 6), draw.normal(2, 3, 5, 7)
    yield Case("two leading axes, 2 heads", axes, **layer(draw, 6, 7, 2))
    wide = layer(draw, d_model, d_model, 3)
    yield Case("a context as wide as x", (x, draw.normal(2, m, d_model)), **wide)
    yield Case(
        "scores 1000 times larger", (x, context), **layer(draw, d_model, d_context, 3, scale=1e3)
    )
    mask = draw.mask(2, n, m)
    yield Case(f"a mask, {said}", (x, context, mask), **made)
    named = {"mask": mask[0]}
    yield Case("a mask by name, without a batch", (x[0], context[0]), kwargs=named, **made)
    yield Case("one mask for the whole batch", (x, context, mask[0]), **made)
    three = draw.normal(3, n, d_model), draw.normal(3, m, d_context)
    longer = draw.normal(3, n, 48), draw.normal(3, m, 8), draw.mask(3, n, m)
    many = Case("24 heads", longer, **layer(draw, 48, 8, 24))
    of_three = *three, draw.mask(3, n, m)
    yield Case("a mask, a batch of 3 and 3 heads", of_three, longer=many, **made)
    few = layer(draw, 6, 7, 2)
    yield Case("leading axes (2, 3), a mask of shape (3, n, m)", (*axes, draw.mask(3, 4, 5)), **few)
    yield Case("a mask of shape (2, 3, n, m)", (*axes, draw.mask(2, 3, 4, 5)), **few)
    same = layer(draw, 6, 7, 3)
    yield Case("the first of these with 3 heads", (*axes, draw.mask(3, 4, 5)), **same)
    # where all weights are positive, a hidden key outweighs all others, or those are lower than any
    # number to fill with
    positive = made | {"weights": {name: w.abs() for name, w in made["weights"].items()}}
    first = torch.arange(m) == 0
    high, far = (
        torch.where(first[:, None], *c) * (1 + context.abs()) for c in ((1e3, 1.0), (1.0, -1e10))
    )
    without = (~first).expand(n, m)
    yield Case("a masked key with a high score", (1 + x.abs(), high, without), **positive)
    hidden = 1 + x.abs(), far, without
    yield Case("a masked key, the others far below zero", hidden, gradient=False, **positive)
    nowhere = mask.clone()
    nowhere[1, 0] = False
    yield Case("a query that may attend nowhere", (x, context, nowhere), **made)
    yield Case("one query and one key", (x[:, :1], context[:, :1]), **made)


class Layer(nn.Module):
    """The right answer, with the places where a wrong one departs from it as methods."""

    bias = False
    cut, merge, way = staticmethod(split), staticmethod(join), staticmethod(softmax)

    def __init__(self, d_model, d_context, heads):
        super().__init__()
        self.heads, self.d_context = heads, d_context
        self.w_q = nn.Linear(d_model, d_model, bias=self.bias)
        self.w_k = nn.Linear(d_context, d_model, bias=self.bias)
        self.w_v = nn.Linear(d_context, d_model, bias=self.bias)
        self.w_o = nn.Linear(d_model, d_model, bias=self.bias)

    def projected(self, x, context):
        return self.w_q(x), self.w_k(context), self.w_v(context)

    def scale(self, q):
        return q.shape[-1] ** 0.5

    def mask(self, mask):
        return mask if mask is None else mask.unsqueeze(-3)

    def last(self, out):
        return self.w_o(out)

    def forward(self, x, context, mask=None):
        q, k, v = (self.cut(part, self.heads) for part in self.projected(x, context))
        weights = self.way(q @ k.mT / self.scale(q), self.mask(mask))
        return self.last(self.merge(weights @ v))


@exercise.valid
class AnAxisForTheHeads(Layer):
    pass


@exercise.valid
class ByTheChapterBefore(Layer):
    def forward(self, x, context, mask=None):
        q, k, v = (split(part, self.heads) for part in self.projected(x, context))
        return self.w_o(join(attention(q, k, v, self.mask(mask))))


@exercise.valid
class HeadsInFront(Layer):
    @staticmethod
    def cut(x, heads):
        return x.unflatten(-1, (heads, -1)).movedim(-2, 0)

    @staticmethod
    def merge(x):
        return x.movedim(0, -2).flatten(-2)

    def mask(self, mask):
        return mask


@exercise.valid
class HeadsAddedUp(Layer):
    # joining and w_o in one: each head meets its own columns of w_o
    @staticmethod
    def merge(x):
        return x

    def last(self, out):
        columns = self.w_o.weight.unflatten(1, (self.heads, -1))
        return torch.einsum("...hic,ohc->...io", out, columns)


@exercise.valid
class ByItsWeights(Layer):
    def projected(self, x, context):
        return (
            x @ self.w_q.weight.T,
            torch.einsum("...jc,dc->...jd", context, self.w_k.weight),
            linear(context, self.w_v.weight),
        )

    @staticmethod
    def way(scores, mask):
        if mask is None:
            return torch.softmax(scores, dim=-1)
        weights = torch.softmax(torch.where(mask, scores, -1e30), dim=-1)
        return weights * mask.any(dim=-1, keepdim=True)


@exercise.valid
class WithDropoutThatIsOff(Layer):
    def last(self, out):
        return dropout(self.w_o(out), 0.1, training=self.training)


for masked, said in ways.HINTS.items():
    if said is not None:
        kind = type(masked.__name__, (Layer,), {"way": staticmethod(masked)})
        exercise.mutant(said)(kind)


PARAMETERS = (
    "its parameters are not those asked for: w_q, w_k, w_v and w_o are nn.Linear without a bias, "
    "all give d_model numbers, and w_k and w_v read d_context of them"
)


@exercise.mutant(PARAMETERS)
class WithBiases(Layer):
    bias = True


@exercise.mutant("super().__init__() is missing: nothing can be put on a module before it")
class WithoutSuper(nn.Module):
    def __init__(self, d_model, d_context, heads):
        self.heads = heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)


@exercise.mutant("w_o is not used: the joined heads go through it")
class WithoutOutputProjection(Layer):
    def last(self, out):
        return out


@exercise.mutant("the context is not used: keys and values are made of it")
class SelfAttention(Layer):
    def projected(self, x, context):
        return self.w_q(x), self.w_k(x), self.w_v(x)


@exercise.mutant("x and the context have changed places: x asks, the context answers")
class RolesSwapped(Layer):
    def projected(self, x, context):
        return self.w_q(context), self.w_k(x), self.w_v(x)


@exercise.mutant("the values are made of x: what a query gets comes from the context, as its keys")
class ValuesOfX(Layer):
    def projected(self, x, context):
        return self.w_q(x), self.w_k(context), self.w_v(x)


@exercise.mutant("the keys are made by w_v, and the values by w_k: each has its own matrix")
class KeysAndValuesSwapped(Layer):
    def projected(self, x, context):
        return self.w_q(x), self.w_v(context), self.w_k(context)


@exercise.mutant("the keys are made by w_v, as the values are: each has its own matrix")
class KeysByTheMatrixOfTheValues(Layer):
    def projected(self, x, context):
        return self.w_q(x), self.w_v(context), self.w_v(context)


@exercise.mutant("it keeps what an earlier call made: the next one has another context")
class KeysKept(Layer):
    kept = None

    def projected(self, x, context):
        if self.kept is None:
            self.kept = self.w_k(context), self.w_v(context)
        return self.w_q(x), *self.kept


@exercise.mutant("it loops over the heads: they are an axis, and one product serves them all")
class LoopOverHeads(Layer):
    def forward(self, x, context, mask=None):
        parts = (part.chunk(self.heads, dim=-1) for part in self.projected(x, context))
        return self.w_o(torch.cat([attention(*one, mask) for one in zip(*parts, strict=True)], -1))


@exercise.mutant("x is added to the result: the residual stream is the business of the caller")
class WithResidual(Layer):
    def forward(self, x, context, mask=None):
        return x + super().forward(x, context, mask)


@exercise.mutant("the scale is that of the whole width: a head's score has d_model / heads terms")
class ScaledByTheModel(Layer):
    def scale(self, q):
        return (self.heads * q.shape[-1]) ** 0.5


@exercise.mutant("the scale is taken from d_context: queries and keys are d_model / heads wide")
class ScaledByTheContext(Layer):
    def scale(self, q):
        return self.d_context**0.5


@exercise.mutant("the scores are not scaled: divide by the root of a head's width")
class Unscaled(Layer):
    def scale(self, q):
        return 1


@exercise.mutant("the scores are divided by a head's width, not by its square root")
class ScaledWithoutTheRoot(Layer):
    def scale(self, q):
        return q.shape[-1]


@exercise.mutant("there is one head only: split q, k and v before the scores are taken")
class ASingleHead(Layer):
    @staticmethod
    def cut(x, heads):
        return split(x, 1)


@exercise.mutant(ways.VIEWED)
class SplitByAView(Layer):
    cut = staticmethod(ways.viewed)


@exercise.mutant(ways.JOINED)
class JoinedByAReshape(Layer):
    merge = staticmethod(ways.joined_by_reshape)


@exercise.mutant("the mask lines up with the heads instead of the batch: give it an axis for them")
class MaskWithoutAnAxisForTheHeads(Layer):
    def mask(self, mask):
        return mask


@exercise.mutant("the mask has no axis for the heads: give it one of size 1, third from the end")
class MaskAsItIs(Layer):
    def forward(self, x, context, mask=None):
        q, k, v = (split(part, self.heads) for part in self.projected(x, context))
        return self.w_o(join(attention(q, k, v, mask)))


@exercise.mutant(
    "the mask may lack leading axes: its axis for the heads is always third from the end"
)
class MaskAxisWhereAxesAgree(Layer):
    def forward(self, x, context, mask=None):
        # as many axes as x has, or none is added
        self.axes = x.dim()
        return super().forward(x, context, mask)

    def mask(self, mask):
        return mask if mask is None or mask.dim() != self.axes else mask.unsqueeze(-3)


@exercise.mutant("the mask's new axis is counted from the front: count from the end, unsqueeze(-3)")
class MaskAxisCountedFromTheFront(Layer):
    def mask(self, mask):
        return mask if mask is None else mask.unsqueeze(1)


@exercise.mutant("dropout is on after training: F.dropout needs training=self.training")
class DropoutLeftOn(Layer):
    def last(self, out):
        return dropout(self.w_o(out), 0.5)


@exercise.mutant("it needs a batch axis: any leading axes, or none, should work")
class BatchAxisAssumed(Layer):
    def forward(self, x, context, mask=None):
        _batch, _n, _d = x.shape
        return super().forward(x, context, mask)


@exercise.mutant("no gradient reaches w_q and w_k: nothing may be detached")
class ScoresDetached(Layer):
    @staticmethod
    def way(scores, mask):
        return softmax(scores.detach(), mask)


@exercise.mutant("the input changes: scale a copy, not x itself")
class ScaledInPlace(Layer):
    def projected(self, x, context):
        x /= 1 + 1e-9
        return super().projected(x, context)


@exercise.mutant("the result is always float32: keep the dtype of the inputs")
class AlwaysFloat32(Layer):
    def last(self, out):
        return self.w_o(out).float()
