"""Exercise test_next_tokens: the learner's test meets right and wrong losses, unnamed."""

import torch
from torch.nn.functional import cross_entropy

from attncourse.course.language_model.exercises.shared import losses
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations

exercise = Exercise.read(__name__, differentiable=False)


@exercise.cases
def cases(draw):
    return implementations(draw, "next_token_loss", "a loss", losses.RIGHT, losses.WRONG)


# how many tokens each text has, the padding, the dtype, and how large the scores are
TRIALS = (
    ((6, 3, 5, 6), 3, torch.float64, 1.0),
    ((2, 7, 4), 5, torch.float32, 1.0),
    ((5, 1, 3), 0, torch.float64, 1.0),
    ((2,), 4, torch.float64, 1.0),
    ((4, 6), 2, torch.float64, 1e4),
)


def inputs(lengths, padding, dtype, large, vocabulary=7, seed=0):
    """Scores and tokens of texts of these lengths, with each token among them."""
    g = torch.Generator().manual_seed(seed)
    n = max(lengths)
    # 0, twice in a row, and then all others
    order = torch.arange(-1, len(lengths) * n - 1).clamp(min=0) % vocabulary
    tokens = order.where(order != padding, (padding + 1) % vocabulary).view(len(lengths), n)
    tokens[torch.arange(n) >= torch.tensor(lengths)[:, None]] = padding
    scores = large * torch.randn(len(lengths), n, vocabulary, generator=g, dtype=dtype)
    return scores, tokens


def close(got, want):
    """The same numbers but for rounding."""
    bound = torch.finfo(want.dtype).eps ** 0.5
    return torch.allclose(got, want, rtol=bound, atol=bound)


@exercise.reference
def token_by_token(next_token_loss):
    for lengths, padding, dtype, large in TRIALS:
        scores, tokens = inputs(lengths, padding, dtype, large)
        before = scores.clone(), tokens.clone()
        got = next_token_loss(scores.requires_grad_(), tokens, padding)
        found = []
        for i, length in enumerate(lengths):
            for t in range(1, length):
                row = before[0][i, t - 1]
                found.append(row.logsumexp(-1) - row[before[1][i, t]])
        assert (got.shape, got.dtype) == ((), dtype)
        assert close(got, torch.stack(found).mean())
        assert scores.detach().equal(before[0]) and tokens.equal(before[1])
        assert torch.autograd.grad(got, scores)[0].any()


@exercise.valid
def plain(next_token_loss):
    for lengths, padding, dtype, large in TRIALS:
        scores, tokens = inputs(lengths, padding, dtype, large)
        before = scores.clone(), tokens.clone()
        scores.requires_grad_()
        got = next_token_loss(scores, tokens, padding)
        rows, asked = before[0][:, :-1].flatten(0, 1), before[1][:, 1:].flatten()
        want = cross_entropy(rows, asked, ignore_index=padding)
        assert got.shape == want.shape
        assert got.dtype == want.dtype
        assert close(got, want)
        assert got.requires_grad
        assert tokens.equal(before[1])
        assert scores.detach().equal(before[0])


@exercise.valid
def by_hand_made_texts(next_token_loss):
    for dtype in (torch.float32, torch.float64):
        for size in (1.0, 3000.0):
            for tokens, padding in (
                ([[0, 2, 2, 4, 1, 0], [3, 4, 1, 1, 0, 2], [1, 0, 5, 5, 5, 5]], 5),
                ([[0, 0]], 1),
                ([[3, 3, 1], [1, 1, 1], [4, 1, 1]], 1),
            ):
                tokens = torch.tensor(tokens)
                g = torch.Generator().manual_seed(4)
                scores = size * torch.randn(*tokens.shape, 8, generator=g).to(dtype)
                kept, said = tokens.clone(), scores.clone()
                scores.requires_grad_(True)
                loss = next_token_loss(scores, tokens, padding)
                if loss.dtype != dtype or loss.dim():
                    raise TypeError(f"expected a number in {dtype}")
                total, count = torch.zeros((), dtype=dtype), 0
                for text, rows in zip(kept, said, strict=True):
                    for t in range(len(text) - 1):
                        if text[t + 1] != padding:
                            total -= rows[t].log_softmax(0)[text[t + 1]]
                            count += 1
                if not abs(loss.item() - total.item() / count) < 1e-4 * max(1, total.item()):
                    raise ValueError(f"{loss.item()} is not {total.item() / count}")
                loss.backward()
                assert scores.grad is not None
                assert torch.equal(tokens, kept) and torch.equal(scores.detach(), said)


