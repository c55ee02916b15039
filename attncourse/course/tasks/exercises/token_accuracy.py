"""Exercise token_accuracy: a share of all tokens, of batches that are not alike."""

import torch

from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over sentences or tokens: take one comparison for a whole batch"
exercise = Exercise.read(
    __name__, differentiable=False, floating=False, generic_hints={"loops": LOOP}
)
token_accuracy = exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


@exercise.reference
def token_by_token(batches):
    marks = []
    for scores, labels in batches:
        rows = scores.flatten(0, -2).tolist()
        for row, label in zip(rows, labels.flatten().tolist(), strict=True):
            if label != -100:
                marks.append(row.index(max(row)) == label)
    return sum(marks) / len(marks)


def draw_batch(draw, *sentences, n=None, classes=5):
    """Scores and labels of sentences, each as (right, wrong) tokens, and padded to n."""
    n = n or max(right + wrong for right, wrong in sentences)
    labels = torch.randint(classes, (len(sentences), n), generator=draw.generator)
    # at padding a model says something too
    predicted = torch.randint(classes, labels.shape, generator=draw.generator)
    for row, (right, wrong) in enumerate(sentences):
        count = right + wrong
        place = torch.randperm(count, generator=draw.generator)
        predicted[row, :count] = labels[row, :count]
        predicted[row, place[:wrong]] = (labels[row, place[:wrong]] + 1) % classes
        labels[row, count:] = -100
    scores = draw.normal(*labels.shape, classes)
    best = scores.amax(-1, keepdim=True) + 1
    return scores.scatter(-1, predicted[..., None], best), labels


@exercise.cases
def cases(draw):
    # the tokens of each batch, and of all, are a power of two: in float32 the shares are exact
    batch_16 = draw_batch(draw, (7, 1), (3, 2), (2, 1))
    batch_4 = draw_batch(draw, (0, 2), (1, 1))
    one_sentence = draw_batch(draw, (2, 2))
    batch_8 = draw_batch(draw, (1, 3), (0, 3), (1, 0))
    yield Case("batches of 16, 4, 4 and 8 tokens", ([batch_16, batch_4, one_sentence, batch_8],))
    yield Case("the same in another order", ([batch_8, one_sentence, batch_4, batch_16],))
    sentences = [draw_batch(draw, *[(3, 1), (1, 3)] * 32)]
    yield Case("one batch of 3 sentences", ([batch_16],), longer=(sentences,))
    yield Case(
        "one batch of one sentence", ([one_sentence],), longer=([draw_batch(draw, (48, 16))],)
    )
    yield Case("batches of 8 and 8 tokens", ([batch_8, draw_batch(draw, (3, 0), (3, 2))],))
    mostly_padding = draw_batch(draw, (2, 0), (1, 1), n=9)
    yield Case("a batch that is mostly padding", ([mostly_padding, batch_16, batch_4, batch_8],))
    unlabelled = draw_batch(draw, (0, 0), (0, 0), n=3)
    yield Case("a batch without a label", ([batch_16, unlabelled, batch_4, one_sentence, batch_8],))
    scores, labels = draw_batch(draw, (4, 0), (8, 0), (4, 0))
    gaps = labels.masked_fill(torch.arange(8) % 2 == 0, -100)
    yield Case("-100 within a sentence, too", ([(scores, gaps), draw_batch(draw, (0, 8))],))
    yield Case("as many labels as tokens", ([draw_batch(draw, (2, 2), (1, 3), classes=4)],))


def weighted(batches):
    shares, weights = [], []
    for scores, labels in batches:
        asked = labels != -100
        right = scores.argmax(dim=-1)[asked] == labels[asked]
        shares.append(right.sum().item() / max(1, right.numel()))
        weights.append(right.numel())
    return sum(s * w for s, w in zip(shares, weights, strict=True)) / sum(weights)


def side_by_side(batches):
    scores = torch.cat([one.flatten(0, -2) for one, _ in batches])
    labels = torch.cat([one.flatten() for _, one in batches])
    asked = labels != -100
    return (scores.argmax(-1) == labels)[asked].float().mean().item()


