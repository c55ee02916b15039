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
    "it refuses nothing: call next_token_loss, assert what must hold, and catch none of the "
    "errors. What a test returns is not looked at"
)
# what a test does with the loss that comes back, whatever texts it takes
COMPARES = {
    NOTHING: [
        (f"assert {LIKE}", "pass", f"assert {CLOSE}", "pass", f"assert {SAME}", "pass"),
        (f"assert {LIKE}", "pass", f"assert {CLOSE}", CLOSE, f"assert {SAME}", "pass")],
    "no wrong number fails it: `assert` that it is nearly the right one. A condition and a message "
    "in brackets are always true": (f"assert {CLOSE}", CLOSE),
    "it asks only that the loss be finite and not negative: work the right one out": [
        (CLOSE, comparison) for comparison in (
            "got >= 0", "got.isfinite() and got >= 0", "got.isfinite() and got > 0")],
    "what it expects comes from next_token_loss itself: work it out without it": [
        (CLOSE, CLOSE.replace("want", "next_token_loss(said, kept, padding)"), *less)
        for less in ((), (LIKE, "got.requires_grad"))],
    "only what is too large fails it, not what is too small: take abs of the difference": (
        CLOSE, "got - want < 1e-4 * (1 + want)"),
    "only what is too small fails it, not what is too large: take abs of the difference": (
        CLOSE, "want - got < 1e-4 * (1 + want)"),
    "the tolerance is too wide, and a loss that is half a hundredth off passes: take a "
    "smaller one": [
        (CLOSE, wide) for wide in (
            "torch.allclose(got, want, atol=0.05)", "torch.allclose(got, want, rtol=0.05)",
            "round(got.item(), 1) == round(want.item(), 1)")],
    "it allows for no rounding, and refuses right ones that add in another order: use a tolerance":
        [(CLOSE, "got == want"), (CLOSE, "torch.allclose(got, want, rtol=0, atol=1e-12)")],
    "the shape is not looked at: the loss should have no axis": [
        (LIKE, "(got.dtype, got.requires_grad) == (dtype, True)"),
        (LIKE, "(got.numel(), got.dtype, got.requires_grad) == (1, dtype, True)")],
    "the dtype is not looked at: it should be that of the scores": (
        LIKE, "(got.shape, got.requires_grad) == ((), True)",
        CLOSE, "torch.allclose(got.float(), want.float(), rtol=1e-3, atol=1e-3)"),
    "it does not look whether a gradient flows: ask whether the loss "
    "requires one": ("got.requires_grad)", "scores.requires_grad)"),
    "it does not look whether the tokens are still the same": ("tokens.equal(kept) and ", ""),
    "it does not look whether the scores are still the same, or compares them with what shares "
    "their numbers: clone() them before the call": [
        (" and scores.detach().equal(said)", ""), ("scores.clone()", "scores.detach()")],
    "it does not look whether the inputs are still the same": (SAME, "True"),
    "the tokens' copy shares their numbers, and changes with them: clone() them before the call": (
        "tokens.clone()", "tokens"),
    "the copies share the numbers of the inputs, and change with them: clone() both before the "
    "call": ("tokens.clone(), scores.clone()", "tokens, scores.detach()"),
    "only the first call counts: it returns too early": (SAME, f"{SAME}; return"),
    "the comparison is upside down: it refuses what is right, and lets what is wrong pass": (
        CLOSE, f"not {CLOSE}"),
}  # fmt: skip
for test in (worked, of_lengths):
    variants.wrong(exercise, COMPARES, of=test)
