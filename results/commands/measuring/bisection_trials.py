"""Trials of a bisection: measured, judged and kept, one after the other, until the search ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from results.commands.echo import echo
from results.commands.judging.stored_rounds import Q
from results.commands.measuring.bisection_state import target_as_json
from results.commands.measuring.judged_rounds import judged, uncertain_shapes
from results.commands.measuring.rounds import SHAPE, Rounds, measured_rounds
from results.exit_codes import ExitCode
from results.judgement.bisection.search import GOOD_END, Answer, Ask, Trial, n_trials_left, next_step
from results.judgement.bisection.share import Share, share_of
from results.judgement.bisection.target import Kind, Target, target_of
from results.output.reports.bisection import answer_in_words, change_of_target, comparative, target_in_words
from results.queries import values_of_run
from results.store import OpenMode, open_store
from results.units import counted, percent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from results.commands.measuring.bisection_state import Range, State
    from results.commands.measuring.rounds import Side
    from results.commands.measuring.tower import Place
    from results.judgement.verdicts import Judgement

LOOKS = (3, 5, 8, 11)
"""Rounds after which a trial is judged, until it is certain."""
_ENDS = "ends"
_ROUNDS_OF_COUNTS = 2  # exact from the first on; what fails now and then is seen twice


class Bisecting:
    """A bisection under way. options: those of `fusebench ab` that choose the points; is_text: print as it goes."""

    def __init__(self, *, checkout: Path, place: Place, options: Sequence[str], is_text: bool, state: State) -> None:
        self.checkout, self.place, self.options, self.state = checkout, place, tuple(options), state
        self._is_text = is_text

    def run(self) -> int:
        """Make the trials that are left; return 0, or the exit code of what kept one from being made."""
        if self.state.is_finished:
            self._say(f"Bisected before, begun {self.state.begun}; --again measures anew.")
            return ExitCode.FINE
        self._say(range_in_words(self.state.range))
        if self.state.made:
            self._say(f"going on after {counted(len(self.state.made), 'trial')}, begun {self.state.begun}")
        if self.state.target is None and (code := self._compare_ends()):
            return code
        # Ends that do not differ have no target.
        while (target := self.state.target) is not None:
            step = next_step(len(self.state.range.candidates), [one.trial for one in self.state.made])
            if not isinstance(step, Ask):
                self.state = self.state.add(
                    "end", ending=step.ending, last_good=step.last_good, first_bad=step.first_bad
                )
                return ExitCode.FINE
            if code := self._try(step, target):
                return code
        return ExitCode.FINE

    def _compare_ends(self) -> int:
        """Compare the ends until they are known to differ, and what is followed with them; return an exit code."""
        ends = [self.state.range.good.hash, self.state.range.bad.hash]
        only = self.place.folder / "uncertain.json"
        n_made, judgement = 0, None
        for n_rounds in LOOKS:
            rounds = self._measured(_ENDS, ends, (n_made + 1, n_rounds), only=only if n_made else None)
            if rounds.sides is None:
                self._say_failed_end(rounds, is_end=True)
                return rounds.exit_code
            judgement = judged(rounds.sides[0], rounds.sides[1], self.place, q=Q / len(LOOKS))
            target = target_of(judgement, metric=self.state.question["metric"])
            if target is not None:
                self.state = self.state.add("target", **target_as_json(target))
                change = change_of_target(target, target.change, None)
                words = f"{target_in_words(target)}: {change}, {counted(n_rounds, 'round')}"
                self._say(f"ends: BAD is {comparative(target)}: {words}")
                return ExitCode.FINE
            shapes = uncertain_shapes(judgement)
            if not shapes:
                break
            only.write_text(json.dumps(shapes), encoding="utf-8")
            n_made = n_rounds
        self.state = self.state.add("equal", why=_equality(judgement))
        return ExitCode.FINE

    def _try(self, step: Ask, target: Target, *, beside: str | None = None) -> int:
        """Make one trial; return an exit code. beside: commit to measure beside, where it is no other one's turn."""
        number = len(self.state.made) + 1
        commit, last_good = (self.state.range.at(place) for place in (step.place, step.against))
        name, share, n_made = f"{number}", None, 0
        base = beside or (self._predecessor_of(step) if step.is_confirmation else last_good.hash)
        only = self.place.folder / "followed.json"
        only.write_text(json.dumps(_shapes(target)), encoding="utf-8")
        provider = ["--provider", target.provider] if target.provider else []
        for n_rounds in LOOKS if target.kind is Kind.TIME else (_ROUNDS_OF_COUNTS,):
            rounds = self._measured(name, [base, commit.hash, *provider], (n_made + 1, n_rounds), only=only)
            if rounds.sides is None:
                if rounds.failed == base != last_good.hash:  # a commit that never was a candidate
                    return self._try(step, target, beside=last_good.hash)
                if rounds.failed != commit.hash:
                    self._say_failed_end(rounds, is_end=base == self.state.range.good.hash)
                    return rounds.exit_code
                share = Share(answer=Answer.SKIPPED, why=_in_one_line(rounds.why))
                break
            n_made, share = n_rounds, self._share(rounds.sides, target)
            if share.answer is not Answer.SKIPPED or not share.may_become_certain:
                break
        if share is None:
            return ExitCode.OUR_FAULT
        trial = Trial(place=step.place, answer=share.answer, against=step.against, is_confirmation=step.is_confirmation)
        left = n_trials_left(len(self.state.range.candidates), [one.trial for one in self.state.made])
        self.state = self.state.add_trial(trial, share, n_made=n_made, against=base)
        said = answer_in_words(
            target, share.answer, why=share.why, change=share.change, interval=share.interval, n_made=n_made
        )
        kind = f"trial {number} of about {number + left - 1}" if left else "again"
        if step.is_confirmation:
            kind = f"confirmation against {base[:8]}"
        self._say(f"{kind}: {commit.label}: {said}")
        return ExitCode.FINE

    def _predecessor_of(self, step: Ask) -> str:
        """Return the commit, by its full hash, that the one that was found is confirmed against."""
        commit, last_good = self.state.range.at(step.place), self.state.range.at(step.against)
        # With nothing skipped between them its parent has the same kernels as the last good one, unless that came to
        # the first parents by this very merge.
        is_next = step.place - step.against == 1
        is_brought = self.state.range.is_good_beside and step.against == GOOD_END
        return commit.parent if is_next and not is_brought and commit.parent else last_good.hash

    def _share(self, sides: Sequence[Side], target: Target) -> Share:
        with open_store(self.place.db, mode=OpenMode.READ) as store:
            base, head = (values_of_run(store, commit=side.commit, run_id=side.run) for side in sides)
        return share_of(target, base, head, n_looks=len(LOOKS))

    def _measured(self, name: str, asked: Sequence[str], rounds: tuple[int, int], *, only: Path | None) -> Rounds:
        """Measure the rounds of a look, and note that they are stored; begun again it begins behind those that are."""
        stored = self.state.looks.get(name, 0)
        # The last of them again, which finds all measured, and hands out the names of the runs.
        first = min(max(rounds[0], stored), rounds[1])
        words = [*asked[:2], *self.options, *asked[2:], "--name", f"bisect-{self.state.id}-{name}"]
        found = measured_rounds(words, self.checkout, self.place, rounds=(first, rounds[1]), only=only)
        if found.sides is not None and rounds[1] > stored:
            self.state = self.state.add("look", name=name, rounds=rounds[1])
        return found

    def _say_failed_end(self, rounds: Rounds, *, is_end: bool) -> None:
        if rounds.failed is not None:
            way = "; give another commit as that end" if is_end else ""
            echo(f"{rounds.failed[:8]} cannot be measured, and nothing can be compared with it{way}", err=True)

    def _say(self, words: str) -> None:
        echo(words, err=not self._is_text)


