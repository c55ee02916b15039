"""For each claim of the chapter tasks, a wrong function that it must notice."""

import torch

from attncourse.course.tasks import claims as page
from attncourse.dot_product import attention
from attncourse.relative import relative_attention
from attncourse.transformer import Causal


def label_by_word(g: torch.Generator, texts: int) -> page.Made:
    """Labels by the word itself, not by the one before it."""
    words = page.whole_numbers(g, page.WORDS, texts, 10)
    return page.Made(page.of_words(words), (words >= page.WORDS // 2).long())


# each claim with a wrong part, or a wrong helper of the page, that it must notice
FALSE_OF = {
    "padding_is_left_out": (
        "attncourse.tasks.models.mean_of_tokens",
        lambda rows, real: rows.mean(-2),
    ),
    "order_needs_positions": [
        ("attention", Causal()),
        ("relative", lambda: attention),
    ],
    "labels_may_need_a_neighbour": [
        ("relative", lambda: attention),
        ("after_the_word_before", label_by_word),
    ],
    "a_bag_is_blind_to_order": [
        ("relative", lambda: attention),
        ("Alone", lambda: page.encoder(page.relative())),
    ],
    "choosing_on_the_test_set_deceives": (
        "best_words",
        lambda texts, labels: torch.arange(20, device=texts.device),
    ),
    "exact_match_falls_with_the_length": (
        "exact_matches",
        lambda outputs, labels: (outputs == labels).double().mean(-1) > 0.9,
    ),
    "stopping_is_learned": [
        ("exact_matches", lambda outputs, labels: outputs[:, 0] == labels[:, 0]),
        ("relative", lambda: attention),
    ],
    "equal_models_differ": (
        "means",
        lambda g, seeds, times: torch.randn(times, device=g.device, generator=g),
    ),
    "a_share_is_uncertain": ("share", lambda right: right.double()[:, :30].mean(-1)),
    "unit_values_show_the_weights": [
        (
            "relative_attention",
            lambda q, k, v, a_k, a_v: relative_attention(q, k, v, a_k.flip(0), a_v),
        ),
        ("attention", lambda q, k, v: attention(2 * q, k, v)),
    ],
}