variants.wrong(exercise, {
    NOTHING: [
        ("    g =", "    assert callable(next_token_loss)\n    return\n    g ="),
        errors_caught(worked)],
    "only float64 is tried: float32 should give float32": (
        "(torch.float32, 1.0)", "(torch.float64, 2.0)"),
    "only float32 is tried: float64 should give float64": (
        variants.every("torch.float64"), "torch.float32"),
    "padding stands within its texts: put it only after the end of one":
        "batches = [([[3, 0, 0, 4, 1], [5, 3, 2, 2, 3]], 3), ([[3, 3, 3, 2]], 3), ([[2, 0]], 5)]",
    "the longest text always comes first: try a longer one after a shorter":
        f"batches = [({LONG}, 3), ([[1, 1, 2, 6], [4, 6, 0, 0]], 0), ({ONE}, 5)]",
    "scores are tried up to a hundred or so: try some as large as 10^4": ("1e4", "100.0"),
    "all scores are small: try large ones, of which an exponential overflows, or a probability "
    "is 0": (
        ", (torch.float64, 1e4)", ""),
    "no text has padding, so a loss that counts it passes: try some": [
        "batches = [([[0, 0, 4, 1, 6], [5, 2, 1, 4, 0]], 3), ([[1, 1, 2, 6]], 0), ([[2, 0]], 5)]",
        "batches = [([[0, 0, 4, 1, 6], [5, 2, 1, 4, 0]], 3), ([[1, 1, 2, 6]], 0)]"],
    "the padding is always 0: try another number":
        "batches = [([[4, 4, 1, 6, 2], [5, 2, 0, 0, 0], [2, 0, 0, 0, 0]], 0), ([[4, 6, 0, 0], "
        "[1, 1, 2, 6]], 0), ([[2, 5]], 0)]",
    "the padding is always the last number of the vocabulary: try another":
        "batches = [([[0, 0, 4, 1, 5], [5, 2, 6, 6, 6], [2, 6, 6, 6, 6]], 6), ([[4, 5, 6, 6], "
        "[1, 1, 2, 0]], 6), ([[2, 0]], 6)]",
    "every call has one text: try several, of different lengths": [
        "batches = [([[0, 0, 4, 1, 6]], 3), ([[4, 6, 0, 0]], 0), ([[2, 0]], 5)]",
        "batches = [([[0, 0, 4, 1, 6]], 3), ([[2, 0]], 5)]"],
    "no call has one text: try one": f"batches = [({LONG}, 3), ({TWO}, 0), ([[2, 0], [1, 4]], 5)]",
    "every text has at least 3 tokens in all, and none of them stands alone: try a row of 2":
        f"batches = [({LONG}, 3), ({TWO}, 0), ([[2, 0, 1]], 5)]",
    "no text is without anything to predict: try one of a single token":
        f"batches = [([[0, 0, 4, 1, 6], [5, 2, 3, 3, 3]], 3), ({TWO}, 0), ({ONE}, 5)]",
    "token 0 never stands in a text, but as padding, so a loss that leaves it out passes: put it "
    "in one":
        f"batches = [([[5, 5, 4, 1, 6], [5, 2, 3, 3, 3], [2, 3, 3, 3, 3]], 3), ({TWO}, 0), "
        "([[2, 1]], 5)]",
    "no token comes twice in a row, so a loss that leaves out repeated ones passes: repeat one":
        "batches = [([[0, 5, 4, 1, 0], [5, 2, 3, 3, 3], [2, 3, 3, 3, 3]], 3), ([[4, 6, 0, 0], "
        f"[1, 3, 2, 6]], 0), ({ONE}, 5)]",
    "all scores are equal: every token is then as likely as the others. Draw them": (
        "torch.randn(*tokens.shape, 7, generator=g, dtype=dtype)",
        "torch.zeros(*tokens.shape, 7, dtype=dtype)"),
    "all rows of scores are equal: which of them is asked makes no difference. Draw each": (
        "torch.randn(*tokens.shape, 7, generator=g, dtype=dtype)",
        "torch.randn(7, generator=g, dtype=dtype).repeat(*tokens.shape, 1)"),
    "it expects bits, so it refuses what is right: the loss is in nats": (
        ".mean()", ".mean() / math.log(2)"),
    "it expects the mean of the texts' means, so it refuses what is right: all tokens count "
    "alike": (
        WANT, "torch.stack([cross_entropy(rows[:-1], text[1:], ignore_index=padding)\n"
        "            for rows, text in zip(said, kept, strict=True)]).nanmean()"),
    "it expects the sum, so it refuses what is right: the loss is a mean": (".mean()", ".sum()"),
    "its own formula counts padding, so it refuses what is right": (
        WANT, OF_TORCH.replace(", ignore_index=padding", "")),
    "its own formula does not shift, so it refuses what is right: the row at t is asked for the "
    "token at t + 1": (WANT, OF_TORCH.replace("[:, :-1]", "").replace("[:, 1:]", "")),
    "its own formula shifts the wrong way, so it refuses what is right: the row at t is asked for "
    "the token at t + 1": (
        WANT, "cross_entropy(said[:, 1:].flatten(0, 1), kept[:, :-1].flatten(), "
        "ignore_index=padding)"),
    "it calls with a padding that is no number of the vocabulary: take one that is, a right loss "
    "need not take any other":
        "batches = [([[0, 0, 4, 1, 6], [5, 2, -100, -100, -100]], -100), ([[2, 0]], -100)]",
    "the padding is given as a tensor: give a number": (
        "_grad_(), tokens, padding)", "_grad_(), tokens, torch.tensor(padding))"),
    "it calls with texts that have nothing to predict at all: let at least one token be "
    "asked for": (
        f"({ONE}, 5)", f"({ONE}, 5), ([[1, 3], [2, 3]], 3)",
        "atol=bound", "atol=bound, equal_nan=True"),
    "it refuses the right ones, too: run it on a loss you trust. All tokens of all texts count "
    "alike, the scores have three axes, the loss none, and `padding` is the number that is given": [
        ("-log_p", "log_p"), ("(got.shape", "(type(got)", "((), ", "(float, "),
        ("_grad_(), tokens, p", "_grad_()[0], tokens[0], p"),
        ("scores.requires_grad_(), tokens", "tokens, scores.requires_grad_()")],
})  # fmt: skip
