"""Every attack on the grader that we know, each as an answer that a learner hands in."""

from typing import NamedTuple

from tests.grading.submissions import SLUG

# a wrong answer to each exercise, for the attacks to defend; {start} is the first line of its body
WRONG_ANSWERS = {
    "softmax_with_sink": "(scores, mask=None):\n    {start}\n    return scores.softmax(-1)",
    "distance_attention": "(q, k, v, mask=None):\n    {start}\n"
    "    return (q @ k.mT).softmax(-1) @ v",
    "bilinear_weights": "(q, k, w, mask=None):\n    {start}\n    return q @ w @ k.mT",
    "prefix_mask": "(n, prefix, device=None):\n    {start}\n"
    "    return torch.ones(n, n, dtype=torch.bool, device=device)",
    "decoder_mask": "(lengths, n):\n    {start}\n"
    "    return torch.ones(len(lengths), n, n, dtype=torch.bool)",
    "attention_pool": "(x, query, lengths):\n    {start}\n    return x.mean(1)",
    "effective_keys": "(weights):\n    {start}\n    return weights.sum(-1)",
    "cached_attention": "(q, k, v):\n    {start}\n    return (q @ k.mT).softmax(-1) @ v",
}


class Attack(NamedTuple):
    """The source that a learner hands in for one exercise, and its possible statuses."""

    source: str
    statuses: tuple[str, ...]
    hint: str = ""
    body_start: str = "pass"


def wrong_answer(prefix="", suffix="", body_start="pass", statuses=("wrong",), hint=""):
    """A wrong answer with code before it, after it, or at the start of its body."""
    return Attack("\n".join((prefix, "def {name}{body}", suffix)), statuses, hint, body_start)


def unsafe_attack(code: str) -> Attack:
    return wrong_answer(suffix=code, statuses=("wrong", "error", "crashed", "too slow"))


