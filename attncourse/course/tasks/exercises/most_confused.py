"""Exercise most_confused: what a model takes for what, and how much of it it finds."""

from collections import Counter

import torch

from judge import hints, variants
from judge.exercise import Case, Exercise

TENS = "there may be more than 10 labels: a pair has the number label * count + prediction"
LOOP = "it loops over tokens: bincount counts all pairs at once, and only labels may be looped over"
exercise = Exercise.read(
    __name__, differentiable=False, floating=False, usual_hints={"loops": LOOP}
)


@exercise.reference
def pair_by_pair(predicted, labels, count):
    pairs = list(zip(labels.flatten().tolist(), predicted.flatten().tolist(), strict=True))
    wrong = [(a, b) for a, b in pairs if a not in (b, -100)]
    times = {pair: wrong.count(pair) for pair in sorted(wrong)}
    label, taken_for = max(times, key=lambda pair: times[pair])
    of_label = [b for a, b in pairs if a == label]
    recall = of_label.count(label) / len(of_label)
    return label, taken_for, times[label, taken_for], recall


def tokens(draw, matrix, n, ignored=0, said=None):
    """Predictions and labels that have this confusion matrix, in rows of n, the rest ignored."""
    pairs = [
        (a, b) for a, row in enumerate(matrix) for b, times in enumerate(row) for _ in range(times)
    ]
    extra = ignored + -(len(pairs) + ignored) % n
    # where there is no label, a model says something too
    other = torch.randint(len(matrix), (extra,), generator=draw.generator).tolist()
    pairs += [(-100, one if said is None else said) for one in other]
    order = torch.randperm(len(pairs), generator=draw.generator)
    labels, predicted = torch.tensor(pairs)[order].T.reshape(2, -1, n)
    return predicted, labels, len(matrix)


def among_more(draw, matrix, count, label, taken_for):
    """The same matrix among more labels, where 2 has the name `label`, and 4 `taken_for`."""
    names = torch.randperm(count - 2, generator=draw.generator)[:5]
    names[2], names[4] = label, taken_for
    more = torch.zeros(count, count, dtype=torch.int64)
    more[names[:, None], names] = torch.tensor(matrix)
    return more.tolist()


def renamed(draw, matrix, times=1):
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
    given = tokens(draw, renamed(draw, matrix), 8, ignored=9)
    yield Case("5 labels", given, longer=tokens(draw, renamed(draw, matrix, 12), 40))
    yield Case("12 labels", tokens(draw, among_more(draw, matrix, 12, 11, 10), 7, ignored=4))
    yield Case("5 labels as they are", tokens(draw, matrix, 6))
    yield Case("rows of one token", tokens(draw, renamed(draw, matrix), 1, ignored=3))
    yield Case("one row, none ignored", tokens(draw, renamed(draw, matrix), 154))
    most = renamed(draw, matrix)
    yield Case("most tokens are ignored", tokens(draw, most, 9, ignored=150, said=4))
    tied = [[9, 0, 0, 1], [0, 2, 3, 2], [3, 1, 12, 0], [0, 3, 1, 12]]
    predicted, labels, count = tokens(draw, tied, 5, ignored=4)
    # with one more, 1 for 3 is as frequent as three others, and the first that is met
    predicted = torch.cat([torch.tensor([[3, 0, 0, 0, 0]]), predicted])
    labels = torch.cat([torch.tensor([[1, -100, -100, -100, -100]]), labels])
    yield Case("four pairs are as frequent", (predicted, labels, count))
    unseen = [[4, 1, 0, 0, 3], [2, 6, 0, 2, 1], [0] * 5, [2, 1, 0, 1, 0], [0] * 5]
    yield Case("labels that no token has", tokens(draw, unseen, 6))
    yield Case("two labels, of which one is never found", tokens(draw, [[0, 4], [1, 3]], 3))
    yield Case("one mistake", tokens(draw, [[2, 0], [1, 7]], 4))


@exercise.valid
def plain(predicted, labels, count):
    kept = labels != -100
    pairs = labels[kept] * count + predicted[kept]
    matrix = pairs.bincount(minlength=count * count).view(count, count)
    wrong = matrix - matrix.diag().diag()
    label, taken_for = divmod(wrong.argmax().item(), count)
    times = wrong[label, taken_for]
    recall = matrix[label, label] / matrix[label].sum()
    return label, taken_for, times.item(), recall.item()


def by_counter(predicted, labels, count):
    kept = labels != -100
    counted = Counter(zip(labels[kept].tolist(), predicted[kept].tolist(), strict=True))
    wrong = {pair: times for pair, times in counted.items() if pair[0] != pair[1]}
    pair = min(wrong, key=lambda one: (-wrong[one], one))
    row = sum(counted[pair[0], other] for other in range(count))
    return [*pair, wrong[pair], counted[pair[0], pair[0]] / row]


