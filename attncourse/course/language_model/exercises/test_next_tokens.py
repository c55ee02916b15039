"""Exercise test_next_tokens: the learner's test meets right and wrong losses, unnamed."""

import torch
from torch.nn.functional import cross_entropy

from attncourse.course.language_model.exercises.shared import losses
from judge import variants
from judge.exercise import Exercise
from judge.implementations import errors_caught, implementations

exercise = Exercise.read(__name__, differentiable=False)
worked = exercise.valid(variants.worked(exercise))


@exercise.cases
def cases(draw):
    return implementations(draw, "next_token_loss", "a loss", losses.RIGHT, losses.WRONG)


@exercise.reference
def token_by_token(next_token_loss):
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
                tokens_before, scores_before = tokens.clone(), scores.clone()
                scores.requires_grad_(True)
                loss = next_token_loss(scores, tokens, padding)
                assert loss.dtype == dtype and not loss.dim()
                total, count = torch.zeros((), dtype=dtype), 0
                for text, rows in zip(tokens_before, scores_before, strict=True):
                    for t in range(len(text) - 1):
                        if text[t + 1] != padding:
                            total -= rows[t].log_softmax(0)[text[t + 1]]
                            count += 1
                assert abs(loss.item() - total.item() / count) < 1e-4 * max(1, total.item())
                loss.backward()
                assert scores.grad is not None
                assert torch.equal(tokens, tokens_before)
                assert torch.equal(scores.detach(), scores_before)


# how many tokens each text has, the padding, the dtype, and how large the scores are
TRIALS = (
    ((6, 3, 5, 6), 3, torch.float64, 1.0),
    ((2, 7, 4), 5, torch.float32, 1.0),
    ((5, 1, 3), 0, torch.float64, 1.0),
    ((2,), 4, torch.float64, 1.0),
    ((4, 6), 2, torch.float64, 1e4),
)


def inputs(lengths, padding, dtype, large):
    """Scores and tokens of texts of these lengths, with each token among them."""
    n = max(lengths)
    # 0, twice in a row, and then all others
    order = torch.arange(-1, len(lengths) * n - 1).clamp(min=0) % 7
    tokens = order.where(order != padding, (padding + 1) % 7).view(len(lengths), n)
    tokens[torch.arange(n) >= torch.tensor(lengths)[:, None]] = padding
    g = torch.Generator().manual_seed(0)
    return large * torch.randn(len(lengths), n, 7, generator=g, dtype=dtype), tokens


@exercise.valid
def of_lengths(next_token_loss):
    for lengths, padding, dtype, large in TRIALS:
        scores, tokens = inputs(lengths, padding, dtype, large)
        kept, said = tokens.clone(), scores.clone()
        got = next_token_loss(scores.requires_grad_(), tokens, padding)
        rows, asked = said[:, :-1].flatten(0, 1), kept[:, 1:].flatten()
        want = cross_entropy(rows, asked, ignore_index=padding)
        assert (got.shape, got.dtype, got.requires_grad) == ((), dtype, True)
        bound = torch.finfo(dtype).eps ** 0.5
        assert torch.allclose(got, want, rtol=bound, atol=bound)
        assert tokens.equal(kept) and scores.detach().equal(said)


