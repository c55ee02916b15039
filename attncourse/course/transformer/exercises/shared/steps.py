"""The steps with a cache that a learner's test meets: right ones, and wrong ones made of one.

Each is handed over as its source, so it stands alone.
"""

import torch

from judge.implementations import spoiled


def plain(q, k, v, cache=None):
    keys = k if cache is None else torch.cat([cache[0], k], dim=-2)
    values = v if cache is None else torch.cat([cache[1], v], dim=-2)
    n, m = q.shape[-2], keys.shape[-2]
    mask = torch.ones(n, m, dtype=torch.bool, device=q.device).tril(m - n)
    scores = q @ keys.mT / q.shape[-1] ** 0.5
    out = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ values
    return out, (keys, values)


def parts_in_a_list(q, k, v, cache=None):
    cache = [*([] if cache is None else cache), (k.clone(), v.clone())]
    keys, values = (torch.cat(parts, dim=-2) for parts in zip(*cache, strict=True))
    place = torch.arange(keys.shape[-2])
    scores = torch.einsum("...id,...jd->...ij", q * q.shape[-1] ** -0.5, keys)
    scores = torch.where(place <= place[-q.shape[-2] :, None], scores, -1e30)
    parts = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return parts @ values / parts.sum(dim=-1, keepdim=True), cache


def token_by_token(q, k, v, cache=None):
    state = {"k": k[..., :0, :], "v": v[..., :0, :]} if cache is None else dict(cache)
    rows = []
    for i in range(q.shape[-2]):
        for name, new in (("k", k), ("v", v)):
            state[name] = torch.cat([state[name], new[..., i : i + 1, :]], dim=-2)
        scores = (state["k"] @ q[..., i, :, None])[..., 0] / q.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=-1)[..., None] * state["v"]).sum(-2))
    return torch.stack(rows, dim=-2), state


def in_one_buffer(q, k, v, cache=None):
    n = q.shape[-2]
    if cache is None:
        cache = *(x.new_zeros(*x.shape[:-2], 99, x.shape[-1]) for x in (k, v)), 0
    keys, values, m = cache
    keys[..., m : m + n, :] = k
    values[..., m : m + n, :] = v
    mask = torch.ones(n, m + n, dtype=torch.bool, device=q.device).tril(m)
    scores = q @ keys[..., : m + n, :].mT / q.shape[-1] ** 0.5
    out = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1) @ values[..., : m + n, :]
    return out, (keys, values, m + n)


RIGHT = {
    "a right step": plain,
    "a right step, its cache a list of parts": parts_in_a_list,
    "a right step, token by token, its cache a dict": token_by_token,
    "a right step whose result is not contiguous": (
        "return out, (keys, values)",
        "return out.mT.contiguous().mT, (keys, values)",
    ),
}
KEYS, VALUES = "torch.cat([cache[0], k], dim=-2)", "torch.cat([cache[1], v], dim=-2)"
TRIL, SCALE, CACHE = ".tril(m - n)", " / q.shape[-1] ** 0.5", "out, (keys, values)"
MASK = f"torch.ones(n, m, dtype=torch.bool, device=q.device){TRIL}"
SOFTMAX = "softmax(dim=-1)"


def cached(keys: str, values: str) -> tuple[str, str]:
    """The edit after which this is kept for the next call."""
    return CACHE, f"out, ({keys}, {values})"


def when_cached(change: str) -> tuple[str, str]:
    """The edit after which a call with a cache does this to the numbers before they are used."""
    return "    n, m =", f"    if cache is not None:\n        {change}\n    n, m ="


