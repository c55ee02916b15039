"""For each claim of the chapter language_model, a wrong function that it must notice."""

import torch

from attncourse.course.language_model import claims as page
from attncourse.data import BytePairs
from attncourse.language_model import language_model, without

LOADED, BITS, PAIRS = page.load_model, page.bits, page.windower().pairs


class Ascii(BytePairs):
    """A tokenizer that loses every character outside ASCII."""

    def encode(self, text: str) -> list[int]:
        return super().encode(text.encode("ascii", "replace").decode())


def untrained_model(device: torch.device):
    return language_model(page.windower().vocabulary).to(device).eval()


def bits_of_one_decade(model, texts, windows, device):
    """Every text as one of the same decade."""
    return BITS(model, [page.Address(1900, text.text) for text in texts], windows, device)


# each claim with a wrong part, or a wrong helper of the page, that it must notice
FALSE_OF = {
    "tokens_come_back": ("stored_pairs", lambda: Ascii([*PAIRS.merges])),
    "a_seen_text_looks_easy": (
        "count_back_off",
        lambda order, texts, windows: page.BackOff(order, windows.vocabulary),
    ),
    "perplexity_needs_its_tokens": [
        ("BytePairs", lambda pairs: PAIRS),
        ("bits", lambda model, texts, windows: model.vocabulary),
        ("perplexity", lambda scores, labels: page.surprisal(scores, labels).mean().exp().item()),
    ],
    "one_token_before_helps": (
        "count_back_off",
        lambda order, texts, windows: page.BackOff(1, windows.vocabulary),
    ),
    "context_pays_less_and_less": ("course_model", untrained_model),
    "the_decade_is_worth_bits": [("course_model", untrained_model), ("bits", bits_of_one_decade)],
    "heads_look_one_back_and_at_the_decade": [
        ("course_model", untrained_model),
        ("without", lambda model, heads: without(model, [])),
    ],
    "copying_takes_two_blocks": ("load_model", lambda name, device: LOADED("copier_1", device)),
}