LYING_TENSOR = """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
"""
# lines that once answered each request, whichever came next
SPEAK_CODE = "open(f'{}', 'w').write('ended\\nstopped\\nstarted\\n1\\n' * 9)"
RESPOND_CODE = "import sys\nsys.modules['judge_driver.driver'].respond = lambda names, request: "
ATTACKS = {
    "patched comparisons": unsafe_attack(
        "torch.allclose = torch.equal = torch.Tensor.equal = torch.Tensor.allclose = "
        "lambda *a, **k: True\ntorch.Tensor.__eq__ = lambda *a: True"
    ),
    "a checker of its own": unsafe_attack(
        "import attncourse\nattncourse.check = lambda name, answer: print(f'{name}: ok')\n"
        "check = attncourse.check"
    ),
    "a tensor that lies": wrong_answer(
        LYING_TENSOR, body_start="import builtins", suffix="", statuses=("wrong",)
    ),
    "input transformers": unsafe_attack(
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['print(\"ok\")\\n'])"
    ),
    "a silenced traceback": unsafe_attack(
        "get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)"
    ),
    "exit() in the cell": wrong_answer(
        suffix="exit()", statuses=("crashed",), hint="remove exit\\(\\)"
    ),
    "os._exit in the function": wrong_answer(
        body_start="import os; os._exit(0)", statuses=("crashed",)
    ),
    "NBVAL_SKIP in a string": unsafe_attack("note = '''\n# NBVAL_SKIP\n'''"),
    "a swallowed interrupt": wrong_answer(
        body_start="\n    while True:\n        try:\n            import time; time.sleep(9)\n"
        "        except KeyboardInterrupt:\n            break",
        statuses=("too slow",),
        hint="it waits",
    ),
    "a loop without end": wrong_answer(
        body_start="\n    while True: pass",
        statuses=("too slow",),
        hint="never ends",
    ),
    "a flood of output": wrong_answer(suffix="while True: print('x' * 999)", statuses=("crashed",)),
    "all the memory": wrong_answer(
        body_start="[0] * 10**11", statuses=("error",), hint="MemoryError"
    ),
    "the answer from the course": Attack(
        "from attncourse.course.{chapter}.exercises.{name} import exercise\n"
        "{name} = exercise.reference_answer",
        ("error",),
        "isn't available while you're graded",
    ),
    "the answer from the chapter": Attack(
        "from attncourse.{chapter} import attention as {name}",
        ("error",),
        "isn't available while you're graded",
    ),
    "torch's own attention": wrong_answer(
        body_start="torch.nn.functional.scaled_dot_product_attention(*[torch.ones(2, 2)] * 3)",
        hint="may not be called here",
    ),
    "an answer that is no JSON": unsafe_attack(RESPOND_CODE + "'passed'"),
    "an answer with code in it": unsafe_attack(
        RESPOND_CODE
        + '\'{"outcome": "returned", "value": {"function": ["f", "raise SystemExit"]}, '
        '"after": [], "gradients": null, "error": null, "called": null, "steps": 0}\''
    ),
    "an answer nested too deep": unsafe_attack(RESPOND_CODE + "'[' * 100000 + ']' * 100000"),
    "a verdict in place of a value": unsafe_attack(RESPOND_CODE + '\'{"status": "passed"}\''),
    "an answer that calls itself inconclusive": unsafe_attack(
        RESPOND_CODE + '\'{"outcome": "inconclusive", "value": {"plain": null}, "after": null, '
        '"gradients": null, "error": null, "called": null, "steps": 0, "settings": []}\''
    ),
    "a patched json module": unsafe_attack("import json\njson.dumps = lambda *a, **k: '{}'"),
    "an interpreter that shows what it likes": unsafe_attack(
        "get_ipython().user_expressions = lambda wanted: {'result': {'data': {'text/plain': '1'}}}"
    ),
    "a result of many bytes": wrong_answer(
        suffix="import json\njson.dumps = lambda *a, **k: ' ' * 9_000_000",
        statuses=("crashed",),
        hint="more than 8,000,000 bytes",
    ),
    "a result of many parts": wrong_answer(
        suffix="import json\njson.dumps = lambda *a, **k: '[' + '[],' * 200_000 + '[]]'",
        statuses=("crashed",),
        hint="200,002 lists and objects, more than 100,000",
    ),
    "asking for input": wrong_answer(body_start="input('?')", statuses=("error",)),
    "a number in place of a tensor": Attack(
        "def {name}(*a, **k):\n    return 1", ("wrong", "error")
    ),
    "a result that is not data": Attack(
        "def {name}(*a, **k):\n    return object()", ("wrong",), "expected a tensor|wrong type"
    ),
}
SPOILERS = {
    "softmax patched for all": unsafe_attack("torch.Tensor.softmax = torch.softmax = None"),
    "products patched for all": unsafe_attack("torch.Tensor.__matmul__ = lambda a, b: a"),
    "another default dtype": unsafe_attack("torch.set_default_dtype(torch.float16)"),
    "a thread that ends the process later": unsafe_attack(
        "import threading, os\nthreading.Timer(2, os._exit, (0,)).start()"
    ),
    "a stop of the process that starts kernels": unsafe_attack(
        "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)"
    ),
    # in bubblewrap it is a process of the sandbox's own, which has the judge's pipes
    "lines to the judge from process 1": unsafe_attack(SPEAK_CODE.format("/proc/1/fd/1")),
    "requests taken from process 1": unsafe_attack(
        "import os, threading\npipe = os.open('/proc/1/fd/0', os.O_RDONLY)\n"
        "threading.Thread(target=os.read, args=(pipe, 999), daemon=True).start()"
    ),
    "the memory of process 1": unsafe_attack(
        "memory = open('/proc/1/mem', 'r+b', buffering=0)\n"
        "for line in open('/proc/1/maps'):\n    if ' rw' in line:\n"
        "        memory.seek(int(line.split('-')[0], 16))\n        memory.write(bytes(4096))"
    ),
    "lines to the judge from the process that starts kernels": unsafe_attack(
        "import contextlib, os\nfor n in range(9):\n    with contextlib.suppress(OSError):\n"
        "        path = f'/proc/{os.getppid()}/fd/{n}'\n        " + SPEAK_CODE.format("{path}")
    ),
}


def attack_source(attack: Attack, name: str) -> str:
    body = WRONG_ANSWERS[name].replace("{start}", attack.body_start)
    source = attack.source.replace("{body}", body)
    return f"# exercise: {name}\n" + source.replace("{name}", name).replace("{chapter}", SLUG)
