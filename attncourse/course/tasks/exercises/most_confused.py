"""Exercise most_confused: what a model takes for what, and how much of it it finds."""

from collections import Counter

import torch

from judge import messages, variants
from judge.exercise import Case, Exercise

LOOP = "it loops over tokens: let bincount count all pairs at once, and loop over labels at most"
exercise = Exercise.read(
    __name__, differentiable=False, floating=False, generic_hints={"loops": LOOP}
)
Worked = exercise.valid(variants.worked(exercise))


@exercise.reference
def pair_by_pair(predicted, labels, count):
    pairs = list(zip(labels.flatten().tolist(), predicted.flatten().tolist(), strict=True))
    wrong = [(a, b) for a, b in pairs if a not in (b, -100)]
    times = {pair: wrong.count(pair) for pair in sorted(wrong)}
    label, taken_for = max(times, key=lambda pair: times[pair])
    of_label = [b for a, b in pairs if a == label]
    recall = of_label.count(label) / len(of_label)
    return label, taken_for, times[label, taken_for], recall


def draw_tokens(draw, matrix, n, ignored=0, at_ignored=None):
    """Predictions and labels that have this confusion matrix, in rows of n, the rest ignored."""
    pairs = [
        (a, b) for a, row in enumerate(matrix) for b, times in enumerate(row) for _ in range(times)
    ]
    extra = ignored + -(len(pairs) + ignored) % n
    # where there is no label, a model says something too
    guesses = torch.randint(len(matrix), (extra,), generator=draw.generator).tolist()
    pairs += [(-100, guess if at_ignored is None else at_ignored) for guess in guesses]
    order = torch.randperm(len(pairs), generator=draw.generator)
    labels, predicted = torch.tensor(pairs)[order].T.reshape(2, -1, n)
    return predicted, labels, len(matrix)


def relabel(draw, matrix, times=1):
    """The same matrix with its labels in another order."""
    order = torch.randperm(len(matrix), generator=draw.generator)
    return (times * torch.tensor(matrix)[order][:, order]).tolist()


@exercise.cases
def cases(draw):
    # the answer is 2 taken for 4. By the share of the row it would be 1 for 2, by that of the
    # column 4 for 1, in both directions 3 and 4; most mistakes have row 4 and column 3, most tokens
    # has label 3, and the lowest recall label 0
    matrix = [
        [1, 1, 3, 4, 0], [0, 1, 3, 0, 0], [3, 0, 3, 3, 7], [2, 0, 2, 80, 4], [6, 5, 1, 5, 20]
    ]  # fmt: skip
    five_labels = draw_tokens(draw, relabel(draw, matrix), 8, ignored=9)
    yield Case("5 labels", five_labels, longer=draw_tokens(draw, relabel(draw, matrix, 12), 40))
    twelve, names = torch.zeros(12, 12, dtype=torch.int64), torch.tensor([0, 6, 11, 3, 10])
    twelve[names[:, None], names] = torch.tensor(matrix)
    yield Case("12 labels", draw_tokens(draw, twelve.tolist(), 7, ignored=4))
    yield Case("rows of one token", draw_tokens(draw, relabel(draw, matrix), 1, ignored=3))
    yield Case("one row, none ignored", draw_tokens(draw, relabel(draw, matrix), 154))
    relabelled = relabel(draw, matrix)
    yield Case(
        "most tokens are ignored", draw_tokens(draw, relabelled, 9, ignored=150, at_ignored=4)
    )
    tied = [[9, 0, 0, 1], [0, 2, 3, 2], [3, 1, 12, 0], [0, 3, 1, 12]]
    predicted, labels, count = draw_tokens(draw, tied, 5, ignored=4)
    # with one more, 1 for 3 is as frequent as three others, and the first that is met
    predicted = torch.cat([torch.tensor([[3, 0, 0, 0, 0]]), predicted])
    labels = torch.cat([torch.tensor([[1, -100, -100, -100, -100]]), labels])
    yield Case("four pairs are as frequent", (predicted, labels, count))
    unseen = [[4, 1, 0, 0, 3], [2, 6, 0, 2, 1], [0] * 5, [2, 1, 0, 1, 0], [0] * 5]
    yield Case("labels that no token has", draw_tokens(draw, unseen, 6))
    yield Case("two labels, of which one is never found", draw_tokens(draw, [[0, 4], [1, 3]], 3))
    yield Case("one mistake", draw_tokens(draw, [[2, 0], [1, 7]], 4))


