r"""One kind of encoder, three output shapes: the models of three tasks (chapter: tasks).

$$\text{a label per token: } W h_t + b, \qquad
\text{a label per sequence: } W \, \frac{1}{n} \sum_t h_t + b, \qquad
\text{a sequence: } p(y_{t+1} \mid y_1, \dots, y_t, h)$$

Here $h_t$ is the row of token $t$ that the encoder gives.
Source: Vaswani et al. (2017), section 3; the trees: Wang et al. (2019).
"""

from attncourse.tasks.measures import confusion, exact_matches
from attncourse.tasks.models import Classifier, Tagger, Translator, WordEmbedding, mean_of_tokens
from attncourse.tasks.trees import TreeAttention

__all__ = [
    "Classifier",
    "Tagger",
    "Translator",
    "TreeAttention",
    "WordEmbedding",
    "confusion",
    "exact_matches",
    "mean_of_tokens",
]
