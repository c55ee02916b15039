"""Exercise translation_masks: what may be attended to in a padded batch, at three places."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over texts or positions: compare all of them at once"
exercise = Exercise.read(
    __name__,
    differentiable=False,
    floating=False,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def text_by_text(source_lengths, target_lengths, m, n):
    masks = [], [], []
    pairs = source_lengths.flatten().tolist(), target_lengths.flatten().tolist()
    for source, target in zip(*pairs, strict=True):
        masks[0].append([[j < source for j in range(m)] for _ in range(m)])
        masks[1].append([[j < target and j <= i for j in range(n)] for i in range(n)])
        masks[2].append([[j < source for j in range(m)] for _ in range(n)])
    batch = source_lengths.shape
    sizes = (m, m), (n, n), (n, m)
    return tuple(torch.tensor(mask).reshape(*batch, *size)
                 for mask, size in zip(masks, sizes, strict=True))  # fmt: skip


@exercise.cases
def cases(draw):
    n, m = draw.sizes(2, 5, 8)
    source = torch.tensor([m - 1, 3, m, 2])
    target = torch.tensor([2, n, n - 2, 4])
    longer_inputs = 9 * source[:2], 6 * target[:2], 72, 48
    yield Case(f"4 texts, m={m}, n={n}", (source, target, m, n), longer=longer_inputs)
    yield Case(f"one text, m={m}, n={n}", (source[1], target[0], m, n))
    axes = torch.tensor([[1, 4, 2], [3, 5, 2]]), torch.tensor([[3, 1, 2], [6, 2, 4]]), 5, 6
    yield Case("two leading axes, m=5, n=6", axes)
    yield Case("as many source as target positions", (source.clamp(max=5), target.clamp(max=5), 5,
                                                       5))  # fmt: skip
    yield Case("as many texts as positions", (source.clamp(max=4), target.clamp(max=4), 4, 4))
    yield Case("texts that are all padding", (source - 2, target - 2, m, n))
    yield Case("no padding", (source.clamp(min=m), target.clamp(min=n), m, n))
    yield Case("all texts shorter than m and n", (source, target, m + 2, n + 3))
    yield Case("lengths as int32", (source.int(), target.int(), m, n))
    ones = torch.ones(2, dtype=torch.int64)
    yield Case("one position each", (ones, torch.tensor([1, 0]), 1, 1))


variants.right(exercise,
    "encoder = source.repeat_interleave(m, dim=-2)\n"
    "decoder = target.expand(*target_lengths.shape, n, n).tril()\n"
    "cross = source.repeat_interleave(n, dim=-2)\n"
    "return [encoder, decoder, cross]",
    "causal = torch.ones(n, n, dtype=torch.bool, device=j.device).tril()\n"
    "decoder = causal.logical_and(target)",
    "encoder = source | torch.zeros(m, 1, dtype=torch.bool, device=source.device)\n"
    "decoder = j < torch.minimum(target_lengths[..., None, None], j[:, None] + 1)\n"
    "cross = source & torch.ones(n, 1, dtype=torch.bool, device=source.device)",
)  # fmt: skip
variants.wrong(exercise, {
    "the padding of the source is not hidden from the encoder: hide it from every query":
        "encoder = (source | True).expand(*source_lengths.shape, m, m)",
    "the padding of the source is not hidden from the decoder: its cross-attention needs the "
    "source's mask": "cross = (source | True).expand(*source_lengths.shape, n, m)",
    "the padding of the target is not hidden: let a key pass only where it is a word and no later":
        "decoder = (j <= j[:, None]).expand(*target_lengths.shape, n, n)",
    "the decoder sees later words: make the mask of the target causal":
        "decoder = target.expand(*target_lengths.shape, n, n)",
    "a key needs to pass only one of the two tests of the decoder's mask: it should have to pass "
    "both":
        ("target &", "target |"),
    "the encoder is causal: let it see later words, which only the decoder must not":
        "encoder = source.expand(*source_lengths.shape, m, m).tril()",
    "the cross-attention is causal: let it see the whole source, which is there before the first "
    "target word":
        "cross = source.expand(*source_lengths.shape, n, m).tril()",
    "the cross-attention hides by the target's lengths: go by the source's, whose words are its "
    "keys":
        "words = i < target_lengths[..., None, None]\n"
        "cross = words.expand(*source_lengths.shape, n, m)",
    "the rows of padded queries are emptied in the encoder: ask of the key alone":
        "encoder = source & source.mT",
    "the rows of padded queries are emptied in the decoder: ask of the key alone": (
        "target &", "target & target.mT &"),
    "the rows of padded queries are emptied in the cross-attention: ask of the key alone":
        "cross = source & target.mT",
    "the cross mask asks whether the query is a word: ask it of the key, a source token":
        "cross = target.mT.expand(*source_lengths.shape, n, m)",
    "rows and columns of the cross mask are exchanged: rows should be the target's queries":
        "cross = source.expand(*source_lengths.shape, n, m).mT",
    "rows and columns of the decoder's mask are exchanged: a row should be a query":
        "decoder = (target & (j <= j[:, None])).mT",
    "a target word does not see itself: allow its own position, too": ("j <= j", "j < j"),
    "a target word sees one position ahead: let it see up to itself": ("j <= j", "j <= 1 + j"),
    "the order is turned round: let a target word see earlier ones, not later ones": (
        "j <= j", "j >= j"),
    "one key of source padding is let in: positions count from 0": ("< source", "<= source"),
    "one key of target padding is let in: positions count from 0": ("< target", "<= target"),
    "one key of padding is let in, of source and target: positions count from 0": (
        "< source", "<= source", "< target", "<= target"),
    "a padded token of the target sees itself: hide padding from every query":
        "decoder = target & (j <= j[:, None]) | (j == j[:, None])",
    "the masks are upside down: True means may attend": "return ~encoder, ~decoder, ~cross",
    "the padding masks are upside down: a key should count as a word where its position is below "
    "the length": (
        "< source", ">= source", "< target", ">= target"),
    "the lengths are exchanged: let the source's keys go by the source's lengths":
        "source = i < target_lengths[..., None, None]\n"
        "target = j < source_lengths[..., None, None]",
    "the target's keys go by the source's lengths: let them go by the target's":
        "target = j < source_lengths[..., None, None]",
    "one length is used for the whole batch: give every text its own":
        "source = i < source_lengths.max().expand(*source_lengths.shape, 1, 1)\n"
        "target = j < target_lengths.max().expand(*target_lengths.shape, 1, 1)",
    "a text that is all padding keeps a key: its rows should be all False": (
        "< source_lengths", "< source_lengths.clamp(min=1)",
        "< target_lengths", "< target_lengths.clamp(min=1)"),
    "the cross-attention has the encoder's rows: give it one for each position of the target":
        "cross = encoder",
    "a mask lacks its rows: the shapes should be (..., m, m), (..., n, n) and (..., n, m)": [
        "encoder = source", "cross = source", "return source, decoder, source"],
    "there is an axis for the heads: the shapes should be (..., m, m), (..., n, n) and (..., n, m)":
        "return tuple(one.unsqueeze(-3) for one in (encoder, decoder, cross))",
    "the masks come in another order: return encoder, decoder, cross-attention":
        "return encoder, cross, decoder",
    "the masks are not boolean: return True for may attend, False for may not":
        "return encoder.int(), decoder.int(), cross.int()",
    LOOP: "decoder = torch.stack([target[..., 0, :] & (j <= i) for i in range(n)], dim=-2)",
    messages.BATCH: [
        "target = j < target_lengths[:, None, None]",
        "source = i < source_lengths[:, None, None]\ntarget = j < target_lengths[:, None, None]",
        "source = (i < source_lengths[:, None])[:, None]\n"
        "target = (j < target_lengths[:, None])[:, None]"],
})  # fmt: skip