def by_unique(predicted, labels, count):
    at = ((labels != predicted) & (labels >= 0)).nonzero(as_tuple=True)
    pairs, times = torch.stack([labels[at], predicted[at]]).unique(dim=1, return_counts=True)
    best = times.argmax()
    label, taken_for = pairs[:, best].tolist()
    return label, taken_for, times[best].item(), (
        (predicted[labels == label] == label).float().mean().item())  # fmt: skip


PAIRS, MATRIX = "labels[kept] * count + predicted[kept]", (
    "pairs.bincount(minlength=count * count).view(count, count)")  # fmt: skip
WRONG, PLACE = "matrix - matrix.diag().diag()", "divmod(wrong.argmax().item(), count)"
TIMES, ROW = "wrong[label, taken_for]", "matrix[label].sum()"
RECALL, RESULT = f"matrix[label, label] / {ROW}", "label, taken_for, times.item(), recall.item()"
variants.right(
    exercise, by_counter, by_unique,
    (MATRIX, "torch.nn.functional.one_hot(labels[kept], count).double().T @ "
     "torch.nn.functional.one_hot(predicted[kept], count).double()",
     "times.item()", "int(times)", RECALL, "matrix.diag()[label] / matrix.sum(1)[label]"),
    (MATRIX, "torch.tensor([[((labels == a) & (predicted == b)).sum() for b in range(count)]"
     " for a in range(count)])", PLACE, "(int(x) for x in torch.unravel_index(wrong.argmax(), "
     "wrong.shape))"),
    (MATRIX, "torch.zeros(count, count, dtype=torch.int64, device=labels.device).index_put_("
     "(labels[kept], predicted[kept]), torch.ones_like(pairs), accumulate=True)",
     WRONG, "matrix.clone().fill_diagonal_(-1)"),
)  # fmt: skip


def both(*way):
    """The way, and the same with a recall that is not rounded to float32."""
    return [way, (*way, RECALL, f"matrix[label, label].double() / {ROW}")]


def recall(found, of):
    """The ways in which this divided by that is the recall, rounded to float32 or not."""
    return [
        (RECALL, f"{found} / {of}"), (RECALL, f"{found}.double() / {of}"),
        (RECALL, f"int({found}) / int({of})", "recall.item()", "recall"),
    ]  # fmt: skip


