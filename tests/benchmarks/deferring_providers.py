"""Providers that compute later than they are timed, into memory of an earlier result, or not at all."""

import threading
import time

import torch


class Lazy(torch.Tensor):
    """A result that is computed when it is looked at."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args = [each.compute() if isinstance(each, Lazy) else each for each in args]
        return func(*args, **(kwargs or {}))


def lazy_subclass(load):
    shape = load.module(load.x).shape

    def function(x):
        out = torch.empty(shape, dtype=x.dtype).as_subclass(Lazy)
        out.compute = lambda: load.module(x)
        return out

    return function


def lazy_instance(load):
    shape = load.module(load.x).shape

    def function(x):
        out = torch.empty(shape, dtype=x.dtype)
        out.double = lambda: load.module(x).double()
        out.clone = lambda: load.module(x).clone()
        return out

    return function


def in_a_thread(load):
    """Returns at once; another thread fills in the result."""
    shape = load.module(load.x).shape

    def function(x):
        out = torch.empty(shape, dtype=x.dtype)

        def work():
            with torch.inference_mode():
                time.sleep(0.002)
                out.copy_(load.module(x))

        threading.Thread(target=work).start()
        return out

    return function


def previous_result(load):
    """Gives the result of the call before, which was finished while nobody waited for it."""
    shape = load.module(load.x).shape
    earlier = [torch.zeros(shape, dtype=load.x.dtype)]

    def function(x):
        earlier.append(load.module(x))
        return earlier.pop(0)

    return function


def filled_at_the_next_call(load):
    """Gives memory that is filled when the next call comes, as if it were a queue."""
    shape = load.module(load.x).shape
    due = []

    def function(x):
        if due:
            out, given = due.pop()
            out.copy_(load.module(given))
        out = torch.empty(shape, dtype=x.dtype)
        due.append((out, x))
        return out

    return function


class FilledWhenDropped:
    """Computes a result once nobody holds it any more: never for one that nobody looks at."""

    def __init__(self, work):
        self.work = work

    def __del__(self):
        self.work()


def filled_when_dropped(load):
    shape = load.module(load.x).shape

    def function(x):
        out = torch.empty(shape, dtype=x.dtype)
        memory = out.detach()
        out.keeper = FilledWhenDropped(lambda: memory.copy_(load.module(x)))
        return out

    return function


def one_buffer(load):
    """The same memory for every result, so that no call pays for its own."""
    out = torch.empty_like(load.module(load.x))

    def function(x):
        out.copy_(load.module(x))
        return out

    return function


def several_buffers(load):
    """A few pieces of memory in turn, so that a result holds until so many have followed it."""
    outs = [torch.empty_like(load.module(load.x)) for _ in range(20)]
    n_calls = 0

    def function(x):
        nonlocal n_calls
        n_calls += 1
        return outs[n_calls % len(outs)].copy_(load.module(x))

    return function


def honest_at_the_end(load):
    """Learns how many calls follow each other at least, and computes only those that may be the last of a sample."""
    shape = load.module(load.x).shape
    runs, n_calls, ended = [], 0, 0.0

    def function(x):
        nonlocal n_calls, ended
        if time.perf_counter() - ended > 3e-4:
            runs.append(n_calls)
            n_calls = 0
        n_calls += 1
        usual = sorted(each for each in runs if each > 3)
        first_that_counts = usual[len(usual) // 10] - 1 if len(usual) > 5 else 0
        out = torch.empty(shape, dtype=x.dtype) if n_calls < first_that_counts else load.module(x)
        ended = time.perf_counter()
        return out

    return function


def computed_beforehand(load):
    """Computes what will be timed in the untimed calls before it: it knows where the inputs lie that come next."""
    known, first_values, beforehand = {}, {}, {}
    is_warming = False

    def function(x):
        nonlocal is_warming
        if x is load.x:
            if not is_warming:
                beforehand.update({key: (first_values[key][0], load.module(each)) for key, each in known.items()})
            is_warming = True
            return load.module(x)
        is_warming = False
        if id(x) not in known:
            known[id(x)], first_values[id(x)] = x, x.detach().numpy().reshape(-1)
        first, out = beforehand.pop(id(x), (None, None))
        return out if first == first_values[id(x)][0] else load.module(x)

    return function
