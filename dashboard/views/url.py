"""Query strings of URLs: names shared by all pages, and problems found in what a URL asks for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlencode

from dashboard.sweep_axes import AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from enum import StrEnum

    from results.rows import CommitRow

# In the URL and on a selector: the newest commit, whichever that is when the URL is opened.
LATEST = "latest"
# What travels from page to page, each taking what it knows: the benchmark or the point, who competes, and the commit.
CONTEXT = ("project", "benchmark", *(axis.name for axis in AXES), "provider", "providers", "commit")
MOST_SHOWN = 60  # characters of a name that is not known
ALL, IN_WORDS = "*", "all"  # in place of a name: a project may be called all

Member = TypeVar("Member", bound="StrEnum")


def unknown_parameters(names: Iterable[str], *, known: Sequence[str]) -> list[str]:
    """Return a problem for each of the URL's parameters that is not among the `known` ones."""
    listed = ", ".join(known)
    return [
        f"Unknown URL parameter {name[:MOST_SHOWN]}; this page knows {listed}." for name in names if name not in known
    ]


def member_of(name: str, wanted: Mapping[str, str], default: Member, problems: list[str]) -> Member:
    """Return the member of `default`'s enum that the URL names; else `default`, adding to `problems`."""
    requested = wanted.get(name, default.value)
    kind: Callable[[str], Member] = type(default)
    try:
        return kind(requested)
    except ValueError:
        choices = ", ".join(type(default))
        problems.append(
            f"The URL parameter {name} is {requested[:MOST_SHOWN]}; it can be {choices}. Showing {default}."
        )
        return default


def name_or_all(name: str, wanted: Mapping[str, str], known: Sequence[str], problems: list[str]) -> str:
    """Return the name that the URL wants of `known`, which begin with ALL; else ALL, adding to `problems`."""
    requested = wanted.get(name, ALL)
    if requested in known:
        return requested
    if requested == IN_WORDS:
        return ALL
    there = ", ".join(known[1:]) or "none"
    problems.append(f"Nothing was measured of {name} {requested[:MOST_SHOWN]}; there are {there}. Showing all.")
    return ALL


def commit_of(requested: str, commits: Sequence[CommitRow], problems: list[str]) -> str | None:
    """Return the only commit whose hash begins with `requested`; else None, the newest, adding to `problems`."""
    if requested == LATEST:
        return None
    found = [row.commit for row in commits if requested and row.commit.startswith(requested.lower())]
    if len(found) == 1:
        return found[0]
    number = f"{len(found)} measured commits begin" if found else "no measured commit begins"
    problems.append(f"The URL asks for commit {requested[:MOST_SHOWN]}, but {number} with that; showing the latest.")
    return None


def context_after(before: str, search: str, *, swept: Collection[str], offers_all: bool = False) -> str:
    """Return the context after a visit of the URL's query `search`: `before`, but for what the URL names.

    Both contexts are query strings. `swept`: projects with a sweep, whose benchmarks are operations. `offers_all`: the
    page shows all projects where the URL names none.
    """
    asked = parse_qsl(search.removeprefix("?"))
    named = {name: value for name, value in [*_parameters_of(asked), *asked] if name in CONTEXT}
    if named.get("project") in swept and "benchmark" in named:
        named["operation"] = named.pop("benchmark")
    known = {name: value for name, value in parse_qsl(before) if name in CONTEXT}
    if known.get("project") in swept and named.get("machine", known.get("machine")) != known.get("machine"):
        del known["project"]  # it was one of several on its machine; another machine may have another one's sweep
    if named.get("project", known.get("project")) != known.get("project", named.get("project")):
        for name in ("commit", "machine", "environment"):  # of the other project
            known.pop(name, None)
    if offers_all and "project" not in named:
        known.pop("project", None)
    if "operation" in named:  # a point of the sweep; a URL that names no providers shows all
        known = {name: value for name, value in known.items() if name not in {"project", "benchmark", "providers"}}
    return urlencode({**known, **named}, safe=":,")


def _parameters_of(asked: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the parameters that the page *Explore* narrows to a single value, the provider with its layout."""
    pairs = [(name, value) for one, words in asked if one == "where" for name, _, value in [words.partition("=")]]
    times = Counter(name for name, _ in pairs)
    found = {name: value for name, value in pairs if times[name] == 1}
    if "provider" in found and found.get("weights", "plain") != "plain":
        found["provider"] += f":{found['weights']}"
    return list(found.items())


def commits_of(requested: Iterable[str], commits: Sequence[CommitRow], problems: list[str]) -> list[str]:
    """Return the commits whose hashes begin as requested, each once; others are left out, adding to `problems`."""
    found: dict[str, None] = {}
    for name in requested:
        begun = [row.commit for row in commits if row.commit.startswith(name.lower())]
        if len(begun) == 1:
            found[begun[0]] = None
        else:
            number = f"{len(begun)} measured commits begin" if begun else "no measured commit begins"
            problems.append(f"The URL asks for commit {name[:MOST_SHOWN]}, but {number} with that; it is left out.")
    return list(found)
