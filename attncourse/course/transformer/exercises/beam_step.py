"""Exercise beam_step: of all ways to go on with several texts, the best ones."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over texts or tokens: take one topk over all their continuations"
exercise = Exercise.read(
    __name__,
    generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP},
    without={
        "ties": "no two continuations rank alike",
        "large": "among so many continuations, two are as near as rounding",
    },
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def one_by_one(total, length, ended, log_p, stop, width, power):
    *batch, texts, vocabulary = log_p.shape
    beams = []
    rows = total.reshape(-1, texts), length.reshape(-1, texts), ended.reshape(-1, texts)
    for sums, sizes, finished, row_log_p in zip(
        *rows, log_p.reshape(-1, texts, vocabulary), strict=True
    ):
        candidates = []
        for i in range(texts):
            size = int(sizes[i]) + (not finished[i])
            for token in [stop] if finished[i] else range(vocabulary):
                total = sums[i] if finished[i] else sums[i] + row_log_p[i, token]
                candidates.append((float(total / ((5 + size) / 6) ** power), total, i, token))
        beams.append(sorted(candidates, key=lambda candidate: -candidate[0])[:width])
    totals = torch.stack([candidate[1] for row in beams for candidate in row]).reshape(
        *batch, width
    )
    places = [[candidate[i] for row in beams for candidate in row] for i in (2, 3)]
    return totals, *(torch.tensor(values).reshape(*batch, width) for values in places)


def least_gap(total, sizes, log_p):
    """The smallest gap between the scores of two continuations, whatever the power."""
    nothing = torch.zeros_like(total)[..., None]
    longer = total[..., None] + torch.cat([nothing, log_p], dim=-1)
    base = (5.0 + sizes[..., None] + (torch.arange(longer.shape[-1]) > 0)) / 6
    ranked = torch.stack([longer / base**power for power in (0.0, 0.6, 0.8, 1.0, 1.2, 4.0)])
    return ranked.flatten(-2).sort(-1).values.diff().min()


def draw_beams(draw, *batch, texts, vocabulary, lengths, ended=(), stop=1):
    """Texts of those lengths, which of them have ended, and the log-probabilities that follow."""
    finished = torch.zeros(*batch, texts, dtype=torch.bool)
    finished[..., list(ended)] = True
    sizes = torch.tensor(lengths).expand(*batch, texts).contiguous()
    while True:
        total = -sizes * (1 + draw.normal(*batch, texts).abs() / 4)
        log_p = draw.normal(*batch, texts, vocabulary).log_softmax(-1)
        # a little more apart than rounding moves them; of many, the numbers are not compared
        if texts > 9 or least_gap(total, sizes, log_p) > 1e-5:
            return total, sizes, finished, log_p, stop


@exercise.cases
def cases(draw):
    texts, vocabulary = draw.sizes(2, 3, 6)
    same_lengths = {"texts": texts, "vocabulary": vocabulary, "lengths": [4] * texts}
    four_texts = {"texts": 4, "vocabulary": 6, "lengths": [2, 7, 9, 9]}
    longer_inputs = draw_beams(draw, 16, texts=32, vocabulary=90, lengths=[9] * 32)
    sizes = f"{texts} texts, {vocabulary} tokens"
    yield Case(
        f"{sizes}, a batch of 2",
        (*draw_beams(draw, 2, **same_lengths), 3, 0.6),
        longer=(*longer_inputs, 32, 1),
    )
    yield Case(f"{sizes}, no batch", (*draw_beams(draw, **same_lengths), 4, 1.0))
    yield Case("two leading axes", (*draw_beams(draw, 2, 3, **same_lengths), 2, 0.6))
    some_ended = draw_beams(draw, 3, **four_texts, ended=(0, 2), stop=3)
    yield Case("texts that have ended, of other lengths", (*some_ended, 4, 0.6))
    yield Case("the same without a length penalty", (*some_ended, 4, 0.0))
    yield Case("the same with a large one", (*some_ended, 5, 4.0))
    # an ended text is the best, and would lose by any further token or a longer size
    total, *rest = some_ended
    yield Case("an ended text far ahead", (total.where(~some_ended[2], -0.5), *rest, 3, 1.0))
    yield Case("an ended text far behind", (total.where(~some_ended[2], -99.0), *rest, 3, 1.0))
    short, *rest = draw_beams(draw, 2, texts=2, vocabulary=5, lengths=[0, 9], ended=(0,), stop=3)
    # behind all others as it is, and before them if it were one token longer
    short = (0 * short - 47).where(~rest[1], -1.0)
    yield Case("a short text has ended, and a long one has not", (short, *rest, 6, 4.0))
    yield Case("log-probabilities 10^10 times larger",
               (1e10 * total, *some_ended[1:3], 1e10 * some_ended[3], 3, 4, 0.6))  # fmt: skip
    all_ended = draw_beams(
        draw, 2, texts=3, vocabulary=5, lengths=[3, 6, 5], ended=(0, 1, 2), stop=0
    )
    yield Case("all texts have ended", (*all_ended, 3, 0.8))
    single = draw_beams(draw, 2, texts=1, vocabulary=7, lengths=[0])
    yield Case("the first step: one text without a token", (*single, 4, 0.6))
    square = draw_beams(draw, 4, texts=4, vocabulary=4, lengths=[3, 5, 4, 8], ended=(1,), stop=2)
    yield Case("all sizes 4", (*square, 4, 1.2))
    barred = square[3].masked_fill(torch.arange(4) > 1, -torch.inf)
    # two of each text that goes on, and one of the text that has ended
    yield Case("as many texts as are possible", (*square[:3], barred, 2, 7, 0.6))
    yield Case("only the best", (*draw_beams(draw, 2, **four_texts, ended=(1,)), 1, 0.6))


@exercise.valid
def sorted_and_unraveled(total, length, ended, log_p, stop, width, power):
    is_stop = torch.arange(log_p.shape[-1], device=log_p.device) == stop
    more = log_p.masked_fill(ended[..., None] & ~is_stop, -torch.inf)
    longer = total[..., None] + more.masked_fill(ended[..., None] & is_stop, 0.0)
    size = (length + ended.logical_not().long())[..., None].to(log_p.dtype)
    ranked = longer * (6 / (size + 5)).pow(power)
    best = ranked.reshape(*total.shape[:-1], -1).argsort(-1, descending=True)[..., :width]
    place = torch.div(best, log_p.shape[-1], rounding_mode="floor")
    return [longer.flatten(-2).take_along_dim(best, -1), place, best - place * log_p.shape[-1]]


variants.right(exercise,
    "size = torch.where(ended, length, length + 1)[..., None].to(log_p.dtype)\n"
    "text, token = best.div(vocabulary, rounding_mode='trunc'), best.remainder(vocabulary)",
    # the ranked numbers times their penalty, but for rounding
    "found = ranked.flatten(-2).gather(-1, best)\n"
    "return found * penalty[..., 0].gather(-1, text), text, token",
)  # fmt: skip
variants.wrong(exercise, {
    "a text that has ended goes on: let `stop`, at no cost, be its only continuation":
        "more = log_p",
    "an ended text pays for another `stop`: it should cost nothing":
        "only_stop[..., stop] = log_p[..., stop]",
    "an ended text disappears: let it go on with `stop`, at no cost": (
        "    only_stop[..., stop] = 0.0\n", ""),
    "an ended text goes on with any token, at no cost: let it go on only with `stop`":
        "only_stop = torch.zeros_like(log_p)",
    "an ended text goes on with token 0: let it go on with `stop`": ("[..., stop]", "[..., 0]"),
    "an ended text goes on with the last token: let it go on with `stop`": (
        "[..., stop]", "[..., -1]"),
    "what an ended text may not do gets a rank that others may be below: fill with -inf": [
        ("-torch.inf", "-1e9"),
        "more = log_p.masked_fill(ended[..., None], 0.0)\n"
        "barred = ended[..., None] & (only_stop < 0)\n"
        "ranked = (longer / penalty).masked_fill(barred, -1e9)"],
    "the texts that have not ended are stopped: stop the others": ("where(ended", "where(~ended"),
    "`stop` costs nothing for any text: it should cost nothing only for those that have ended":
        "more = torch.where(ended[..., None] | (only_stop == 0), only_stop, log_p)",
    "the length of an ended text grows: leave it as it is": ("length + ~ended", "length + 1"),
    "the length does not grow: count one token more for a text that goes on": (" + ~ended", ""),
    "a text that ends now does not grow: count its `stop` as a token like the others":
        "is_stop = torch.arange(vocabulary, device=log_p.device) == stop\n"
        "size = (length[..., None] + ~(ended[..., None] | is_stop)).to(log_p.dtype)",
    "only ended texts grow: count one token more for the others instead": ("~ended)", "1 * ended)"),
    "the length penalty is missing, or one for all texts: divide each by ((5 + length) / 6) ** "
    "power, of its own length": [
        "ranked = longer", ("(length + ~ended)", "(length + ~ended).amax(-1, keepdim=True)")],
    "it is multiplied by the penalty: divide by it, or long texts lose":
        "ranked = longer * penalty",
    "5 is not added to the length: the penalty should be ((5 + length) / 6) ** power": [
        "penalty = size**power", "penalty = (size / 6) ** power"],
    "// rounds down to a whole number: divide with /": "penalty = ((5 + size) // 6) ** power",
    "the penalty only sorts what the totals have chosen: choose by what is ranked":
        "found = longer.flatten(-2).topk(width, dim=-1).indices\n"
        "order = ranked.flatten(-2).gather(-1, found).argsort(-1, descending=True)\n"
        "best = found.gather(-1, order)",
    "flatten() joins the texts of the whole batch: make only the last two axes one, with "
    "flatten(-2)":
        ["best = ranked.flatten().topk(width).indices",
         "best = ranked.flatten().topk(width).indices\nreturn longer.flatten()[best], text, token"],
    "the 5 is not divided by 6: the penalty should be ((5 + length) / 6) ** power":
        "penalty = (5 + size / 6) ** power",
    "only the old total is divided by the penalty: divide the new total":
        "ranked = total[..., None] / penalty + more",
    "0 times -inf is NaN: choose with torch.where": [
        "more = log_p * ~ended[..., None] + only_stop * ended[..., None]",
        "more = log_p * ~ended[..., None] + torch.where(ended[..., None], only_stop, 0.0)",
        "barred = ended[..., None] & (only_stop < 0)\n"
        "more = torch.where(barred, only_stop, log_p * ~ended[..., None])"],
    "the power is ignored: the penalty should be ((5 + length) / 6) ** power": (" ** power", ""),
    "the power is a factor: the penalty should be ((5 + length) / 6) ** power":
        ("** power", "* power"),
    "the totals are those that were ranked: return the log-probabilities, without the penalty":
        "return ranked.flatten(-2).gather(-1, best), text, token",
    "the totals are those that were ranked, with a penalty in float32: return them without it":
        "size = (length + ~ended)[..., None]\n"
        "return ranked.flatten(-2).gather(-1, best), text, token",
    "the total of a text is forgotten: add to it what the new token adds":
        "longer = 0 * total[..., None] + more",
    "only what a token adds is returned: return the total of the whole text":
        "return more.flatten(-2).gather(-1, best), text, token",
    "the old total is returned: add the new token's log-probability":
        "return total.gather(-1, text), text, token",
    "the totals are multiplied: add them, they are logarithms of probabilities":
        "longer = total[..., None] * more",
    "each text keeps its own best: keep the best of all texts' continuations":
        "texts = torch.arange(log_p.shape[-2], device=log_p.device)\n"
        "rows = torch.arange(width, device=log_p.device) % len(texts)\n"
        "best = (texts * vocabulary + ranked.argmax(-1))[..., rows]",
    "a text goes on with its two best tokens only: let all continuations of all texts compete":
        "each = longer / penalty\n"
        "ranked = each.masked_fill(each < each.topk(2).values[..., -1:], -torch.inf)",
    "the worst are kept: take the largest, because logarithms are negative": (
        "topk(width, dim=-1)", "topk(width, dim=-1, largest=False)"),
    "the index is divided by the number of texts: divide by the vocabulary's size, the number of "
    "ways from each text":
        "vocabulary = log_p.shape[-2]",
    "the index is divided by `width`: divide by the vocabulary's size, the number of ways from "
    "each text": [
        "vocabulary = width", "text, token = best // width, best % vocabulary"],
    "parent and token are exchanged: return the total, the text it goes on from, the token": (
        ", text, token\n", ", token, text\n"),
    "this is the index among all continuations: for the text, take its quotient by the "
    "vocabulary's size":
        "text, token = best, best % vocabulary",
    "the order is lost: put the best first": (".indices", ".indices.sort(-1).values"),
    "as many texts come back as went in: return `width` of them": (
        "topk(width,", "topk(log_p.shape[-2],"),
    messages.CHANGES: "more = log_p.copy_(torch.where(ended[..., None], only_stop, log_p))",
    messages.BATCH: ("ranked.flatten(-2)", "ranked.flatten(1)"),
})  # fmt: skip
