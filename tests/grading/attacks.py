"""Every attack on the grader that we know, each as an answer that a learner hands in."""

from typing import NamedTuple

from tests.grading.submissions import SLUG

# a wrong answer to each exercise, for the attacks to defend; {before} runs first in the function
WRONG = {
    "softmax_with_sink": "(scores, mask=None):\n    {before}\n    return scores.softmax(-1)",
    "distance_attention": "(q, k, v, mask=None):\n    {before}\n"
    "    return (q @ k.mT).softmax(-1) @ v",
    "bilinear_weights": "(q, k, w, mask=None):\n    {before}\n    return q @ w @ k.mT",
    "prefix_mask": "(n, prefix, device=None):\n    {before}\n"
    "    return torch.ones(n, n, dtype=torch.bool, device=device)",
    "decoder_mask": "(lengths, n):\n    {before}\n"
    "    return torch.ones(len(lengths), n, n, dtype=torch.bool)",
    "attention_pool": "(x, query, lengths):\n    {before}\n    return x.mean(1)",
    "effective_keys": "(weights):\n    {before}\n    return weights.sum(-1)",
    "cached_attention": "(q, k, v):\n    {before}\n    return (q @ k.mT).softmax(-1) @ v",
}


class Played(NamedTuple):
    """What a learner hands in for one exercise, and the statuses that may come of it."""

    source: str
    allowed: tuple[str, ...]
    hint: str = ""
    before: str = "pass"


def wrong(first="", after="", before="pass", allowed=("wrong",), hint=""):
    """A wrong answer with code before it, after it, or in its body."""
    return Played("\n".join((first, "def {name}{body}", after)), allowed, hint, before)


def unsafe(code: str) -> Played:
    return wrong(after=code, allowed=("wrong", "error", "crashed", "too slow"))


LIAR = """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
"""
# what once was an answer to each request, whichever is next
SPEAK = "open(f'{}', 'w').write('ended\\nstopped\\nstarted\\n1\\n' * 9)"
RESPOND = "import sys\nsys.modules['judge_driver.driver'].respond = lambda names, request: "
ATTACKS = {
    "patched comparisons": unsafe(
        "torch.allclose = torch.equal = torch.Tensor.equal = torch.Tensor.allclose = "
        "lambda *a, **k: True\ntorch.Tensor.__eq__ = lambda *a: True"
    ),
    "a checker of its own": unsafe(
        "import attncourse\nattncourse.check = lambda name, answer: print(f'{name}: ok')\n"
        "check = attncourse.check"
    ),
    "a tensor that lies": wrong(LIAR, before="import builtins", after="", allowed=("wrong",)),
    "input transformers": unsafe(
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['print(\"ok\")\\n'])"
    ),
    "a silenced traceback": unsafe(
        "get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)"
    ),
    "exit() in the cell": wrong(after="exit()", allowed=("crashed",), hint="take exit\\(\\)"),
    "os._exit in the function": wrong(before="import os; os._exit(0)", allowed=("crashed",)),
    "NBVAL_SKIP in a string": unsafe("note = '''\n# NBVAL_SKIP\n'''"),
    "a swallowed interrupt": wrong(
        before="\n    while True:\n        try:\n            import time; time.sleep(9)\n"
        "        except KeyboardInterrupt:\n            break",
        allowed=("too slow",),
        hint="it waits",
    ),
    "a loop without end": wrong(
        before="\n    while True: pass", allowed=("too slow",), hint="loops in Python|has worked"
    ),
    "a flood of output": wrong(after="while True: print('x' * 999)", allowed=("crashed",)),
    "all the memory": wrong(before="[0] * 10**11", allowed=("error",), hint="MemoryError"),
    "the answer from the course": Played(
        "from attncourse.course.{chapter}.exercises.{name} import exercise\n"
        "{name} = exercise.reference_answer",
        ("error",),
        "not there while you are graded",
    ),
    "the answer from the chapter": Played(
        "from attncourse.{chapter} import attention as {name}",
        ("error",),
        "not there while you are graded",
    ),
    "torch's own attention": wrong(
        before="torch.nn.functional.scaled_dot_product_attention(*[torch.ones(2, 2)] * 3)",
        hint="may not be called here",
    ),
    "an answer that is no JSON": unsafe(RESPOND + "'passed'"),
    "an answer with code in it": unsafe(
        RESPOND + '\'{"outcome": "returned", "value": {"function": ["f", "raise SystemExit"]}, '
        '"after": [], "gradients": null, "error": null, "called": null, "steps": 0}\''
    ),
    "an answer nested too deep": unsafe(RESPOND + "'[' * 100000 + ']' * 100000"),
    "a verdict in place of a value": unsafe(RESPOND + '\'{"status": "passed"}\''),
    "an answer that calls itself inconclusive": unsafe(
        RESPOND + '\'{"outcome": "inconclusive", "value": {"plain": null}, "after": null, '
        '"gradients": null, "error": null, "called": null, "steps": 0, "settings": []}\''
    ),
    "a patched json module": unsafe("import json\njson.dumps = lambda *a, **k: '{}'"),
    "an interpreter that shows what it likes": unsafe(
        "get_ipython().user_expressions = lambda wanted: {'result': {'data': {'text/plain': '1'}}}"
    ),
    "a result of many bytes": wrong(
        after="import json\njson.dumps = lambda *a, **k: ' ' * 9_000_000",
        allowed=("crashed",),
        hint="more than 8,000,000 bytes",
    ),
    "a result of many parts": wrong(
        after="import json\njson.dumps = lambda *a, **k: '[' + '[],' * 200_000 + '[]]'",
        allowed=("crashed",),
        hint="200,002 lists and objects, more than 100,000",
    ),
    "asking for input": wrong(before="input('?')", allowed=("error",)),
    "a number in place of a tensor": Played(
        "def {name}(*a, **k):\n    return 1", ("wrong", "error")
    ),
    "a result that is not data": Played(
        "def {name}(*a, **k):\n    return object()", ("wrong",), "expected a tensor|wrong type"
    ),
}
SPOILERS = {
    "softmax patched for all": unsafe("torch.Tensor.softmax = torch.softmax = None"),
    "products patched for all": unsafe("torch.Tensor.__matmul__ = lambda a, b: a"),
    "another default dtype": unsafe("torch.set_default_dtype(torch.float16)"),
    "a thread that ends the process later": unsafe(
        "import threading, os\nthreading.Timer(2, os._exit, (0,)).start()"
    ),
    "a stop of the process that starts kernels": wrong(
        after="import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)", allowed=("crashed",)
    ),
    # in bubblewrap it is a process of the sandbox's own, which has the judge's pipes
    "lines to the judge from process 1": unsafe(SPEAK.format("/proc/1/fd/1")),
    "requests taken from process 1": unsafe(
        "import os, threading\nasked = os.open('/proc/1/fd/0', os.O_RDONLY)\n"
        "threading.Thread(target=os.read, args=(asked, 999), daemon=True).start()"
    ),
    "the memory of process 1": unsafe(
        "memory = open('/proc/1/mem', 'r+b', buffering=0)\n"
        "for line in open('/proc/1/maps'):\n    if ' rw' in line:\n"
        "        memory.seek(int(line.split('-')[0], 16))\n        memory.write(bytes(4096))"
    ),
    "lines to the judge from the process that starts kernels": unsafe(
        "import contextlib, os\nfor n in range(9):\n    with contextlib.suppress(OSError):\n"
        "        path = f'/proc/{os.getppid()}/fd/{n}'\n        " + SPEAK.format("{path}")
    ),
}


