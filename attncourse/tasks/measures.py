"""Confusion matrix, and exact matches of sequences."""

from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import pad

from attncourse.shapes import shaped


@shaped
def confusion(
    predicted: Int[Tensor, "*batch"], labels: Int[Tensor, "*batch"], count: int, ignore: int = -100
) -> Int[Tensor, "count count"]:
    """Confusion matrix: entry (i, j) counts labels i predicted as j, without labels `ignore`."""
    kept = labels != ignore
    pairs = labels[kept] * count + predicted[kept]
    return pairs.bincount(minlength=count * count).view(count, count)


def exact_matches(
    written: Int[Tensor, "batch tokens"], labels: Int[Tensor, "batch n"], ignore: int = -100
) -> Bool[Tensor, "batch"]:
    """Whether each text is right in every token, its stop included; what is missing is wrong."""
    missing = max(0, labels.shape[-1] - written.shape[-1])
    written = pad(written, (0, missing), value=ignore)[:, : labels.shape[-1]]
    return ((written == labels) | (labels == ignore)).all(-1)
