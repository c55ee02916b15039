"""Finds out what a handed-in method is worth, outside the process that its code runs in."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from attncourse.data.addresses import Address
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.language_model import language_model
from attncourse.today import replace_attention, state_bytes
from attncourse.train import seeded
from attncourse.workbench import protocol
from attncourse.workbench.checks import (
    CHECKS,
    add_noise,
    check_lengths,
    check_steps,
    check_texts,
    check_values,
    naming,
    text,
)
from attncourse.workbench.counts import SHORT, random_text
from attncourse.workbench.hand_in import HandIn
from attncourse.workbench.layers import InPlace, UnfitError
from attncourse.workbench.ours import recognized
from attncourse.workbench.points import Found
from attncourse.workbench.protocol import D_MODEL, DEPTH, HEADS, bits_of_texts
from attncourse.workbench.remote import RemoteLayer, RemoteMethod, method_in_sandbox
from judge.grading.sandbox.tiers import Tier

PART = "stack.blocks.{}.attention.part."
# what else a new layer does, one does that has been trained
TRAINED_CHECKS = {"texts": check_texts, "causal": check_values, "any length": check_lengths}
# fresh processes take over before so many tokens of a text, which goes on a little after the count
HANDOVERS, MORE = 4, 8
# bits between two trainings: four times the largest standard deviation over seeds that we have met
MOST_APART = 0.03


@dataclass(frozen=True)
class Grader:
    """What methods are graded with: texts to measure bits on and to train, of which there may be
    none."""

    tier: Tier
    seed: int
    test: tuple[Address, ...] = ()
    unseen: tuple[Address, ...] = ()
    train: tuple[Address, ...] = ()

    def grade(self, hand_in: HandIn) -> Found:
        """What is found of a method."""
        found = Found(hand_in.expected)
        try:
            with method_in_sandbox(hand_in.code, self.tier) as method:
                layers = self.check(method, hand_in.weights, found)
                self.check_steps(layers, found)
                found.bits = bits_of_weights(hand_in.weights, layers, self.test)
                found.unseen_bits = bits_of_weights(hand_in.weights, layers, self.unseen)
        except UnfitError as error:
            found.failed = str(error)
        return found

    def check(
        self, method: RemoteMethod, weights: dict[str, Tensor], found: Found
    ) -> list[RemoteLayer]:
        """The trained layers; UnfitError where they, or new ones, do not pass a check."""
        new = [method.new(i, self.seed) for i in range(DEPTH)]
        trained = [layer.with_weights(weights_of(weights, i)) for i, layer in enumerate(new)]
        ours = set()
        for i, layer in enumerate(new[: new[0].distinct]):
            with seeded(self.seed):
                add_noise({name: layer.weights[name] for name in layer.learned})
            for name, check in CHECKS.items():
                with naming(f"new layer {i}", name):
                    check(layer)
            ours.add(recognized(layer))
        for i, layer in enumerate(trained):
            for name, check in TRAINED_CHECKS.items():
                with naming(f"trained layer {i}", name):
                    check(layer)
        if None not in ours:
            found.ours = " and ".join(map(str, sorted(ours)))
        return trained

    def check_steps(self, layers: list[RemoteLayer], found: Found) -> None:
        """Find whether the state suffices, its bytes, and the operations to write a token."""
        drawn = random.Random(self.seed).sample(range(1, SHORT), HANDOVERS)
        state = operations = 0
        try:
            for i, layer in enumerate(layers):
                with naming(f"trained layer {i}"):
                    go_on, handovers = layer.go_on, (*sorted(drawn), SHORT)
                    x = text(layer, SHORT + MORE)
                    states = check_steps(layer, go_on, go_on, x, handovers)
                    state += state_bytes(states[-1])
                    operations += layer.work(random_text(SHORT + 1))[2]
            found.state, found.operations = state, operations
        except UnfitError as error:
            found.cache_failed = str(error)

    def train_anew(self, hand_in: HandIn, bits: float | None, steps: int) -> str:
        """A sentence about a training of the method in the sandbox, whose weights have the bits."""
        try:
            with method_in_sandbox(hand_in.code, self.tier) as method:
                weights = method.train(self.train, self.seed, steps)
            with method_in_sandbox(hand_in.code, self.tier) as method:
                new = [method.new(i, self.seed) for i in range(DEPTH)]
                layers = [x.with_weights(weights_of(weights, i)) for i, x in enumerate(new)]
                bits_anew = bits_of_weights(weights, layers, self.test)
        except UnfitError as error:
            return f"it could not be trained anew: {error}"
        if bits is None or bits_anew is None:
            return "trained anew, but the test's texts are not here to compare its bits"
        words = f"trained anew for {steps:,} steps, it has {bits_anew:.3f} bits"
        return words if steps != protocol.STEPS else f"{words}, {compared(bits_anew - bits)}"


def compared(difference: float) -> str:
    """What a training has shown, if its bits lie so far above those of the weights handed in."""
    if abs(difference) <= MOST_APART:
        return f"within {MOST_APART} of the weights that were handed in, as with another seed"
    side = "more" if difference > 0 else "fewer"
    return (
        f"{abs(difference):.3f} {side} than the weights that were handed in, and seeds differ by "
        f"less than {MOST_APART}: ask how these weights were trained"
    )


def weights_of(weights: dict[str, Tensor], i: int) -> dict[str, Tensor]:
    """Of the weights of a model, those of the layer in block i, by their names in it."""
    prefix = PART.format(i) + "layer."
    return {name.removeprefix(prefix): x for name, x in weights.items() if name.startswith(prefix)}


def bits_of_weights(
    weights: dict[str, Tensor], layers: list[RemoteLayer], texts: tuple[Address, ...]
) -> float | None:
    """Bits a character of texts, under a model's weights; None without texts."""
    windower = Windower(stored_pairs())
    model = language_model(windower.vocabulary, D_MODEL, HEADS, DEPTH)
    replace_attention(model, lambda i: InPlace(layers[i]))
    parts = tuple(PART.format(i) for i in range(DEPTH))
    own = {name: x for name, x in weights.items() if not name.startswith(parts)}
    try:
        model.load_state_dict(own)
    except RuntimeError:
        raise UnfitError("the weights are not those of the protocol's model") from None
    if not texts:
        return None
    with torch.no_grad():
        bits, characters = bits_of_texts(model.eval(), windower, texts)
    return (bits.sum() / characters.sum()).item()
