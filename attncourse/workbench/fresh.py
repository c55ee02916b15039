"""A fresh process that goes on with a text: it has the file, the weights and the state alone."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn

from attncourse.workbench.layers import UnfitError, described, load_method, require_state

MOST_SECONDS = 300


def continue_in_fresh_process(
    path: Path, layer: nn.Module, state: tuple[Tensor, ...], x: Tensor
) -> tuple[tuple[Tensor, ...], Tensor]:
    """The state after the tokens of x, (batch, n, d_model), and their outputs."""
    with TemporaryDirectory() as folder:
        exchange = Path(folder, "exchange.pt")
        torch.save({"weights": layer.state_dict(), "state": state, "x": x}, exchange)
        process = subprocess.run(
            [sys.executable, "-m", "attncourse.workbench.fresh", str(path), str(exchange)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        if process.returncode:
            lines = process.stderr.strip().splitlines()
            raise UnfitError(f"a fresh process cannot go on: {lines[-1] if lines else 'it ended'}")
        reply = torch.load(exchange, weights_only=True)
    return reply["state"], reply["outputs"]


@torch.no_grad()
def main() -> None:
    path, exchange = map(Path, sys.argv[1:])
    request = torch.load(exchange, weights_only=True)
    layer = load_method(path).make().to(request["x"].dtype)
    layer.load_state_dict(request["weights"])
    state, outputs = request["state"], []
    for token in request["x"].unbind(-2):
        state, output = layer.eval().step(state, token)  # pyright: ignore[reportCallIssue]
        outputs.append(output)
    torch.save({"state": require_state(state), "outputs": torch.stack(outputs, -2)}, exchange)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        sys.exit(described(error))
