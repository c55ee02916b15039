"""Models and machines for the figure of costs, with the place where each number stands.

`key` names a model's report in `reference/references.bib`, `url` the file that has its sizes.
"""

from attncourse.method_costs import (
    Layer,
    Machine,
    Model,
    Seen,
    Size,
    Stack,
    delta,
    latents,
    linear,
    pooled,
    selected,
    softmax,
    window_of_shared,
)

CONFIGURATIONS = (
    "https://github.com/ai-dynamo/aiconfigurator/blob/095f58a51c4ca8e61b66ec108d86f223f8d559ce/"
    "aic-core/src/aiconfigurator_core"
)
LLAMA_8B = f"{CONFIGURATIONS}/model_configs/meta-llama--Meta-Llama-3.1-8B_config.json"
LLAMA_70B = f"{CONFIGURATIONS}/model_configs/meta-llama--Meta-Llama-3.1-70B_config.json"
KIMI_K3 = f"{CONFIGURATIONS}/model_configs/moonshotai--Kimi-K3_config.json"
DEEPSEEK_V3 = (
    "https://github.com/deepseek-ai/DeepSeek-V3/blob/9b4e9788e4a3a731f7567338ed15d3ec549ce03b/"
    "inference/configs/config_671B.json"
)
GEMMA_3 = (
    "https://github.com/google-deepmind/gemma/blob/7691fd4e7f26c9ec5db38110dddb3addfab4d767/"
    "gemma/gm/nn/_gemma.py"
)


def methods(n: int, heads: int, d: int) -> dict[str, Stack]:
    """Each method in n layers with so many heads of width d, and two mixtures.

    What a method needs besides has the size that it has where it is used: windows as in Gemma 3,
    latents and chosen keys as in DeepSeek-V3.2, pooled keys as in DeepSeek-V4-Flash.
    """
    groups = softmax(heads, 8, d)
    window = softmax(heads, 8, d, Seen(most=1024))
    latent = latents(heads, d, d, 512, 64)
    channels = delta(heads, d, d, gates=d)
    # half as many heads as the attention, as in DeepSeek-V3.2 and DeepSeek-V4-Pro
    index = heads // 2, 128
    layers = {
        "softmax, a key for each head": softmax(heads, heads, d),
        "8 groups of heads": groups,
        "one key for all heads": softmax(heads, 1, d),
        "windows of 1,024": window,
        "latents": latent,
        "2,048 chosen latents": selected(heads, d, d, 512, 64, index, 2048),
        "keys pooled by 128": pooled(heads, 512, 128, 128),
        "keys pooled by 4, 512 chosen": pooled(heads, 512, 128, 4, index, 512),
        "linear": linear(heads, d, d),
        "delta rule, a gate a channel": channels,
    }
    mixtures = {
        "3 delta rule : 1 latents": mixture(n, channels, latent, every=4),
        "5 windows : 1 groups": mixture(n, window, groups, every=6),
    }
    return {name: Stack(((n, layer),)) for name, layer in layers.items()} | mixtures


def mixture(n: int, most: Layer, few: Layer, every: int) -> Stack:
    """n layers of which every fourth, say, is of the second kind."""
    return Stack(((n - n // every, most), (n // every, few)))


SIZES = (
    Size("Llama 3.1 8B", methods(32, 32, 128), "grattafiori2024", LLAMA_8B),
    Size("Llama 3.1 70B", methods(80, 64, 128), "grattafiori2024", LLAMA_70B),
    Size("DeepSeek-V3", methods(61, 128, 128), "deepseek2024", DEEPSEEK_V3),
    Size("Kimi K3", methods(93, 96, 128), "kimi2026", KIMI_K3),
)


def gpt_oss() -> Stack:
    """Every second layer has windows."""
    return Stack(((18, softmax(64, 8, 64, Seen(most=128))), (18, softmax(64, 8, 64))))


def gemma() -> Stack:
    """Of 62 layers, 10 see all tokens."""
    window = softmax(32, 16, 128, Seen(most=1024))
    return Stack(((52, window), (10, softmax(32, 16, 128))))


def deepseek_v4(heads: int, windows: int, by_4: int, by_128: int, chosen: int) -> Stack:
    """Layers with windows alone, with keys pooled by 4 besides, and with keys pooled by 128."""
    kinds = (
        (windows, window_of_shared(heads, 512, 128)),
        (by_4, pooled(heads, 512, 128, 4, (64, 128), chosen)),
        (by_128, pooled(heads, 512, 128, 128)),
    )
    return Stack(tuple(kind for kind in kinds if kind[0]))


def qwen() -> Stack:
    """Three layers of the delta rule with one gate a head for each layer of grouped heads."""
    # three earlier tokens of all queries, keys and values of a layer
    rule = delta(64, 128, 128, gates=1, convolution=3 * 12288)
    return Stack(((45, rule), (15, softmax(32, 2, 256))))


def kimi() -> Stack:
    """Three layers of the delta rule with a gate a channel for each layer of latents."""
    rule = delta(96, 128, 128, gates=128, convolution=3 * 36864)
    return Stack(((69, rule), (24, latents(96, 128, 128, 512, 64))))


def in_configurations(name: str) -> str:
    """The address of a model's configuration."""
    return f"{CONFIGURATIONS}/model_configs/{name}_config.json"


MODELS = (
    Model("Llama 3.1 8B", Stack(((32, softmax(32, 8, 128)),)), "grattafiori2024", LLAMA_8B),
    Model("Llama 3.1 70B", Stack(((80, softmax(64, 8, 128)),)), "grattafiori2024", LLAMA_70B),
    Model(
        "DeepSeek-V3", Stack(((61, latents(128, 128, 128, 512, 64)),)), "deepseek2024", DEEPSEEK_V3
    ),
    Model("Gemma 3 27B", gemma(), "gemma2025", GEMMA_3),
    Model("gpt-oss-120b", gpt_oss(), "openai2025", in_configurations("openai--gpt-oss-120b")),
    Model(
        "DeepSeek-V3.2",
        Stack(((61, selected(128, 128, 128, 512, 64, (64, 128), 2048)),)),
        "deepseek2025",
        in_configurations("deepseek-ai--DeepSeek-V3.2"),
    ),
    Model("Qwen3.5 397B", qwen(), "huggingface2026", in_configurations("Qwen--Qwen3.5-397B-A17B")),
    Model(
        "DeepSeek-V4-Flash",
        deepseek_v4(64, 2, 21, 20, 512),
        "deepseek2026",
        in_configurations("deepseek-ai--DeepSeek-V4-Flash"),
    ),
    Model(
        "DeepSeek-V4-Pro",
        deepseek_v4(128, 0, 30, 31, 1024),
        "deepseek2026",
        in_configurations("deepseek-ai--DeepSeek-V4-Pro"),
    ),
    Model("Kimi K3", kimi(), "kimi2026", KIMI_K3),
)

MACHINES = tuple(
    Machine(name, operations, bandwidth, memory, f"{CONFIGURATIONS}/systems/{file}_sxm.yaml")
    for name, file, operations, bandwidth, memory in (
        ("H100", "h100", 989e12, 3.35e12, 80 * 2**30),
        ("H200", "h200", 989e12, 4.8e12, 141 * 2**30),
        ("A100", "a100", 312e12, 2.039e12, 80 * 2**30),
        ("B200", "b200", 2250e12, 7.7e12, 180 * 2**30),
    )
)
