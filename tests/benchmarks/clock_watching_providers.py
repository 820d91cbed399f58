"""Cheating providers that tell by the clock that rivals had their turns, and cheat in the turn that follows alone."""

import time

import torch

from tests.benchmarks.deferring_providers import computed_beforehand

# Longer than a referee that samples nobody meanwhile would wait; rivals re-warm for several milliseconds.
RIVALS_S = 2.5e-3
HONEST_TURNS = 3


def after_rivals(cheat, *, honest_turns=HONEST_TURNS):
    """Honest for so many turns, then but in turns that begin after a pause as long as those of rivals."""

    def build(load):
        n_turns, ended, is_turn = 0, time.perf_counter(), False
        cheating = cheat(load)

        def function(x):
            nonlocal n_turns, ended, is_turn
            paused_s = time.perf_counter() - ended
            if paused_s > RIVALS_S:
                n_turns, is_turn = n_turns + 1, True
            elif paused_s > 8e-4:
                is_turn = False  # calls that begin without rivals' turns before them: it is being looked at
            out = cheating(x) if is_turn and n_turns > honest_turns else load.module(x)
            ended = time.perf_counter()
            return out

        return function

    return build


def _skipping(load):
    """Leaves out half of the calls that follow untimed ones."""
    stale = torch.zeros(load.module(load.x).shape)
    n_in_a_row, most = 0, 0

    def function(x):
        nonlocal n_in_a_row, most
        if x is load.x:
            most, n_in_a_row = max(most, n_in_a_row), 0
            return load.module(x)
        n_in_a_row += 1
        return stale if n_in_a_row < 0.6 * most else load.module(x)

    return function


skipped_after_rivals = after_rivals(_skipping)
computed_after_rivals = after_rivals(computed_beforehand)


def told_by_a_gap(load):
    """Computes beforehand what a sample takes, once the ruler has read its clocks amid the calls that warm up."""
    known, first_values, beforehand = {}, {}, {}
    ended, n_warming, is_computed = 0.0, 0, False

    def function(x):
        nonlocal ended, n_warming, is_computed
        if x is not load.x:
            n_warming = 0
            known[id(x)] = x
            values = first_values.setdefault(id(x), x.detach().numpy().reshape(-1))
            first, out = beforehand.get(id(x), (None, None))
            return out if first == values[0] else load.module(x)
        if n_warming == 0:
            beforehand.clear()
            is_computed = False
        elif n_warming >= 3 and not is_computed and time.perf_counter() - ended > 1e-5:
            beforehand.update({key: (first_values[key][0], load.module(each)) for key, each in known.items()})
            is_computed = True
        n_warming += 1
        out = load.module(x)
        ended = time.perf_counter()
        return out

    return function


def wrong_in_later_turns(load, *, honest_turns=12):
    """Once a visit has its first check and the ambushes that follow it, half of the rows are what they may be."""
    n_turns, was_warming = 0, False
    width = load.module(load.x).shape[1]

    def function(x):
        nonlocal n_turns, was_warming
        if x is load.x:
            was_warming = True
            return load.module(x)
        n_turns, was_warming = n_turns + was_warming, False
        if n_turns <= honest_turns:
            return load.module(x)
        out = torch.empty(x.shape[0], width, dtype=x.dtype)
        out[: len(out) // 2] = load.module(x[: len(out) // 2])
        return out

    return function
