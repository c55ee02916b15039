"""A capstone: the answer is a model and its trained weights, judged by what it writes.

The judge reads the weights itself and sends them with each call, so what it may and may not hold is
decided outside the learner's process.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from attncourse.data.numbers import Words, numbers
from judge import quotation
from judge.call.caller import Caller
from judge.call.driver import PARAMETERS, UnfitError
from judge.call.outcome import Outcome
from judge.call.values import decode
from judge.compare.criteria import checked
from judge.compare.reply_schema import ReplyError
from judge.exercise import Case, Exercise
from judge.say import evidence
from judge.status import Status
from judge.verdict import Verdict
from judge.weights import Sketch

MAX_BYTES = 4 << 20
# names to write; those of each third number, also with the weights in disorder, and with noise
TEST_COUNT, STEP = 300, 3
MOST_SHUFFLED, NOISE, MOST_LOST = 0.05, 0.01, 0.2
DISORDER = "the names are right even with the weights shuffled: they must come from the weights"
BY_HEART = (
    "noise of a hundredth of their size, added to the weights, spoils what your model writes, as "
    "if it recognised its own weights"
)
KNOWN = (
    "these weights come with the course, or began as such weights: train your own from the "
    "start, with a seed of your own"
)
OTHER = "the file holds the weights of another model, so train and save again: "
# with these weights, the share of the names of some numbers that are right, and one that is not
Write = Callable[[Sequence[int], dict[str, Tensor]], tuple[float, str]]


class NotJudgedError(ValueError):
    """There are no weights to judge, or the model wrote nothing with them; its text says why."""


@dataclass(eq=False)
class Capstone(Exercise):
    """An exercise that is judged by the share of names that a trained model writes without a fault.

    To pass, a model with at most `most_parameters` numbers has to get a share of `least` right of
    numbers drawn anew, whose English names have as many words as `length` says. A file with weights
    that the course itself has, as `known` gives them, is refused.
    """

    examples: tuple[int, ...] = field(kw_only=True)
    languages: tuple[str, str] = field(kw_only=True)
    length: str = field(kw_only=True)
    least: float = field(kw_only=True)
    most_parameters: int = field(kw_only=True)
    known: Callable[[], Sequence[dict[str, Tensor]]] = field(kw_only=True, default=tuple)

    @cached_property
    def words(self) -> Words:
        """The words of both languages, made where they are needed: num2words has to be there."""
        return Words(self.examples, *self.languages)

    @cached_property
    def file(self) -> str:
        """The name of the file that holds the weights."""
        return f"{self.name}.safetensors"

    @property
    def cell_metadata(self) -> dict[str, Any]:
        return super().cell_metadata | {"weights": self.file}

    def judge(self, caller: Caller, seed: int, forbidden: tuple[str, ...]) -> Verdict:
        """What the weights beside the notebook, or those that the caller has, are worth."""
        read_trained = getattr(caller, "trained_weights", None)
        try:
            weights = read_weights_file(Path(self.file)) if read_trained is None else read_trained()
            require_sound(weights, self.most_parameters)
            # the bank's own models have them by right
            if read_trained is None and self.is_known(weights):
                return Verdict(Status.WRONG, KNOWN)
            return self.verdict_on(weights, seed, self.writer(caller, forbidden))
        except FileNotFoundError:
            missing = f"{self.file} isn't beside the notebook: train your model, and save it there"
            return Verdict(Status.NOT_ATTEMPTED, missing)
        except NotJudgedError as error:
            return Verdict(Status.ERROR, str(error))

    def is_known(self, weights: dict[str, Tensor]) -> bool:
        """Whether the weights are the course's, or began as these."""
        sketch = Sketch(weights)
        return any(Sketch(model).is_in(sketch) for model in self.known())

    def verdict_on(self, weights: dict[str, Tensor], seed: int, write: Write) -> Verdict:
        """The verdict on weights; `write` says of some numbers which names they get right."""
        examples = numbers(99, TEST_COUNT, seed)[1][self.length]
        sample, g = examples[::STEP], torch.Generator().manual_seed(seed)
        share, example = write(examples, weights)
        summary = f"{share:.2f} of {len(examples)} names are right (numbers of {self.length} words)"
        if share < self.least:
            demand = f"at least {self.least:.2f} of the names must be right in every part"
            return Verdict(Status.WRONG, demand, f"{summary}; {example}")
        if write(sample, changed(weights, shuffled, g))[0] > MOST_SHUFFLED:
            return Verdict(Status.WRONG, DISORDER)
        if write(sample, changed(weights, noisy, g))[0] < share - MOST_LOST:
            return Verdict(Status.WRONG, BY_HEART)
        return Verdict(Status.PASSED, evidence=summary)

    def writer(self, caller: Caller, forbidden: tuple[str, ...]) -> Write:
        """What has the model write the names of numbers, up to their stop, and compares them."""

        def write(examples: Sequence[int], weights: dict[str, Tensor]) -> tuple[float, str]:
            pairs = self.words.batch(examples)
            n = pairs.labels.shape[1]
            sizes = len(self.words.source) + 3, len(self.words.target) + 3
            case = Case("names", (pairs.source, pairs.lengths, n), build=sizes, weights=weights)
            request = case.sent | {
                "name": self.name, "before": None, "training": False, "device": "cpu",
                "by_columns": False, "cotangents": None, "count_lines": False,
                "count_operations": False, "forbidden": list(forbidden), "max_steps": 0,
            }  # fmt: skip
            output = tokens(caller(request), (len(examples), n))
            is_right = ((output == pairs.labels) | (pairs.labels < 0)).all(-1)
            if is_right.all():
                return 1.0, ""
            first = int(is_right.long().argmin())
            output_text, label_text = (
                self.words.decode(rows[first].tolist()) for rows in (output, pairs.labels)
            )
            return (
                is_right.float().mean().item(),
                f"your model writes {output_text!r} for {label_text!r}",
            )

        return write


