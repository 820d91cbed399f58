"""One call of a sweep point as one commit measured it: what an explanation compares; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from results.files.records import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from results.files.stacks import FoldedStack
    from results.rows import PointRow, ProfileRow


@dataclass(frozen=True, kw_only=True)
class ProfiledCall:
    """Point as timed, and its profile where there is one.

    host, device: folded stacks of the profile, as `stacks_of` returns them; empty where none are stored. conditions: of
    the run that timed it, by name.
    """

    point: PointRow
    profile: ProfileRow | None = None
    host: tuple[FoldedStack, ...] = ()
    device: tuple[FoldedStack, ...] = ()
    conditions: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_on_device(self) -> bool:
        """Whether kernels of a device do its work, and not operators of the host."""
        return self.profile is not None and self.profile.kernel_launches is not None

    @property
    def reason(self) -> str | None:
        """Why it shows nothing of its inside, in words; None if it does."""
        if self.profile is None:
            return "no profile is stored"
        if self.profile.state != State.OK:
            return f"the profile is {self.profile.state}: {self.profile.reason or 'no reason given'}"
        if not (self.profile.operators or self.profile.kernels):
            return "the profile lists no operators"
        return None
