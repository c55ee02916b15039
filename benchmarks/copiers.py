"""Train two small models to say random tokens again: of two blocks, which learns it, and of one.

python benchmarks/copiers.py    # writes attncourse/stored/copier_{2,1}.js, in two minutes
"""

from collections.abc import Iterator

import torch

from attncourse.data.windows import WindowBatch
from attncourse.language_model import language_model
from attncourse.stored import FOLDER, write_weights
from attncourse.train import fit, muon, seeded

TOKENS, WIDTH, HEADS, STEPS, BATCH, RATE, SEED = 32, 32, 4, 2000, 32, 1e-2, 0


def repeated_sequences(g: torch.Generator, steps: int) -> Iterator[WindowBatch]:
    """Batches of 8 to 16 random tokens, each said twice; asked is the second time."""
    for n in torch.randint(8, 17, (steps,), generator=g).tolist():
        text = torch.randint(TOKENS, (BATCH, n), generator=g).repeat(1, 2)
        labels = text[:, 1:].clone()
        # the first time nobody can know what comes
        labels[:, :n] = -100
        yield WindowBatch(text[:, :-1], labels)


def main() -> None:
    torch.set_num_threads(1)
    for depth in (2, 1):
        with seeded(SEED) as g:
            model = language_model(TOKENS, WIDTH, HEADS, depth)
            losses = fit(
                model, lambda: repeated_sequences(g, STEPS // 10), 10, RATE, optimizer=muon
            )
        write_weights(
            FOLDER / f"copier_{depth}.js",
            f"attncourseCopier{depth}",
            model.state_dict(),
            heads=HEADS,
        )
        print(depth, *(f"{loss:.2f}" for loss in losses), flush=True)


if __name__ == "__main__":
    main()
