"""Answer of a bisection that ended: the commit, how sure it is, and the commands that show it again."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from results.commands.echo import echo
from results.commands.judging.stored_rounds import Q
from results.commands.measuring.judged_rounds import judged
from results.commands.measuring.rounds import Side
from results.exit_codes import ExitCode
from results.explanations import explanations_of
from results.judgement.bisection.search import Answer, Ended, Ending, next_step
from results.judgement.bisection.target import Kind
from results.output.findings import finding_as_json
from results.output.reports.bisection import change_of_target, comparative, target_in_words
from results.output.reports.explanation_report import explanation_as_json
from results.printable import json_for_terminal
from results.store import OpenMode, open_store
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.commands.measuring.bisection_state import Commit, Made, State
    from results.commands.measuring.tower import Place
    from results.judgement.bisection.target import Target
    from results.judgement.explanation import Explanation

_FILTERS_OF_SHAPE = ("batch", "hidden", "pass", "dtype")
_MOST_SENTENCES = 3
EXIT_CODES = {
    Ending.FOUND: ExitCode.FINE,
    Ending.RANGE: ExitCode.FAILED,
    Ending.UNCONFIRMED: ExitCode.NOTHING_COMPARABLE,
    Ending.VANISHED: ExitCode.NOTHING_COMPARABLE,
}


def told(state: State, place: Place, *, options: Sequence[str], form: str) -> int:
    """Print the answer of a finished bisection; return its exit code.

    Fine for one commit, confirmed; failed for a range that commits hide which cannot be judged; nothing comparable
    where the ends do not differ, or what was found is not confirmed. place: where the store is. options: of `fusebench
    ab`, to choose points.
    """
    if state.is_equal or state.target is None:
        if form == "json":
            echo(_json({"ending": "equal", "why": state.why, **_ends(state)}))
        else:
            echo(f"\nNothing to bisect: {state.why}.")
        return ExitCode.NOTHING_COMPARABLE
    step = next_step(len(state.range.candidates), [one.trial for one in state.made])
    if not isinstance(step, Ended):
        return ExitCode.OUR_FAULT
    why = explanations(state, step, place)
    if form == "json":
        found = as_json(state, step, state.target, options)
        findings = [
            {**finding_as_json(one.finding, class_=one.class_), "explanation": explanation_as_json(one)}
            for one in why
            if one.finding
        ]
        echo(_json(found | {"findings": findings}))
    else:
        sentences = [f"  Why: {one.sentence}" for one in why if one.sentence is not None][:_MOST_SENTENCES]
        lines = as_text(state, step, state.target, options)
        echo("\n".join(["", *lines, *(sentences or ["  Why: not known; what was measured does not show it."])]))
    return EXIT_CODES[step.ending]


def explanations(state: State, end: Ended, place: Place) -> list[Explanation]:
    """Return why the commit that was found differs from its parent, by the rounds that confirmed it."""
    confirmation, target = _confirmation(state, end), state.target
    if confirmation is None or target is None:
        return []
    name = f"bisect-{state.id}-{state.made.index(confirmation) + 1}"
    base, head = confirmation.against, state.range.at(end.first_bad).hash
    sides = [Side(commit=at, run=f"{name}-{word}", stack="present") for word, at in (("base", base), ("head", head))]
    judgement = judged(sides[0], sides[1], place, q=Q)
    with open_store(place.db, mode=OpenMode.READ) as store:
        found = explanations_of(store, judgement)
    of_target = [one for one in found if one.finding and one.finding.surface.benchmark == target.benchmark]
    return sorted(of_target, key=lambda one: one.finding is None or one.finding.metric != target.metric)


def as_text(state: State, end: Ended, target: Target, options: Sequence[str]) -> list[str]:
    """Write the answer in lines."""
    commit = state.range.at(end.first_bad)
    confirmation = _confirmation(state, end)
    made = change_of_target(target, confirmation.change, confirmation.interval) if confirmation else ""
    worse = comparative(target)
    followed = target_in_words(target)
    whole = change_of_target(target, target.change, None)
    lines: list[str] = []
    match end.ending:
        case Ending.FOUND:
            lines += [f"First {worse} commit: {commit.hash}", *_described(commit)]
            lines += [f"  {followed}: {made} against {_against(commit, confirmation)}, of {whole} between the ends"]
        case Ending.RANGE:
            suspects = _suspects(state, end)
            lines += [f"One of {len(suspects)} commits, which could not be told apart, made it {worse}:"]
            lines += [f"  {one.hash[:12]} {one.subject} ({_why_skipped(state, one)})" for one in suspects]
            lines += [f"  {followed}: {made} over all of them, of {whole} between the ends"]
        case Ending.UNCONFIRMED:
            lines += [f"Not confirmed: {commit.hash[:12]} {commit.subject}"]
            against = _against(commit, confirmation)
            lines += [f"  {followed}: {made or 'nothing was measured'} against {against}, of {whole} between the ends."]
            lines += ["  Several small steps make such a change, or noise; --again begins anew."]
        case Ending.VANISHED:
            lines += ["The ends do not differ any more, so what was found was noise; --again begins anew."]
            return lines
    threads, points = _threads(target), _points(target, options)
    skipped = _skipped(state, end)
    lines += [f"  {counted(len(skipped), 'commit')} skipped within the range"]
    if end.ending is Ending.FOUND and state.range.is_good_beside and end.first_bad == 1:
        short, good = commit.hash[:12], state.range.good.hash[:12]
        lines += [
            "  It merged the branch of GOOD into a line that GOOD had not seen. To search that line:",
            f"    {threads}fusebench bisect $(git merge-base {short}^1 {good}) {short}^1 {points}",
        ]
    if commit.is_merge and end.ending is Ending.FOUND:
        short = commit.hash[:12]
        lines += [
            "  It is a merge. To search what it merged:",
            f"    {threads}fusebench bisect $(git merge-base {short}^1 {short}^2) {short}^2 {points}",
        ]
    lines += [f"  Measure it again: {reproduction(state, end, target, options)}"]
    lines += [f"  What it changed: git show {commit.hash[:12]} -- kernels"]
    return lines


def _against(commit: Commit, confirmation: Made | None) -> str:
    if confirmation is None or confirmation.against == commit.parent:
        return f"its parent {(commit.parent or '')[:8]}"
    return f"{confirmation.against[:8]}, the last good one"


def as_json(state: State, end: Ended, target: Target, options: Sequence[str]) -> dict[str, Any]:
    """Return the answer as JSON; changes are log ratios for times, differences for counts."""
    confirmation = _confirmation(state, end)
    commit = state.range.at(end.first_bad)
    is_time = target.kind is Kind.TIME
    effect = confirmation.change if confirmation else None
    return {
        "ending": end.ending,
        **_ends(state),
        "first_parents_only": True,
        "commit": asdict(commit) if end.ending is Ending.FOUND else None,
        "last_good": state.range.at(end.last_good).hash,
        "first_bad": commit.hash,
        "suspects": [one.hash for one in _suspects(state, end)],
        "skipped": [{"commit": one.hash, "why": _why_skipped(state, one)} for one in _skipped(state, end)],
        "n_equal_kernels": state.range.n_equal,
        "benchmark": target.benchmark,
        "metric": target.metric,
        "kind": target.kind,
        "is_worse": target.is_worse,
        "points": [{one.name: one.value for one in each.parameters} for each in target.series],
        "n_points_compared": target.n_compared,
        "change_between_ends": target.change,
        "change": effect,
        "change_interval": confirmation.interval if confirmation else None,
        "ratio": math.exp(effect) if is_time and effect is not None else None,
        "interval": [math.exp(edge) for edge in confirmation.interval]
        if is_time and confirmation and confirmation.interval
        else None,
        "trials": [_trial_as_json(state, one) for one in state.made],
        "command": reproduction(state, end, target, options),
    }


def reproduction(state: State, end: Ended, target: Target, options: Sequence[str]) -> str:
    """Return the command that compares the commit that was found with its parent, at the points followed alone."""
    commit = state.range.at(end.first_bad)
    confirmation = _confirmation(state, end)
    base = confirmation.against if confirmation else state.range.at(end.last_good).hash
    compared = shlex.join(["fusebench", "ab", base[:12], commit.hash[:12]])
    return f"{_threads(target)}{compared} {_points(target, options)}"


def _points(target: Target, options: Sequence[str]) -> str:
    """Write the options that choose the points followed, of `ab` and of `bisect`."""
    kept = dict(_paired(options))
    kept["--operation"] = target.benchmark
    if target.provider:
        kept["--provider"] = target.provider
    for name in _FILTERS_OF_SHAPE:
        values = {str(each.value) for one in target.series for each in one.parameters if each.name == name}
        if values:
            kept[f"--{name}"] = ",".join(sorted(values, key=lambda text: (len(text), text)))
    return shlex.join(word for pair in kept.items() for word in pair)


def _threads(target: Target) -> str:
    """Write the threads they were measured with, as variables before a command; empty where they differ."""
    found = {one.value for each in target.series for one in each.parameters if one.name == "threads"}
    return f"FUSEBENCH_THREADS={found.pop()} " if len(found) == 1 else ""


def _paired(options: Sequence[str]) -> list[tuple[str, str]]:
    words = [word for word in options if word != "--no-wait"]
    return list(zip(words[::2], words[1::2], strict=True))


def _described(commit: Commit) -> list[str]:
    return [f"  {commit.subject}", f"  author date {commit.author_date}"]


def _confirmation(state: State, end: Ended) -> Made | None:
    places = (end.last_good, end.first_bad)
    of_these = [
        one for one in state.made if one.trial.is_confirmation and (one.trial.against, one.trial.place) == places
    ]
    return of_these[-1] if of_these else None


def _suspects(state: State, end: Ended) -> list[Commit]:
    return [state.range.at(place) for place in range(end.last_good + 1, end.first_bad + 1)]


def _skipped(state: State, end: Ended) -> list[Commit]:
    return _suspects(state, end)[:-1]


def _why_skipped(state: State, commit: Commit) -> str:
    for one in reversed(state.made):
        if state.range.at(one.trial.place) == commit and one.trial.answer is Answer.SKIPPED:
            return f"skipped: {one.why}"
    return "bad"


def _trial_as_json(state: State, made: Made) -> dict[str, Any]:
    commit = state.range.at(made.trial.place)
    return {
        "commit": commit.hash,
        "subject": commit.subject,
        "against": made.against,
        "is_confirmation": made.trial.is_confirmation,
        "answer": made.trial.answer,
        "why": made.why,
        "change": made.change,
        "interval": made.interval,
        "rounds": made.n_made,
    }


def _ends(state: State) -> dict[str, object]:
    return {"good": asdict(state.range.good), "bad": asdict(state.range.bad)}


def _json(found: dict[str, Any]) -> str:
    return json_for_terminal(json.dumps(found, indent=1, ensure_ascii=False))
