"""Graphs back to code: a block's method with each match in it as one call, and the code of a match by itself."""

from __future__ import annotations

import linecache
from itertools import count
from typing import TYPE_CHECKING, Any

from torch import fx

from fused_mlp.models.stretch import compute_fused_call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fused_mlp.models.reading.block_patterns import Match

_compiled: dict[Any, Callable[..., Any]] = {}
_numbers = count()


def function_with_fused_calls(graph: fx.Graph, matches: Sequence[Match], *, key: str) -> Callable[..., Any]:
    """Return the code of `graph` as a function of the block and its arguments, each match one fused call.

    key: under which the block keeps the stretch of code that makes the calls.
    """
    # Where the first layer stands: what comes between may write into its input.
    calls = {match.nodes[0]: (index, match) for index, match in enumerate(matches)}
    replaced = {node for match in matches for node in match.nodes}
    made, known = fx.Graph(), dict[fx.Node, fx.Node]()
    for node in graph.nodes:
        if node in calls:
            index, match = calls[node]
            known[match.nodes[-1]] = made.call_module(f"_fused_call_{index}", (known[match.source],))
        elif node not in replaced:
            known[node] = made.node_copy(node, known.__getitem__)
    code = made.python_code("self")
    text = code.src
    for index in range(len(matches)):
        text = text.replace(f"self._fused_call_{index}(", f"_compute_fused_call(self, {key!r}, {index}, ")
    return _function(text, {**code.globals, "_compute_fused_call": compute_fused_call})


def function_of(match: Match) -> Callable[..., Any]:
    """Return the code of the match alone, as a function of the block and the match's input."""
    made = fx.Graph()
    known = {match.source: made.placeholder("x")}
    for node in match.nodes:
        known[node] = made.node_copy(node, known.__getitem__)
    made.output(known[match.nodes[-1]])
    code = made.python_code("self")
    return _function(code.src, dict(code.globals))


def _function(text: str, names: dict[str, Any]) -> Callable[..., Any]:
    # Blocks of one kind share their code, and with it what torch.compile makes of it.
    key = (text, tuple(sorted((name, id(value)) for name, value in names.items())))
    if key not in _compiled:
        file = f"<fused_mlp {next(_numbers)}>"
        # For tracebacks and debuggers.
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), names)  # noqa: S102 - made by torch.fx from the block's own graph
        _compiled[key] = names["forward"]
    return _compiled[key]
