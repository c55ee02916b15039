"""The compared models: a GPT with a choice of attention, and an LSTM of the same size."""

from collections.abc import Callable, Mapping

from jaxtyping import Float, Int
from torch import Tensor, nn

from attncourse.transformer import Causal, Embedding, LanguageModel, RotaryAttention, causal_model


def rotary() -> Causal:
    """Causal attention with rotary positions."""
    return Causal(RotaryAttention())


def language_model(
    vocabulary: int,
    d_model: int = 128,
    heads: int = 4,
    depth: int = 4,
    attend: Callable[[], Callable[..., Tensor]] = rotary,
    groups: int | None = None,
) -> LanguageModel:
    """A GPT with rotary positions, or with the attention that `attend` makes.

    Source: Radford et al. (2019), section 2.3; Su et al. (2021), section 3.2.2.
    """
    return causal_model(embedding(vocabulary, d_model), heads, depth, attend, groups=groups)


class LSTMLanguageModel(nn.Module):
    """A language model of stacked LSTM layers.

    Source: Hochreiter & Schmidhuber (1997); as a language model: Sundermeyer et al. (2012).
    """

    def __init__(self, vocabulary: int, d_model: int, hidden: int, layers: int = 2):
        super().__init__()
        self.embedding = embedding(vocabulary, d_model, std=0.3)
        self.lstm = nn.LSTM(d_model, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, d_model)

    def forward(self, tokens: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n vocabulary"]:
        """Row t has the scores of token t + 1, given the tokens up to t."""
        return self.embedding.scores(self.out(self.lstm(self.embedding(tokens))[0]))


def embedding(vocabulary: int, d_model: int, std: float = 0.02) -> Embedding:
    """An embedding with this standard deviation; a small one makes initial predictions uniform."""
    table = Embedding(vocabulary, d_model)
    nn.init.normal_(table.table.weight, std=std)
    return table


def load_language_model(
    weights: Mapping[str, Tensor], heads: int, attend: Callable[[], Callable[..., Tensor]] = rotary
) -> LanguageModel:
    """A `language_model` with these weights, and the sizes of their shapes."""
    vocabulary, d = weights["embedding.table.weight"].shape
    depth = sum(name.endswith("attention.part.w_q.weight") for name in weights)
    model = language_model(vocabulary, d, heads, depth, attend)
    model.load_state_dict(weights)
    return model.eval()


def load_lstm(weights: Mapping[str, Tensor]) -> LSTMLanguageModel:
    """An LSTM language model with these weights, and the sizes of their shapes."""
    vocabulary, d = weights["embedding.table.weight"].shape
    hidden = weights["out.weight"].shape[1]
    layers = sum(name.startswith("lstm.weight_hh") for name in weights)
    model = LSTMLanguageModel(vocabulary, d, hidden, layers)
    model.load_state_dict(weights)
    return model.eval()
