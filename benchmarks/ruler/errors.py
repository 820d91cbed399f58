"""Everything the measuring tower raises on purpose.

RulerError
├── InvalidAxes             axes or filters that name something unknown
├── InvalidSettings         a variable of the environment that cannot be parsed
├── InvalidProviderModule   a provider module that cannot be read, or holds no providers
├── UncommittedChanges      the code under test differs from every commit
├── UnknownCommit           nothing says which commit is installed
├── JournalError            a journal that cannot be read or written
│   └── DamagedCeilings     a machine's file that is not one of ours
├── MachineBusy             another sweep measures on this machine
├── InvalidMilestones       a file of milestones that cannot be read, or names what git does not know
├── UnknownRange            two commits between which there is nothing to search
├── InvalidShard            a file of a fleet that cannot be read or written
├── FolderTaken             a fleet's folder in which another process does what this one was to do
├── UnfitHost               a host that measures otherwise than its class
├── StackFailed             packages of which no environment can be made
└── CommitFailed            a commit that cannot be measured
    ├── WheelFailed         no wheel can be made of it
    └── VisitFailed         the process that measured it ended early
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


class DamagedCeilings(JournalError):
    """Raised if a machine's file of ceilings is not one of ours; damage: what is wrong with it; mend: what to do."""

    def __init__(self, damage: str, *, mend: str) -> None:
        super().__init__(f"{damage}; {mend}")
        self.damage, self.mend = damage, mend


class MachineBusy(RulerError):
    """Raised if another sweep measures on this machine, and the settings forbid to wait."""


class InvalidMilestones(RulerError):
    """Raised for a file of milestones that cannot be read, or names a commit that git does not know."""


class UnknownRange(RulerError):
    """Raised for two commits between which there is nothing to search."""


class StackFailed(RulerError):
    """Raised if no environment can be made of the packages of a stack."""


class CommitFailed(RulerError):
    """Base of what makes a commit immeasurable; commit: its full hash."""

    def __init__(self, message: str, *, commit: str) -> None:
        super().__init__(message)
        self.commit = commit


class WheelFailed(CommitFailed):
    """Raised if no wheel can be made of a commit."""


class VisitFailed(CommitFailed):
    """Raised if the process that measured a commit ended early."""


class InvalidShard(RulerError):
    """Raised for a file of a fleet that cannot be read or written, or is of another format."""


class FolderTaken(RulerError):
    """Raised if another process starts a fleet's shards, or measures as the same host, while this one was to."""


class UnfitHost(RulerError):
    """Raised if a host is of another class than its shard, or measures otherwise; the message holds the figures."""
