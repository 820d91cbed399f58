"""Keys of what a kernel's machine code follows from, so that unchanged kernels are not compiled again."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

from triton.language import constexpr
from triton.runtime.jit import JITFunction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fused_mlp.gpu.configurations import Configuration


def key_of(configuration: Configuration, *, capability: int, versions: Mapping[str, str]) -> str:
    """Return what the machine code of `configuration` follows from, as ten hexadecimal digits.

    The kernel's source and that of everything it calls, its arguments and constants, the options, what is declared of
    it, the target, and the versions of the tools. The same key, the same footprint: compiling is deterministic.
    Comments, docstrings and the place in the file do not count, which Triton's own key counts.
    """
    parts = (
        sorted(_sources(configuration.kernel)),
        configuration.kernel.__name__,
        str(configuration.dtype),
        sorted((name, repr(value)) for name, value in configuration.constants.items()),
        sorted(configuration.types.items()),
        sorted(configuration.unaligned),
        configuration.n_warps,
        configuration.n_stages,
        sorted(configuration.options.items()),
        sorted(configuration.instructions),
        capability,
        sorted(versions.items()),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:10]


@cache
def _sources(kernel: JITFunction[Any]) -> frozenset[str]:
    """Return the syntax of `kernel` and of what it calls, with the values of the globals that they read."""
    tree = kernel.parse()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and ast.get_docstring(function) is not None:
            function.body = function.body[1:]
    sources = {ast.dump(tree)}
    for name in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
        value = kernel.__globals__.get(name)
        if isinstance(value, JITFunction):
            sources |= _sources(value)
        elif isinstance(value, (int, float, str, constexpr)):
            sources.add(f"{name} = {value!r}")
    return frozenset(sources)
