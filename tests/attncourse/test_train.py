"""Training and counting what is right, on a task of a few numbers."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from attncourse.train import accuracy, adamw, checkpoint_path, fit, muon, progress, seeded


class Letters(NamedTuple):
    """A batch of letters; each label is its letter modulo 3, and that of the last is ignored."""

    letters: Tensor
    labels: Tensor

    @property
    def inputs(self) -> tuple[Tensor]:
        return (self.letters,)


class Lookup(nn.Module):
    """An embedding and a linear classifier."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.table = nn.Embedding(6, 8)
        self.dropout = nn.Dropout(dropout)
        self.label = nn.Linear(8, 3)

    def forward(self, letters: Tensor) -> Tensor:
        return self.label(self.dropout(self.table(letters)))


@pytest.fixture
def batches(g) -> list[Letters]:
    letters = torch.randint(6, (4, 5, 7), generator=g)
    labels = letters % 3
    labels[..., -1] = -100
    return [Letters(*pair) for pair in zip(letters, labels, strict=True)]


def test_a_model_learns_what_a_table_can_hold(batches):
    with seeded(0):
        model = Lookup(dropout=0.1)
        accuracy_before = accuracy(model, batches)
        history = fit(model, lambda: batches, epochs=20, lr=3e-2)
    assert accuracy_before < 0.7 and accuracy(model, batches) == 1
    assert len(history) == 20 and history[-1] < 0.1 * history[0]


def test_a_seed_decides_weights_dropout_and_generator(batches):
    outcomes = []
    for seed in (0, 0, 1):
        with seeded(seed) as own:
            model = Lookup(dropout=0.5)
            history = fit(model, lambda: batches, epochs=2)
            outcomes.append((history, torch.rand(1, generator=own).item()))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] != outcomes[2][0] and outcomes[0][1] != outcomes[2][1]


def test_a_seed_leaves_torchs_own_generator_as_it_was():
    random_state = torch.get_rng_state()
    with seeded(7):
        torch.rand(5)
    assert torch.equal(torch.get_rng_state(), random_state)


def test_places_without_a_label_count_neither_in_the_loss_nor_in_the_accuracy(batches):
    with seeded(0):
        model = Lookup()
    fit(model, lambda: batches, epochs=30, lr=3e-2)
    other_batches = [b._replace(letters=b.letters.clone()) for b in batches]
    for batch in other_batches:
        batch.letters[:, -1] = (batch.letters[:, -1] + 1) % 6
    assert accuracy(model, batches) == accuracy(model, other_batches) == 1
    assert fit(model, lambda: batches[:1], 1, 0.0) == fit(model, lambda: other_batches[:1], 1, 0.0)


def test_accuracy_is_the_share_counted_by_hand():
    class Constant(nn.Module):
        def forward(self, letters):
            return torch.tensor([0.0, 1.0, 0.0]).expand(*letters.shape, 3)

    labels = [torch.tensor([[1, 2, -100], [1, -100, -100]]), torch.tensor([[0, 1]])]
    assert accuracy(Constant(), [Letters(x, x) for x in labels]) == 3 / 5


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_in_the_mode_it_was_in(batches, training):
    with seeded(0):
        model = Lookup(dropout=0.5).train(training)
        assert accuracy(model, batches) == accuracy(model, batches)
        fit(model, lambda: batches, epochs=1)
    assert model.training == training


class Killed(Exception):
    """Stands for the death of the process."""


@pytest.mark.parametrize("optimizer", [adamw, muon])
@pytest.mark.parametrize("epochs_before_kill", [0, 1, 3])
def test_a_training_that_was_killed_ends_as_one_that_was_not(
    batches, tmp_path, epochs_before_kill, optimizer
):
    def train(checkpoint=None, killed_after=None):
        with seeded(3) as generator:
            model, epochs = Lookup(dropout=0.5), []

            def draw_batches():
                if len(epochs) == killed_after:
                    raise Killed
                epochs.append(torch.randperm(len(batches), generator=generator).tolist())
                return [batches[i] for i in epochs[-1]]

            history = fit(
                model,
                draw_batches,
                4,
                1e-2,
                optimizer=optimizer,
                checkpoint=checkpoint,
                generator=generator,
            )
        return model.state_dict(), history

    full, history = train()
    with pytest.raises(Killed):
        train(tmp_path / "model.pt", killed_after=epochs_before_kill)
    resumed_weights, second_state = train(tmp_path / "model.pt")
    assert second_state == history
    assert all(torch.equal(full[name], resumed_weights[name]) for name in full)
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_a_checkpoint_of_another_model_is_refused_and_stays(batches, tmp_path):
    file = tmp_path / "model.pt"
    for content in (b"no checkpoint", b""):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"model\.pt is no checkpoint of this model"):
            fit(Lookup(), lambda: batches, 1, checkpoint=file)
        assert file.read_bytes() == content
    file.unlink()
    fit(Lookup(), lambda: batches, 1, checkpoint=file)
    saved = file.read_bytes()
    other_model = Lookup()
    other_model.label = nn.Linear(8, 4)
    with pytest.raises(ValueError, match="size mismatch"):
        fit(other_model, lambda: batches, 2, checkpoint=file)
    assert file.read_bytes() == saved


