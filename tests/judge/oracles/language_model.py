"""What the exercises of language_model ask, by torch's loss and by numpy."""

import numpy as np
import torch
import torch.nn.functional as F


def torch_bits_per_character(scores, labels, widths):
    nats = F.cross_entropy(scores.flatten(0, -2), labels.flatten(), reduction="sum")
    return nats / np.log(2) / F.embedding(labels[labels >= 0], widths[:, None]).sum()


def torch_padded_perplexity(scores, tokens, lengths):
    n, vocabulary = scores.shape[-2:]
    perplexities = []
    for rows, text, length in zip(
        scores.reshape(-1, n, vocabulary), tokens.reshape(-1, n), lengths.flatten(), strict=True
    ):
        if length < 2:
            perplexities.append(rows.new_ones(()))
        else:
            perplexities.append(F.cross_entropy(rows[: length - 1], text[1:length]).exp())
    return torch.stack(perplexities).reshape(lengths.shape)


def numpy_witten_bell(counts, unigram):
    """The weights of the two parts, and a masked array for the rows that have only one."""
    c, u = counts.numpy().astype(float), np.expand_dims(unigram.numpy(), -2)
    total, kinds = c.sum(-1, keepdims=True), np.count_nonzero(c, axis=-1)[..., None]
    weight = (np.ma.masked_equal(total, 0) / (total + kinds)).filled(0.0)
    relative = np.divide(c, total, out=np.zeros_like(c), where=total > 0)
    return torch.from_numpy(weight * relative + (1 - weight) * u).to(unigram.dtype)


def numpy_nucleus(scores, p):
    """For each row, the place in the sums at which p would be put in."""
    rows = scores.reshape(-1, scores.shape[-1]).numpy()
    distributions = []
    for row in rows:
        order = np.argsort(-row, kind="stable")
        weights = np.exp(row - row.max())
        sums = np.cumsum(weights[order]) / weights.sum()
        members = order[: 1 + np.searchsorted(sums, p)]
        nucleus = np.zeros_like(row)
        nucleus[members] = weights[members] / weights[members].sum()
        distributions.append(nucleus)
    return torch.from_numpy(np.stack(distributions)).reshape(scores.shape)


def numpy_induction_weight(weights, tokens):
    numbers = tokens.numpy()
    query, earlier = np.nonzero(np.tril(np.equal.outer(numbers, numbers), -1))
    if not len(query):
        return torch.zeros(weights.shape[:-2], dtype=weights.dtype)
    weight_sums = weights.numpy()[..., query, earlier + 1].sum(-1)
    return torch.tensor(weight_sums / len(np.unique(query)), dtype=weights.dtype)


def torch_mean_ablated(z, w_o, heads):
    """By torch's running mean of a norm over batch and positions."""
    batch, count, n, width = z.shape
    rows = z.movedim(1, 2).reshape(-1, count * width)
    mean = torch.zeros_like(rows[0])
    # with a momentum of 1 the running mean is that of the batch; a row alone has no variance
    doubled = torch.cat([rows, rows])
    F.batch_norm(doubled, mean, torch.ones_like(mean), training=True, momentum=1.0)
    is_ablated = torch.isin(torch.arange(count), torch.tensor(heads, dtype=torch.int64))
    ablated_rows = rows.where(~is_ablated.repeat_interleave(width), mean)
    return F.linear(ablated_rows, w_o.T).reshape(batch, n, -1)


ORACLES = {
    "bits_per_character": torch_bits_per_character,
    "padded_perplexity": torch_padded_perplexity,
    "witten_bell": numpy_witten_bell,
    "nucleus": numpy_nucleus,
    "induction_weight": numpy_induction_weight,
    "mean_ablated": torch_mean_ablated,
}