@exercise.valid
def by_counter(predicted, labels, count):
    kept = labels != -100
    counted = Counter(zip(labels[kept].tolist(), predicted[kept].tolist(), strict=True))
    wrong = {pair: times for pair, times in counted.items() if pair[0] != pair[1]}
    pair = min(wrong, key=lambda one: (-wrong[one], one))
    row = sum(counted[pair[0], other] for other in range(count))
    return [*pair, wrong[pair], counted[pair[0], pair[0]] / row]


@exercise.valid
def by_unique(predicted, labels, count):
    at = (labels != predicted) & (labels != -100)
    pairs, times = torch.stack([labels[at], predicted[at]]).unique(dim=1, return_counts=True)
    best = times.argmax()
    label, taken_for = pairs[:, best].tolist()
    recall = (predicted[labels == label] == label).float().mean()
    return label, taken_for, times[best].item(), recall.item()


variants.right(exercise,
    "a, b = (torch.eye(count, device=labels.device)[x[kept]] for x in (labels, predicted))\n"
    "matrix = a.T @ b\n"
    "recall = matrix.diag()[label] / matrix.sum(1)[label]\n"
    "return label, taken_for, int(times), recall.item()",
    "matrix = torch.tensor([[((labels == a) & (predicted == b)).sum() for b in range(count)]\n"
    "                       for a in range(count)])\n"
    "wrong = matrix.clone().fill_diagonal_(-1)",
)  # fmt: skip
# a recall that float32 does not hold is rounded, or not: a mistake is known either way
in_float64 = exercise.valid(variants.edited(Worked, "[label, label]", "[label, label].double()"))
FOUND, ROW = "matrix[label, label]", "matrix[label].sum()"
for answer in (Worked, in_float64):
    variants.wrong(exercise, {
        "the diagonal is counted, too: leave it out, there a label was predicted as itself":
            "wrong = matrix",
        "rows and columns are swapped: a row should be a label, a column what was predicted":
            "pairs = predicted[kept] * count + labels[kept]",
        "row and column of the place are swapped: a place is row * count + column, so // gives the "
        "row, % the column": (
            "label, taken_for = divmod", "taken_for, label = divmod"),
        "a pair is counted in both directions: count each by itself, taking a for b is not taking "
        "b for a": [
            "wrong = matrix + matrix.T - 2 * matrix.diag().diag()",
            "wrong = (matrix + matrix.T).triu(1)",
            ("wrong.argmax()", "(wrong + wrong.T).argmax()")],
        "one side of the diagonal is looked at alone: look at both, a prediction may be above or "
        "below its label": ["wrong = matrix.triu(1)", "wrong = matrix.tril(-1)"],
        "the pair with the largest share of its label's tokens is taken: take the most frequent":
            "shares = wrong / matrix.sum(1, keepdim=True).clamp(min=1)\n"
            "label, taken_for = divmod(shares.argmax().item(), count)",
        "the pair with the largest share of what was predicted is taken: take the most frequent":
            "shares = wrong / matrix.sum(0).clamp(min=1)\n"
            "label, taken_for = divmod(shares.argmax().item(), count)",
        "the label with most mistakes is taken: take the most frequent pair":
            "worst = wrong.sum(1).argmax().item()\n"
            "label, taken_for = worst, wrong[worst].argmax().item()",
        "the prediction with most mistakes is taken: take the most frequent pair":
            "worst = wrong.sum(0).argmax().item()\n"
            "label, taken_for = wrong[:, worst].argmax().item(), worst",
        "label and prediction are looked for apart: look for the pair":
            "label, taken_for = wrong.sum(1).argmax().item(), wrong.sum(0).argmax().item()",
        "the label with the lowest recall is looked for: look for the most frequent pair":
            "worst = (matrix.diag() / matrix.sum(1)).nan_to_num(2.0).argmin().item()\n"
            "label, taken_for = worst, wrong[worst].argmax().item()",
        "the most frequent label is taken: look for the most frequent pair":
            "most = matrix.sum(1).argmax().item()\n"
            "label, taken_for = most, wrong[most].argmax().item()",
        "this is the precision: for the recall, divide by the label's tokens, a row": (
            ROW, "matrix[:, label].sum()"),
        "this is the recall of what was predicted: return that of the label": (
            FOUND, "matrix[taken_for, taken_for]", ROW, "matrix[taken_for].sum()"),
        "this is the share that was missed: return the share that was found, the recall": (
            "recall = ", "recall = 1 - "),
        "this is how much of the label went to that prediction: return the share that was found, "
        "the recall": (FOUND, "matrix[label, taken_for]"),
        "right tokens are divided by wrong ones: divide by all tokens of the label": (
            ROW, "wrong[label].sum()"),
        "this is the accuracy: for the recall, look at the tokens of one label": (
            FOUND, "matrix.diag().sum()", ROW, "matrix.sum()"),
        "the label's right tokens are divided by all tokens: divide by those of the label": [
            (ROW, "matrix.sum()"), (ROW, "labels.numel()")],
        "ignored tokens are counted as label 0: leave them out":
            "pairs = labels.clamp(min=0).flatten() * count + predicted.flatten()",
    }, of=answer)  # fmt: skip
