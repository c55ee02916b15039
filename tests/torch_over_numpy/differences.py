"""What a page does not do as a notebook does: exercises that are not in it, and answers."""

# why an exercise is not answered in a page
EXCLUDED = {
    "NumberTranslator": "a trained model, which is judged by what it translates",
}
# by exercise, the answers that are judged otherwise, and why
DIFFERENT: dict[str, dict[str, str]] = {}
