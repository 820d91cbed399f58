"""Group of commands that suggests the right name for a misspelt one."""

from __future__ import annotations

from difflib import get_close_matches

import click


class SuggestingGroup(click.Group):
    """Group whose error for an unknown command names those that are spelt alike."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` name. Raises: click.UsageError with the likeliest names."""
        name = args[0]
        known = self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            alike = " or ".join(get_close_matches(name, known, n=2))
            hint = f"Did you mean {alike}?" if alike else f"There are {', '.join(known)}."
            raise click.UsageError(f"No such command '{name}'. {hint}", ctx=ctx)
        return super().resolve_command(ctx, args)
