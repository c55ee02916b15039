"""Exercise exact_by_length: the share of translations without a mistake, by length."""

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

LOOP = "it loops over texts or tokens: compare whole tensors, and loop over the groups at most"
exercise = Exercise.read(
    __name__, differentiable=False, floating=False, generic_hints={"loops": LOOP}
)
exercise.valid(variants.worked(exercise))


@exercise.reference
def text_by_text(written, targets, lengths, stop, bounds):
    marks = [[] for _ in range(len(bounds) + 1)]
    rows = zip(written.tolist(), targets.tolist(), lengths.tolist(), strict=True)
    for text, target, length in rows:
        end = target.index(stop) + 1
        marks[sum(length > bound for bound in bounds)].append(text[:end] == target[:end])
    return torch.tensor([sum(group) / len(group) if group else torch.nan for group in marks])


def draw_texts(draw, *texts, m, n, bounds, stop=1, fill=0):
    """Texts, each as (length of the source, tokens before the stop, the token that is wrong).

    The last is None where all is right, "early" or "late" where only the stop is wrong, and
    "order" where the first two tokens have changed places.
    """
    targets = torch.randint(4, 99, (len(texts), n), generator=draw.generator)
    # what follows a stop is anything, even what the target has there
    written = torch.randint(4, 99, (len(texts), max(m, n + 1)), generator=draw.generator)
    for row, (_, size, wrong) in enumerate(texts):
        targets[row, size:] = fill
        targets[row, size] = stop
        written[row, : size + 1] = targets[row, : size + 1]
        if wrong == "early":
            written[row, size - 1] = stop
        elif wrong == "late":
            written[row, size : size + 2] = torch.tensor([3, stop])
        elif wrong == "order":
            targets[row, :2] = torch.tensor([5, 6])
            written[row, :2] = torch.tensor([6, 5])
        elif wrong is not None:
            written[row, wrong] += 1
    return written[:, :m], targets, torch.tensor([text[0] for text in texts]), stop, bounds


@exercise.cases
def cases(draw):
    n = draw.integer(7, 9)
    # of 3, 4 and 5 texts, 2, 1 and 3 are right
    texts = [
        (1, 4, None), (3, 2, 0), (3, 5, None), (4, 6, "late"), (6, 1, None), (5, 3, "early"),
        (6, 3, "order"), (7, 2, None), (9, 5, "late"), (12, 4, None), (8, 6, 5), (30, 1, None),
    ]  # fmt: skip
    order = torch.randperm(len(texts), generator=draw.generator).tolist()
    texts = [texts[i] for i in order]
    sizes = {"n": n, "bounds": [3, 6]}
    longer = draw_texts(draw, *texts * 5, m=44, n=40, bounds=[3, 6])
    yield Case("12 texts in 3 groups", draw_texts(draw, *texts, m=n + 2, **sizes), longer=longer)
    yield Case("fewer tokens written than the targets have", draw_texts(draw, *texts, m=5, **sizes))
    long_sources = [(5 * length, *rest) for length, *rest in texts]
    name = "as many tokens written, sources of up to 150 words"
    yield Case(name, draw_texts(draw, *long_sources, m=n, n=n, bounds=[15, 30]))
    yield Case("targets filled up with the stop", draw_texts(draw, *texts, m=n, **sizes, fill=1))
    yield Case("targets filled up with -100", draw_texts(draw, *texts, m=n + 1, **sizes, fill=-100))
    yield Case("the stop is 0", draw_texts(draw, *texts, m=5, **sizes, stop=0, fill=3))
    yield Case("one token written", draw_texts(draw, *texts, (2, 0, None), m=1, **sizes))
    written, *rest = draw_texts(draw, *texts, m=n + 2, **sizes)
    yield Case("after their stop, texts are filled up", (fill_after_stop(written, 1, 0), *rest))
    yield Case("after their stop, texts repeat it", (fill_after_stop(written, 1, 1), *rest))
    bounds = [0, 2, 3, 6, 20, 40]
    yield Case("groups without texts", draw_texts(draw, *texts[:7], (1, 2, None), m=n + 2, n=n,
                                                  bounds=bounds))  # fmt: skip
    yield Case("one bound", draw_texts(draw, *texts, m=n, n=n, bounds=[6]))
    ended = [(2, 0, None), (2, 0, "late"), (7, 0, "late"), (9, 0, None), (5, 1, "early")]
    yield Case("targets that only stop", draw_texts(draw, *ended, m=4, n=3, bounds=[4]))
    yield Case(
        "every text is right", draw_texts(draw, (4, 2, None), (9, 3, None), m=6, n=5, bounds=[5])
    )
    yield Case("one text", draw_texts(draw, (4, 2, None), m=3, n=4, bounds=[4]))


