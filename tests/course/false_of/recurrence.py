"""For each claim of the chapter recurrence, mutants that it must notice."""

from torch.nn.utils import clip_grad_value_

WITHOUT_STATE = ("recurrence.rnn", "from_token + h @ w_hh.mT", "from_token")
WITH_SKIP = ("recurrence.rnn", "h = (from_token", "h = h + (from_token")
SWAPPED_GATES = ("recurrence.lstm", "i, f, g, o =", "i, o, g, f =")
UNNORMALIZED = ("dot_product.attention", "attention_weights(q, k, mask) @ v", "q @ (k.mT @ v)")

FALSE_OF = {
    "an_lstm_forgets_the_first_word_sooner": (
        "english.model_or_lstm",
        'lstm(device) if name == "lstm" else model(name, device)',
        'model("gpt", device) if name == "lstm" else lstm(device)',
    ),
    "both_equal_torch": SWAPPED_GATES,
    "one_word_at_two_places": WITHOUT_STATE,
    "a_state_reads_no_later_token": [
        WITHOUT_STATE, ("recurrence.rnn", "from_tokens.unbind", "from_tokens.flip(-2).unbind"),
    ],
    "a_state_is_a_bottleneck": WITHOUT_STATE,
    "one_state_keeps_one_word": [
        ("dot_product.attention_weights", "q @ k.mT", "0 * q @ k.mT"),
        # a state that holds every word
        ("course.recurrence.claims.lost_in_one_state", "eigenvalues[-8:]", "eigenvalues"),
    ],
    "paths_are_as_long_as_said": WITH_SKIP,
    "gradients_over_distance": ("recurrence.gradient_by_distance", "out[:, -1]", "out[:, 0]"),
    "one_matrix_shrinks_or_explodes": WITH_SKIP,
    "the_forget_gate_carries_the_gradient": [
        SWAPPED_GATES,
        (
            "course.recurrence.claims.gru",
            "token, state.expand(1, -1)", "state.expand(1, -1), token",
        ),
    ],
    "clipping_keeps_the_direction": ("course.recurrence.claims.clip_grad_norm_", clip_grad_value_),
    "truncation_forgets_what_the_state_remembers": [
        WITHOUT_STATE, ("course.recurrence.claims.states_in_pieces", ".detach()", ""),
    ],
    "products_that_must_wait": WITHOUT_STATE,
    "writing_is_one_by_one_in_both": ("recurrence.rnn", "(from_token + h @ w_hh.mT).tanh()", "h"),
    "operations_cross_where_n_is_d": UNNORMALIZED,
    "attention_keeps_a_number_for_each_pair": WITH_SKIP,
    "a_step_of_writing_grows_in_attention": [
        UNNORMALIZED,
        # each step reads all states so far
        ("recurrence.rnn", "h @ w_hh.mT", "(torch.stack([*states, h]) @ w_hh.mT).sum(0)"),
    ],
}  # fmt: skip
