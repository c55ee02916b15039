"""For each claim of the chapter positional, a wrong function that it must notice."""

import torch

from attncourse import english
from attncourse.dot_product import attention, attention_weights, causal_mask
from attncourse.positional import (
    LearnedEncoding,
    sinusoids,
    tree_depth,
    tree_distance,
)


def causal(q, k, v, mask):
    return attention(q, k, v, causal_mask(len(q), q.device))


def everything(n, device):
    return causal_mask(n, device) | True


def halves(n, d, device=None, **options):
    rows = sinusoids(n, d, device, **options)
    return torch.cat([rows[:, ::2], rows[:, 1::2]], dim=-1)


def sines_alone(n, d, device=None, **options):
    return sinusoids(n, d, device, **options)[:, ::2].repeat_interleave(2, dim=-1)


class Tied(LearnedEncoding):
    def forward(self, x, start=0):
        return super().forward(x, start) + self.table.sum(dim=0)


class Exact(torch.nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(d))

    def forward(self, x, start=0):
        return x + self.scale * sinusoids(x.shape[0], x.shape[1], x.device, start=start)


def in_order(parents):
    return torch.arange(len(parents), device=parents.device)


def evenly_spaced(base, offsets, d):
    return torch.outer(offsets, torch.linspace(1 / base, 1, d // 2).to(offsets)).cos().mean(-1)


# each claim, with a wrong function that it must notice
MODEL = english.model


def both_the_same(name, device=None):
    return MODEL("one_block", device)


FALSE_OF = {
    "a_trained_model_without_positions_sees_no_order": [
        ("attncourse.english.model", both_the_same),
        ("ORDERS", ("We have more people at work",) * 3),
    ],
    "order_is_invisible": ("attention", causal),
    "positions_make_order_visible": ("SinusoidalEncoding", lambda d: torch.nn.Identity()),
    "a_shift_is_a_rotation": ("sinusoids", halves),
    "products_depend_on_the_offset": ("sinusoids", sines_alone),
    "a_head_finds_the_word_before": [
        ("sinusoids", sines_alone),
        ("attention_weights", lambda q, k: attention_weights(q / 30, k)),
    ],
    "projections_hide_the_offset": ("sinusoids", sines_alone),
    "the_base_sets_the_range": [("sinusoids", sines_alone), ("products", evenly_spaced)],
    "a_row_has_mean_square_one_half": ("sinusoids", sines_alone),
    "a_table_learns_only_what_it_sees": ("LearnedEncoding", Tied),
    "an_mlp_drifts_beyond_training": ("MLPEncoding", Exact),
    "the_causal_mask_leaks_position": ("causal_mask", everything),
    "a_chain_is_the_sequence": ("tree_distance", lambda parents: -tree_distance(parents)),
    "tree_distance_is_a_distance": (
        "tree_distance",
        lambda parents: tree_depth(parents) - tree_depth(parents)[:, None],
    ),
    "a_tree_does_not_know_the_order": ("tree_depth", in_order),
}
