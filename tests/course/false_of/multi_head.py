"""For each claim of the chapter multi_head, a wrong function that it must notice."""

from types import SimpleNamespace

import torch
from torch import nn

from attncourse import english
from attncourse.cost import Cost
from attncourse.multi_head import MultiHeadAttention, join_heads, split_heads


class Viewed(MultiHeadAttention):
    """Cuts without the transpose: each head gets a stretch of the sequence."""

    def forward(self, x, context=None, mask=None):
        y = x if context is None else context
        q, k, v = (
            layer(z).reshape(*z.shape[:-2], self.heads, z.shape[-2], -1)
            for layer, z in ((self.w_q, x), (self.w_k, y), (self.w_v, y))
        )
        mask = None if mask is None else mask.unsqueeze(-3)
        return self.w_o(self.attend(q, k, v, mask).reshape(x.shape))


class Sliced(MultiHeadAttention):
    """Its values come from a head's own piece of the token, its queries and keys from all of it."""

    def forward(self, x, context=None, mask=None):
        q, k, v = (split_heads(z, self.heads) for z in (self.w_q(x), self.w_k(x), x))
        return self.w_o(join_heads(self.attend(q, k, v, mask)))


class Unmasked(MultiHeadAttention):
    """Hides nothing."""

    def forward(self, x, context=None, mask=None):
        return super().forward(x, context)


class Unbiased(MultiHeadAttention):
    """Has biases, and does not add that of the last matrix."""

    def forward(self, x, context=None, mask=None):
        return super().forward(x, context, mask) - self.w_o.bias.detach()


class Straight(MultiHeadAttention):
    """Projects the tokens and attends to nothing."""

    def forward(self, x, context=None, mask=None):
        return self.w_o(self.w_v(x))


class Rectified(MultiHeadAttention):
    """Keeps no negative number."""

    def forward(self, x, context=None, mask=None):
        return torch.relu(super().forward(x, context, mask))


class Skipping(MultiHeadAttention):
    """Has a skip inside."""

    def forward(self, x, context=None, mask=None):
        return x + super().forward(x, context, mask)


class Erasing(MultiHeadAttention):
    """Takes the token out of the sum that a skip makes."""

    def forward(self, x, context=None, mask=None):
        return super().forward(x, context, mask) - x


class Tabled(MultiHeadAttention):
    """Has a vector for each head."""

    def __init__(self, d_model, heads, **options):
        super().__init__(d_model, heads, **options)
        self.table = nn.Parameter(torch.zeros(heads, d_model))


class Bent(nn.Linear):
    """A map that is not linear."""

    def forward(self, x):
        return super().forward(x).tanh()


def renormalized_largest(weights, v):
    """The largest weights alone, made to sum to one: their mean differs."""
    largest_weights = weights * (weights >= weights.topk(v.shape[-1] + 1).values[-1])
    return largest_weights / largest_weights.sum()


HEADS = "attncourse.course.multi_head.claims.heads"
LAYER = f"{HEADS}.MultiHeadAttention"
WITHOUT_HEADS, HEAD_WEIGHTS = english.without, english.head_weights


def remove_no_head(model, heads):
    return WITHOUT_HEADS(model, [])


def remove_next_head(model, heads):
    return WITHOUT_HEADS(model, [(block, (head + 1) % 4) for block, head in heads])


# each claim with a wrong layer, or a wrong helper of the page, that it must notice
FALSE_OF = {
    "the_head_does_not_work_alone": ("attncourse.english.without", remove_no_head),
    "one_head_waits_for_a_word": [
        ("attncourse.english.without", remove_next_head),
        (
            "attncourse.english.head_weights",
            lambda model, token_ids: HEAD_WEIGHTS(model, token_ids).flip(2),
        ),
    ],
    "one_head_cannot_subtract": (LAYER, Skipping),
    "equals_torch": [(LAYER, Viewed), (LAYER, Unmasked), (LAYER, Unbiased)],
    "parameters_depend_on_the_width_alone": (LAYER, Tabled),
    "second_map_folds_into_the_first": (
        f"{HEADS}.nn",
        SimpleNamespace(**vars(nn) | {"Linear": Bent}),
    ),
    "a_head_is_two_products": (LAYER, Viewed),
    "layer_is_a_sum_over_heads": [(LAYER, Rectified), (LAYER, Unbiased)],
    "head_has_rank_d_v": (f"{HEADS}.split_heads", lambda x, heads: x.expand(heads, *x.shape)),
    "w_o_mixes_the_heads": (LAYER, Viewed),
    "every_head_reads_the_whole_token": (LAYER, Sliced),
    "heads_have_no_order": (LAYER, Viewed),
    "other_weights_give_the_same_output": [
        (f"{HEADS}.sparsify", renormalized_largest),
        (f"{HEADS}.sparsify", lambda weights, v: weights),
        (f"{HEADS}.attention_weights", lambda q, k: q @ k.mT),
    ],
    "heads_cost_no_operations": (
        f"{HEADS}.layer_cost",
        lambda n, d, heads: Cost(heads * n * n * d, n * n),
    ),
    "attention_cubes_the_distance": (LAYER, Straight),
    "attention_alone_collapses": (LAYER, Straight),
    "skips_slow_the_collapse": (LAYER, Skipping),
    "large_weights_collapse_in_spite_of_skips": (LAYER, Straight),
    "norm_before_the_layer_slows_the_collapse": (
        "attncourse.course.multi_head.claims.stacks.normalised",
        lambda x: x,
    ),
    "stream_remembers_its_tokens": (LAYER, Erasing),
}