def test_training_ends_early_by_steps_in_the_middle_of_an_epoch(batches):
    with seeded(0):
        model, batches_seen = Lookup(), []
        model.register_forward_hook(lambda *_: batches_seen.append(1))
        history = fit(model, lambda: batches, 5, max_steps=6)
    assert len(batches_seen) == 6 and len(history) == 2


def record_rates(monkeypatch, *optimizers) -> list[list[float]]:
    """Record the learning rate at each step of these optimizer classes: a growing list each."""
    all_rates = []
    for optimizer in optimizers:
        rates, original = [], optimizer.step

        def recording_step(self, *args, rates=rates, original=original, **kwargs):
            rates.append(self.param_groups[0]["lr"])
            return original(self, *args, **kwargs)

        monkeypatch.setattr(optimizer, "step", recording_step)
        all_rates.append(rates)
    return all_rates


def test_by_default_it_does_what_adamw_does_at_rates_that_are_set_by_hand(batches):
    with seeded(0):
        ours, theirs = Lookup(), Lookup()
    theirs.load_state_dict(ours.state_dict())
    fit(ours, lambda: batches, 2, 0.1)
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=0.1)
    for i, batch in enumerate([*batches, *batches]):
        optimizer.param_groups[0]["lr"] = 0.1 * (1 - i / 8)
        optimizer.zero_grad()
        scores = theirs(batch.letters).view(-1, 3)
        nn.functional.cross_entropy(scores, batch.labels.view(-1)).backward()
        optimizer.step()
    for name, weight in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], weight)
    assert isinstance(adamw(ours, 0.1), torch.optim.AdamW)


class DeepLookup(Lookup):
    """A deeper Lookup, with matrices of several shapes, one without a bias."""

    def __init__(self, dropout: float = 0.0):
        super().__init__(dropout)
        self.label = nn.Sequential(
            nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 5, bias=False), nn.Linear(5, 3)
        )


def test_muon_does_to_the_matrices_of_layers_what_torchs_does_and_adamw_to_all_else(batches):
    with seeded(0):
        ours, theirs = DeepLookup(), DeepLookup()
    theirs.load_state_dict(ours.state_dict())
    assert len(fit(ours, lambda: batches, 2, 0.05, optimizer=muon)) == 2
    parameters = dict(theirs.named_parameters())
    matrices = [parameters.pop(f"label.{i}.weight") for i in (0, 2, 3)]
    assert set(parameters) == {
        "table.weight",
        *(f"label.{i}.bias" for i in (0, 1, 3)),
        "label.1.weight",
    }
    options = {"lr": 0.05, "weight_decay": 0.0}
    optimizers = [
        torch.optim.Muon(matrices, adjust_lr_fn="match_rms_adamw", **options),
        torch.optim.AdamW(parameters.values(), **options),
    ]
    for i, batch in enumerate([*batches, *batches]):
        theirs.zero_grad()
        scores = theirs(batch.letters).view(-1, 3)
        nn.functional.cross_entropy(scores, batch.labels.view(-1)).backward()
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = 0.05 * (1 - i / 8)
            optimizer.step()
    for name, weight in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], weight)


def test_a_first_step_of_muon_is_about_orthogonal_and_as_large_as_one_of_adamw(batches):
    with seeded(0):
        model = DeepLookup()
    copies = {name: p.detach().clone() for name, p in model.named_parameters()}
    fit(model, lambda: batches[:1], 1, 0.01, optimizer=muon)
    changed = {name: p.detach() - copies[name] for name, p in model.named_parameters()}
    for i in (0, 2, 3):
        step = changed[f"label.{i}.weight"]
        # the same in each direction that has a gradient, give or take what Newton-Schulz leaves
        sizes = torch.linalg.svdvals(step) / (0.01 * 0.2 * max(step.shape) ** 0.5)
        # the gradients of three scores sum to 0, so that at least two directions have one
        assert (sizes > 0.6).sum() >= 2 and sizes.max() < 1.3
    # AdamW's first step is the rate, up or down
    for name in ("table.weight", "label.0.bias", "label.3.bias"):
        torch.testing.assert_close(changed[name].abs().max(), torch.tensor(0.01), rtol=1e-3, atol=0)