def fill_after_stop(written, stop, fill):
    """The written tokens, with the filling after the first stop of each text."""
    return written.where((written == stop).cumsum(-1) <= (written == stop).long(), fill)


def by_the_first_mistake(written, targets, lengths, stop, bounds):
    width = min(written.shape[-1], targets.shape[-1])
    agree = (written[:, :width] == targets[:, :width]).long().cumprod(-1).sum(-1)
    right = (agree > (targets == stop).long().argmax(-1)).float()
    shares, low = [], 0
    for high in [*bounds, int(lengths.max()) + 1]:
        shares.append(right[(lengths > low) & (lengths <= high)].mean())
        low = high
    return torch.stack(shares)


FROM_THE_END = "stops.flip(-1).cumsum(-1).flip(-1) == 0"
variants.right(
    exercise, by_the_first_mistake,
    # the stop itself is compared, so that it does not matter whose it is
    "stops = written == stop",
    "group = sum((lengths > bound).long() for bound in bounds)\n"
    "return torch.stack([right[group == g].float().mean() for g in range(groups)])",
    "one_hot = torch.nn.functional.one_hot(group, groups).float()\n"
    "return one_hot.T @ right.float() / one_hot.sum(0)",
    "after = stops.long().cumsum(-1) - stops.long() > 0\n"
    "right = written.masked_fill(after, -5).eq(targets.masked_fill(after, -5)).all(dim=1)\n"
    "none = torch.zeros(groups, device=group.device)\n"
    "correct = none.index_add(0, group, right.float())\n"
    "texts = none.index_add(0, group, torch.ones_like(right, dtype=torch.float32))",
    # what follows a stop is the same in both, each by its own stop
    "ends = written == stop\n"
    "said = written.masked_fill(ends.cumsum(-1) > ends.long(), stop)\n"
    "right = (said == targets.masked_fill(after, stop)).all(-1)",
)  # fmt: skip
variants.wrong(exercise, {
    "whole rows are compared: leave out what follows the target's stop":
        "right = (written == targets).all(-1)",
    "the stop itself is not compared: count a text that goes on in its place as wrong":
        "after = stops.cumsum(-1) > 0",
    "the last stop is taken for the end: let the first stop of the target end it": [
        f"after = {FROM_THE_END}",
        # each row by its own
        "ends = written == stop\n"
        "said = written.masked_fill(ends.flip(-1).cumsum(-1).flip(-1) == 0, -1)\n"
        "written = torch.nn.functional.pad(said, (0, missing), value=-1)[:, :n]\n"
        f"after = {FROM_THE_END}\n"
        "right = (written == targets.masked_fill(after, -1)).all(-1)"],
    "what was written says where to end, so a text that stops too early is right: compare the stop "
    "as well": [
        "stops = written == stop\nafter = stops.cumsum(-1) > 0",
        "stops = (targets == stop) | (written == stop)\nafter = stops.cumsum(-1) > 0"],
    "a text counts as right where it is too short: count what is missing as a mistake": [
        "m = written.shape[-1]\n"
        "written = written[:, :n]\n"
        "right = ((written == targets[:, :m]) | after[:, :m]).all(-1)",
        "right = ((written == targets) | after | (written == -1)).all(-1)"],
    "what is missing is filled up with stops: fill it up otherwise, as a text that was cut off has "
    "none": (
        "value=-1", "value=stop"),
    "what is missing is filled up with 0, which may be a token or the stop: take a number that is "
    "none": ("value=-1", "value=0"),
    "both are not of one width: cut off, or fill up, what was written": [
        "written = written", "written = written[:, :n]"],
    "the share of right tokens is averaged: count a text as right in all its tokens, or not at all":
        "part = ((written == targets) & ~after).sum(-1) / (~after).sum(-1)\n"
        "correct = part.new_zeros(groups).index_add_(0, group, part)",
    "one right token is enough for a text: all must be right":
        "right = ((written == targets) & ~after).any(-1)",
    "only the stop is compared: all tokens before it must be right, too":
        "right = ((written == targets) | ~stops | after).all(-1)",
    "the order of the tokens is not looked at: compare place by place":
        "said, asked = (x.masked_fill(after, -5).sort(-1).values for x in (written, targets))\n"
        "right = (said == asked).all(-1)",
    "the first token is left out: count it like any other":
        "right = ((written == targets) | after)[:, 1:].all(-1)",
    "the filling is told by its number, 0: take all that follows the first stop for filling":
        "after = targets == 0",
    "the filling is told by its number, -100: take all that follows the first stop for filling":
        "after = targets == -100",
    "the stop has a fixed number: take `stop`": "stops = targets == 1",
    "a long source belongs to no group: give the last one no upper end": [
        f"correct = group[right & (lengths <= {limit})].bincount(minlength=groups)\n"
        f"texts = group[lengths <= {limit}].bincount(minlength=groups)" for limit in (50, 99, 100)],
    "a second stop in `written` counts as a mistake: leave out what follows the first":
        "right = ((written == targets) | after).all(-1) & ((written == stop).sum(-1) < 2)",
    "a length that equals a bound falls into the next group: put it into the one below": (
        "lengths.device))", "lengths.device), right=True)"),
    "a length that equals a bound is counted in two groups: put it only into the one below":
        "shares = [right[(lengths >= low) & (lengths <= high)].float().mean()\n"
        "          for low, high in zip([0, *bounds], [*bounds, 10**9], strict=True)]\n"
        "return torch.stack(shares)",
    "the groups are made of the targets' lengths: make them of the sources'": [
        ("bucketize(lengths,", "bucketize((~after).sum(-1) - 1,"),
        ("bucketize(lengths,", "bucketize((~after).sum(-1),")],
    "the group of the longest is missing: return one group more than bounds":
        "return (correct / texts)[:-1]",
    "the group of the shortest is missing: return one group more than bounds":
        "return (correct / texts)[1:]",
    "the longest texts are counted in the group before: make one group more than bounds": (
        "lengths.device))", "lengths.device)).clamp(max=len(bounds) - 1)",
        "len(bounds) + 1", "len(bounds)"),
    "a group also counts the shorter texts: let it begin above the bound before": [
        "return correct.cumsum(0) / texts.cumsum(0)",
        "shares = [right[lengths <= bound].float().mean() for bound in bounds]\n"
        "return torch.stack([*shares, right[lengths > bounds[-1]].float().mean()])"],
    "the groups come in reverse order: put the shortest first": "return (correct / texts).flip(0)",
    "bincount leaves out the last groups where they are empty: give it minlength": (
        every("minlength=groups"), ""),
    "right texts are divided by all texts: divide by those of their group":
        "return correct / len(lengths)",
    "this is the group's share of all right texts: divide by the texts of the group":
        "return correct / right.sum()",
    "these are numbers of texts: divide by the texts of each group": "return correct.float()",
    "one share for all texts comes back: give each group its own": "return right.float().mean()",
    "a group without texts gives 0, as if all were wrong: it has no share, so give NaN": [
        "return correct / texts.clamp(min=1)", "return (correct / texts).nan_to_num(0.0)"],
    "a group without texts gives 1, as if all were right: it has no share, so give NaN":
        "return (correct / texts).nan_to_num(1.0)",
    "a group without texts is left out: give it a place, with NaN":
        "share = correct / texts\nreturn share[~share.isnan()]",
    "this is the share of wrong texts: return that of the right ones": "return 1 - correct / texts",
    "these are percentages: a share should be from 0 to 1": "return 100 * (correct / texts)",
    "the shares are rounded: return them as they are": "return (correct / texts).round(decimals=2)",
    "the shares are float64: give float32, torch's default": [
        "return (correct / texts).double()", "return correct.double() / texts"],
    "it gives a list: return a tensor, one share for each group":
        "return (correct / texts).tolist()",
    LOOP: "pairs = zip(written == targets, after, strict=True)\n"
        "right = torch.stack([(same | late).all() for same, late in pairs])",
    messages.DEVICE: (", device=lengths.device", ""),
    messages.CHANGES: "targets.masked_fill_(targets < 0, 0)\nstops = targets == stop",
})  # fmt: skip