variants.wrong(exercise, {
    "the diagonal is counted, too: there a label was predicted as itself": (WRONG, "matrix"),
    "rows and columns have changed places: a row is a label, a column what was predicted": both(
        PAIRS, "predicted[kept] * count + labels[kept]"),
    "a place is row * count + column: // gives the row, % the column": (
        PLACE, f"{PLACE}[::-1]"),
    "label and prediction come in the wrong order: first the label": (
        RESULT, "taken_for, label, times.item(), recall.item()"),
    "a pair is counted in both directions: taking a for b is not taking b for a": [
        *both(WRONG, "matrix + matrix.T - 2 * matrix.diag().diag()"),
        *both(WRONG, "(matrix + matrix.T).triu(1)"),
        *both(PLACE, "divmod((wrong + wrong.T).argmax().item(), count)")],
    "the pair is the most frequent, but its count has both directions": (
        TIMES, "(wrong + wrong.T)[label, taken_for]"),
    "the pair with the largest share of its label's tokens is taken: take the most frequent": both(
        PLACE, "divmod((wrong / matrix.sum(1, True).clamp(min=1)).argmax().item(), count)"),
    "the pair with the largest share of what was predicted is taken: take the most frequent": both(
        PLACE, "divmod((wrong / matrix.sum(0).clamp(min=1)).argmax().item(), count)"),
    "the label with most mistakes is taken: take the most frequent pair": both(
        PLACE, "int(wrong.sum(1).argmax()), int(wrong[wrong.sum(1).argmax()].argmax())"),
    "the prediction with most mistakes is taken: take the most frequent pair": both(
        PLACE, "int(wrong[:, wrong.sum(0).argmax()].argmax()), int(wrong.sum(0).argmax())"),
    "label and prediction are looked for apart: look for the pair": both(
        PLACE, "int(wrong.sum(1).argmax()), int(wrong.sum(0).argmax())"),
    "the label with the lowest recall is looked for: look for the most frequent pair": both(
        PLACE, "(a := int((matrix.diag() / matrix.sum(1)).nan_to_num(2.0).argmin())), "
        "int(wrong[a].argmax())"),
    "the most frequent label is taken: look for the most frequent pair": both(
        PLACE, "(a := int(matrix.sum(1).argmax())), int(wrong[a].argmax())"),
    "one side of the diagonal is looked at alone: a prediction may be above or below its label": [
        *both(WRONG, "matrix.triu(1)"), *both(WRONG, "matrix.tril(-1)")],
    "of pairs that are as frequent, the last is taken: take the lowest label, then the lowest "
    "prediction": (PLACE, "divmod(count * count - 1 - wrong.flatten().flip(0).argmax().item(), "
                   "count)"),
    "of pairs that are as frequent, the lowest prediction decides: the lowest label does": (
        PLACE, "divmod(wrong.T.reshape(-1).argmax().item(), count)[::-1]"),
    "this is the precision: recall divides by the label's tokens, a row": [
        (ROW, "matrix[:, label].sum()"), (RECALL, "matrix[label, label].double() / "
        "matrix[:, label].sum()"),
        (RECALL, "(labels[predicted == label] == label).float().mean()")],
    "this is the recall of what was predicted: that of the label is asked for": recall(
        "matrix[taken_for, taken_for]", "matrix[taken_for].sum()"),
    "this is the share that was missed: recall is the share that was found": (
        RECALL, f"1 - {RECALL}"),
    "this is how much of the label went to that prediction: recall is the share that was found":
        recall("wrong[label, taken_for]", ROW),
    "right tokens are divided by wrong ones: divide by all tokens of the label": recall(
        "matrix[label, label]", "wrong[label].sum()"),
    "this is the accuracy: recall looks at the tokens of one label": recall(
        "matrix.diag().sum()", "matrix.sum()"),
    "the label's right tokens are divided by all tokens: divide by those of the label": [
        *recall("matrix[label, label]", "matrix.sum()"),
        *recall("matrix[label, label]", "labels.numel()")],
    "the recall is taken from the matrix without its diagonal, so it is 0": (
        RECALL, f"wrong[label, label] / {ROW}"),
    "the recall is a percentage: a share is from 0 to 1": (RECALL, f"100 * {RECALL}"),
    "the recall is rounded: return it as it is": (
        "recall.item()", "round(recall.item(), 2)"),
    "ignored tokens are counted as label 0: leave them out": both(
        PAIRS, "labels.clamp(min=0).flatten() * count + predicted.flatten()"),
    "labels of -100 make no row: keep the tokens with all others": [
        ("labels != -100", "labels == labels"), ("labels != -100", "labels == -100")],
    "label 0 is left out: only -100 is": ("labels != -100", "labels > 0"),
    "the number of labels is guessed from the tokens: it is given, as `count`": [
        ("    kept", "    count = int(labels.max()) + 1\n    kept"),
        ("    kept", "    count = len(labels[labels >= 0].unique())\n    kept")],
    "without minlength, bincount stops at the last pair that it meets": (
        "minlength=count * count", ""),
    "a pair has the number label * count + prediction: here several pairs share one": (
        PAIRS, "labels[kept] + predicted[kept]"),
    TENS: [
        (PAIRS, "labels[kept] * 10 + predicted[kept]", MATRIX,
         "pairs.bincount(minlength=100).view(-1, 10)[:count, :count]"),
        *both(PAIRS, "labels[kept] * 10 + predicted[kept]", MATRIX,
              "pairs.bincount(minlength=11 * count).unfold(0, count, 10)[:count]",
              PLACE, "divmod((matrix - matrix.diag().diag()).argmax().item(), 10)")],
    "this is a share of all tokens: how often the pair came is asked for": (
        "times.item()", "times.item() / matrix.sum().item()"),
    "this is a share of the mistakes: how often the pair came is asked for": (
        "times.item()", "times.item() / wrong.sum().item()"),
    "these are all mistakes: how often the pair came is asked for": (
        TIMES, "wrong.sum()"),
    "these are all mistakes of the label: how often the pair came is asked for": (
        TIMES, "wrong[label].sum()"),
    "the results are tensors: give Python numbers, by .item()": [
        ("times.item()", "times"), ("recall.item()", "recall"),
        ("times.item()", "times", "recall.item()", "recall")],
    "the pair is a result of its own: give four numbers side by side": (
        RESULT, "(label, taken_for), times.item(), recall.item()"),
    "the recall is missing: four numbers are asked for": (
        RESULT, "label, taken_for, times.item()"),
    "how often the pair came is missing: four numbers are asked for": (
        RESULT, "label, taken_for, recall.item()"),
    "the order is another: label, prediction, how often, recall": (
        RESULT, "label, taken_for, recall.item(), times.item()"),
    LOOP: (TIMES, "sum((labels.reshape(-1)[i] == label) & (predicted.reshape(-1)[i] == taken_for) "
           "for i in range(labels.numel()))"),
    hints.DEVICE: (MATRIX, "torch.zeros(count, count, dtype=torch.int64).index_put_("
                   "(labels[kept], predicted[kept]), torch.ones_like(pairs), accumulate=True)"),
})  # fmt: skip
variants.wrong(exercise, {
    "of pairs that are as frequent, the one that is met first is taken: take the lowest label, "
    "then the lowest prediction": ("min(wrong, key=lambda one: (-wrong[one], one))",
                                   "max(wrong, key=wrong.__getitem__)"),
}, of=by_counter)  # fmt: skip


@exercise.mutant(TENS)
def by_tens(predicted, labels, count):
    pairs = Counter((10 * labels + predicted)[(labels != predicted) & (labels >= 0)].tolist())
    pair = min(pairs, key=lambda one: (-pairs[one], one))
    label, taken_for = divmod(pair, 10)
    at = labels == label
    recall = (predicted[at] == label).sum().item() / at.sum().item()
    return label, taken_for, pairs[pair], recall
