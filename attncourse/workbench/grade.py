"""Judges what was handed in, outside the process that its code runs in.

    python -m attncourse.workbench.grade my_attention.zip --texts new_texts.txt

The texts are ones that nobody has seen, in blocks between empty lines, the year on the first line
of each; without them, excerpts of the test's.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from attncourse.course import ADDRESS
from attncourse.data.addresses import Address, excerpts, read_addresses
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.language_model import language_model
from attncourse.today import replace_attention, state_bytes
from attncourse.workbench.checks import check_lengths, check_texts, check_values, differing
from attncourse.workbench.counts import SHORT
from attncourse.workbench.hand_in import HandIn, unpack
from attncourse.workbench.layers import InPlace, UnfitError
from attncourse.workbench.protocol import D_MODEL, DEPTH, HEADS, bits_of_texts
from attncourse.workbench.remote import CELL, RemoteLayer
from judge.course import TOLD
from judge.grading.kernel.client import CellError, GradingKernel, LostKernelError, fresh_kernel
from judge.grading.kernel.server import KernelServer
from judge.grading.sandbox.tiers import Tier, select_tier

MEMORY, START = 4 << 30, 60
PART = "stack.blocks.{}.attention.part."


def main() -> int:
    os.environ.setdefault(TOLD, ADDRESS)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="the zip file that was handed in")
    parser.add_argument("--texts", type=Path, help="texts that nobody has seen")
    options = parser.parse_args()
    tier, why = select_tier()
    if tier is None:
        sys.exit(f"No sandbox works here: {why}")
    texts = tuple(read_addresses(options.texts)) if options.texts else excerpts()
    try:
        for line in grade(unpack(options.file), texts, tier):
            print(line, flush=True)
    except UnfitError as error:
        print(error)
        return 1
    return 0


def grade(hand_in: HandIn, texts: tuple[Address, ...], tier: Tier) -> Iterator[str]:
    """A line for each thing that is found; UnfitError where something is wrong."""
    with kernel_of(hand_in, tier) as kernel:
        layers = [RemoteLayer(kernel, weights_of(hand_in, i)) for i in range(DEPTH)]
        state = 0
        for i, layer in enumerate(layers):
            try:
                check_texts(layer)
                check_values(layer)
                check_lengths(layer)
                state += state_bytes(state_after_steps(layer))
            except UnfitError as error:
                raise UnfitError(f"layer {i}: {error}") from None
        yield "causal: ok"
        yield "cache step: ok"
        yield f"bytes of state after {SHORT} tokens: {state:,}{expectation(hand_in, 'state')}"
        bits = bits_of_weights(hand_in, layers, texts)
        yield f"bits a character of {len(texts)} texts: {bits:.3f}{expectation(hand_in, 'bits')}"


@contextmanager
def kernel_of(hand_in: HandIn, tier: Tier) -> Iterator[GradingKernel]:
    """A kernel in a sandbox that has the handed-in code."""
    server = KernelServer("", MEMORY, tier)
    try:
        with fresh_kernel(server, []) as kernel:
            kernel.run(CELL.format(code=hand_in.code), kernel.budget(START))
            yield kernel
    except (CellError, LostKernelError) as error:
        raise UnfitError(f"its code cannot be run: {error}") from None
    finally:
        server.stop()


def weights_of(hand_in: HandIn, i: int) -> dict[str, Tensor]:
    """The weights of the layer in block i, by their names in it."""
    prefix = PART.format(i) + "layer."
    return {
        name.removeprefix(prefix): x
        for name, x in hand_in.weights.items()
        if name.startswith(prefix)
    }


@torch.no_grad()
def state_after_steps(layer: RemoteLayer) -> tuple[Tensor, ...]:
    """The state after a short text, each of whose steps was taken by a fresh process."""
    x = torch.randn(1, SHORT, D_MODEL, generator=torch.Generator().manual_seed(SHORT))
    whole, state = layer(x), layer.empty_state(x[:, 0])
    for i, token in enumerate(x.unbind(-2)):
        state, z = layer.step(state, token)
        if z.shape != token.shape or differing(z, whole[:, i]).any():
            raise UnfitError(
                f"token {i} has another output in a fresh process with the state before it than "
                "in the whole text"
            )
    return state


def bits_of_weights(
    hand_in: HandIn, layers: list[RemoteLayer], texts: tuple[Address, ...]
) -> float:
    """Bits a character of texts, under the handed-in weights."""
    windower = Windower(stored_pairs())
    model = language_model(windower.vocabulary, D_MODEL, HEADS, DEPTH)
    replace_attention(model, lambda i: InPlace(layers[i]))
    parts = tuple(PART.format(i) for i in range(DEPTH))
    own = {name: x for name, x in hand_in.weights.items() if not name.startswith(parts)}
    try:
        model.load_state_dict(own)
    except RuntimeError:
        raise UnfitError("the weights are not those of the protocol's model") from None
    bits, characters = bits_of_texts(model.eval(), windower, texts)
    return (bits.sum() / characters.sum()).item()


def expectation(hand_in: HandIn, name: str) -> str:
    """What was expected, if anything."""
    return f", expected {hand_in.expected[name]:,}" if name in hand_in.expected else ""


if __name__ == "__main__":
    sys.exit(main())