LIKE = "(got.shape, got.dtype, got.requires_grad) == ((), dtype, True)"
CLOSE = "torch.allclose(got, want, rtol=bound, atol=bound)"
SAME = "tokens.equal(kept) and scores.detach().equal(said)"
WANT = "-log_p.gather(-1, kept[:, 1:][asked][:, None]).mean()"
OF_TORCH = "cross_entropy(said[:, :-1].flatten(0, 1), kept[:, 1:].flatten(), ignore_index=padding)"
# the texts of the worked answer
LONG = "[[0, 0, 4, 1, 6], [5, 2, 3, 3, 3], [2, 3, 3, 3, 3]]"
TWO, ONE = "[[4, 6, 0, 0], [1, 1, 2, 6]]", "[[2, 0]]"
variants.right(exercise,
    (WANT, "losses.plain(said, kept, padding)", "manual_seed(0)", "manual_seed(3)",
     "*tokens.shape, 7", "*tokens.shape, 11"),
    (f"assert {CLOSE}", "if not (got - want).abs() <= 1e-4 * (1 + want.abs()):\n"
     "                raise ValueError(f'expected {want}, got {got}')\n"
     "            got.backward()"),
    (WANT, "-(said[:, :-1].log_softmax(-1) "
     "* torch.nn.functional.one_hot(kept[:, 1:], 7) * asked[..., None]).sum() / asked.sum()"),
    "drawn = torch.randint(7, (4, 8), generator=g)\n"
    "drawn[:, 2], drawn[0, 4] = drawn[:, 1], 0\n"
    "ended = torch.arange(8) >= torch.tensor([[5], [8], [1], [6]])\n"
    "batches = [(drawn.where(drawn != 3, 2).masked_fill(ended, 3).tolist(), 3), ([[0, 0]], 2)]",
)  # fmt: skip
NOTHING = (
    "your test refuses nothing: call next_token_loss, assert what must hold, and catch none of the "
    "errors. What a test returns makes no difference"
)
# what a test does with the loss that comes back, whatever texts it takes
COMPARES = {
    NOTHING: [
        (f"assert {LIKE}", "pass", f"assert {CLOSE}", "pass", f"assert {SAME}", "pass"),
        (f"assert {LIKE}", "pass", f"assert {CLOSE}", CLOSE, f"assert {SAME}", "pass")],
    "no wrong number fails your test: `assert` that the loss is nearly the right one. A condition "
    "and a message together in brackets are always true": (
        f"assert {CLOSE}", CLOSE),
    "your test only asks whether the loss is finite, or not negative: work out the right loss, and "
    "compare": [
        (CLOSE, comparison) for comparison in (
            "got >= 0", "got.isfinite() and got >= 0", "got.isfinite() and got > 0")],
    "your test takes the loss it expects from next_token_loss itself: work it out without it": [
        (CLOSE, CLOSE.replace("want", "next_token_loss(said, kept, padding)"), *less)
        for less in ((), (LIKE, "got.requires_grad"))],
    "only losses that are too large fail your test, not those that are too small: take abs of the "
    "difference": (
        CLOSE, "got - want < 1e-4 * (1 + want)"),
    "only losses that are too small fail your test, not those that are too large: take abs of the "
    "difference": (
        CLOSE, "want - got < 1e-4 * (1 + want)"),
    "your tolerance is too wide, so a loss that is off by 0.005 passes: take a smaller one": [
        (CLOSE, wide) for wide in (
            "torch.allclose(got, want, atol=0.05)", "torch.allclose(got, want, rtol=0.05)",
            "round(got.item(), 1) == round(want.item(), 1)")],
    "your test doesn't allow for rounding, so it refuses right losses that add in a different "
    "order: use a tolerance":
        [(CLOSE, "got == want"), (CLOSE, "torch.allclose(got, want, rtol=0, atol=1e-12)")],
    "your test doesn't check the shape: the loss should have no axes": [
        (LIKE, "(got.dtype, got.requires_grad) == (dtype, True)"),
        (LIKE, "(got.numel(), got.dtype, got.requires_grad) == (1, dtype, True)")],
    "your test doesn't check the dtype: it should be that of the scores": (
        LIKE, "(got.shape, got.requires_grad) == ((), True)",
        CLOSE, "torch.allclose(got.float(), want.float(), rtol=1e-3, atol=1e-3)"),
    "your test doesn't check that a gradient flows: ask whether the loss requires one": (
        "got.requires_grad)", "scores.requires_grad)"),
    "your test doesn't check whether the tokens are still the same: compare them with a copy": (
        "tokens.equal(kept) and ", ""),
    "your test doesn't check whether the scores are still the same, or compares them with a tensor "
    "that shares their memory: clone() them before the call": [
        (" and scores.detach().equal(said)", ""), ("scores.clone()", "scores.detach()")],
    "your test doesn't check whether the inputs are still the same: compare them with copies": (
        SAME, "True"),
    "your copy of the tokens shares their memory, so it changes with them: clone() them before the "
    "call": (
        "tokens.clone()", "tokens"),
    "your copies share memory with the inputs, so they change with them: clone() both before the "
    "call": (
        "tokens.clone(), scores.clone()", "tokens, scores.detach()"),
    "your test returns after its first call: let it make all of them": (SAME, f"{SAME}; return"),
    "your comparison is the wrong way round: it should refuse wrong losses, and let right "
    "ones pass": (
        CLOSE, f"not {CLOSE}"),
}  # fmt: skip
for test in (worked, of_lengths):
    variants.wrong(exercise, COMPARES, of=test)