def range_in_words(found: Range) -> str:
    """Write what is searched: how many commits, which parents, and which of them cannot matter."""
    n = len(found.candidates)
    words = f"{found.good.hash[:8]} (good) to {found.bad.hash[:8]} (bad): {counted(n + found.n_equal, 'commit')}"
    words += " by first parents"
    if found.n_merges:
        words += f", {counted(found.n_merges, 'merge')} among them standing for what they merged"
    if found.is_good_beside:
        words += "; GOOD is of a branch: what the first of them merged it into counts as of that merge"
    if found.n_equal:
        words += f"; {n} of them {'changes' if n == 1 else 'change'} kernels/, the others cannot matter"
    return words


def _in_one_line(why: str) -> str:
    """Return what failed and, of what a tool printed below it, the last line."""
    first, *others = [line.strip() for line in why.splitlines() if line.strip()] or ["no reason given"]
    return f"{first.rstrip(':')}: {others[-1]}" if others else first


def _equality(judgement: Judgement | None) -> str:
    """Write why the ends cannot be bisected."""
    if judgement is None or not judgement.verdicts:
        return "nothing was measured at both ends"
    if judgement.is_control_moved:
        return "eager itself moved between them, which no commit does: the machine was not steady; try again later"
    floor = "the noise" if judgement.floor is None else f"{percent(judgement.floor, digits=1)}, what can be seen here"
    n_uncertain, verdicts = len(uncertain_shapes(judgement)), judgement.verdicts
    doubt = f"; {counted(n_uncertain, 'shape')} stayed uncertain" if n_uncertain else ""
    if n_disturbed := sum(one.evidence is not None and one.evidence.difference.is_disturbed for one in verdicts):
        doubt += f"; {n_disturbed:,} series disturbed in every round"
    return f"GOOD and BAD do not differ beyond {floor}, in any of {judgement.n_compared:,} series{doubt}"


def _shapes(target: Target) -> list[dict[str, object]]:
    found = {}
    for one in target.series:
        shape: dict[str, object] = {each.name: each.value for each in one.parameters if each.name in SHAPE}
        found[json.dumps(shape, sort_keys=True)] = {"operation": one.benchmark, **shape}
    return list(found.values())
