"""MLPs written out in a longer forward: runs of assignments that can be called as a function of one value.

A forward with branches has no graph, but a run of plain assignments in it may have one. It becomes a function, and
the forward calls it; everything else in the forward stays as its author wrote it.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from fused_mlp.models.reading.decorated import layers_of, looks_around, with_inner
from fused_mlp.models.reading.linear_layers import is_linear
from fused_mlp.models.reading.methods import functions_of
from fused_mlp.models.reading.stand_ins import NoPattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import nn

_CALL = "_fused_stretch"
_codes: dict[tuple[str, CodeType], CodeType] = {}


@dataclass(frozen=True, kw_only=True)
class Run:
    """Assignments from the first to the last, of which only `result` is used behind; made from `argument` alone."""

    body: list[ast.stmt]
    first: int
    last: int
    argument: str
    result: str


class Source:
    """Source of a method, and the functions made from it."""

    def __init__(self, function: FunctionType, kind: type[nn.Module]) -> None:
        """Read the source of a method of `kind`. Raises: NoPattern if there is none, or it is no plain method."""
        self._layers = layers_of(function)
        is_decorated = len(self._layers) > 1
        self._function = function = self._layers[-1]
        try:
            lines, number = inspect.getsourcelines(function)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, TypeError, SyntaxError) as error:
            raise NoPattern(f"the source of its forward is not at hand ({error})") from error
        definition = tree.body[0]
        if any(isinstance(node, ast.Try) for node in ast.walk(definition)):
            raise NoPattern("its forward catches exceptions")
        is_plain = isinstance(definition, ast.FunctionDef) and (is_decorated or not definition.decorator_list)
        if not isinstance(definition, ast.FunctionDef) or not is_plain or not definition.args.args:
            raise NoPattern("its forward is decorated, or no plain method")
        ast.increment_lineno(tree, number - 1)
        self._definition = definition
        if not _is_source_of(function):
            raise NoPattern("the source of its forward is not what was loaded")
        if any(isinstance(node, ast.Global) for node in ast.walk(definition)):
            raise NoPattern("its forward assigns to names of its module")
        if any(map(looks_around, functions_of(kind, function))):
            raise NoPattern("its forward finds local values without naming them")
        self._self = definition.args.args[0].arg
        names = [node for node in ast.walk(definition) if isinstance(node, ast.Name)]
        arguments = [node.arg for node in ast.walk(definition) if isinstance(node, ast.arg)]
        stored = {node.id for node in names if isinstance(node.ctx, ast.Store | ast.Del)} | {
            *_bound_by_others(definition)
        }
        if self._self in stored:
            raise NoPattern(f"its forward assigns to {self._self}")
        self._locals = stored | {*arguments}
        private = [node.attr for node in ast.walk(definition) if isinstance(node, ast.Attribute)]
        if any(name.startswith("__") and not name.endswith("__") for name in private):
            raise NoPattern("its forward uses names that are private to its class")

    def runs(self, block: nn.Module) -> Iterator[Run]:
        """Yield the runs that begin and end with a call of a linear layer of `block`, the shortest first."""
        layers = {name for name, child in block._modules.items() if is_linear(child)}  # noqa: SLF001 - nn.Module's register
        for body in self._bodies():
            callers = [index for index, statement in enumerate(body) if self._calls(statement, layers)]
            spans = [(first, last) for first in callers for last in callers if first <= last]
            for first, last in sorted(spans, key=lambda span: (span[1] - span[0], span)):
                run = self._run(body, first, last)
                if run is not None:
                    yield run

    def function_of(self, run: Run) -> FunctionType:
        """Return the run as a function of the block and its argument."""
        arguments = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(self._self), ast.arg(run.argument)],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        result = ast.Return(ast.Name(run.result, ast.Load()))
        definition = ast.FunctionDef(
            self._definition.name, arguments, [*run.body[run.first : run.last + 1], result], [], None
        )
        return self._compiled(definition)

    def with_runs_replaced(self, runs: dict[str, Run], *, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method with each run as a call `result = call(self, key, argument)`."""
        kept: list[tuple[list[ast.stmt], list[ast.stmt]]] = []
        try:
            for key, run in sorted(runs.items(), key=lambda item: -item[1].first):
                kept.append((run.body, list(run.body)))
                instead = ast.Call(
                    ast.Name(_CALL, ast.Load()),
                    [
                        ast.Name(self._self, ast.Load()),
                        ast.Constant(key),
                        ast.Name(run.argument, ast.Load()),
                    ],
                    [],
                )
                statement = ast.Assign([ast.Name(run.result, ast.Store())], instead)
                ast.copy_location(statement, run.body[run.first])
                run.body[run.first : run.last + 1] = [statement]
            return with_inner(self._layers, self._compiled(self._definition, call=call))
        finally:
            for body, before in reversed(kept):
                body[:] = before

    def _bodies(self) -> Iterator[list[ast.stmt]]:
        for node in ast.walk(self._definition):
            for name in ("body", "orelse", "finalbody"):
                body = getattr(node, name, None)
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    yield body

    def _calls(self, statement: ast.stmt, layers: set[str]) -> bool:
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in layers
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == self._self
            for node in ast.walk(statement)
        )

    def _run(self, body: list[ast.stmt], first: int, last: int) -> Run | None:
        statements = body[first : last + 1]
        stored: list[str] = []
        taken: set[str] = set()
        for statement in statements:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                return None
            target = statement.targets[0]
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            simple = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.comprehension)
            if any(isinstance(node, simple) for node in ast.walk(statement.value)):
                return None
            loaded = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
            taken |= (loaded & self._locals) - {*stored, self._self}
            if not all(isinstance(each, ast.Name) for each in targets):
                return None
            stored += [each.id for each in targets if isinstance(each, ast.Name)]
        result = stored[-1]
        inside = {id(node) for statement in statements for node in ast.walk(statement)}
        outside = {
            node.id for node in ast.walk(self._definition) if isinstance(node, ast.Name) and id(node) not in inside
        }
        if len(taken) != 1 or isinstance(statements[-1].targets[0], ast.Tuple):  # type: ignore[attr-defined]
            return None
        if any(name in outside for name in stored if name != result):
            return None
        return Run(body=body, first=first, last=last, argument=taken.pop(), result=result)

    def _compiled(self, definition: ast.FunctionDef, *, call: Callable[..., Any] | None = None) -> FunctionType:
        function = self._function
        inner = ast.FunctionDef(definition.name, _plain(definition.args), definition.body, [], None)
        outer_names = (*function.__code__.co_freevars, _CALL)
        outer = ast.FunctionDef(
            "outer",
            ast.arguments([], [ast.arg(name) for name in outer_names], None, [], [], None, []),
            [inner, ast.Return(ast.Name(inner.name, ast.Load()))],
            [],
            None,
        )
        module = ast.fix_missing_locations(ast.Module([outer], []))
        names: dict[str, Any] = {}
        exec(compile(module, function.__code__.co_filename, "exec", dont_inherit=True), names)  # noqa: S102 - the block's own code
        constants = names["outer"].__code__.co_consts
        code = next(each for each in constants if inspect.iscode(each) and each.co_name == inner.name)
        # Blocks of one kind share their code, and with it what torch.compile makes of it.
        code = _codes.setdefault((code.co_filename, code), code)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells[_CALL] = CellType(call)
        closure = tuple(cells[name] for name in code.co_freevars)
        made = FunctionType(code, function.__globals__, function.__name__, None, closure)
        if definition is self._definition:
            made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        return made


