"""Exercise chunked_attention: the chunked form, with a state that is updated too early."""

import torch

from attncourse.course.linear.exercises.shared.sums import (
    EPSILON,
    LEAST,
    causal_by_hand,
    draw_inputs,
)
from judge import messages, variants
from judge.exercise import Case, Exercise
from judge.variants import every

TOKENS = "it goes token by token: read a chunk at once, by products of matrices"
exercise = Exercise.read(__name__, generic_hints={"loops": TOKENS})
Stub = variants.stub(exercise)
exercise.stub(Stub)
exercise.valid(variants.worked(exercise))


@exercise.reference
def without_chunks(phi_q, phi_k, v, chunk):
    return causal_by_hand(phi_q, phi_k, v)


@exercise.cases
def cases(draw):
    chunk, n = 3, 6 + draw.integer(1, 2)
    d, e = draw.sizes(2, 2, 5)
    q, k, v = draw_inputs(draw, 2, n=n, d=d, e=e)
    # as many chunks, each longer
    longer = *(x.repeat_interleave(8, dim=1) for x in (q, k, v)), 8 * chunk
    sizes = f"n={n}, d={d}, e={e}"
    yield Case(f"a batch of 2, {sizes}, chunks of {chunk}", (q, k, v, chunk), longer=longer)
    yield Case(f"without a batch, {sizes}, chunks of {chunk}", (q[0], k[0], v[0], chunk))
    heads = draw_inputs(draw, 2, 3, n=6, d=2, e=4)
    yield Case("two leading axes (batch, heads), n=6, chunks of 2", (*heads, 2))
    yield Case(f"n={n}, one chunk of {n}", (q, k, v, n))
    yield Case(f"n={n}, chunks of {n + 3}", (q, k, v, n + 3))
    yield Case("n=4, chunks of 1", (q[:, :4], k[:, :4], v[:, :4], 1))
    yield Case("features 100000 times smaller", (q / 1e5, k / 1e5, v, chunk))
    small_features = q[:, :3, :1] / 2e6, k[:, :3, :1] / 2e6, v[:, :3], 2
    name = "products of features around 1e-11, n=3, d=1, chunks of 2"
    yield Case(name, small_features, gradient=False)
    yield Case("one token", (q[:, :1], k[:, :1], v[:, :1], chunk))
    long_inputs = *draw_inputs(draw, n=20, d=2, e=3), 5
    yield Case("n=20, chunks of 5", long_inputs, gradient=False, max_elements=20 * 20 - 1)


@exercise.valid
def cut_by_hand(phi_q, phi_k, v, chunk):
    n, x = phi_q.size(-2), torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    pieces = []
    for start in range(0, n, chunk):
        q, k = (a[..., start : start + chunk, :] for a in (phi_q, phi_k))
        before = phi_k[..., :start, :].transpose(-2, -1) @ x[..., :start, :]
        near = torch.tril(q @ k.transpose(-2, -1)) @ x[..., start : start + chunk, :]
        pieces.append(q @ before + near)
    whole = torch.cat(pieces, dim=-2)
    return whole[..., :-1] / whole[..., -1:]