variants.wrong(exercise, {
    "label and prediction come in the wrong order: return first the label": (
        "return label, taken_for", "return taken_for, label"),
    "the pair is the most frequent, but its count has both directions: count only the one":
        "times = wrong[label, taken_for] + wrong[taken_for, label]",
    "of pairs that are as frequent, the last is taken: take the lowest label, then the lowest "
    "prediction": "label, taken_for = (wrong == wrong.max()).nonzero()[-1].tolist()",
    "of pairs that are as frequent, the lowest prediction decides: let the lowest label decide":
        "label, taken_for = divmod(wrong.T.argmax().item(), count)[::-1]",
    "this is the precision: for the recall, divide by the label's tokens, a row":
        [f"recall = (labels[predicted == label] == label).{dtype}().mean()"
         for dtype in ("float", "double")],
    "this is the mean recall of all labels: return that of the label alone":
        "recall = (matrix.diag() / matrix.sum(1)).nanmean()",
    "the recall is taken from the matrix without its diagonal, so it is 0: take it from the one "
    "with its diagonal": (
        FOUND, "wrong[label, label]"),
    "the recall is a percentage: a share should be from 0 to 1": ("recall = ", "recall = 100 * "),
    "the recall is rounded: return it as it is": ("recall.item()", "round(recall.item(), 2)"),
    "labels of -100 make no row: keep the tokens with all others": [
        "kept = labels == labels", "kept = labels == -100"],
    "label 0 is left out: leave out only -100": "kept = labels > 0",
    "the number of labels is guessed from the tokens: take `count`": [
        "count = labels.max().item() + 1\nkept = labels != -100",
        "count = len(labels[labels >= 0].unique())\nkept = labels != -100"],
    "bincount stops at the last pair that it meets: give it minlength": (
        "minlength=count * count", ""),
    "+= adds once for each place, however often a pair comes: let bincount count them":
        "counted = torch.zeros(count, count, dtype=torch.int64, device=labels.device)\n"
        "counted[labels[kept], predicted[kept]] += 1\n"
        "matrix = counted",
    "several pairs share one number: give each the number label * count + prediction":
        "pairs = labels[kept] + predicted[kept]",
    "the numbers of pairs allow for only 10 labels: take label * count + prediction":
        "pairs = labels[kept] * 10 + predicted[kept]\n"
        "matrix = pairs.bincount(minlength=100).view(-1, 10)[:count, :count]",
    "this is a share: return how often the pair came": [
        ("times.item()", f"times.item() / {what}.sum().item()") for what in ("matrix", "wrong")],
    "these are all mistakes, or all of the label: return how often the pair came": [
        "times = wrong.sum()", "times = wrong[label].sum()"],
    "how often the pair came is given as a float: give an int": ("times.item()", "float(times)"),
    "the results are tensors: give Python numbers, by .item()": [
        ("times.item()", "times"), ("recall.item()", "recall"),
        "return label, taken_for, times, recall",
        "return torch.tensor([label, taken_for, times, recall])"],
    "the pair is put together as one result: give four numbers side by side":
        "return (label, taken_for), times.item(), recall.item()",
    "the recall is missing: return four numbers": "return label, taken_for, times.item()",
    "how often the pair came is missing: return four numbers":
        "return label, taken_for, recall.item()",
    "the results come in another order: return label, prediction, how often, recall":
        "return label, taken_for, recall.item(), times.item()",
    LOOP: "counted = torch.zeros(count, count, dtype=torch.int64)\n"
        "for pair in zip(labels[kept].tolist(), predicted[kept].tolist()):\n"
        "    counted[pair] += 1\n"
        "matrix = counted",
    messages.DEVICE: "matrix = torch.zeros(count, count, dtype=torch.int64).index_put(\n"
        "    (labels[kept], predicted[kept]), torch.ones_like(pairs), accumulate=True)",
})  # fmt: skip
variants.wrong(exercise, {
    "of pairs that are as frequent, the one that is met first is taken: take the lowest label, "
    "then the lowest prediction": "pair = max(wrong, key=wrong.get)",
    "-100 is taken for a label: leave its tokens out": "kept = labels == labels",
}, of=by_counter)  # fmt: skip
