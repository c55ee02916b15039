"""From a file to its dot among the course's methods: checks, counts, training and a report."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

import attncourse
from attncourse.data.addresses import Addresses, addresses
from attncourse.data.archives import cache_folder
from attncourse.data.byte_pairs import stored_pairs
from attncourse.data.windows import Windower
from attncourse.workbench import protocol, recall
from attncourse.workbench.bar import bar, duration
from attncourse.workbench.checks import run_checks
from attncourse.workbench.counts import count_method
from attncourse.workbench.hand_in import pack, packable
from attncourse.workbench.layers import Method, UnfitError, load_method
from attncourse.workbench.protocol import Bits
from attncourse.workbench.report import Report


def workbench(
    file: str | Path, checks: bool = False, quick: bool = False, seed: int = 0
) -> Report | None:
    """Check, count, train and compare the method in a file; None, and a sentence, where it fails.

    With `checks` it is not trained, with `quick` for fewer steps, and not to recall.
    """
    # one thread: the same sums in the same order on every machine
    torch.set_num_threads(1)
    try:
        method = load_method(file)
        for line in run_checks(method):
            print(line, flush=True)
        counts = count_method(method.model)
        if checks:
            return Report(method.name, method.expected, counts)
        # what cannot be handed in is said before it is trained
        packable(method.path, method.model(Windower(stored_pairs()).vocabulary).state_dict())
        bits, shares = train(method, quick, seed)
        return Report(method.name, method.expected, counts, bits, shares, quick)
    except UnfitError as error:
        print(error)
    except KeyboardInterrupt:
        print("\nStopped: the same call goes on from the last part that was done.")
    return None


def train(method: Method, quick: bool, seed: int) -> tuple[Bits, list[float] | None]:
    """The bits of a model that is trained with the method, and what another recalls.

    What was measured is kept, so that a call that was stopped trains only what it still lacks.
    """
    corpus = addresses()
    if corpus.sample:
        raise UnfitError(f"these are not the addresses: {corpus.why}")
    steps = protocol.QUICK_STEPS if quick else protocol.STEPS
    a_step = protocol.seconds_a_step(method.model, corpus)
    recall_step = a_step * recall.TOKENS / protocol.TOKENS
    total = steps * a_step + seconds_of_measuring(corpus, a_step)
    total += 0 if quick else recall.STEPS * recall_step
    print(f"{steps:,} steps, in all about {duration(total)}", flush=True)

    def measured_bits() -> Bits:
        path, track = kept(method, f"addresses-{steps}-{seed}.pt"), bar("addresses", steps * a_step)
        model = protocol.train_on_addresses(method.model, corpus, seed, path, steps, track)
        torch.save(model.state_dict(), kept(method, f"weights-{steps}-{seed}.pt"))
        return protocol.measure_bits(model, Windower(stored_pairs()), corpus)

    def measured_recall() -> list[float]:
        path, track = kept(method, f"recall-{seed}.pt"), bar("recall", recall.STEPS * recall_step)
        return recall.shares_recalled(
            recall.train_to_recall(method.model, seed, path, recall.STEPS, track)
        )

    bits = Bits(*once(kept(method, f"bits-{steps}-{seed}.json"), measured_bits))
    if quick:
        return bits, None
    weights = torch.load(kept(method, f"weights-{steps}-{seed}.pt"), weights_only=True)
    print(f"{pack(method.path, weights)} holds the code and the weights, to hand in", flush=True)
    return bits, once(kept(method, f"recalled-{seed}.json"), measured_recall)


def seconds_of_measuring(corpus: Addresses, a_step: float) -> float:
    """Seconds to read the texts of the test and of the validation, at a third of a step's time."""
    windower = Windower(stored_pairs())
    windows = sum(len(windower.rows(text)) for text in (*corpus.test, *corpus.validation))
    return windows / protocol.BATCH * a_step / 3


def once(path: Path, measure: Callable[[], Sequence]) -> list:
    """What was measured, from the file that keeps it if there is one."""
    if not path.is_file():
        path.write_text(json.dumps(measure()), "utf-8")
    return json.loads(path.read_text("utf-8"))


def kept(method: Method, name: str) -> Path:
    """The path of what is kept of just this code, in the folder of downloaded data."""
    content = method.path.read_bytes() + attncourse.__version__.encode()
    folder = cache_folder() / "workbench" / hashlib.sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name
