"""What a check concludes where the machine did not let it count every case."""

import pytest

from benchmarks.ruler.checks.conclusion import DISTURBED, Conclusion, Kind, concluded, exit_code, first_cause
from benchmarks.ruler.exit_codes import ExitCode


def conclusion(n_counted, n_disturbed=0, *, holds=True, **options):
    return concluded("words", holds=holds, n_counted=n_counted, not_counted={DISTURBED: n_disturbed}, **options)


@pytest.mark.parametrize(
    ("n_counted", "n_disturbed", "kind"),
    [(10, 0, Kind.PASS), (10, 10, Kind.PASS), (10, 11, Kind.UNDECIDED), (0, 3, Kind.UNDECIDED), (0, 0, Kind.UNDECIDED)],
)
def test_nothing_passes_of_which_less_than_half_was_counted(n_counted, n_disturbed, kind):
    assert conclusion(n_counted, n_disturbed).kind is kind


def test_what_was_counted_and_fails_has_failed_unless_it_is_a_share_of_few():
    assert conclusion(1, 99, holds=False).kind is Kind.FAIL
    assert conclusion(1, 99, holds=False, is_share=True).kind is Kind.UNDECIDED
    assert conclusion(99, 1, holds=False, is_share=True).kind is Kind.FAIL
    assert conclusion(0, 3, holds=False).kind is Kind.UNDECIDED


def test_how_many_were_not_counted_and_why_is_said():
    assert str(conclusion(46, 2)) == "pass: words; the machine was disturbed, 2 of 48 cases not counted"
    assert str(conclusion(48)) == "pass: words"
    assert str(conclusion(0, 2)).endswith("; check again while the machine is quiet")


def test_the_worst_conclusion_decides_how_a_check_ends():
    of_kind = {kind: Conclusion(kind=kind, words="") for kind in Kind}
    assert exit_code([of_kind[Kind.PASS]]) is ExitCode.FINE
    assert exit_code([of_kind[Kind.PASS], of_kind[Kind.UNDECIDED]]) is ExitCode.NOTHING_MEASURED
    assert exit_code([of_kind[Kind.UNDECIDED], of_kind[Kind.FAIL]]) is ExitCode.FAILED
    assert exit_code([]) is ExitCode.NOTHING_MEASURED


def test_a_line_of_a_table_has_the_first_cause_and_how_many_more():
    assert first_cause("slow") == "slow"
    assert first_cause("slow; slow") == "slow"
    assert first_cause("slow; busy; slow; hot") == "slow; and 2 more"