FORBIDDEN = "getattr(torch.nn.functional, 'scaled_dot_' + 'product_attention')"
HIDDEN = f"{FORBIDDEN}(*[torch.ones(2, 2)] * 3)"
PLAIN = "torch.nn.functional.scaled_dot_product_attention"
DRIVER = "sys.modules['judge_driver.{}']"
CALLED, UNPROVEN = "may not be called here", "not proven"
# right answers that break a rule where it is hard to see: what runs first, before the call, after
# it, and what is said of it: a hint, or beside the points a note
RULES = {
    "a forbidden call by map": ("", f"list(map({PLAIN}, *[[torch.ones(2, 2)]] * 3))", "", CALLED),
    "a forbidden call in a thread": (
        "import threading",
        f"one = threading.Thread(target=lambda: {PLAIN}(*[torch.ones(2, 2)] * 3))\n"
        "    one.start(); one.join()",
        "",
        CALLED,
    ),
    "a forbidden call in a thread, its name in two parts": (
        "from threading import Thread",
        f"one = Thread(target=lambda: {HIDDEN})\n    one.start(); one.join()",
        "",
        CALLED,
    ),
    "a forbidden call that nothing traces": ("", f"sys.settrace(None); {HIDDEN}", "", CALLED),
    "a forbidden call, the watch patched": (
        f"{DRIVER.format('watch')}.Watch.refuse = lambda *a: None\n"
        f"{DRIVER.format('driver')}.Watch = {DRIVER.format('watch')}.Watch",
        f"{HIDDEN}",
        "",
        CALLED,
    ),
    "a loop that nothing traces": (
        "",
        "sys.settrace(None)\n    for x in range(10 * len(str(a))): pass",
        "",
        UNPROVEN,
    ),
    "a loop in a module called numpy.x": (
        "space = {'__name__': 'numpy.x'}\n"
        "exec('def loop(n):\\n    for x in range(n): pass', space)",
        "space['loop'](10 * len(str(a)))",
        "",
        UNPROVEN,
    ),
    "an input that changes, the driver patched": (
        f"{DRIVER.format('seen')}.left = lambda value: {DRIVER.format('seen')}.encode("
        "value - 1 if hasattr(value, 'data') else value)",
        "",
        "[x.data.add_(1) for x in a if getattr(x, 'is_floating_point', bool)()]",
        "an input changes",
    ),
}


def around_a_rule(rule: str, name: str, solved: str) -> str:
    """The right answer, with what breaks the rule around each call of it."""
    first, before, after, _ = RULES[rule]
    return (
        f"{solved}\nimport sys\n{first}\ninner = {name}\n"
        f"def {name}(*a, **k):\n    {before or 'pass'}\n    out = inner(*a, **k)\n"
        f"    {after or 'pass'}\n    return out\n"
    )


def source_of(played: Played, name: str) -> str:
    source = played.source.replace("{body}", WRONG[name]).replace("{before}", played.before)
    return f"# exercise: {name}\n" + source.replace("{name}", name).replace("{chapter}", SLUG)
