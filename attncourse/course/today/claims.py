"""The claims of the chapter today."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from attncourse.cost import count
from attncourse.course.claim import (
    Measured,
    above,
    at_most,
    below,
    between,
    claim,
    exactly,
)
from attncourse.course.dot_product.claims import normal
from attncourse.course.linear.claims import max_abs_diff
from attncourse.dot_product import attention, attention_weights, causal_mask, masked_softmax
from attncourse.efficient import cache_bytes, nystrom_attention
from attncourse.linear import delta_write
from attncourse.relative import rope
from attncourse.today import (
    absorbed_latent_attention,
    block_mask,
    choose_keys,
    delta_attention_chunkwise,
    delta_attention_recurrent,
    delta_attention_step,
    doubly_stochastic,
    gated_output,
    hyper_connection,
    index_scores,
    indexer_loss,
    key_value_attention,
    latent_attention,
    latent_cache_bytes,
    pool_rows,
    pooled_attention,
    pooled_attention_step,
    selected_attention,
    selected_mask,
    sink_attention,
    sink_weights,
    state_bytes,
    three_branches,
)

ROUNDING = at_most(1e-9, "rounding")
# DeepSeek-V3: heads, width of a head, of a latent vector, of a rotated key
HEADS, D, D_LATENT, D_ROTARY = 128, 128, 512, 64
# the indexer of DeepSeek-V3.2: heads, width, keys chosen
INDEX_HEADS, D_INDEX, CHOSEN = 64, 128, 2048


def doubles(g: torch.Generator, *shapes: Sequence[int]) -> list[Tensor]:
    """Normal numbers of these shapes, in float64."""
    return [normal(g, *shape).double() for shape in shapes]


def meta(*shape: int) -> Tensor:
    """A shape without numbers, for counting."""
    return torch.empty(*shape, device="meta")


def latent_inputs(make: Callable[..., Tensor], n: int, m: int) -> tuple:
    """Queries of n tokens, the latent vectors of m, matrices of the heads and the rotated part."""
    rotary = make(HEADS, n, D_ROTARY), make(m, D_ROTARY)
    weights = make(HEADS, D_LATENT, D), make(HEADS, D_LATENT, D)
    return make(HEADS, n, D), make(m, D_LATENT), *weights, rotary


@claim(
    "The absorbed form makes no key and no value, and gives the output of the plain one, with its "
    "gradients. In the sizes of DeepSeek-V3, it takes more than three times as many operations of "
    "matrix products to read a prompt of 4,096 tokens, but less than a hundredth of them to write "
    "the token after it.",
    source="DeepSeek-AI (2024), DeepSeek-V2, section 2.1.2; counted",
)
def absorbed_is_plain(g):
    shapes = (3, 5, 4), (7, 6), (3, 6, 4), (3, 6, 2), (3, 5, 2), (7, 2)
    q, latents, w_k, w_v, q_r, k_r = (x.requires_grad_() for x in doubles(g, *shapes))
    results = []
    for form in (latent_attention, absorbed_latent_attention):
        tensors = q, latents, w_k, w_v, q_r, k_r
        output = form(q, latents, w_k, w_v, (q_r, k_r))
        results.append([output, *torch.autograd.grad(output.square().sum(), tensors)])

    def ratio(n: int, m: int) -> float:
        plain, absorbed = (
            count(form, *latent_inputs(meta, n, m)).flops
            for form in (latent_attention, absorbed_latent_attention)
        )
        return absorbed / plain

    return Measured(
        {
            "operations, absorbed over plain, to write a token": (ratio(1, 4097), below(0.01)),
            "to read the prompt": (ratio(4096, 4096), above(3)),
            "outputs and gradients apart by": (
                max(max_abs_diff(*pair) for pair in zip(*results, strict=True)),
                ROUNDING,
            ),
        }
    )


@claim(
    "A layer of DeepSeek-V3 keeps 576 numbers for a token. Separate keys and values of its 128 "
    "heads would be 56.9 times as many, and 576 are as many as $2.25$ groups of heads would need.",
    source="DeepSeek-AI (2024), DeepSeek-V2, section 2.1.4 and table 1",
)
def a_latent_is_two_groups(g):
    latent = latent_cache_bytes(1, 1, D_LATENT, D_ROTARY, torch.bfloat16)
    separate, group = (cache_bytes(1, 1, groups, D, torch.bfloat16) for groups in (HEADS, 1))
    return Measured(
        {
            "numbers for a token": (latent / torch.bfloat16.itemsize, exactly(576)),
            "separate heads over latent vectors": (separate / latent, between(56.8, 57)),
            "as many as groups": (latent / group, exactly(2.25)),
        }
    )


def query_at(m: int) -> tuple:
    """Shapes that a query of DeepSeek-V3.2 meets at m tokens: of attention, of the indexer."""
    rows = meta(1, m, D_LATENT + D_ROTARY), meta(1, m, D_LATENT)
    index = meta(INDEX_HEADS, 1, D_INDEX), meta(m, D_INDEX), meta(INDEX_HEADS, 1)
    return (meta(HEADS, 1, D_LATENT + D_ROTARY), *rows), index


def select_and_attend(q: Tensor, k: Tensor, v: Tensor, index: tuple[Tensor, Tensor, Tensor]):
    """Attention to the keys that the indexer chooses."""
    return selected_attention(q, k, v, choose_keys(index_scores(*index), CHOSEN))


@claim(
    "In the sizes of DeepSeek-V3.2, a token written at 131,072 tokens takes less than a tenth of "
    "the operations of matrix products that attention to all of them takes, and reads less than a "
    "quarter of the numbers. But the cache grows by $128/576$, because every key stays, and one "
    "more beside it. At 2,048 tokens the indexer chooses all, and takes operations for nothing.",
    source="DeepSeek-AI (2025), section 3; counted",
)
def selection_saves_work_not_memory(g):
    def operations(m: int) -> float:
        (q, k, v), index = query_at(m)
        full = count(attention, q, *(x.expand(HEADS, -1, -1) for x in (k, v)))
        return count(select_and_attend, q, k, v, index).flops / full.flops

    m, row = 2**17, D_LATENT + D_ROTARY
    index_keys = query_at(m)[1][1].numel()
    return Measured(
        {
            "operations at 131,072 tokens, selected over full": (operations(m), below(0.1)),
            "numbers read": ((index_keys + CHOSEN * row) / (m * row), below(0.25)),
            "numbers kept": (1 + index_keys / (m * row), exactly(1 + 128 / 576)),
            "operations at 2,048 tokens": (operations(2048), above(1)),
        }
    )


def indexed_text(g: torch.Generator, n: int = 64) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens of width 8, the weights that four heads give them, and the causal mask."""
    x, w_q, w_k = normal(g, n, 8), normal(g, 4, 8, 4) / 2, normal(g, 4, 8, 4) / 2
    mask = causal_mask(n, g.device)
    return x, attention_weights(x @ w_q, x @ w_k, mask), mask


