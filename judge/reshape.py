"""A function's text written in another way, which does the same: other names, lines and bytecode.

A learner's test gets implementations as code. What tells the right ones from the wrong ones must be
what they do, not how they look, which a table made at home could hold.
"""

import ast
import random

# what wrong implementations are made with, so that a name alone tells nothing
DECOYS = (
    "{x}.flip(-1)", "{x}.flip(-2)", "{x}.clamp(min=0)", "{x}.abs()", "{x}.float()", "{x}.double()",
    "{x}.softmax(-2)", "{x}.softmax(-1)", "{x}.masked_fill({x} == 0, -torch.inf)", "{x}[None]",
    "{x}.nan_to_num()", "{x}.mean(-2, keepdim=True)", "{x}.sum(-1)", "{x}.tril()", "{x}.cumsum(-1)",
    "{x}.detach()", "{x}.sigmoid()", "{x}.exp()", "{x}.amax(-1)", "{x}.mT", "{x}.contiguous()",
    "{x} * {x}.shape[-1] ** -0.5", "{x}.add_(1)", "torch.zeros_like({x})", "torch.arange(9)",
)  # fmt: skip


def reshaped(text: str, chance: random.Random) -> str:
    """The text of a function, with the same parameters, as it may as well have been written."""
    tree = ast.parse(text)
    names = Names(tree, chance)
    return ast.unparse(ast.fix_missing_locations(Rewriting(names, chance).visit(tree)))


class Names:
    """New names for what a function assigns, and more of them."""

    def __init__(self, tree: ast.AST, chance: random.Random):
        self.chance = chance
        self.taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        given = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        stored = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.taken |= given
        self.renamed = {name: self.fresh() for name in sorted(stored - given)}

    def fresh(self) -> str:
        while True:
            name = "".join(self.chance.choices("abcdefghijklmnopqrstuvwxyz", k=4)) + "_"
            if name not in self.taken:
                self.taken.add(name)
                return name


class Rewriting(ast.NodeTransformer):
    """Renames, names what is returned, writes products as calls, adds lines without effect."""

    def __init__(self, names: Names, chance: random.Random):
        self.names, self.chance = names, chance
        self.parameters: list[str] = []

    def visit_Name(self, node):
        node.id = self.names.renamed.get(node.id, node.id)
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult) and self.chance.random() < 0.5:
            matmul = ast.parse("torch.matmul", mode="eval").body
            return ast.Call(matmul, [node.left, node.right], [])
        return node

    def visit_FunctionDef(self, node):
        outer = self.parameters
        self.parameters = [one.arg for one in node.args.args] or outer
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        self.generic_visit(node)
        body = [new for line in node.body for new in (*self.idle(), *self.named(line))]
        node.body = [*self.idle(always=True), *body]
        self.parameters = outer
        return node

    def named(self, line):
        """The line, and what it returns perhaps under a name."""
        if not isinstance(line, ast.Return) or line.value is None or self.chance.random() < 0.5:
            return [line]
        name = self.names.fresh()
        return [
            ast.Assign([ast.Name(name, ast.Store())], line.value),
            ast.Return(ast.Name(name, ast.Load())),
        ]

    def idle(self, always=False):
        """Perhaps some lines that change nothing, as a branch that is never taken."""
        if not (always or self.chance.random() < 0.3):
            return []
        number, other = self.chance.sample(range(2, 200), 2)
        name, made = self.names.fresh(), self.names.fresh()
        given = self.chance.choice(self.parameters or ["torch"])
        decoy = self.chance.choice(DECOYS).format(x=given)
        return ast.parse(f"{name} = {number}\nif {name} == {other}:\n    {made} = {decoy}").body
