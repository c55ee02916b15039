"""What a page does not do as a notebook does: exercises that are not in it, and answers."""

# why an exercise is not answered in a page
EXCLUDED = {
    "NumberTranslator": "a trained model, which is judged by what it translates",
}
# by exercise, the answers that are judged otherwise, and why
DIFFERENT: dict[str, dict[str, str]] = {
    "effective_keys": {
        "some = weights.masked_fill(weights.sum(-1, keepdim=True) == 0, 1.0)\n"
        "count = torch.distributions.Categorical(probs=some).entropy().exp()":
            "torch.distributions is absent",
    },
    "linear_recurrence": {
        "*= a[..., :-reach, :] -> *= a[..., :-reach, :].clone()":
            "a page writes into a tensor only when it has read all, so that it does no more than "
            "the mistake beside it, which reads what it has written",
        "+= a[ -> = b[..., reach:, :] + a[; *= a -> = a[..., reach:, :] * a": "likewise",
    },
    "max_and_mean": {
        "mean = x.where(real, torch.nan).nanmedian(-2).values.where(count > 0, 0.0)":
            "nanmedian is absent",
    },
    "newton_inverse": {
        "return torch.linalg.pinv(a)": "the gradient of torch.linalg.pinv is absent",
    },
    "relative_values": {
        'sums = zeros.scatter_reduce(-1, index, weights, "mean")':
            "scatter_reduce has no mode mean",
        'sums = zeros.scatter_reduce(-1, index, weights, "amax")':
            "the gradient of scatter_reduce is absent",
    },
    "selected_keys": {
        "order = hidden.argsort(dim=-1, descending=True)":
            "every sort is stable, so equal scores come in the order of the keys",
        "index = hidden.topk(min(count, n), dim=-1).indices\n"
        "return torch.zeros_like(seen).expand(scores.shape).scatter(-1, index, True) & seen":
            "likewise",
    },
    "stretch_table": {
        "[None], size=n -> [None, :, None], size=(1, n); linear -> bicubic; [0] -> [0, :, 0]":
            "interpolate has no mode bicubic",
    },
    "test_rnn": {
        "[rnn(*inputs), expected(*before)] -> [rnn(*inputs), by_torch(*before)]; "
        "in (rnn, expected) -> in (rnn, by_torch)":
            "torch.nn.RNN is absent",
    },
}  # fmt: skip
