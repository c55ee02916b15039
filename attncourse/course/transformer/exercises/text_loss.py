"""Exercise text_loss: the loss of a small decoder, which asks for what it has just read."""

import torch

from attncourse.course.dot_product.exercises.shared.masked_softmax import row_by_row
from judge import variants
from judge.exercise import Case, Exercise

LOOP = "it loops over positions or texts: shift all of them at once"
exercise = Exercise.read(__name__, generic_hints={"loops": LOOP, "loops_over_a_batch": LOOP})
exercise.stub(variants.stub(exercise))
exercise.valid(variants.worked(exercise))


@exercise.reference
def prefix_by_prefix(tokens, table, w_q, w_k, w_v):
    losses, n = [], tokens.shape[-1]
    for text in tokens.reshape(-1, n).tolist():
        loss = 0
        for i in range(1, n):
            x = table[text[:i]]
            weights = row_by_row(x[-1:] @ w_q.mT @ (x @ w_k.mT).mT / len(w_q) ** 0.5)
            scores = (x[-1:] + weights @ (x @ w_v.mT)) @ table.mT
            loss = loss + (scores.logsumexp(-1) - scores[:, text[i]]) / (n - 1)
        losses.append(loss)
    return torch.cat(losses).reshape(tokens.shape[:-1])


def draw_inputs(draw, *batch, n, d=6, d_k=4, vocabulary=9, scale=1.0):
    """Texts without a token twice in a row, the embedding table and the three matrices."""
    steps = torch.randint(1, vocabulary, (*batch, n), generator=draw.generator)
    table = draw.normal(vocabulary, d) / 2
    w_q, w_k, w_v = (draw.normal(width, d) / d**0.5 for width in (d_k, d_k, d))
    return steps.cumsum(-1) % vocabulary, table, scale * w_q, w_k, w_v


@exercise.cases
def cases(draw):
    n = draw.integer(5, 7)
    inputs = draw_inputs(draw, 3, n=n)
    yield Case(f"3 texts of {n} tokens", inputs, longer=draw_inputs(draw, 4, n=48))
    yield Case(f"one text of {n} tokens", draw_inputs(draw, n=n))
    yield Case("two leading axes", draw_inputs(draw, 2, 3, n=5))
    yield Case("as many texts as tokens", draw_inputs(draw, 5, n=5))
    yield Case("two tokens", draw_inputs(draw, 3, n=2))
    yield Case("all sizes 4", draw_inputs(draw, 4, n=4, d=4, vocabulary=4))
    yield Case("one token again and again", (0 * inputs[0] + 2, *inputs[1:]))
    _, *large = draw_inputs(draw, n=2, scale=1e12)
    # a token that comes twice would have two scores that differ by rounding alone
    distinct_tokens = draw.normal(2, 9).argsort(-1)
    yield Case("scores 10^12 times larger", (distinct_tokens, *large), gradient=False)
    tokens, table, *matrices = draw_inputs(draw, 2, n=5)
    yield Case("very likely and very unlikely tokens", (tokens, 50 * table, *matrices),
               gradient=False)  # fmt: skip