def share_of_chosen(scores: Tensor, weights: Tensor, mask: Tensor, count: int) -> float:
    """How much of the heads' weight lies on the chosen keys, over queries with more than those."""
    chosen = selected_mask(choose_keys(scores, count, mask), scores.shape[-1])
    return (weights.mean(0) * chosen).sum(-1)[count:].mean().item()


@claim(
    "A choice passes no gradient, so what an indexer computes gets none from the output of "
    "attention, but it does from the loss in which it is compared with the heads; and the heads "
    "get none from that loss. In 200 steps on a text of 64 tokens, an indexer of two heads comes "
    "to choose 8 keys that hold at least 0.05 more of the heads' weight than 8 random ones do. "
    "The best 8 hold still more.",
    source="DeepSeek-AI (2025), eq. 3 and 4; our own measurement",
)
def an_indexer_learns_from_the_heads(g):
    x, weights, mask = indexed_text(g)
    parts = [(normal(g, *shape) / 3).requires_grad_() for shape in ((2, 8, 4), (8, 4), (8, 2))]

    def scores() -> Tensor:
        w_q, w_k, w_w = parts
        return index_scores(x @ w_q, x @ w_k, (x @ w_w).mT)

    q = normal(g, 4, 64, 4).requires_grad_()
    output = selected_attention(q, q, q, choose_keys(scores(), 8, mask))
    from_output = torch.autograd.grad(output.sum(), parts, allow_unused=True)
    heads = weights.requires_grad_()
    from_loss = torch.autograd.grad(
        indexer_loss(scores(), heads, mask).mean(), [*parts, heads], allow_unused=True
    )
    optimizer = torch.optim.Adam(parts, lr=0.03)
    for _ in range(200):
        optimizer.zero_grad()
        indexer_loss(scores(), weights, mask).mean().backward()
        optimizer.step()
    at_random = share_of_chosen(normal(g, 64, 64), weights, mask, 8)
    learned = share_of_chosen(scores(), weights, mask, 8)
    best = share_of_chosen(weights.mean(0), weights, mask, 8)
    sizes = [0 if grad is None else grad.abs().max().item() for grad in (*from_output, *from_loss)]
    return Measured(
        {
            "weight on chosen keys, over random ones": (learned - at_random, above(0.05)),
            "the best, more than the chosen by": (best - learned, above(0)),
            "indexer's gradient, from the output": (sizes[:3], exactly(0)),
            "from the loss": (sizes[3:6], above(0)),
            "heads' gradient, from the loss": (sizes[6], exactly(0)),
        }
    )


