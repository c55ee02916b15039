"""For each claim of the chapter language_model, mutants that it must notice."""

UNIFORM_WEIGHTS = ("dot_product.attention_weights", "q @ k.mT", "0 * q @ k.mT")
NOTHING_COUNTED = ("language_model.BackOff.learn", "range(first, len(row))", "range(0)")

FALSE_OF = {
    "tokens_come_back": (
        "data.byte_pairs.BytePairs.merge_steps", "encode()", 'encode("ascii", "replace")',
    ),
    "a_seen_text_looks_easy": NOTHING_COUNTED,
    "perplexity_needs_its_tokens": [
        NOTHING_COUNTED,
        ("course.language_model.claims.bits", "len(text.text)", "len(windows.encode(text.text))"),
        ("language_model.perplexity", ".exp2()", ".exp()"),
    ],
    "one_token_before_helps": NOTHING_COUNTED,
    "context_pays_less_and_less": UNIFORM_WEIGHTS,
    "the_decade_is_worth_bits": (
        "data.windows.Windower.prefix", "decade is None or not self.dated", "True",
    ),
    "heads_look_one_back_and_at_the_decade": UNIFORM_WEIGHTS,
    "copying_takes_two_blocks": (
        "dot_product.attention", "attention_weights(q, k, mask) @ v", "v",
    ),
}  # fmt: skip