RIGHT = "(scores.argmax(dim=-1)[asked] == labels[asked])"
ADD, TOTAL = f"right += {RIGHT}.sum().item()", "total += asked.sum().item()"
SHARE, WEIGHT = "right.sum().item() / max(1, right.numel())", "weights.append(right.numel())"
MEAN = "sum(s * w for s, w in zip(shares, weights, strict=True)) / sum(weights)"
# shares, and sums of them, in float32 or float64
OF_SENTENCES = [
    f"share = ((scores.argmax(-1) == labels) & asked).sum(-1){share} / asked.sum(-1)\n"
    f"        right += share.nan_to_num(0.0){added}.sum().item()"
    for share, added in (("", ""), ("", ".double()"), (".double()", ""))
]
variants.right(
    exercise, weighted, side_by_side,
    (ADD, "right += int((scores.max(-1).indices == labels).sum())", TOTAL,
     "total += len(labels[asked])", "right / total", "float(right) / total"),
    (ADD, "right += torch.count_nonzero(scores.argmax(-1) == labels)",
     "right / total", "(right / total).item()"),
    (ADD, f"wrong = (~{RIGHT}).sum().item()",
     TOTAL, f"{TOTAL}\n        right += asked.sum().item() - wrong"),
)  # fmt: skip
variants.wrong(exercise, {
    "empty batches are left out, and still each batch counts alike: each token should": [
        ("        right = scores", "        if not asked.any():\n            continue\n"
         "        right = scores"),
        ("right.numel())", "max(1, right.numel()))",
         "len(shares)", "sum((labels != -100).any().item() for _, labels in batches)")],
    "empty batches count as 0, and still each batch counts alike: each token should": (
        "/ right.numel()", "/ max(1, right.numel())"),
    "this is the accuracy of the middle batch: take the share of all tokens": (
        "sum(shares) / len(shares)", "sorted(shares)[len(shares) // 2]"),
    "this is the accuracy of the best batch: take the share of all tokens": (
        "sum(shares) / len(shares)", "max(shares)"),
}, of=token_accuracy)  # fmt: skip
variants.wrong(exercise, {
    "batches are weighted by their sentences: a sentence may be short or long, so count tokens": (
        WEIGHT, "weights.append(len(labels))"),
    "batches are weighted by their places, padding included: count tokens that have a label": (
        WEIGHT, "weights.append(labels.numel())"),
    "batches are weighted by the length of their rows: count tokens that have a label": (
        WEIGHT, "weights.append(labels.shape[-1])"),
    "shares of batches are added up, and divided by tokens: add up how many are right": (
        MEAN, "sum(shares) / sum(weights)"),
    "a batch without a label has NaN for its share, and 0 times NaN is NaN: let such a batch add "
    "nothing": (
        SHARE, "right.double().mean().item()"),
    "the weights are not in the order of the shares: weight each batch by its own number "
    "of tokens": (
        "zip(shares, weights,", "zip(shares, weights[::-1],"),
    "batches are weighted by the roots of their tokens: each token should count alike": (
        WEIGHT, "weights.append(right.numel() ** 0.5)"),
}, of=weighted)  # fmt: skip
variants.wrong(exercise, {
    "padding is counted among the tokens: leave out labels of -100": [
        (TOTAL, "total += labels.numel()"), ("labels != -100", "labels == labels")],
    "padding is counted as right: leave out labels of -100": (
        ADD, "right += (~asked | (scores.argmax(-1) == labels)).sum().item()",
        TOTAL, "total += labels.numel()"),
    "it is divided by the number of batches: divide what is right by the number of tokens":
        "return right / len(batches)",
    "right tokens are divided by the number of sentences: divide by that of tokens": (
        TOTAL, "total += len(labels)"),
    LOOP: (
        ADD, "right += sum((one.argmax(-1) == some).sum().item() for one, some in "
        "zip(scores, labels, strict=True))"),
    "a row is cut off at its number of labels: go by the labels, -100 may stand within a row as "
    "well": (
        ADD, "right += sum((one[:n].argmax(-1) == some[:n]).sum().item() for one, some, n in "
        "zip(scores, labels, asked.sum(-1), strict=True))"),
    "each sentence counts alike, however long it is: each token should": [
        (ADD, added, TOTAL, total) for added in OF_SENTENCES
        for total in ("total += len(labels)", "total += asked.any(-1).sum().item()")],
    "this is the share of sentences that are right throughout: count tokens": (
        ADD, "right += ((scores.argmax(-1) == labels) | ~asked).all(-1).sum().item()",
        TOTAL, "total += len(labels)"),
    "only the last batch counts: add up what is right, and what is asked": (
        ADD, f"right = {RIGHT}.sum().item()", TOTAL, "total = asked.sum().item()"),
    "what is right is not added up, and only the last batch's is kept: add it up": (
        ADD, f"right = {RIGHT}.sum().item()"),
    "what is asked is not added up, and only the last batch's is kept: add it up": (
        TOTAL, "total = max(1, asked.sum().item())"),
    "it returns within the loop, so only the first batch counts: return after the loop": (
        "    return", "        return"),
    "it stops at a batch without a label: go on with the next one": (
        "        right +=", "        if not asked.any():\n            break\n        right +="),
    "the first batch is left out: count all of them": ("in batches", "in batches[1:] or batches"),
    "labels of 0 are left out: leave out only those of -100": (
        "labels != -100", "labels > 0"),
    "labels of 0 are left out, and those of -100 are not: it should be the other way round": (
        "labels != -100", "labels != 0"),
    "the labels asked for are those of -100: ask for all the others": (
        "labels != -100", "labels == -100", "right / total", "right / max(1, total)"),
    "a label among the two best counts as right: count only the best, which is what the "
    "model says": (
        RIGHT, "(scores.topk(2).indices[asked] == labels[asked][..., None]).any(-1)"),
    "argmin gives the lowest score: take the highest, which is what the model says": (
        "argmax", "argmin"),
    "this is the share of errors: return the share that is right":
        "return 1 - right / total",
    "this is a percentage: a share should be from 0 to 1": "return 100 * right / total",
    "the share is rounded: return it as it is": [
        "return round(right / total, 2)", "return round(right / total, 1)"],
    "// rounds down to a whole number: divide with /": "return right // total",
    "these are the right tokens: divide by all that are asked for": "return right",
    "the two sums come back: divide the one by the other": "return right, total",
    "it returns a tensor: return a Python number, by .item()":
        "return torch.tensor(right / total)",
    "each label counts alike, however frequent it is: each token should": [
        (ADD, "right = right + torch.stack([(scores.argmax(-1) == labels)[labels == one].sum() "
         "for one in range(scores.shape[-1])])",
         TOTAL, "total = total + torch.stack([(labels == one).sum() for one in "
         "range(scores.shape[-1])])", "right / total", f"({shares}).{mean}.item()")
        for shares in ("right / total", "right.double() / total")
        for mean in ("nanmean()", "nan_to_num(0.0).mean()")],
    "one batch too many is divided by: add up tokens alone":
        "return right / (total + len(batches))",
})  # fmt: skip
variants.wrong(exercise, {
    "batches differ in the length of their sentences, so cat cannot join them: flatten each first":
        (".flatten(0, -2)", "", ".flatten()", ""),
}, of=side_by_side)  # fmt: skip
