"""`fusebench article`, its first half: the axes to measure, and what is guessed before."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.ruler.article.guesses import cases
from benchmarks.ruler.errors import RulerError
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.article_axes import ARTICLE_AXES
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.record.provenance import expected_device
from benchmarks.ruler.sweep.interruption import interruptible, run_command

if TYPE_CHECKING:
    from benchmarks.ruler.plan.points import DeviceKind


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
@click.option("--uncommitted", is_flag=True, help="Measure files that no commit holds; nothing is recorded then.")
@click.option("--again", is_flag=True, help="Measure anew what is recorded already.")
@click.option("--cwd", type=Path, hidden=True, help="Folder that relative paths start from.")
@click.option("--out", type=Path, hidden=True, help="Folder for the question.")
def main(out: Path | None, **options: Any) -> None:  # noqa: ANN401 - click's values, each of its own type
    """Show what one call of a Linear layer and of a GeGLU block does, and why it takes the time it does.

    An article (huggingface.co/blog/torch-mlp-fusion) profiled both on an A100. For each case this prints what the
    article saw, what is to be expected on this machine, what was observed, and the difference in words. Takes a minute
    or two; what is recorded of this commit already is not measured again.

    \b
    fusebench article
    fusebench article --format markdown
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    try:
        with interruptible():
            question = asked(options, device=expected_device(settings_from_environment()))
    except RulerError as error:
        click.echo(f"fusebench article: {error}", err=True)
        sys.exit(ExitCode.WRONG_USAGE)
    ((out or Path()) / "question.json").write_text(json.dumps(question), encoding="utf-8")


def asked(options: dict[str, Any], *, device: DeviceKind) -> dict[str, Any]:
    """Return the question as the results' half reads it: the axes by name, the device, the cases with their guesses."""
    axes = ARTICLE_AXES[device]
    question = {name: options[name] for name in ("form", "uncommitted", "again")}
    return {**question, "axes": axes.name, "device": device.value, "cases": cases(axes, device=device)}


if __name__ == "__main__":
    run_command(main, name="fusebench article")
