"""A fresh process that goes on with a text: it has the file, the weights and the state alone."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from attncourse.workbench.layers import ENDING, State, UnfitError, described, load_method, run_steps

MOST_SECONDS = 300


def continue_in_fresh_process(
    path: Path, i: int, weights: dict[str, Tensor], state: State | None, x: Tensor, start: int
) -> tuple[State, Tensor]:
    """What `run_steps` gives of the layer of block i with these weights."""
    with TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked.pt"), Path(folder, "answered.pt")
        torch.save({"i": i, "weights": weights, "state": state, "x": x, "start": start}, asked)
        paths = map(str, (path, asked, answered))
        try:
            process = subprocess.run(
                [sys.executable, "-m", "attncourse.workbench.fresh", *paths],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                capture_output=True,
                text=True,
                timeout=MOST_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise UnfitError(f"it does not end within {MOST_SECONDS} seconds") from None
        if not answered.is_file():
            lines = process.stderr.strip().splitlines()
            raise UnfitError(lines[-1] if lines else "the code ends it")
        return torch.load(answered, weights_only=True)


def continue_anew(
    path: Path, i: int, weights: dict[str, Tensor], state: State | None, x: Tensor, start: int
) -> tuple[State, Tensor]:
    """The same in this process, with the file run anew."""
    layer = load_method(path).make(i).to(x.dtype)
    try:
        layer.load_state_dict(weights)
    except RuntimeError:
        raise UnfitError(
            "a new layer has no room for its weights: were they kept in a call?"
        ) from None
    return run_steps(layer.eval(), state, x, start)


def main() -> None:
    path, asked, answered = map(Path, sys.argv[1:])
    torch.save(continue_anew(path, **torch.load(asked, weights_only=True)), answered)


if __name__ == "__main__":
    try:
        main()
    except ENDING as error:
        sys.exit(described(error))