variants.wrong(exercise, {
    NOTHING: [
        ("    g =", "    assert callable(next_token_loss)\n    return\n    g ="),
        errors_caught(worked)],
    "your test tries only float64: check that float32 scores give a float32 loss, too": (
        "(torch.float32, 1.0)", "(torch.float64, 2.0)"),
    "your test tries only float32: check that float64 scores give a float64 loss, too": (
        variants.every("torch.float64"), "torch.float32"),
    "your texts have padding inside: put it only after the end of a text":
        "batches = [([[3, 0, 0, 4, 1], [5, 3, 2, 2, 3]], 3), ([[3, 3, 3, 2]], 3), ([[2, 0]], 5)]",
    "the longest text always comes first: put a longer text after a shorter one, too":
        f"batches = [({LONG}, 3), ([[1, 1, 2, 6], [4, 6, 0, 0]], 0), ({ONE}, 5)]",
    "your scores go only up to a hundred or so: try some as large as 10^4": ("1e4", "100.0"),
    "all your scores are small: try large ones, where an exponential overflows or a probability "
    "becomes 0": (
        ", (torch.float64, 1e4)", ""),
    "none of your texts has padding, so a loss that counts padding passes: add some": [
        "batches = [([[0, 0, 4, 1, 6], [5, 2, 1, 4, 0]], 3), ([[1, 1, 2, 6]], 0), ([[2, 0]], 5)]",
        "batches = [([[0, 0, 4, 1, 6], [5, 2, 1, 4, 0]], 3), ([[1, 1, 2, 6]], 0)]"],
    "your padding is always 0: try another number":
        "batches = [([[4, 4, 1, 6, 2], [5, 2, 0, 0, 0], [2, 0, 0, 0, 0]], 0), ([[4, 6, 0, 0], "
        "[1, 1, 2, 6]], 0), ([[2, 5]], 0)]",
    "your padding is always the last number of the vocabulary: try another":
        "batches = [([[0, 0, 4, 1, 5], [5, 2, 6, 6, 6], [2, 6, 6, 6, 6]], 6), ([[4, 5, 6, 6], "
        "[1, 1, 2, 0]], 6), ([[2, 0]], 6)]",
    "every call has only one text: try several texts of different lengths": [
        "batches = [([[0, 0, 4, 1, 6]], 3), ([[4, 6, 0, 0]], 0), ([[2, 0]], 5)]",
        "batches = [([[0, 0, 4, 1, 6]], 3), ([[2, 0]], 5)]"],
    "no call has just one text: try one that does":
        f"batches = [({LONG}, 3), ({TWO}, 0), ([[2, 0], [1, 4]], 5)]",
    "every row of your tokens has at least 3 places: try a row of 2":
        f"batches = [({LONG}, 3), ({TWO}, 0), ([[2, 0, 1]], 5)]",
    "each of your texts has something to predict: try a text of a single token":
        f"batches = [([[0, 0, 4, 1, 6], [5, 2, 3, 3, 3]], 3), ({TWO}, 0), ({ONE}, 5)]",
    "token 0 occurs only as padding, so a loss that leaves token 0 out passes: put it in a text":
        f"batches = [([[5, 5, 4, 1, 6], [5, 2, 3, 3, 3], [2, 3, 3, 3, 3]], 3), ({TWO}, 0), "
        "([[2, 1]], 5)]",
    "no token comes twice in a row, so a loss that leaves out repeated tokens passes: repeat one":
        "batches = [([[0, 5, 4, 1, 0], [5, 2, 3, 3, 3], [2, 3, 3, 3, 3]], 3), ([[4, 6, 0, 0], "
        f"[1, 3, 2, 6]], 0), ({ONE}, 5)]",
    "all your scores are equal, so every token is as likely as the others: draw the scores at "
    "random": (
        "torch.randn(*tokens.shape, 7, generator=g, dtype=dtype)",
        "torch.zeros(*tokens.shape, 7, dtype=dtype)"),
    "all your rows of scores are equal, so it makes no difference which one is asked: draw each at "
    "random": (
        "torch.randn(*tokens.shape, 7, generator=g, dtype=dtype)",
        "torch.randn(7, generator=g, dtype=dtype).repeat(*tokens.shape, 1)"),
    "your test expects bits, so it refuses right losses: the loss should be in nats": (
        ".mean()", ".mean() / math.log(2)"),
    "your test expects the mean of the texts' means, so it refuses right losses: all tokens should "
    "count alike": (
        WANT, "torch.stack([cross_entropy(rows[:-1], text[1:], ignore_index=padding)\n"
        "            for rows, text in zip(said, kept, strict=True)]).nanmean()"),
    "your test expects the sum, so it refuses right losses: the loss should be a mean": (
        ".mean()", ".sum()"),
    "your test's formula counts padding, so it refuses right losses: leave padding out": (
        WANT, OF_TORCH.replace(", ignore_index=padding", "")),
    "your test's formula doesn't shift, so it refuses right losses: ask the row at t for the token "
    "at t + 1": (
        WANT, OF_TORCH.replace("[:, :-1]", "").replace("[:, 1:]", "")),
    "your test's formula shifts the wrong way, so it refuses right losses: ask the row at t for "
    "the token at t + 1": (
        WANT, "cross_entropy(said[:, 1:].flatten(0, 1), kept[:, :-1].flatten(), "
        "ignore_index=padding)"),
    "your padding isn't a number of the vocabulary: take one that is, because a right loss need "
    "not accept any other":
        "batches = [([[0, 0, 4, 1, 6], [5, 2, -100, -100, -100]], -100), ([[2, 0]], -100)]",
    "your test passes the padding as a tensor: pass a number": (
        "_grad_(), tokens, padding)", "_grad_(), tokens, torch.tensor(padding))"),
    "one of your calls has nothing to predict at all: each should ask for at least one token": (
        f"({ONE}, 5)", f"({ONE}, 5), ([[1, 3], [2, 3]], 3)",
        "atol=bound", "atol=bound, equal_nan=True"),
    "your test refuses right losses, too: run it on a loss you trust. All tokens of all texts "
    "count alike, the scores have three axes, the loss has none, and `padding` is the number that "
    "is given": [
        ("-log_p", "log_p"), ("(got.shape", "(type(got)", "((), ", "(float, "),
        ("_grad_(), tokens, p", "_grad_()[0], tokens[0], p"),
        ("scores.requires_grad_(), tokens", "tokens, scores.requires_grad_()")],
})  # fmt: skip
