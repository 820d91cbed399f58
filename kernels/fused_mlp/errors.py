"""Exceptions of this package, as a tree.

FusedMlpError            everything this package raises on purpose
├── InvalidArgument      an argument has the wrong shape, dtype, device or value (also a ValueError)
└── Unavailable          this machine cannot run the operation there, and why (also a RuntimeError)
"""

from __future__ import annotations


class FusedMlpError(Exception):
    """Base of every exception that fused_mlp raises on purpose."""


class InvalidArgument(FusedMlpError, ValueError):
    """Argument that the operation does not take; the message names it, what it got and what was expected.

    Attributes:
        argument: name of the argument as in the function's signature.
        got: what was passed, in words.
        expected: what would have been right, in words.
    """

    def __init__(self, argument: str, *, got: str, expected: str) -> None:
        # Not by super(), where torch.compile(fullgraph=True) would stop and tell of that instead of the message.
        ValueError.__init__(self, f"{argument} is {got}; expected {expected}")
        self.argument = argument
        self.got = got
        self.expected = expected


class Unavailable(FusedMlpError, RuntimeError):
    """Operation that cannot run on this machine; the message is the reason, in words for a user."""