def pooled(x: Tensor, scores: Tensor, size: int, width: int) -> Tensor:
    """Pooled attention of rows that are query, key and value at once."""
    rows = pool_rows(x, scores, x.new_zeros(size, x.shape[-1]))[None]
    return pooled_attention(x[None], x[None], x[None], rows, rows, size, width)[0]


@claim(
    "No output of pooled attention depends on a later token, and each depends on all earlier ones. "
    "With Nyström's landmarks, which are means of parts of the whole text, the first output "
    "depends on the last token.",
    source="DeepSeek-AI (2026), section 2.3; Xiong et al. (2021), eq. 13",
)
def pooled_keys_are_causal(g):
    x, scores = doubles(g, (12, 4), (12, 4))

    def influence(f: Callable[[Tensor], Tensor]) -> Tensor:
        """How strongly output i depends on token j."""
        return torch.autograd.functional.jacobian(f, x).abs().sum((1, 3))

    by_token = influence(lambda x: pooled(x, scores, 4, 4))
    landmarks = influence(lambda x: nystrom_attention(x, x, x, 4))
    return Measured(
        {
            "dependence on later tokens": (by_token.triu(1).max().item(), exactly(0)),
            "least on earlier ones": (by_token[causal_mask(12, g.device)].min().item(), above(0)),
            "with landmarks, of the first on the last": (landmarks[0, -1].item(), above(0)),
        }
    )


@claim(
    "With one row for 4 tokens and a window of 16, a layer keeps less than 0.3 of a row a token "
    "after 512 tokens. From there to 1,024 tokens, what is kept grows by a row for each 4 tokens, "
    "and the last token attends to fewer than 0.3 rows a token.",
    source="DeepSeek-AI (2026), section 2.3; counted in the state",
)
def a_pooled_cache_grows_slowly(g):
    x, scores = normal(g, 1024, 8), normal(g, 1024, 8)
    bias, empty = x.new_zeros(4, 8), x.new_zeros(0, 8)
    state, kept = (empty, empty, empty, empty), {}
    for n, (row, score) in enumerate(zip(x, scores, strict=True), start=1):
        state, _ = pooled_attention_step(state, row[None], row, score, bias, width=16)
        kept[n] = state_bytes(state) / state_bytes((row,))
    return Measured(
        {
            "kept after 512 tokens, over a row a token": (kept[512] / 512, below(0.3)),
            "rows more after 1,024": (kept[1024] - kept[512], exactly(128)),
            "rows attended to, over tokens": (
                (len(state[0]) + len(state[3])) / 1024, below(0.3),
            ),
        }
    )  # fmt: skip