DRAWN = "scores, tokens = inputs(lengths, padding, dtype, large)"
BEFORE, ASK = "before = scores.clone(), tokens.clone()", "        scores.requires_grad_()\n"
CALL = "got = next_token_loss(scores, tokens, padding)"
WANT = "cross_entropy(rows, asked, ignore_index=padding)"
SHAPE, DTYPE = "assert got.shape == want.shape", "assert got.dtype == want.dtype"
CLOSE, FLOWS = "assert close(got, want)", "assert got.requires_grad"
TOKENS, SCORES = "assert tokens.equal(before[1])", "assert scores.detach().equal(before[0])"
NOTHING = (SHAPE, "pass", DTYPE, "pass", CLOSE, "pass", FLOWS, "pass", TOKENS, "pass",
           SCORES, "pass")  # fmt: skip


def trials(*some):
    """The edit after which the test has these trials."""
    told = (
        f"({lengths}, {padding}, torch.{dtype}, {large})" for lengths, padding, dtype, large in some
    )
    return "TRIALS", f"[{', '.join(told)}]"


def changed(**new):
    """The edit after which each trial has something else in these of its parts."""
    parts = ", ".join(new.get(name, name) for name in ("lengths", "padding", "dtype", "large"))
    return "TRIALS", f"[({parts}) for lengths, padding, dtype, large in TRIALS]"


