r"""Language models of English, their surprisal, and the roles of their heads.

$$\text{bits a character} = \frac{1}{\text{characters}} \sum_t -\log_2 p(y_t \mid y_1, \dots,
y_{t-1}), \qquad \text{perplexity} = 2^{\,\text{mean surprisal of a token}}$$

Source: Shannon (1948), section 6; Jelinek et al. (1977).
"""

from attncourse.language_model.back_off import BackOff
from attncourse.language_model.heads import head_weights, induction_score, offset_score, without
from attncourse.language_model.measures import (
    bits_by_window,
    bits_per_character,
    bootstrap_interval,
    perplexity,
    surprisal,
)
from attncourse.language_model.models import (
    LSTMLanguageModel,
    language_model,
    load_language_model,
    load_lstm,
)

__all__ = [
    "BackOff",
    "LSTMLanguageModel",
    "bits_by_window",
    "bits_per_character",
    "bootstrap_interval",
    "head_weights",
    "induction_score",
    "language_model",
    "load_language_model",
    "load_lstm",
    "offset_score",
    "perplexity",
    "surprisal",
    "without",
]
