"""Everything the measuring tower raises on purpose.

RulerError
├── InvalidAxes             axes or filters that name something unknown
├── InvalidSettings         a variable of the environment that cannot be parsed
├── InvalidProviderModule   a provider module that cannot be read, or holds no providers
├── UncommittedChanges      the code under test differs from every commit
├── UnknownCommit           nothing says which commit is installed
├── JournalError            a journal that cannot be read or written
├── MachineBusy             another sweep measures on this machine
├── InvalidMilestones       a file of milestones that cannot be read, or names what git does not know
└── WheelFailed             a commit of which no wheel can be made
"""


class RulerError(Exception):
    """Base of all; the message says what happened, where, and what to do next."""


class InvalidAxes(RulerError):
    """Raised for axes or filters that name something unknown."""


class InvalidSettings(RulerError):
    """Raised for a variable of the environment that cannot be parsed."""


class UncommittedChanges(RulerError):
    """Raised if the code under test differs from every commit: its times would be filed under the wrong one."""


class UnknownCommit(RulerError):
    """Raised if the commit of the installed package is unknown."""


class InvalidProviderModule(RulerError):
    """Raised for a provider module that cannot be read, or holds no providers."""


class JournalError(RulerError):
    """Raised for a journal that cannot be read or written."""


class MachineBusy(RulerError):
    """Raised if another sweep measures on this machine, and the settings forbid to wait."""


class InvalidMilestones(RulerError):
    """Raised for a file of milestones that cannot be read, or names a commit that git does not know."""


class WheelFailed(RulerError):
    """Raised if no wheel can be made of a commit."""
