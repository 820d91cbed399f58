"""Plant faults in a module's source, one at a time: operators, numbers, conditions, choices of an enum; pure."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One planted fault. function: qualified name of the outermost function, or of the constant at module level.

    before, after: the expression as it is, and with the fault. place: which of several alike in the function, from 1.
    tree: the module with the fault.
    """

    module: str
    function: str
    line: int
    before: str
    after: str
    place: int
    tree: ast.Module

    @property
    def name(self) -> str:
        """Name that stays the same while lines move."""
        place = f" ({self.place})" if self.place > 1 else ""
        return f"{self.module}:{self.function}: {self.before} → {self.after}{place}"


def faults_in(source: str, *, module: str, choices: Mapping[str, Sequence[str]]) -> list[Fault]:
    """Return every fault that is planted in the functions, methods and numbers of a module, by line.

    choices: members of each enum by its name; one is replaced by the next.
    """
    tree = ast.parse(source)
    sites = list(_sites(tree))
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for number, (function, node) in enumerate(sites):
        for replacement in _replacements(node, choices):
            before, after = ast.unparse(node), ast.unparse(replacement)
            key = (function, before, after)
            seen[key] += 1
            planted = copy.deepcopy(tree)
            target = list(_sites(planted))[number][1]
            ast.copy_location(replacement, target)
            planted = ast.fix_missing_locations(_Replaced(target, copy.deepcopy(replacement)).visit(planted))
            found.append(
                Fault(
                    module=module,
                    function=function,
                    line=getattr(node, "lineno", 0),
                    before=before,
                    after=after,
                    place=seen[key],
                    tree=planted,
                )
            )
    return found


class _Replaced(ast.NodeTransformer):
    def __init__(self, target: ast.AST, replacement: ast.AST) -> None:
        self.target, self.replacement = target, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        return self.replacement if node is self.target else super().generic_visit(node)


def _sites(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield every expression within functions, and module-level numbers, with the name of what holds it."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield from _of_function(statement, statement.name)
        elif isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                if isinstance(inner, ast.FunctionDef):
                    yield from _of_function(inner, f"{statement.name}.{inner.name}")
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value
            if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                yield statement.targets[0].id, value


def _of_function(function: ast.FunctionDef, name: str) -> Iterator[tuple[str, ast.AST]]:
    for statement in function.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # the docstring
        for node in _walked(statement):
            yield name, node


def _walked(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node and what is in it, without annotations and formats of numbers."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "format_spec", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walked(child)


def _replacements(  # noqa: C901, PLR0912 - one case for each kind of expression
    node: ast.AST, choices: Mapping[str, Sequence[str]]
) -> Iterator[ast.expr]:
    match node:
        case ast.Compare():
            yield from _compared(node)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(op=ast.Or() if isinstance(op, ast.And) else ast.And(), values=values)
            for i in range(len(values)):
                rest = [*values[:i], *values[i + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op=op, values=rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _CALCULATED:
            if not any(isinstance(each, ast.JoinedStr) or _is_text(each) for each in (left, right)):
                yield ast.BinOp(left=left, op=_CALCULATED[type(op)](), right=right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test=test, body=orelse, orelse=body)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int() as number):
            yield ast.Constant(value=number + 1)
        case ast.Constant(value=float() as number):
            yield ast.Constant(value=number * 2 if number else 1.0)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _CALLED:
            yield ast.Call(func=ast.Name(id=_CALLED[name], ctx=ast.Load()), args=args, keywords=keywords)
        case ast.Call(func=ast.Name(id="abs"), args=[argument]):
            yield argument
        case ast.Attribute(value=ast.Name(id=enum), attr=member) if member in choices.get(enum, ()):
            members = choices[enum]
            following = members[(members.index(member) + 1) % len(members)]
            yield ast.Attribute(value=ast.Name(id=enum, ctx=ast.Load()), attr=following, ctx=ast.Load())


def _compared(node: ast.Compare) -> Iterator[ast.Compare]:
    for i, op in enumerate(node.ops):
        for other in _COMPARED[type(op)]:
            ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
            yield ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