def _bound_by_others(definition: ast.FunctionDef) -> Iterator[str]:
    """Yield the names that statements in a function bind beside assignments: definitions, imports and patterns."""
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node is not definition:
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name is not None:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            yield node.rest


def _is_source_of(function: FunctionType) -> bool:
    """Return whether the file that holds the function's source still is the one it was loaded from."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        of_file = _codes_of("".join(lines), code.co_filename)
    except SyntaxError:
        return False
    return any(_is_same_code(code, other) for other in of_file.get((code.co_qualname, code.co_firstlineno), ()))


@lru_cache(maxsize=8)
def _codes_of(text: str, name: str) -> dict[tuple[str, int], list[CodeType]]:
    found: dict[tuple[str, int], list[CodeType]] = {}
    waiting = [compile(text, name, "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        found.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
        waiting += [constant for constant in code.co_consts if inspect.iscode(constant)]
    return found


def _is_same_code(code: CodeType, other: CodeType) -> bool:
    return (
        code.co_code == other.co_code
        and code.co_names == other.co_names
        and len(code.co_consts) == len(other.co_consts)
        and all(
            _is_same_code(one, another) if inspect.iscode(one) and inspect.iscode(another) else one == another
            for one, another in zip(code.co_consts, other.co_consts, strict=True)
        )
    )


def _plain(arguments: ast.arguments) -> ast.arguments:
    """Return the arguments without annotations; defaults as placeholders, which the function's own replace."""

    def bare(argument: ast.arg | None) -> ast.arg | None:
        return None if argument is None else ast.arg(argument.arg)

    def all_bare(given: list[ast.arg]) -> list[ast.arg]:
        return [ast.arg(argument.arg) for argument in given]

    return ast.arguments(
        posonlyargs=all_bare(arguments.posonlyargs),
        args=all_bare(arguments.args),
        vararg=bare(arguments.vararg),
        kwonlyargs=all_bare(arguments.kwonlyargs),
        kw_defaults=[default and ast.Constant(None) for default in arguments.kw_defaults],
        kwarg=bare(arguments.kwarg),
        defaults=[ast.Constant(None) for _ in arguments.defaults],
    )
