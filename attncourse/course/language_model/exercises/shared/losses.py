"""What a learner's test meets: right losses of the next token and, made of the first, wrong ones.

Each is handed over as its source, so it stands alone.
"""

import torch


def plain(scores, tokens, padding):
    log_p = scores[:, :-1].log_softmax(dim=-1)
    asked = tokens[:, 1:]
    losses = -log_p.gather(-1, asked[..., None])[..., 0]
    real = asked != padding
    loss = (losses * real).sum() / real.sum()
    return loss


def by_cross_entropy(scores, tokens, padding):
    rows, asked = scores[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(rows, asked, ignore_index=padding)


def token_by_token(scores, tokens, padding):
    losses = []
    for rows, text in zip(scores, tokens.tolist(), strict=True):
        for row, token in zip(rows[:-1], text[1:], strict=True):
            if token != padding:
                losses.append(row.logsumexp(-1) - row[token])
    return sum(losses) / len(losses)


def of_what_is_real(scores, tokens, padding):
    real = tokens[:, 1:] != padding
    rows = scores[:, :-1][real].log_softmax(dim=-1)
    return -rows[torch.arange(len(rows)), tokens[:, 1:][real]].mean()


def with_a_padding_more(scores, tokens, padding):
    asked = torch.cat([tokens[:, 1:], torch.full_like(tokens[:, :1], padding)], dim=1)
    one_hot = torch.nn.functional.one_hot(asked, scores.shape[-1]).to(scores.dtype)
    one_hot = one_hot * (asked != padding)[..., None]
    ahead = scores - scores.detach().amax(dim=-1, keepdim=True)
    log_p = ahead - ahead.exp().sum(dim=-1, keepdim=True).log()
    return -(log_p * one_hot).sum() / one_hot.sum()


def of_lengths(scores, tokens, padding):
    # padding stands only after the end, so the first one says where that is
    n, ended = tokens.shape[1], tokens == padding
    lengths = torch.where(ended.any(dim=1), ended.long().argmax(dim=1), n)
    log_p = scores.log_softmax(dim=-1)
    total = sum(
        -log_p[i, t - 1, tokens[i, t]]
        for i, length in enumerate(lengths.tolist())
        for t in range(1, length)
    )
    return total / (lengths - 1).clamp(min=0).sum()


def by_a_set(scores, tokens, padding):
    left_out, losses = {padding}, []
    for rows, text in zip(scores.log_softmax(dim=-1), tokens.tolist(), strict=True):
        losses += [-row[y] for row, y in zip(rows, text[1:], strict=False) if y not in left_out]
    return torch.stack(losses).mean()


ROWS, ASKED, REAL = "scores[:, :-1]", "tokens[:, 1:]", "asked != padding"
LOG_P, LOSS = "scores[:, :-1].log_softmax(dim=-1)", "(losses * real).sum() / real.sum()"
LOSSES, RETURN = "-log_p.gather(-1, asked[..., None])[..., 0]", "return loss"
OF_TEXTS = "(losses * real).sum(1) / real.sum(1)"
OF_REAL_TEXTS = f"{OF_TEXTS}.clamp(min=1)"
EVERY_ROW = LOG_P, "scores.log_softmax(dim=-1)"
RIGHT = {
    "a right loss": plain,
    "a right loss, made with torch's cross-entropy": by_cross_entropy,
    "a right loss, added up token by token": token_by_token,
    "a right loss, which looks only at what is not padding": of_what_is_real,
    "a right loss, which takes the lengths from the first padding": of_lengths,
    "a right loss, which leaves out a set of numbers": by_a_set,
    "a right loss, made with one-hot rows": with_a_padding_more,
    "a right loss, the mean of what is not padding": (LOSS, "losses[real].mean()"),
    "a right loss, made from the means of texts, each weighted by its tokens": (
        LOSS, f"({OF_REAL_TEXTS} * real.sum(1)).sum() / real.sum()"),
}  # fmt: skip
# what each wrong one does, and the edits that make it of the plain one
WRONG = {
    "asks each row for the token that it has read": (*EVERY_ROW, ASKED, "tokens"),
    "asks each row but the first for the token that it has read": (
        ROWS, "scores[:, 1:]"),
    "asks each row but the last for the token that it has read": (ASKED, "tokens[:, :-1]"),
    "asks each row for the token before": (ROWS, "scores[:, 1:]", ASKED, "tokens[:, :-1]"),
    "asks the last row for the first token": (
        *EVERY_ROW, ASKED, "tokens.roll(-1, 1)"),
    "asks the last row of a text for the first token of the next text": (
        *EVERY_ROW, ASKED, "tokens.flatten().roll(-1).view(tokens.shape)"),
    "asks the last row for the last token": (
        *EVERY_ROW, ASKED, "torch.cat([tokens[:, 1:], tokens[:, -1:]], 1)"),
    "asks each row for the token after the next": (
        ROWS, "scores[:, : max(1, tokens.shape[1] - 2)]",
        ASKED, "tokens[:, min(2, tokens.shape[1] - 1) :]"),
    "never asks for the second token": (
        LOSS, "(losses * real)[:, min(1, losses.shape[1] - 1) :].sum() / "
        "real[:, min(1, losses.shape[1] - 1) :].sum()"),
    "never asks for the token in the last place": (
        LOSS, "(losses * real)[:, : max(1, losses.shape[1] - 1)].sum() / "
        "real[:, : max(1, losses.shape[1] - 1)].sum()"),
    "counts padding like tokens": (REAL, "asked == asked"),
    "counts the padding right after a text": (REAL, "tokens[:, :-1] != padding"),
    "leaves out the last token before the padding": (
        REAL, "(asked != padding) & (tokens[:, 2:].roll(0) != padding if asked.shape[1] < 2 else "
        "torch.cat([tokens[:, 2:] != padding, asked[:, -1:] == asked[:, -1:]], 1))"),
    "takes 0 for the padding": (REAL, "asked != 0"),
    "leaves out token 0 as well as the padding": (REAL, "(asked != padding) & (asked != 0)"),
    "takes the last number of the vocabulary for the padding": (
        REAL, "asked != scores.shape[-1] - 1"),
    "takes the last token of the first row for the padding": (REAL, "asked != tokens[0, -1]"),
    "takes -1 for the padding": (REAL, "asked != -1"),
    "uses the padding of the first text for all texts": (
        REAL, "(asked != padding)[:1].expand_as(asked)"),
    "cuts all texts to the length of the shortest": (
        REAL, "(asked != padding).all(0).expand_as(asked)"),
    "leaves out a token that repeats the one before": (
        REAL, "(asked != padding) & (asked != tokens[:, :-1])"),
    "divides by all places, padding included": (LOSS, "(losses * real).sum() / real.numel()"),
    "divides by the number of all tokens, the first ones included": (
        LOSS, "(losses * real).sum() / (tokens != padding).sum()"),
    "divides by the number of texts": (LOSS, "(losses * real).sum() / len(tokens)"),
    "divides by the length of the texts": (LOSS, "(losses * real).sum() / real.any(0).sum()"),
    "gives the sum": (LOSS, "(losses * real).sum()"),
    "takes the mean of the means of texts": (
        LOSS, f"({OF_REAL_TEXTS})[real.any(1)].mean()"),
    "takes the mean of the means of places": (
        LOSS, "((losses * real).sum(0) / real.sum(0).clamp(min=1))[real.any(0)].mean()"),
    "divides 0 by 0 for a text with nothing to predict": (
        LOSS, f"(({OF_TEXTS}) * real.sum(1)).sum() / real.sum()"),
    "gives bits": (RETURN, "return loss / torch.tensor(2.0).log().item()"),
    "gives a logarithm to base 10": (RETURN, "return loss / torch.tensor(10.0).log().item()"),
    "has the wrong sign": (RETURN, "return -loss"),
    "gives the perplexity": (RETURN, "return loss.exp()"),
    "takes probabilities instead of their logarithms": ("-log_p.gather", "-log_p.exp().gather"),
    "takes 1 minus the probability": ("-log_p.gather", "1 - log_p.exp().gather"),
    "gives the share of tokens that are not the likeliest": (
        LOSSES, "log_p[..., 0] * 0 + (log_p.argmax(-1) != asked)"),
    "does not normalise the scores": (".log_softmax(dim=-1)", ""),
    "normalises over the places": ("log_softmax(dim=-1)", "log_softmax(dim=1)"),
    "normalises over the texts": ("log_softmax(dim=-1)", "log_softmax(dim=0)"),
    "takes a softmax of a softmax": (
        "log_softmax(dim=-1)", "softmax(dim=-1).log_softmax(dim=-1)"),
    "takes a sigmoid instead of the softmax": (".log_softmax(dim=-1)", ".sigmoid().log()"),
    "halves the scores": (LOG_P, "(scores[:, :-1] / 2).log_softmax(dim=-1)"),
    "overflows where scores are large": (
        LOG_P, "scores[:, :-1] - scores[:, :-1].exp().sum(-1, keepdim=True).log()"),
    "rounds small probabilities to 0, whose logarithm is infinite": (
        "log_softmax(dim=-1)", "softmax(dim=-1).log()"),
    "adds a small number to each probability": (
        ".log_softmax(dim=-1)", ".softmax(dim=-1).add(1e-12).log()"),
    "caps the loss of a token at 100": (LOSSES, f"({LOSSES}).clamp(max=100)"),
    "cuts the scores off at 30": (LOG_P, "scores[:, :-1].clamp(-30, 30).log_softmax(dim=-1)"),
    "cuts the scores off at 1000": (
        LOG_P, "scores[:, :-1].clamp(-1000, 1000).log_softmax(dim=-1)"),
    "smooths the labels": (LOSSES, f"0.9 * ({LOSSES}) - 0.1 * log_p.mean(-1)"),
    "looks at the first text only": (
        LOSS, "(losses * real)[:1].sum() / real[:1].sum().clamp(min=1)"),
    "looks at the last text only": (
        LOSS, "(losses * real)[-1:].sum() / real[-1:].sum().clamp(min=1)"),
    "looks at the last token of each text only": (
        LOSS, "(losses * real).gather(1, (real.sum(1, keepdim=True) - 1).clamp(min=0)).mean()"),
    "takes the median": (LOSS, "losses[real].median()"),
    "takes the largest loss": (LOSS, "losses[real].max()"),
    "always returns float32": (RETURN, "return loss.float()"),
    "always returns float64": (RETURN, "return loss.double()"),
    "computes in 16 bits": (LOG_P, f"{ROWS}.bfloat16().log_softmax(dim=-1).to(scores.dtype)"),
    "is half a hundredth too large": (RETURN, "return loss + 0.005"),
    "is half a hundredth too small": (RETURN, "return loss - 0.005"),
    "gives a loss for each token": (RETURN, "return losses * real"),
    "gives a loss for each text": (RETURN, f"return {OF_TEXTS}"),
    "has an axis of size 1": (RETURN, "return loss[None]"),
    "gives a plain number": (RETURN, "return loss.item()"),
    "lets no gradient through": (RETURN, "return loss.detach()"),
    "makes its numbers anew, so no gradient flows": (
        LOG_P, f"torch.tensor({LOG_P}.tolist(), dtype=scores.dtype)"),
    "writes into the tokens": (
        RETURN, "tokens.masked_fill_(tokens == padding, -100)\n    return loss"),
    "writes the shift into the tokens": (
        RETURN, "tokens[:, :-1] = tokens[:, 1:].clone()\n    return loss"),
    "writes padding over the first tokens": (RETURN, "tokens[:, 0] = padding\n    return loss"),
    "moves the tokens by one place": (
        RETURN, "tokens.copy_(tokens.roll(1, 1))\n    return loss"),
    "writes into the last scores of each text": (
        RETURN, "scores.detach()[:, -1] = 0\n    return loss"),
    "writes into the scores": (
        RETURN, "scores.detach().sub_(scores.detach().amax(-1, keepdim=True))\n    return loss"),
    "fails on a single text": ("    real", "    losses[1]\n    real"),
    "fails where a longer text comes after a shorter one": (
        "    real", "    lengths = (tokens != padding).sum(1)\n"
        "    assert not (lengths.diff() > 0).any()\n    real"),
    "needs more than two tokens": ("    real", "    losses[:, 1]\n    real"),
}  # fmt: skip
