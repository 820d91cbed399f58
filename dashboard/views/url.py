"""Query strings of URLs: names shared by all pages, and problems found in what a URL asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from enum import StrEnum

    from results.rows import CommitRow

# In the URL and on a selector: the newest commit, whichever that is when the URL is opened.
LATEST = "latest"

Member = TypeVar("Member", bound="StrEnum")


def unknown_parameters(names: Iterable[str], *, known: Sequence[str]) -> list[str]:
    """Return a problem for each of the URL's parameters that is not among the `known` ones."""
    listed = ", ".join(known)
    return [f"Unknown URL parameter {name}; this page knows {listed}." for name in names if name not in known]


def member_of(name: str, wanted: Mapping[str, str], default: Member, problems: list[str]) -> Member:
    """Return the member of `default`'s enum that the URL names; else `default`, adding to `problems`."""
    requested = wanted.get(name, default.value)
    kind: Callable[[str], Member] = type(default)
    try:
        return kind(requested)
    except ValueError:
        choices = ", ".join(type(default))
        problems.append(f"The URL parameter {name} is {requested}; it can be {choices}. Showing {default}.")
        return default


def commit_of(requested: str, commits: Sequence[CommitRow], problems: list[str]) -> str | None:
    """Return the only commit whose hash begins with `requested`; else None, the newest, adding to `problems`."""
    if requested == LATEST:
        return None
    found = [row.commit for row in commits if requested and row.commit.startswith(requested.lower())]
    if len(found) == 1:
        return found[0]
    number = f"{len(found)} measured commits begin" if found else "no measured commit begins"
    problems.append(f"The URL asks for commit {requested}, but {number} with that; showing the latest.")
    return None
