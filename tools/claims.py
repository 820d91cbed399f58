"""Check what is claimed about fused MLPs and about measuring them, each claim by one command, into docs/claims.md.

`make claims` checks all; `python tools/claims.py NAME …` some, and prints them; `--write` makes their rows anew.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from claimed import asv_claims, gpu_claims, library_claims
from claimed import profile_claims as profiles
from claimed.profile_claims import ARTICLE, SWEEP, Found
from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[1] / "docs" / "claims.md"
BEGIN, END = "<!-- begin: made by `make claims` -->", "<!-- end -->"
BEGIN_GPU, END_GPU = "<!-- begin: of a GPU, made by `make claims` -->", "<!-- end: of a GPU -->"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something claimed, the command whose output shows it, and the check that reads it."""

    name: str
    text: str
    command: str
    check: Callable[[], Found]


def _claim(name: str, text: str, check: Callable[[], Found], command: str = "") -> Claim:
    return Claim(name=name, text=text, check=check, command=command or f"python tools/claims.py {name}")


def _of_asv(name: str, text: str, experiment: Callable[[], tuple[bool, str]]) -> Claim:
    def check() -> Found:
        is_so, evidence = experiment()
        return profiles.verdict(is_so), evidence

    return _claim(name, text, check)


CLAIMS = (
    _claim("one-product", "A Linear layer is one product; aten::t costs the host time and computes nothing",
           profiles.one_product, ARTICLE),
    _claim("bias", "Its bias is added in the product's epilogue, for nothing", profiles.bias_in_epilogue, ARTICLE),
    _claim("nothing-to-fuse", "torch.compile runs the same product; only the bookkeeping of aten::t is gone",
           profiles.nothing_to_fuse, ARTICLE),
    _claim("five", "Eager runs a GeGLU block in five steps: three products, GELU, a multiplication",
           profiles.five_operators, ARTICLE),
    _claim("four", "torch.compile runs it in four: the same products, and one for GELU and multiplication",
           profiles.four_operators, ARTICLE),
    _claim("guards", "A compiled call pays for guards and dispatch each time", profiles.guards_at_every_call, ARTICLE),
    _claim("compilation", "It compiles before the first call, and for a new shape", profiles.compilation, ARTICLE),
    _claim("by-hand", "What is written by hand compiles nothing, has no guards, and is one step at all shapes",
           profiles.written_by_hand, ARTICLE),
    _claim("intermediates", "Fewer steps hold fewer intermediates in memory", profiles.fewer_intermediates, ARTICLE),
    _claim("ladder", "Steps of an MLP and a gated one: eager 3 and 5, compiled 3 and 4, one operator 1 and 1",
           profiles.ladder, SWEEP),
    _claim("small-batches", "Fusing gains most at small batches", profiles.gains_by_batch, SWEEP),
    _claim("compiled-gains", "torch.compile makes short operators at small batches 1.5 to 3 times as fast",
           profiles.compiled_gains, SWEEP),
    _claim("library", "What one operator gains over eager on a CPU, it gains by fusing",
           library_claims.gain_is_of_fusing),
    _claim("one-row", "At one row a product takes no longer than reading its weights",
           library_claims.one_row_is_read_at_full_speed),
    _claim("arithmetic", "At 8,192 rows, 768 → 3,072 a product takes 38.7 GFLOP, an intermediate 50 MB in bfloat16",
           profiles.arithmetic, "python -m benchmarks.ruler.article.guesses"),
    _claim("first-iterations", "First iterations lie", profiles.first_iterations),
    _claim("profiler", "A profiler inside the timed loop changes the answer", profiles.profiler_in_the_loop),
    _of_asv("asv-number", "asv makes one call a sample for a benchmark with a setup", asv_claims.calls_per_sample),
    _of_asv("asv-killed", "A killed asv run keeps nothing of its commit", asv_claims.killed_run),
    _of_asv("asv-two-runs", "Of two asv runs of one commit one is lost, and both exit with 0", asv_claims.two_runs),
    _of_asv("asv-truncated", "A truncated benchmarks.json takes asv's published site with it",
            asv_claims.truncated_index),
    _of_asv("asv-track", "asv marks a tracked value that rises as worse, whatever it counts",
            asv_claims.higher_is_worse),
    _of_asv("asv-same", "asv keeps nothing of a run with --python=same alone", asv_claims.same_python),
)  # fmt: skip


GPU_CLAIMS = (
    _claim("gpu-bias", "The bias of a Linear layer is in the epilogue of its one kernel", gpu_claims.bias_in_epilogue),
    _claim("gpu-steps", "A gated block is five kernels eager, four compiled, four by hand",
           gpu_claims.steps_of_a_gated_block),
    _claim("gpu-names", "The products keep their names under torch.compile, and so their work",
           gpu_claims.products_keep_their_names),
    _claim("gpu-products", "Gate and up take as long as each other, down less, with another tile",
           gpu_claims.gate_up_and_down),
    _claim("gpu-generated", "A generated pointwise kernel is as fast as one written by hand",
           gpu_claims.generated_against_written),
    _claim("gpu-occupancy", "Each product is preceded by an occupancy query, pointwise kernels are not",
           gpu_claims.occupancy_queries),
    _claim("gpu-host", "Where the host is slower than the device, fewer launches help and faster kernels do not",
           gpu_claims.host_bound),
    _claim("gpu-levels", "An epilogue makes two kernels of either block, a single kernel one",
           gpu_claims.kernels_by_level),
    _claim("gpu-graphs", "Times of microsecond kernels hold the host's part, unless they are captured in a graph",
           gpu_claims.graphs_leave_the_host_out),
)  # fmt: skip
REGIONS = ((BEGIN, END, "on a CPU", CLAIMS), (BEGIN_GPU, END_GPU, "on an H100", GPU_CLAIMS))
"""Parts of the page that are made: their marks, the column of verdicts, the claims in their order."""


def row_of(claim: Claim, found: Found) -> list[str]:
    """Return the claim with its verdict and evidence as a row of the page's table."""
    verdict, said = found
    return [claim.text, f"`{claim.command}`", f"**{verdict}**", said]


def rows_on(page: str) -> dict[str, list[str]]:
    """Return the rows of the page's tables by the claim's text."""
    found = {}
    for begin, end, _, _ in REGIONS:
        table = page.partition(begin)[2].partition(end)[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
        found.update({row[0]: row for row in rows})
    return found


def with_rows(page: str, rows: dict[str, list[str]]) -> str:
    """Return the page with the rows of all claims that are known, each table's in its order; the rest stays."""
    for begin, end, where, claimed in REGIONS:
        if begin not in page:
            continue
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        known = [rows[claim.text] for claim in claimed if claim.text in rows]
        made = tabulate(known, ["claim", "command", where, "evidence"], tablefmt="github", disable_numparse=True)
        page = f"{before}{begin}\n\n{made}\n\n{end}{after}"
    return page


def main() -> None:
    """Check all claims and write the page, or print those that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = (*CLAIMS, *GPU_CLAIMS)
    names = [claim.name for claim in every]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--write", action="store_true", help="write what is found of those that are named to the page")
    asked = parser.parse_args()
    found = {}
    for claim in every:
        if not asked.names or claim.name in asked.names:
            verdict, evidence = claim.check()
            found[claim.text] = row_of(claim, (verdict, evidence))
            print(f"{claim.name}: {verdict}: {evidence}", flush=True)
    if asked.write or not asked.names:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_rows(page, {**rows_on(page), **found}), encoding="utf-8")


if __name__ == "__main__":
    main()
