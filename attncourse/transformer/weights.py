"""Convert weights to a LanguageModel: those of the class GPT, and those of GPT-2."""

from collections.abc import Mapping

from torch import Tensor

from attncourse.positional import LearnedEncoding
from attncourse.transformer.gpt import GPT, Block
from attncourse.transformer.stacks import Embedding, LanguageModel, causal_model

# a part of gpt.Block -> its name in an EncoderBlock
BLOCK_PARTS = {
    "norm_1": "attention.norm",
    **{name: f"attention.part.{name}" for name in ("w_q", "w_k", "w_v", "w_o")},
    "norm_2": "feed_forward.norm",
    **{name: f"feed_forward.part.{name}" for name in ("up", "down")},
}
# GPT-2's name in block i -> ours; its matrices are used as x @ W, those of nn.Linear as x @ W.T
NORMS = {"ln_1": "attention.norm", "ln_2": "feed_forward.norm"}
MATRICES = {
    "attn.c_proj": "attention.part.w_o",
    "mlp.c_fc": "feed_forward.part.up",
    "mlp.c_proj": "feed_forward.part.down",
}
PROJECTIONS = ("attention.part.w_q", "attention.part.w_k", "attention.part.w_v")


class RequiredWeights(dict):
    """A state dict that raises ValueError for a missing name."""

    def __missing__(self, name: str) -> Tensor:
        raise ValueError(f"{name} is not among the {len(self)} weights: are they GPT-2's?")


def load_gpt2(weights: Mapping[str, Tensor], heads: int) -> LanguageModel:
    """GPT-2 with these weights, by the names of its published state dict, with `heads` heads.

    Widths and depth are read off the weights. Source: Radford et al. (2019); the names are those
    of the class GPT2Model of the library transformers.
    """
    weights = RequiredWeights({name.removeprefix("transformer."): x for name, x in weights.items()})
    (vocabulary, d), (max_n, _) = weights["wte.weight"].shape, weights["wpe.weight"].shape
    d_ff = weights["h.0.mlp.c_fc.weight"].shape[1]
    depth = sum(name.endswith("mlp.c_fc.weight") for name in weights)
    embedding = Embedding(vocabulary, d, LearnedEncoding(max_n, d))
    model = causal_model(embedding, heads, depth, d_ff=d_ff).to(weights["wte.weight"])
    model.load_state_dict(rename_gpt2(weights, depth))
    return model


def composed(gpt: GPT) -> LanguageModel:
    """The GPT as a LanguageModel of the course's parts, with the same weights."""
    (vocabulary, d), (max_n, _) = (
        gpt.token_embedding.weight.shape,
        gpt.position_embedding.weight.shape,
    )
    blocks: list[Block] = list(gpt.blocks)  # pyright: ignore[reportAssignmentType]
    embedding = Embedding(vocabulary, d, LearnedEncoding(max_n, d))
    model = causal_model(embedding, blocks[0].heads, len(blocks))
    ours = {
        "embedding.table.weight": gpt.token_embedding.weight,
        "embedding.position.table": gpt.position_embedding.weight,
        **{f"stack.norm.{name}": weight for name, weight in gpt.norm.named_parameters()},
    }
    for i, block in enumerate(blocks):
        for name, weight in block.named_parameters():
            part_name, _, kind = name.partition(".")
            ours[f"stack.blocks.{i}.{BLOCK_PARTS[part_name]}.{kind}"] = weight
    model.to(gpt.token_embedding.weight).load_state_dict(ours)
    return model


def rename_gpt2(weights: Mapping[str, Tensor], depth: int) -> dict[str, Tensor]:
    """GPT-2's state dict under the names of LanguageModel."""
    ours = {
        "embedding.table.weight": weights["wte.weight"],
        "embedding.position.table": weights["wpe.weight"],
    }
    for kind in ("weight", "bias"):
        ours[f"stack.norm.{kind}"] = weights[f"ln_f.{kind}"]
        for i in range(depth):
            old_prefix, new_prefix = f"h.{i}", f"stack.blocks.{i}"
            for theirs, name in NORMS.items():
                ours[f"{new_prefix}.{name}.{kind}"] = weights[f"{old_prefix}.{theirs}.{kind}"]
            # a bias has one axis, and stays as it is
            for theirs, name in MATRICES.items():
                x = weights[f"{old_prefix}.{theirs}.{kind}"]
                ours[f"{new_prefix}.{name}.{kind}"] = x.mT if x.ndim == 2 else x
            projections = weights[f"{old_prefix}.attn.c_attn.{kind}"].chunk(3, dim=-1)
            for x, name in zip(projections, PROJECTIONS, strict=True):
                ours[f"{new_prefix}.{name}.{kind}"] = x.mT if x.ndim == 2 else x
    return ours
