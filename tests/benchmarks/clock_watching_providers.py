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