@claim(
    "Token by token or in chunks of 16, the delta rule with a gate for each channel gives the same "
    "outputs and the same gradients. With gates that are all 1 it is the plain delta rule.",
    source="Kimi Team (2025), Kimi Linear, eq. 1 and 6-9",
)
def chunks_are_the_recurrence(g):
    q, k, v, gate, beta = doubles(g, (50, 6), (50, 6), (50, 3), (50, 6), (50,))
    tensors = q, normalize(k, dim=-1), v, gate.sigmoid(), beta.sigmoid()
    q, k, v, gate, beta = tensors = tuple(x.requires_grad_() for x in tensors)
    results = []
    for form in (delta_attention_recurrent, delta_attention_chunkwise):
        output = form(q, k, v, gate, beta)
        results.append([output, *torch.autograd.grad(output.square().sum(), tensors)])
    S, outputs = v.new_zeros(6, 3), []
    for q_i, *token in zip(q, k, v, beta, strict=True):
        S = delta_write(S, *token)
        outputs.append(q_i @ S)
    plain = delta_attention_chunkwise(q, k, v, torch.ones_like(gate), beta)
    return Measured(
        {
            "outputs and gradients apart by": (
                max(max_abs_diff(*pair) for pair in zip(*results, strict=True)),
                ROUNDING,
            ),
            "all gates 1, off the delta rule by": (
                max_abs_diff(plain, torch.stack(outputs)),
                ROUNDING,
            ),
        }
    )


def recalled_names(g: torch.Generator, gate: Tensor) -> list[float]:
    """The error of recall for what was stored first and for what was stored last.

    Four keys lie in the first 4 of 16 channels and come once, then 100 random keys in the other 12.
    """
    long_lived = torch.cat([torch.eye(4), torch.zeros(4, 12)], dim=-1).to(g.device)
    passing = torch.cat([torch.zeros(100, 4, device=g.device), normal(g, 100, 12)], dim=-1)
    k = torch.cat([long_lived, normalize(passing, dim=-1)]).double()
    v, S = normal(g, 104, 8).double(), k.new_zeros(16, 8)
    one = k.new_ones(())
    for i, (key, value) in enumerate(zip(k, v, strict=True)):
        # the keys that are to stay come first, before anything fades
        faded = gate if i >= 4 else torch.ones_like(gate)
        S, _ = delta_attention_step(S, key, key, value, faded.double(), one)
    errors = (k @ S - v).square().mean(-1)
    return [errors[:4].mean().item(), errors[-1].item(), S[4:].square().mean().item()]


@claim(
    "Four values are stored under keys in the first four channels, then 100 others in the rest. "
    "With a gate for each channel, 1 for the first four and 0.5 for the others, the four are "
    "recalled without error, and the old of the others has faded. With one gate of 0.5 for all "
    "channels the four are lost: their error is that of answering 0. With one gate of 1 they stay, "
    "but nothing fades: the mean square of the rest of the state is more than three times as "
    "large.",
    source="Kimi Team (2025), Kimi Linear, section 3: a gate for each channel; our own measurement",
)
def a_channel_can_keep_while_another_forgets(g):
    seed = g.initial_seed()
    kinds = {
        "each": torch.tensor([1.0] * 4 + [0.5] * 12),
        "one": torch.full((1,), 0.5),
        "none": torch.ones(1),
    }
    found = {
        name: recalled_names(torch.Generator(g.device).manual_seed(seed), gate.to(g.device))
        for name, gate in kinds.items()
    }
    return Measured(
        {
            "a gate for each channel, error of the first four": (found["each"][0], ROUNDING),
            "one gate of 0.5, error of the first four": (found["one"][0], above(0.3)),
            "error of the newest, all three": ([x[1] for x in found.values()], ROUNDING),
            "rest of the state, without gates over with them": (
                found["none"][2] / found["each"][2], above(3),
            ),
        }
    )  # fmt: skip


@claim(
    "A sink of score $b$ multiplies all weights of a query by one number, $\\sigma(\\ell - b)$, "
    "where $\\ell$ is the logarithm of the sum of the exponentials of its scores. So the output is "
    "that of attention, through a gate that is made from the scores.",
    source="OpenAI (2025), section 2.2; Qiu et al. (2025), eq. 5",
)
def a_sink_is_a_gate_made_by_scores(g):
    q, k, v, sink = doubles(g, (2, 9, 4), (2, 9, 4), (2, 9, 3), (2,))
    mask = causal_mask(9, g.device)
    scores = (q @ k.mT / 2).masked_fill(~mask, -torch.inf)
    share = (scores.logsumexp(-1) - sink[:, None]).sigmoid()[..., None]
    plain = attention(q, k, v, mask)
    with_sink = sink_attention(q, k, v, sink, mask)
    weights = sink_weights(q @ k.mT / 2, sink, mask)
    by_gate = gated_output(plain, torch.logit(share))
    return Measured(
        {
            "outputs apart by": (max_abs_diff(with_sink, by_gate), ROUNDING),
            "weights apart by": (
                max_abs_diff(weights, share * attention_weights(q, k, mask)), ROUNDING,
            ),
        }
    )  # fmt: skip