WHOLE = "return -log_p.gather(-1, asked)[..., 0].mean(dim=-1)"
UNSHIFTED = "log_p[..., :-1, :]", "log_p", "tokens[..., 1:, None]", "tokens[..., None]"
# the weights of a row that may attend nowhere are zeros
ZEROS = "softmax(dim=-1) @ v", "softmax(dim=-1).nan_to_num(0.0) @ v"
NOT_ITS_OWN = " & ~torch.eye(scores.shape[-1], dtype=torch.bool, device=x.device)"
variants.right(exercise,
    # the last token is not even read
    ("table[tokens]", "table[tokens[..., :-1]]", "log_p[..., :-1, :]", "log_p"),
    "asked = tokens.roll(-1, -1)[..., None]\n"
    "return -log_p.gather(-1, asked)[..., :-1, 0].mean(dim=-1)",
    "rows = (x @ table.T)[..., :-1, :].flatten(0, -2)\n"
    "losses = torch.nn.functional.cross_entropy(rows, asked.flatten(), reduction='none')\n"
    "return losses.reshape(*tokens.shape[:-1], -1).mean(-1)",
    # the rows stay, and the tokens that are read move: the first is a place that is left out
    ("table[tokens]", "table[tokens.roll(1, -1)]",
     ".tril()", ".tril() & (torch.arange(tokens.shape[-1], device=x.device) > 0)",
     *ZEROS, "[..., :-1, :]", "[..., 1:, :]"),
)  # fmt: skip
variants.wrong(exercise, {
    "the shift goes the wrong way: ask the row at i, which has read token i, for token i + 1": (
        "[..., :-1, :]", "[..., 1:, :]", "[..., 1:, None]", "[..., :-1, None]"),
    "rows and tokens are shortened at the same end, so each row is still asked for what it has "
    "read: it should be asked for what comes next": [
        "asked = tokens[..., :-1, None]", ("[..., :-1, :]", "[..., 1:, :]")],
    "the last row is asked for the first token: nothing comes after it, so leave it out":
        f"asked = tokens.roll(-1, -1)[..., None]\n{WHOLE}",
    "the last row is asked for the last token, which it has read: leave it out":
        f"asked = torch.cat([tokens[..., 1:], tokens[..., -1:]], -1)[..., None]\n{WHOLE}",
    "the shift is too far: the row at i should be asked for token i + 1": (
        "[..., :-1, :]", "[..., : max(1, tokens.shape[-1] - 2), :]",
        "[..., 1:, None]", "[..., min(2, tokens.shape[-1] - 1) :, None]"),
    "the mask hides a token from itself, and x still has it: the labels are what has to move": [
        (*UNSHIFTED, ".tril()", ".tril(-1)", *ZEROS),
        ("[..., :-1, :]", "[..., 1:, :]", ".tril()", ".tril(-1)")],
    "the first row may attend to nothing: a row may read its own token. Look at what it is asked "
    "for": [(*UNSHIFTED, ".tril()", ".tril(-1)"), (".tril()", ".tril(-1)")],
    "a row now reads all tokens but its own: the mask was right, look at what a row is asked for": [
        (".tril()", NOT_ITS_OWN), (*UNSHIFTED, ".tril()", NOT_ITS_OWN)],
    "labels and mask have both moved: put the mask back, a row may read its own token, only not "
    "the next": (
        ".tril()", ".tril(-1)", *ZEROS),
    "the mask now shows the token that is asked for: let a row read the tokens up to its own": (
        ".tril()", ".tril(1)"),
    "there is no mask any more, so each row reads the token that it is asked for: put the "
    "mask back": (
        ".masked_fill(~mask, -torch.inf)", ""),
    "the mask is upside down: let a row read earlier tokens, not later ones":
        (".tril()", ".triu()"),
    "x is no longer added: put it back, a row may read its own token, and is not asked for that": (
        "x = x + scores", "x = scores"),
    "the inputs are shifted and the labels as well, which leaves a token between them: shift only "
    "one of the two": (
        "table[tokens]", "table[tokens.roll(1, -1)]"),
    "the sum is divided by n: divide it by n - 1, as so many of n tokens are asked for": (
        ".mean(dim=-1)", ".sum(dim=-1) / tokens.shape[-1]"),
    "the losses are summed up: take their mean, as the given code does": (
        ".mean(dim=-1)", ".sum(dim=-1)"),
    "the mean runs over the whole batch: give each text its own": [
        (".mean(dim=-1)", ".mean().expand(tokens.shape[:-1])"), (".mean(dim=-1)", ".mean()")],
    "the losses of the tokens come back: return their mean for each text": (".mean(dim=-1)", ""),
    "only the last token is asked for: ask for each but the first": (
        "[..., 0].mean(dim=-1)", "[..., -1, 0]"),
    "only the second token is asked for: ask for each but the first": (
        "[..., 0].mean(dim=-1)", "[..., 0, 0]"),
    "the sign is wrong: a loss should be minus the mean of the log-probabilities":
        ("-log_p", "log_p"),
    "these are probabilities: make the loss of their logarithms": ("log_softmax", "softmax"),
    "the scores are no longer normalised: log_softmax was right, leave it": "log_p = x @ table.T",
    "log_softmax runs over the positions: let it run over the vocabulary, as in the given code": (
        "log_softmax(dim=-1)", "log_softmax(dim=-2)"),
    "the logarithm of a probability that is rounded to 0 is -inf: log_softmax was right, "
    "leave that":
        "log_p = (x @ table.T).softmax(dim=-1).log()",
    "repeated tokens are left out: ask for each token but the first": (
        ".mean(", ".where(tokens[..., 1:] != tokens[..., :-1], 0.0).mean("),
    "token 0 is left out: there is no padding, so ask for each token but the first": (
        ".mean(dim=-1)", ".where(asked[..., 0] != 0, 0.0).sum(dim=-1) / "
        "(asked[..., 0] != 0).sum(dim=-1).clamp(min=1)"),
    "the scores are no longer scaled: divide by the root of a key's width": "scores = q @ k.mT",
    "the scores are scaled by the width of x: divide by the root of a key's width": (
        "/ q.shape[-1]", "/ x.shape[-1]"),
    "the axis of the positions is counted from the front: count it from the end": (
        "[..., :-1, :]", "[:, :-1]", "[..., 1:, None]", "[:, 1:, None]"),
    LOOP: "losses = (log_p[..., i, :].gather(-1, tokens[..., i + 1, None])[..., 0]\n"
        "          for i in range(tokens.shape[-1] - 1))\n"
        "return -sum(losses) / (tokens.shape[-1] - 1)",
    "no gradient reaches the table as the output matrix: don't detach anything": (
        "x @ table.T", "x @ table.detach().T"),
    "no gradient reaches the table through what is read: don't detach anything": (
        "table[tokens]", "table[tokens].detach()"),
})  # fmt: skip
