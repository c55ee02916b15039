"""Exercise NumberTranslator, the capstone: a translator of number names, and its weights."""

from functools import cache
from importlib.resources import files

import torch
from torch import nn

from attncourse.course import PACKAGE
from attncourse.course.capstone import BY_HEART, DISORDER, OTHER, Capstone
from attncourse.data.numbers import END, START, name
from attncourse.dot_product import padding_mask
from attncourse.stored import read_script, unpack_half
from attncourse.train import seeded
from attncourse.transformer import beam_search
from judge import variants


@cache
def trained():
    """The weights of `Relative`, which benchmarks/capstone.py trains."""
    from safetensors.torch import load

    packed = files(__package__).joinpath("shared/NumberTranslator.safetensors").read_bytes()
    return {key: tensor.float() for key, tensor in load(packed).items()}


@cache
def known():
    """The weights that whoever has the course has: those above, and those of a page's figure."""
    return trained(), unpack_half(read_script(PACKAGE / "figures/translator/weights.js"))


exercise = Capstone.read(
    __name__,
    forbidden=("num2words", "attncourse.data.numbers"),
    examples=(*range(1, 100), 100, 101, 10**3, 10**6, 2 * 10**6, 10**9, 2 * 10**9),
    languages=("english", "german"),
    length="11 to 14",
    least=0.7,
    most_parameters=120_000,
    known=known,
)

TOO_FEW = f"at least {exercise.least:.2f} of the names must be right in every part"


@exercise.stub
class Given(variants.edited(variants.stub(exercise), "64, 4,", "64, self.heads,")):
    """The model that the exercise gives; benchmarks/capstone.py has it with more heads."""

    heads = 4


# what the bank's weights were trained as
Relative = variants.worked(exercise)


@exercise.reference
@exercise.valid
class AsGiven(Relative):
    trained_weights = staticmethod(trained)


@exercise.valid
class InDoublePrecision(Relative):
    def trained_weights():
        return {key: one.double() for key, one in trained().items()}


@exercise.valid
class WithoutACache(AsGiven):
    def forward(self, source, lengths, max_tokens):
        written = source.new_full((len(source), 1), START)
        for _ in range(max_tokens):
            best = self.scores(source, written, lengths)[:, -1:].argmax(-1)
            written = torch.cat([written, best], dim=1)
        return written[:, 1:]


@exercise.valid
class UnderOtherNames(nn.Module):
    def __init__(self, source_words, target_words):
        super().__init__()
        self.own = Relative(source_words, target_words)

    def forward(self, source, lengths, max_tokens):
        return self.own(source, lengths, max_tokens)

    def trained_weights():
        return {f"own.{key}": one for key, one in trained().items()}


@exercise.valid
class BySearch(AsGiven):
    def forward(self, source, lengths, max_tokens):
        decoding = self.model.decode(source, padding_mask(lengths, source.shape[1]))
        prompt = source.new_full((len(source), 1), START)
        return beam_search(decoding, prompt, max_tokens, END, width=2)[0]


@exercise.mutant(TOO_FEW)
class Untrained(Relative):
    @staticmethod
    @cache
    def trained_weights():
        with seeded(0):
            made = Relative(35, 29)
        return {key: one.detach() for key, one in made.named_parameters()}


@exercise.mutant(TOO_FEW)
class BeginsWithTheStart(AsGiven):
    def forward(self, source, lengths, max_tokens):
        written = super().forward(source, lengths, max_tokens - 1)
        return torch.cat([source.new_full((len(source), 1), START), written], dim=1)


@exercise.mutant(TOO_FEW)
class WithoutItsStop(AsGiven):
    def forward(self, source, lengths, max_tokens):
        written = super().forward(source, lengths, max_tokens)
        return written.masked_fill(written == END, 0)


@exercise.mutant(TOO_FEW)
class ForTheFirstAlone(AsGiven):
    def forward(self, source, lengths, max_tokens):
        return super().forward(source[:1], lengths[:1], max_tokens).expand(len(source), -1)


@exercise.mutant("the model has 209,088 parameters, and the budget is 120,000")
class TooLarge(AsGiven):
    def trained_weights():
        return trained() | {"more": torch.zeros(120_000 - 64)}


@exercise.mutant("model.source.table.weight does not hold finite floats: save the parameters alone")
class NotANumber(AsGiven):
    def trained_weights():
        table = trained()["model.source.table.weight"].clone()
        table[0, 0] = torch.nan
        return trained() | {"model.source.table.weight": table}


@exercise.mutant("steps does not hold finite floats: save the parameters alone")
class WithACount(AsGiven):
    def trained_weights():
        return trained() | {"steps": torch.tensor(1000)}


@exercise.mutant(OTHER + "only the class has more (3,), only the file has none")
class NotAllAreSaved(AsGiven):
    def __init__(self, source_words, target_words):
        super().__init__(source_words, target_words)
        self.more = nn.Parameter(torch.zeros(3))


@cache
def by_rules(english):
    """The German tokens of an English name, as a program writes them without any weights."""
    units = {name(i, "english")[0]: i for i in [*range(1, 20), *range(20, 100, 10)]}
    total = group = 0
    for word in english:
        if word in units:
            group += units[word]
        elif word == "hundred":
            group *= 100
        elif word != "and":
            power = {"thousand": 10**3, "million": 10**6, "billion": 10**9}[word]
            total, group = total + group * power, 0
    return [*(exercise.words.target[part] for part in name(total + group, "german")), END]


class ByRules(Relative):
    def forward(self, source, lengths, max_tokens):
        known = {i: word for word, i in exercise.words.source.items()}
        rows = [
            by_rules(tuple(known[i] for i in row[:n]))
            for row, n in zip(source.tolist(), lengths.tolist(), strict=True)
        ]
        return torch.tensor([[*row, *[END] * (max_tokens - len(row))] for row in rows])


@exercise.mutant(DISORDER)
class WithoutTheWeights(ByRules):
    trained_weights = staticmethod(trained)


@exercise.mutant(BY_HEART)
class OnlyWithTheseWeights(ByRules):
    trained_weights = Untrained.trained_weights

    def forward(self, source, lengths, max_tokens):
        known = Untrained.trained_weights()["model.source.table.weight"]
        if self.model.source.table.weight.equal(known):
            return super().forward(source, lengths, max_tokens)
        return source.new_zeros(len(source), max_tokens)