variants.right(exercise,
    (DRAWN, "scores, tokens = inputs(lengths, padding, dtype, large, 11, 3)"),
    (WANT, "losses.plain(*before, padding)"),
    (CLOSE, "if not (got - want).abs() <= 1e-4 * (1 + want.abs()):\n"
     "            raise ValueError(f'expected {want}, got {got}')", FLOWS, "got.backward()"),
    (WANT, "-(before[0][:, :-1].log_softmax(-1) * torch.nn.functional.one_hot(before[1][:, 1:], 7)"
     " * (before[1][:, 1:, None] != padding)).sum() / (before[1][:, 1:] != padding).sum()"),
)  # fmt: skip
variants.wrong(exercise, {
    "it refuses nothing: call next_token_loss, assert what must hold, and catch none of the "
    "errors": [
        ("    for lengths", "    assert callable(next_token_loss)\n    return\n    for lengths"),
        errors_caught(plain)],
    "no wrong number fails it: assert, against a number worked out without next_token_loss. What a "
    "test returns is not looked at": [
        (*NOTHING, CALL, f"{CALL}\n        assert got is not None"),
        (*NOTHING[:4], CLOSE, "torch.allclose(got, want)", *NOTHING[6:])],
    "it looks at shape and dtype only: compare the number, too": (CLOSE, "pass"),
    "it asks only that the loss be finite and not negative: work the right one out": [
        (CLOSE, "assert got >= 0"), (CLOSE, "assert got.isfinite() and got >= 0"),
        (CLOSE, "assert got.isfinite() and got > 0")],
    "what it expects comes from next_token_loss itself: work it out without it": (
        WANT, "next_token_loss(*before, padding)"),
    "only what is too large fails it, not what is too small: take abs of the difference": (
        CLOSE, "assert got - want < 1e-4 * (1 + want)"),
    "only what is too small fails it, not what is too large: take abs of the difference": (
        CLOSE, "assert want - got < 1e-4 * (1 + want)"),
    "the tolerance is too wide: a loss that is half a hundredth off passes": [
        (CLOSE, "assert torch.allclose(got, want, atol=0.05)"),
        (CLOSE, "assert torch.allclose(got, want, rtol=0.05)"),
        (CLOSE, "assert round(got.item(), 1) == round(want.item(), 1)")],
    "it allows for no rounding, and refuses right ones that add in another order: use a tolerance":
        [(CLOSE, "assert got.equal(want)"), (CLOSE, "assert got.item() == want.item()"),
         (CLOSE, "assert torch.allclose(got, want, rtol=0, atol=1e-12)")],
    "the shape is not looked at: the loss has no axis": [
        (SHAPE, "pass"), (SHAPE, "assert got.numel() == 1")],
    "the dtype is not looked at: it should be that of the scores": (
        DTYPE, "pass", CLOSE, "assert close(got.float(), want.float())"),
    "only float64 is tried: float32 should give float32": changed(dtype="torch.float64"),
    "only float32 is tried: float64 should give float64": changed(dtype="torch.float32"),
    "it does not look whether a gradient flows": [
        (FLOWS, "pass"), (FLOWS, "assert scores.requires_grad")],
    "it does not look whether the tokens are still the same": (TOKENS, "pass"),
    "it does not look whether the scores are still the same, or compares them with what shares "
    "their numbers: clone() them before the call": [
        (SCORES, "pass"), (BEFORE, "before = scores.detach(), tokens.clone()")],
    "it does not look whether the inputs are still the same": (TOKENS, "pass", SCORES, "pass"),
    "the tokens' copy shares their numbers, and changes with them: clone() them before the call": (
        BEFORE, "before = scores.clone(), tokens[:]"),
    "the copies share the numbers of the inputs, and change with them: clone() both before the "
    "call": (BEFORE, "before = scores.detach(), tokens"),
    "padding stands within its texts: it only comes after the end of one": (
        DRAWN, f"{DRAWN}\n        tokens = tokens.flip(1)"),
    "the sum of the tokens is compared, though they may have changed places": (
        TOKENS, "assert tokens.sum() == before[1].sum()"),
    "the last scores of each text are not compared afterwards: they stay as they were, too": (
        SCORES, "assert scores.detach()[:, :-1].equal(before[0][:, :-1])"),
    "the longest text always comes first: try a longer one after a shorter": changed(
        lengths="sorted(lengths, reverse=True)"),
    "scores are tried up to a hundred or so: they may be as large as 10^4": changed(
        large="min(large, 100.0)"),
    "the padding is given as a tensor: it is a number": (
        CALL, "got = next_token_loss(scores, tokens, torch.tensor(padding))"),
    "no text has padding: a loss that counts it passes": changed(
        lengths="[max(lengths)] * len(lengths)"),
    "the padding is always 0: try another number": changed(padding="0"),
    "the padding is always the last number of the vocabulary: try another": changed(padding="6"),
    "all texts are of one length: a loss that takes the mean of their means passes": [
        changed(lengths="[3] * len(lengths)")],
    "every call has one text: try several, of different lengths": changed(lengths="lengths[:1]"),
    "no call has one text: try one": (
        "TRIALS", "[(a * 2 if len(a) < 2 else a, b, c, d) for a, b, c, d in TRIALS]"),
    "every text has at least 3 tokens in all, and none of them stands alone: try a row of 2": (
        "TRIALS", "[(a if a != (2,) else (4,), b, c, d) for a, b, c, d in TRIALS]"),
    "no text is without anything to predict: try one of a single token": (
        "TRIALS", "[(tuple(max(2, x) for x in a), b, c, d) for a, b, c, d in TRIALS]"),
    "all scores are small: of large ones, an exponential overflows, or a probability is 0": (
        changed(large="1.0")),
    "all scores are equal: every token is then as likely as the others. Draw them": (
        DRAWN, f"{DRAWN}\n        scores = torch.zeros_like(scores)"),
    "all rows of scores are equal: which of them is asked makes no difference. Draw each": (
        DRAWN, f"{DRAWN}\n        scores = scores[:, :1].repeat(1, scores.shape[1], 1)"),
    "token 0 never stands in a text, but as padding: a loss that leaves it out passes": (
        DRAWN, f"{DRAWN}\n        tokens = tokens.where((tokens != 0) | (padding == 0), "
               "1 + (padding == 1) + 0 * tokens)"),
    "no token comes twice in a row: a loss that leaves out repeated ones passes": (
        DRAWN, f"{DRAWN}\n        order = torch.arange(tokens.numel()).view(tokens.shape) % 6\n"
               "        order = order + (order >= padding)\n"
               "        tokens = order.where(tokens != padding, padding)"),
    "only the first call counts: it returns too early": (
        SCORES, f"{SCORES}\n        return"),
    "it expects bits, so it refuses what is right: the loss is in nats": (
        WANT, f"{WANT} / torch.tensor(2.0).log().item()"),
    "it expects the mean of the texts' means, so it refuses what is right: all tokens count "
    "alike": (
        WANT, "torch.stack([cross_entropy(a[:-1], b[1:], ignore_index=padding) for a, b in "
              "zip(*before)]).nanmean()"),
    "it expects the sum, so it refuses what is right: the loss is a mean": (
        WANT, "cross_entropy(rows, asked, ignore_index=padding, reduction='sum')"),
    "its own formula counts padding, so it refuses what is right": (
        WANT, "cross_entropy(rows, asked)"),
    "its own formula does not shift, so it refuses what is right: the row at t is asked for the "
    "token at t + 1": (
        WANT, "cross_entropy(before[0].flatten(0, 1), before[1].flatten(), ignore_index=padding)"),
    "its own formula shifts the wrong way, so it refuses what is right: the row at t is asked for "
    "the token at t + 1": (
        WANT, "cross_entropy(before[0][:, 1:].flatten(0, 1), before[1][:, :-1].flatten(), "
              "ignore_index=padding)"),
    "it calls with a padding that is no number of the vocabulary: a right loss need not take it": [
        (CALL, "tokens = tokens.where(tokens != padding, -100)\n"
         "        before, padding = (before[0], tokens.clone()), -100\n"
         "        got = next_token_loss(scores, tokens, -100)")],
    "it calls with texts that have nothing to predict at all: at least one token is asked for": (
        "TRIALS", "[*TRIALS, ((1, 1), 3, torch.float64, 1.0)]",
        CLOSE, "assert close(got, want) or got.isnan() and want.isnan()"),
    "it calls with scores that are not finite, where there is padding: they always are finite": (
        ASK, "        scores[tokens == padding] = torch.nan\n"
             "        before = scores.clone(), before[1]\n" + ASK,
        SCORES, "assert scores.detach().nan_to_num().equal(before[0].nan_to_num())"),
    "it refuses the right ones, too: run it on a loss you trust. All tokens of all texts count "
    "alike, the scores have three axes, the loss none, and `padding` is the number that is given": [
        (CLOSE, "assert close(got, -want)"), (WANT, f"{WANT}.exp() + 1"),
        (WANT, "cross_entropy(rows, asked, ignore_index=0)"),
        (CALL, "got = next_token_loss(scores[None], tokens[None], padding)"),
        (CALL, "got = next_token_loss(scores[0], tokens[0], padding)"),
        (CALL, "got = next_token_loss(tokens, scores, padding)"),
        (SHAPE, "assert isinstance(got, float)", DTYPE, "pass"),
        (SHAPE, "assert got.shape == (1,)")],
    "the comparison is upside down: it refuses what is right, and lets what is wrong pass": (
        CLOSE, "assert not close(got, want)"),
})  # fmt: skip