def test_muon_learns_what_a_table_can_hold(batches):
    with seeded(0):
        model = DeepLookup()
        history = fit(model, lambda: batches, 10, 3e-2, optimizer=muon)
    assert accuracy(model, batches) == 1 and history[-1] < 0.2 * history[0]


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_the_rates_of_both_optimizers_fall_and_go_on_falling_after_a_break(
    batches, monkeypatch, tmp_path, is_interrupted
):
    recorded_rates = record_rates(monkeypatch, torch.optim.Muon, torch.optim.AdamW)

    def train(epochs: int) -> None:
        remaining = iter([batches] * epochs)

        def next_batch():
            if (batches_ := next(remaining, None)) is None:
                raise Killed
            return batches_

        fit(Lookup(), next_batch, 3, 0.5, optimizer=muon, checkpoint=tmp_path / "model.pt")

    if is_interrupted:
        with pytest.raises(Killed):
            train(epochs=1)
    train(epochs=3)
    for rates in recorded_rates:
        assert rates == pytest.approx([0.5 * (1 - i / 12) for i in range(12)])


def test_a_checkpoint_of_another_optimizer_is_refused(batches, tmp_path):
    file = tmp_path / "model.pt"
    for first, second in ((adamw, muon), (muon, adamw)):
        file.unlink(missing_ok=True)
        fit(Lookup(), lambda: batches, 1, checkpoint=file, optimizer=first)
        with pytest.raises(ValueError, match=r"model\.pt is no checkpoint of this model"):
            fit(Lookup(), lambda: batches, 2, checkpoint=file, optimizer=second)


def test_in_bfloat16_the_weights_stay_in_float32_and_learn(batches):
    with seeded(0):
        model = Lookup()
        fit(model, lambda: batches, 20, 3e-2, precision=torch.bfloat16)
    assert accuracy(model, batches) == 1
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_progress_is_what_is_wrapped_around_the_epochs(batches):
    losses = []

    def track(epochs):
        for epoch in epochs:
            yield epoch
            losses.append(epoch)

    fit(Lookup(), lambda: batches, 3, track=track)
    assert losses == [0, 1, 2]


def test_a_model_is_kept_in_another_file_if_anything_else_would_be_trained(
    batches, tmp_path, monkeypatch
):
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path))

    class Doubled(Lookup):
        def forward(self, letters):
            return 2 * super().forward(letters)

    def file(make=Lookup, seed=0, dropout=0.0, data=batches, recipe=(8, 3e-3)):
        with seeded(seed):
            return checkpoint_path("lookup", make(dropout), data, *recipe)

    assert file() == file()
    Doubled.__name__ = "Lookup"
    last = batches[-1]._replace(labels=batches[-1].labels.roll(1))
    other_files = [
        file(seed=1),
        file(dropout=0.1),
        file(data=batches[:-1]),
        file(data=[*batches[:-1], last]),
        file(make=Doubled),
        file(recipe=(9, 3e-3)),
    ]
    assert len({file(), *other_files}) == 7


def test_a_kept_model_is_not_trained_again(batches, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path))
    runs = []
    for _ in range(2):
        with seeded(0):
            model, steps = Lookup(), []
            model.label.register_forward_hook(lambda *_, steps=steps: steps.append(1))
            file = checkpoint_path("lookup", model, batches)
            steps.clear()
            history = fit(model, lambda: batches, 2, checkpoint=file)
            runs.append((history, model.state_dict(), len(steps)))
    (first_history, weights, first_steps), (second_history, second_weights, second_steps) = runs
    assert (first_steps, second_steps) == (8, 0) and first_history == second_history
    assert all(torch.equal(weights[name], second_weights[name]) for name in weights)


def test_where_no_file_can_be_written_none_is_kept(batches, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path / "file"))
    assert checkpoint_path("lookup", Lookup(), batches) is None
    assert len(fit(Lookup(), lambda: batches, 1, checkpoint=None)) == 1


def test_progress_gives_every_epoch(capsys):
    assert [*progress(range(1, 4))] == [1, 2, 3]
    assert "■□□□ 1 of 4 epochs" in capsys.readouterr().out