def read_weights_file(path: Path) -> dict[str, Tensor]:
    """The tensors of a file of weights; NotJudgedError where it has none."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    if (size := path.stat().st_size) > MAX_BYTES:
        raise NotJudgedError(f"{path.name} has {size:,} bytes, more than {MAX_BYTES:,}")
    try:
        weights = load(path.read_bytes()).items()
        # kept in half precision, they are computed with in single
        return {
            name: tensor.float() if tensor.is_floating_point() else tensor
            for name, tensor in weights
        }
    except SafetensorError as error:
        raise NotJudgedError(
            f"{path.name} does not hold plain tensors ({quotation.quoted(str(error))}): "
            "write it with safetensors.torch.save_file"
        ) from None
    # a dtype that the format has, and torch has not or cannot convert
    except (KeyError, RuntimeError) as error:
        raise NotJudgedError(
            f"{path.name} holds numbers of a dtype that torch cannot read "
            f"({quotation.quoted(str(error))}): save the weights as float32"
        ) from None


def require_sound(weights: dict[str, Tensor], max_count: int) -> None:
    """Raise NotJudgedError for weights that are too many, or that are no finite floats."""
    if (count := sum(tensor.numel() for tensor in weights.values())) > max_count:
        raise NotJudgedError(f"the model has {count:,} parameters, and the budget is {max_count:,}")
    for name, tensor in weights.items():
        if not tensor.is_floating_point() or not tensor.isfinite().all():
            raise NotJudgedError(
                f"{quotation.named(name)} does not hold finite floats: save the parameters alone"
            )


def changed(
    weights: dict[str, Tensor],
    change: Callable[[Tensor, torch.Generator], Tensor],
    g: torch.Generator,
) -> dict[str, Tensor]:
    return {name: change(tensor.float(), g) for name, tensor in weights.items()}


def shuffled(weight: Tensor, g: torch.Generator) -> Tensor:
    """The same numbers in another order."""
    return weight.flatten()[torch.randperm(weight.numel(), generator=g)].view_as(weight)


def noisy(weight: Tensor, g: torch.Generator) -> Tensor:
    """The numbers with noise of a hundredth of their spread."""
    return weight + NOISE * weight.std(correction=0) * torch.randn(weight.shape, generator=g)


def tokens(answer: Any, shape: tuple[int, int]) -> Tensor:
    """The tokens that a call gave, as many as were asked for; NotJudgedError where it gave none."""
    try:
        answer = checked(answer)
    except ReplyError:
        raise NotJudgedError("the result can't be read") from None
    match answer["outcome"]:
        case Outcome.MISSING:
            raise NotJudgedError(
                "no class of that name is defined: the cell of your answer should define it"
            )
        case Outcome.FORBIDDEN:
            raise NotJudgedError(f"{quotation.named(answer['called'])} may not be called here")
        case Outcome.RAISED:
            raise NotJudgedError(reason(answer["error"]))
    try:
        written_tokens = decode(answer["value"])
    except (ValueError, KeyError, TypeError, RuntimeError):
        raise NotJudgedError("the result can't be read") from None
    if (
        not isinstance(written_tokens, Tensor)
        or written_tokens.is_floating_point()
        or written_tokens.dim() != 2
        or len(written_tokens) != shape[0]
    ):
        raise NotJudgedError(
            f"your model should return token numbers, (batch, max_tokens) = {shape}"
        )
    missing = max(0, shape[1] - written_tokens.shape[1])
    return pad(written_tokens, (0, missing), value=-1)[:, : shape[1]].cpu()


def reason(error: dict[str, Any]) -> str:
    """Why a call raised, in words for a model and its file."""
    if error["type"] != UnfitError.__name__:
        return f"your model raises {quotation.exception(error['type'], error['text'])}"
    unfit = evidence.unfit(error["text"])
    difference, _, _ = PARAMETERS.partition("{}")
    unfit = unfit.replace(difference, f"{OTHER}only the class has ")
    return unfit.replace("missing:", "only the file has")
