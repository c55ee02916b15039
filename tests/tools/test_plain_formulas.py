"""Formulas as text, in descriptions of pages and in what the search finds."""

import pytest

from tools.extensions.formulas import mathml
from tools.plain_formulas import formula_text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\frac{QK^\top}{\sqrt{d_k}}", "QKᵀ/√d_k"),
        (r"\sqrt{1/\tau} = 0.1 \ln s + 1", "√(1/τ) = 0.1 ln s + 1"),
        (r"\exp(q_i \cdot k_j / \sqrt d)", "exp(q_i ⋅ k_j/√d)"),
        (r"d_\text{model}^2", "d_model²"),
        (r"e^{s_j}", "e^(s_j)"),
        (r"10^{-25}", "10⁻²⁵"),
        (r"-1, 0, 1", "−1, 0, 1"),
        (r"{W_Q^i}^\top x_j y'", "W_Qⁱᵀ x_j y′"),
        (r"h_{t-1}", "h_(t−1)"),
        (r"\sigma(\tilde o_t)", "σ(õ_t)"),
        (r"\sum_{j=1}^n \mathit{reach}", "∑_(j=1)ⁿ reach"),
    ],
)
def test_a_formula_is_written_in_one_line_as_people_type_it(tex, text):
    assert formula_text(mathml(tex, display=False)["html"]) == text