def trained_head(g: torch.Generator, how: str) -> tuple[float, float]:
    """Train a head that is to say nothing for half of its tokens; its error, and a weight.

    The others are to give the mean of the values of their kind so far. The weight is that of the
    first token, over the queries that should say nothing.
    """
    size, n, kinds, d = 64, 10, 4, 8
    shapes = (kinds + 2, d), (kinds + 2, d), (kinds + 2, 1), (kinds + 2, 1)
    w_q, w_k, w_v, w_gate = ((normal(g, *shape) / kinds**0.5).requires_grad_() for shape in shapes)
    sink = torch.zeros(size, device=g.device, requires_grad=True)
    optimizer = torch.optim.Adam([w_q, w_k, w_v, w_gate, sink], lr=0.1)
    mask = causal_mask(n, g.device)

    def loss_and_first_weight() -> tuple[Tensor, Tensor]:
        kind = torch.randint(kinds, (size, n), generator=g, device=g.device)
        value, speaks = normal(g, size, n, 1), torch.rand(size, n, 1, generator=g) < 0.5
        x = torch.cat([one_hot(kind, kinds), value, speaks], dim=-1)
        same = (kind[:, :, None] == kind[:, None]) & mask
        target = masked_softmax(torch.zeros_like(same, dtype=x.dtype), same) @ value * speaks
        scores = (x @ w_q) @ (x @ w_k).mT / d**0.5
        learned = sink.mean().expand(size) if how == "sink" else sink.new_full((size,), -torch.inf)
        weights = sink_weights(scores, learned, mask)
        output = weights @ (x @ w_v)
        output = gated_output(output, x @ w_gate) if how == "gate" else output
        first = weights[:, 1:, 0][~speaks[:, 1:, 0]].mean()
        return (output - target).square().mean(), first

    for _ in range(200):
        optimizer.zero_grad()
        loss_and_first_weight()[0].backward()
        optimizer.step()
    error, first = loss_and_first_weight()
    return error.item(), first.item()


@claim(
    "A small head is trained to give the mean of some earlier values for half of its tokens, and 0 "
    "for the others. Plain attention, whose weights sum to 1, does not learn it in 200 steps: its "
    "mean squared error stays above 0.05. With a gate or with a sink, the error falls below 0.02. "
    "Where nothing is to be said, the sink takes the weight away from the first token: less than "
    "0.1 of what plain attention gives it is left. With the gate, more than 0.3 of it is left, "
    "because the gate throws away what is read.",
    source="Qiu et al. (2025), section 4; Xiao et al. (2024); our own measurement",
)
def a_head_can_say_nothing(g):
    found = {how: trained_head(g, how) for how in ("plain", "gate", "sink")}
    return Measured(
        {
            "plain, error": (found["plain"][0], above(0.05)),
            "with a gate, with a sink, error": (
                [found["gate"][0], found["sink"][0]], below(0.02),
            ),
            "first token's weight, with a sink over plain": (
                found["sink"][1] / found["plain"][1], below(0.1),
            ),
            "with a gate over plain": (found["gate"][1] / found["plain"][1], above(0.3)),
        }
    )  # fmt: skip


@claim(
    "One of 16 blocks holds a key that equals the query; all other keys are random, of width 16. "
    "If blocks of 4 keys are judged by their mean, the right one is among the best three in more "
    "than 0.9 of 200 trials. With blocks of 64 keys, in less than 0.8. Judged by their best key, "
    "it is in more than 0.95 of them at either size.",
    source="Lu et al. (2025), eq. 6; MiniMax (2026), MiniMax Sparse Attention, for the best key",
)
def a_mean_hides_a_single_key(g):
    def found(size: int) -> tuple[float, float]:
        n, trials = 16 * size, 200
        q, k = 2 * normal(g, trials, n, 16), normal(g, trials, n, 16)
        # the last query looks for a key in block 5
        k[:, 5 * size] = q[:, -1]
        by_mean = block_mask(q, k, size, count=4)[:, -1, 5 * size]
        best = (q[:, -1:] @ k.mT).view(trials, 16, size).amax(-1)
        by_best = (best[:, :-1] > best[:, 5:6]).sum(-1) < 3
        return by_mean.double().mean().item(), by_best.double().mean().item()

    small, large = found(4), found(64)
    return Measured(
        {
            "found by the mean, blocks of 4": (small[0], above(0.9)),
            "blocks of 64": (large[0], below(0.8)),
            "found by the best key, both sizes": ([small[1], large[1]], above(0.95)),
        }
    )


