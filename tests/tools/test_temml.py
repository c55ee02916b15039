"""The program that sets formulas is the published one, and says which."""

import hashlib
import re

from tools.extensions.formulas import TEMML


def test_its_version_and_hash_are_those_that_are_said():
    said, program = (TEMML / "render.js").read_text(), (TEMML / "temml.min.js").read_bytes()
    (version,) = re.findall(r"of version ([\d.]+) of the npm package temml", said)
    (sha256,) = re.findall(r"\b[0-9a-f]{64}\b", said)
    assert hashlib.sha256(program).hexdigest() == sha256
    assert f'version:"{version}"' in program.decode("utf-8")
