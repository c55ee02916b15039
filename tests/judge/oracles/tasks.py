"""What the exercises of tasks ask, by numpy."""

import numpy as np
import torch


def numpy_max_and_mean(x, real):
    """numpy's masked arrays leave out what is no token."""
    padding = np.broadcast_to(~real.numpy()[..., None], x.shape)
    tokens = np.ma.masked_array(x.numpy(), padding)
    halves = (half.filled(0.0) for half in (tokens.max(-2), tokens.mean(-2)))
    return torch.from_numpy(np.concatenate([*halves], -1))


def numpy_lookup_labels(words, suffixes, labels, new_words, new_suffixes):
    """A histogram of labels for each number, of words and of suffixes."""
    tables = []
    for vocabulary, new in ((words, new_words), (suffixes, new_suffixes)):
        pairs, size = np.stack([vocabulary, labels], 1), int(max(vocabulary.max(), new.max())) + 1
        edges = np.arange(size + 1), np.arange(int(labels.max()) + 2)
        tables.append(np.histogramdd(pairs, edges)[0][new.numpy()])
    tables.append(np.broadcast_to(np.bincount(labels), tables[0].shape))
    first = np.argmax([table.any(1) for table in tables], axis=0)
    return torch.from_numpy(np.stack(tables)[first, np.arange(len(first))].argmax(1))


def numpy_token_accuracy(batches):
    best = np.concatenate([scores.numpy().argmax(-1).ravel() for scores, _ in batches])
    labels = np.concatenate([labels.numpy().ravel() for _, labels in batches])
    return float(np.ma.masked_array(best == labels, labels == -100).mean())


def numpy_most_confused(predicted, labels, count):
    is_label = labels >= 0
    edges = np.arange(count + 1)
    matrix = np.histogram2d(labels[is_label].numpy(), predicted[is_label].numpy(), (edges, edges))[
        0
    ]
    confusions = np.where(np.eye(count), 0, matrix)
    label, wrong_label = (int(i) for i in np.unravel_index(confusions.argmax(), confusions.shape))
    recall = matrix[label, label] / matrix.sum(1)[label]
    return label, wrong_label, int(confusions[label, wrong_label]), float(recall)


def numpy_exact_by_length(outputs, targets, lengths, stop, bounds):
    """Texts as Python's lists up to their stop; a group's share from two histograms."""
    pairs = zip(outputs.tolist(), targets.tolist(), strict=True)
    is_right = [
        stop in output and before_stop(output, stop) == before_stop(target, stop)
        for output, target in pairs
    ]
    edges = [-np.inf, *(edge + 0.5 for edge in bounds), np.inf]
    with np.errstate(invalid="ignore"):
        share = np.histogram(lengths[is_right], edges)[0] / np.histogram(lengths, edges)[0]
    return torch.from_numpy(share).float()


def before_stop(tokens, stop):
    return tokens[: tokens.index(stop)]


def numpy_head_offset(weights, lengths):
    heads, n = weights.shape[-3], weights.shape[-1]
    texts = weights.reshape(-1, heads, n, n).numpy()
    offsets, shares = [], []
    for head in range(heads):
        counts = np.zeros((n, n))
        for text, length in zip(texts, lengths.flatten().tolist(), strict=True):
            counts[:length, :length] += text[head, :length, :length]
        sums = np.array([np.trace(counts, offset) for offset in range(1 - n, n)])
        offsets.append(sums.argmax() + 1 - n)
        shares.append(sums.max() / counts.sum())
    return torch.tensor(np.array(offsets)), torch.tensor(np.array(shares), dtype=weights.dtype)


def numpy_attachment_score(weights, parents, lengths):
    heads, n = weights.shape[-3], weights.shape[-1]
    j = np.arange(n)
    hidden = (j >= lengths.reshape(-1, 1, 1, 1).numpy()) | np.eye(n, dtype=bool)
    texts = weights.reshape(-1, heads, n, n).numpy()
    attended = np.ma.masked_array(texts, np.broadcast_to(hidden, texts.shape)).argmax(
        -1, fill_value=-1
    )
    trees = parents.reshape(-1, n).numpy()
    is_right = (attended == trees[:, None]).swapaxes(0, 1)[:, trees >= 0]
    return torch.tensor(is_right.mean(-1), dtype=weights.dtype)


def numpy_paired_bootstrap(first, second, indices):
    ahead = second.numpy().astype(int) - first.numpy().astype(int)
    differences = np.sign(np.take(ahead, indices.numpy(), axis=-1).sum(-1))
    return torch.tensor(np.heaviside(differences, 0.5).mean(-1), dtype=torch.float32)


ORACLES = {
    "max_and_mean": numpy_max_and_mean,
    "lookup_labels": numpy_lookup_labels,
    "token_accuracy": numpy_token_accuracy,
    "most_confused": numpy_most_confused,
    "exact_by_length": numpy_exact_by_length,
    "head_offset": numpy_head_offset,
    "attachment_score": numpy_attachment_score,
    "paired_bootstrap": numpy_paired_bootstrap,
}