@claim(
    "In three branches, the keys of the pooled blocks get a gradient from the output, although the "
    "blocks that their weights choose pass none. With the gate of the pooled branch shut, they "
    "get none at all.",
    source="Yuan et al. (2025), section 3.3",
)
def pooled_weights_learn_with_the_model(g):
    q, k, v = doubles(g, (2, 16, 4), (2, 16, 4), (2, 16, 4))
    pooled_k, pooled_v = (x.unflatten(-2, (-1, 4)).mean(-2).requires_grad_() for x in (k, v))

    def gradient(pooled_gate: float) -> float:
        gates = q.new_zeros(2, 16, 3)
        gates[..., 0] = pooled_gate
        output = three_branches(q, k, v, pooled_k, pooled_v, gates, size=4, width=4, count=2)
        return torch.autograd.grad(output.square().sum(), pooled_k)[0].abs().max().item()

    return Measured(
        {
            "gradient of the pooled keys": (gradient(0.0), above(0.01)),
            "with their gate shut": (gradient(-torch.inf), exactly(0)),
        }
    )


@claim(
    "If a row is key and value at once, and the output is turned back by the position of its "
    "query, three more tokens in front, which nobody sees, change nothing. If it is not turned "
    "back, outputs change by more than half of their size.",
    source="DeepSeek-AI (2026), section 2.3",
)
def a_turned_back_output_depends_on_offsets(g):
    q, x = doubles(g, (8, 16), (8, 16))
    further_q, further_x = (torch.cat([y.new_ones(3, 16), y]) for y in (q, x))
    mask = causal_mask(11, g.device) & (torch.arange(11, device=g.device) >= 3)
    here = key_value_attention(q, x, causal_mask(8, g.device))
    there = key_value_attention(further_q, further_x, mask)[3:]
    # turned by the positions again, as they were before the last step
    turned_here = rope(here, torch.arange(8, device=g.device))
    turned_there = rope(there, torch.arange(3, 11, device=g.device))
    change = (turned_there - turned_here).norm() / turned_here.norm()
    return Measured(
        {
            "turned back, outputs moved by": (max_abs_diff(here, there), ROUNDING),
            "not turned back, as a share of their size": (change.item(), above(0.5)),
        }
    )


@claim(
    "Through 60 layers, four streams are mixed by matrices of positive numbers drawn at random, "
    "and nothing is added. Where columns and rows are divided by their sums in turn, 20 times, no "
    "number becomes larger than the largest was, and the sum of the streams moves by less than a "
    "thousandth. Where they aren't, the streams grow by more than a factor of a million.",
    source="Xie et al. (2025)",
)
def doubly_stochastic_streams_do_not_grow(g):
    streams, scores = doubles(g, (4, 8), (60, 4, 4))
    nothing, zeros = torch.zeros_like, streams.new_zeros(4)

    def mixed(matrices: Tensor) -> Tensor:
        x = streams
        for matrix in matrices:
            x = hyper_connection(x, nothing, zeros, zeros, matrix)
        return x

    stochastic = mixed(doubly_stochastic(scores, steps=20))
    growth = mixed(scores.exp()).abs().max() / streams.abs().max()
    return Measured(
        {
            "largest number, after over before": (
                (stochastic.abs().max() / streams.abs().max()).item(), at_most(1),
            ),
            "sum of the streams, moved by": (
                max_abs_diff(stochastic.sum(0), streams.sum(0)), below(1e-3),
            ),
            "without the constraint, growth in powers of ten": (growth.log10().item(), above(6)),
        }
    )  # fmt: skip