# what each wrong one does, and the edits that make it of the plain one
WRONG = {
    does: (f"return {CACHE}", f"return {edit[1].partition('return ')[2]}, (keys, values)")
    for does, edit in spoiled("out").items()
} | {
    "forgets to scale": (SCALE, ""),
    "divides by d_k": (" ** 0.5", ""),
    "scales by the width of the values": ("q.shape[-1] ** 0.5", "v.shape[-1] ** 0.5"),
    "takes the softmax over the queries": (SOFTMAX, "softmax(dim=-2)"),
    "overflows for large scores": (
        f"scores.masked_fill(~mask, -torch.inf).{SOFTMAX} @ values",
        "(parts := scores.exp() * mask) @ values / parts.sum(-1, keepdim=True)"),
    "averages the keys": (f"{SOFTMAX} @ values", f"{SOFTMAX} @ keys"),
    "ignores the cache": (KEYS, "k", VALUES, "v"),
    "keeps nothing but the last call": cached("k", "v"),
    "keeps nothing but the first call": (
        CACHE, "out, ((keys, values) if cache is None else cache)"),
    "keeps nothing but the last token": cached("keys[..., -1:, :]", "values[..., -1:, :]"),
    "keeps one token of each call": cached(
        "keys[..., : m - n + 1, :]", "values[..., : m - n + 1, :]"),
    "forgets what lies 8 tokens back": cached("keys[..., -8:, :]", "values[..., -8:, :]"),
    "keeps the first 8 tokens only": cached("keys[..., :8, :]", "values[..., :8, :]"),
    "loses the first token": cached("keys[..., m > 1 :, :]", "values[..., m > 1 :, :]"),
    "keeps the new keys in front": (KEYS, "torch.cat([k, cache[0]], dim=-2)"),
    "keeps the new values in front": (VALUES, "torch.cat([v, cache[1]], dim=-2)"),
    "keeps the new keys and values in front": (
        KEYS, "torch.cat([k, cache[0]], dim=-2)", VALUES, "torch.cat([v, cache[1]], dim=-2)"),
    "keeps the tokens in reverse": cached("keys.flip(-2)", "values.flip(-2)"),
    "keeps no new keys": (KEYS, "torch.cat([cache[0], 0 * k], dim=-2)"),
    "keeps no new values": (VALUES, "torch.cat([cache[1], 0 * v], dim=-2)"),
    "adds what is new to what is kept": cached(
        "keys if cache is None else cache[0] + k.sum(-2, True)",
        "values if cache is None else cache[1] + v.sum(-2, True)"),
    "keeps values for keys": cached("keys", "keys[..., : v.shape[-1]]"),
    "keeps what is rounded to 16 bits": cached("keys.bfloat16().to(q)", "values.bfloat16().to(q)"),
    "sees only what is kept": (
        KEYS, f"cache[0] if q.shape[-2] == 1 else {KEYS}",
        VALUES, f"cache[1] if q.shape[-2] == 1 else {VALUES}",
        CACHE, "out, ((keys, values) if cache is None or n > 1 else "
        "(torch.cat([keys, k], -2), torch.cat([values, v], -2)))"),
    "starts its mask at the corner of the cache": (TRIL, ".tril()"),
    "hides each token from itself": (TRIL, ".tril(max(m - n - 1, 1 - n))"),
    "shows one token ahead": (TRIL, ".tril(m - n + 1)"),
    "does not mask the prompt": (MASK, f"{MASK} | (cache is None)"),
    "does not mask what comes after the prompt": (MASK, f"{MASK} | (cache is not None)"),
    "masks no call": (MASK, f"{MASK} | True"),
    "shows all new tokens the same keys": (MASK, f"{MASK}[:1]"),
    "sees new tokens alone": (MASK, f"{MASK}.triu(m - n - n + 1)"),
    "wants one token after the prompt": when_cached("k.view(*k.shape[:-2], 1, -1)"),
    "wants several tokens in the prompt": (
        "    n, m =", "    if cache is None:\n        k[..., 1, 0]\n    n, m ="),
    "is right only without a batch": (SOFTMAX, "softmax(dim=1)"),
    "is right only with one batch axis": (SOFTMAX, "softmax(dim=2)"),
    "is right with at most one leading axis": (
        SOFTMAX, "softmax(dim=-1 if scores.dim() < 4 else -2)"),
    "cannot do without a batch": ("    n, m =", "    k.unbind(-3)\n    n, m ="),
    "takes the first text's cache for all": when_cached(
        "old = cache[0] if k.dim() < 3 else cache[0][:1].expand_as(cache[0])\n"
        "        keys = torch.cat([old, k], -2)"),
    "takes the first text's new keys for all": when_cached(
        "keys = torch.cat([cache[0], k if k.dim() < 3 else k[:1].expand_as(k)], -2)"),
    "hands the texts' caches round": when_cached(
        "keys = torch.cat([cache[0] if k.dim() < 3 else cache[0].roll(1, 0), k], -2)"),
    "wants values as wide as the keys": ("    n, m =", "    v.view_as(k)\n    n, m ="),
    "cuts off where the values are wider than the keys": (
        "    n, m =", "    values = values[..., : k.shape[-1]]\n    n, m ="),
    "cuts off where the values are narrower than the keys": (
        "    n, m =", "    q, keys = (x[..., : v.shape[-1]] for x in (q, keys))\n    n, m ="),
    "writes into one buffer, which all caches of a text share": in_one_buffer,
    "changes the cache that it was given": when_cached("cache[0].zero_()"),
    "changes the newest row of the cache that it was given": when_cached(
        "cache[1][..., -1:, :] = v[..., :1, :]"),
    "changes q": ("q @ keys.mT", "q.mul_(2) @ keys.mT / 2"),
    "changes k": ("keys = k if", "keys = k.clone() if", "    return", "    k *= 2\n    return"),
    "changes v": ("values = v if", "values = v.clone() if", "    return", "    v *= 2\n    return"),
    "changes q where there is a cache": when_cached("q *= 1.5"),
}  # fmt: skip


def inputs(*batch, n, sizes=(5, 3), large=1000.0, dtype=torch.float64):
    """q, k and v of n tokens; the scores of the query in the middle are large."""
    generator = torch.Generator().manual_seed(0)
    d_k, d_v = sizes
    q, k, v = (
        torch.randn(*batch, n, width, generator=generator, dtype=dtype) for width in (d_k, d_k, d_v)
    )
    q[..., n // 2, :] *= large
    return q, k, v