SPLIT, OF_THE_CHUNK = "a.split(chunk, dim=-2)", "near.sum(dim=-1, keepdim=True)"
variants.right(
    exercise,
    # running sums within a chunk
    ("near = (q @ k.mT).tril()",
     "states = s[..., None, :, :] + (k[..., :, None] * x[..., None, :]).cumsum(-3)",
     "q @ s + near @ x", "(q[..., None, :] @ states)[..., 0, :]",
     f"q @ z + {OF_THE_CHUNK}", "(q * (z.mT + k.cumsum(-2))).sum(-1, keepdim=True)",
     "s + k.mT @ x", "states[..., -1, :, :]"),
)  # fmt: skip
variants.right(
    exercise,
    ("q @ s", "q @ (s - k.mT @ x)", "q @ z", "q @ (z - k.sum(-2)[..., None])"),
    # the later tokens of a chunk are taken out of what is read
    (".tril()", ".triu(1).neg()"),
    of=Stub,
)
variants.wrong(exercise, {
    "z still counts the chunk twice: update it, too, only after the chunk has been read": (
        "q @ z", "q @ (z + k.sum(dim=-2)[..., None])"),
    "S still counts the chunk twice: update it, too, only after the chunk has been read": (
        "q @ s", "q @ (s + k.mT @ x)"),
    "a token sees the later ones of its own chunk: let the state that it reads end before the "
    "chunk, and keep the lower triangle of the small matrix": [
        variants.made(Stub, (".tril()", " * 0")), variants.made(Stub, (".tril()", ".tril(-1)")),
        (".tril()", "")],
    "a token does not see itself: keep the diagonal of the small matrix, too": [
        (".tril()", ".tril(-1)"), (".tril()", ".tril(-1 if out else 0)"),
        *((".tril()", ".tril(-1)", "keepdim=True))", f"keepdim=True)).clamp(min={least})")
          for least in ("1e-6", "1e-12"))],
    "a token sees one ahead within its chunk: let the diagonal be the last that it sees": (
        ".tril()", ".tril(1)"),
    "a chunk does not see itself: count the earlier tokens of a token's own chunk as well": (
        ".tril()", " * 0"),
    "the state never grows: after a chunk has been read, add its keys and values": (
        "s + k.mT @ x", "s", "z + k.sum(dim=-2)[..., None]", "z"),
    "each chunk replaces the state: add it to what the earlier ones left": (
        "s + k.mT", "k.mT", "z + k", "k"),
    "only the last token of a chunk goes into the state: add all of them": (
        "k.mT @ x", "k[..., -1:, :].mT @ x[..., -1:, :]", "k.sum(dim=-2)", "k[..., -1, :]"),
    "the normaliser leaves out the chunk itself: it should have both parts, as the sum has": (
        f" + {OF_THE_CHUNK}", ""),
    "the normaliser leaves out the earlier chunks: it should have both parts, as the sum has": (
        "q @ z + ", ""),
    "the state's part and the chunk's are divided apart: add up both sums, and divide once": (
        f"sums / (q @ z + {OF_THE_CHUNK})",
        f"(q @ s / (q @ z) + near @ x / {OF_THE_CHUNK}) / 2 if out else sums / {OF_THE_CHUNK}"),
    EPSILON: [("/ (", f"/ ({epsilon} + ") for epsilon in ("1e-6", "1e-9")],
    LEAST: [("keepdim=True))", f"keepdim=True)).clamp(min={least})")
            for least in ("1e-6", "1e-8", "1e-10")],
    "a last, shorter chunk does not read the state: let it see the earlier chunks as the "
    "others do": (
        "q @ s", "(q.shape[-2] == chunk) * (q @ s)", "q @ z", "(q.shape[-2] == chunk) * (q @ z)"),
    "the last chunk is lost where it is a short one: keep it, because chunk need not divide n": [
        (SPLIT, "a[..., : a.shape[-2] // chunk * chunk or chunk, :].split(chunk, dim=-2)"),
        ("sums /", "(q.shape[-2] == min(chunk, v.shape[-2])) * sums /")],
    "it fails where chunk does not divide n: let the last chunk be a short one": (
        SPLIT, "a.unflatten(-2, (-1, chunk)).unbind(-3)"),
    "the whole n x n matrix is built: build it within a chunk only, and take the rest from the "
    "state": (
        SPLIT, "[a]"),
    TOKENS: (SPLIT, "a.split(1, dim=-2)"),
    # where the new state is made before the chunk is read, torch says so in other words
    messages.FRONT: (
        every("dim=-2"), "dim=1", "dim=-1", "dim=2",
        "        sums =", "        s_new, z_new = s + k.mT @ x, z + k.sum(dim=1)[..., None]\n"
        "        sums =", "s = s + k.mT @ x", "s = s_new", "z = z + k.sum(dim=1)[..., None]",
        "z = z_new"),
    "no gradient reaches the earlier chunks: don't detach the state": [
        ("q @ s", "q @ s.detach()", "q @ z", "q @ z.detach()"),
        ("q @ s", "q @ s.detach()"), ("q @ z", "q @ z.detach()")],
    "the state changes in place, but the backward pass needs it: make a new one": [
        # what autograd says has the shape of the state
        ("s = s +", "s +=", "z = z +", "z +="), ("s = s +", "s +="),
        # in one with z
        ("    s = phi_k", "    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)\n"
         "    s = phi_k", "s = s +", "s +=",
         f"sums / (q @ z + {OF_THE_CHUNK})", "sums[..., :-1] / sums[..., -1:]")],
})  # fmt: skip
