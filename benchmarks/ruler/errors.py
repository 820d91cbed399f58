"""Everything the measuring tower raises on purpose.

RulerError
├── InvalidAxes             axes or filters that name something unknown
├── InvalidSettings         a variable of the environment that cannot be parsed
├── InvalidProviderModule   a provider module that cannot be read, or holds no providers
├── UncommittedChanges      the code under test differs from every commit
├── UnknownCommit           nothing says which commit is installed
├── JournalError            a journal that cannot be read or written
└── MachineBusy             another sweep measures on this machine
"""


class RulerError(Exception):
    """Base of all; the message says what happened, where, and what to do next."""


class InvalidAxes(RulerError):
    """Axes or filters that name something unknown."""


class InvalidSettings(RulerError):
    """A variable of the environment that cannot be parsed."""


class UncommittedChanges(RulerError):
    """The code under test differs from every commit, so its times would be filed under the wrong one."""


class UnknownCommit(RulerError):
    """Nothing says which commit is installed."""


class InvalidProviderModule(RulerError):
    """A provider module that cannot be read, or holds no providers."""


class JournalError(RulerError):
    """A journal that cannot be read or written."""


class MachineBusy(RulerError):
    """Another sweep measures on this machine, and we were told not to wait."""
