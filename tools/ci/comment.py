"""Post a report as ONE comment on a pull request: an earlier one with the same marker is updated.

Run as `python -m ci.comment --file comment.md --number 12 [--marker NAME]` with GITHUB_TOKEN, GITHUB_REPOSITORY and,
for another server, GITHUB_API_URL. A token that may not comment, as on a pull request of a fork, is no failure: the
report is in the step's summary, and that is said.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from ci.workflow import message, summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_CHARACTERS = 65_536
PER_PAGE = 100
MOST_PAGES = 30  # of comments
_CUT = "\n\n… cut: the whole report is in the summary of the workflow's run."
_LINE = 2_000  # longer ones are cut within
_ENDS_FOLD = "\n\n</details>"
_MISSING = "**No report `{name}`**: its job ended before anything was judged; the workflow's run says why."
REFUSALS = {401, 403, 404}
_FORBIDDEN = 403
_BUSY = {429, 500, 502, 503, 504}
ATTEMPTS, PAUSE_S, TIMEOUT_S = 4, 2.0, 30


class Refused(Exception):
    """Raised where the token may not comment; the message is the server's."""


class Unreachable(Exception):
    """Raised where the server does not answer, or does not understand; the message says what it answered."""


class Comments:
    """Comments of one pull request, by the REST API."""

    def __init__(self, *, api: str, repository: str, number: int, token: str) -> None:
        """Take where and on what to comment. api: URL without a slash at its end."""
        self.api = api
        self.repository_url = f"{api}/repos/{repository}"
        self.url = f"{self.repository_url}/issues/{number}/comments"
        self.token = token

    def with_marker(self, marker: str) -> int | None:
        """Return the id of our first comment that begins with `marker`; None if there is none.

        What somebody else wrote is never taken for ours. Raises: Refused, Unreachable.
        """
        marked = list(self._begun_with(marker))
        if not marked:
            return None
        login = self._login()
        return next((int(one["id"]) for one in marked if _is_by(one.get("user") or {}, login)), None)

    def _login(self) -> str | None:
        """Return whose token it is; None of a program's, as a workflow's own is: that may not ask."""
        try:
            user = self._asked("GET", f"{self.api}/user")
        except Refused:
            return None
        return str(user["login"]) if isinstance(user, dict) and "login" in user else None

    def _begun_with(self, marker: str) -> Iterator[dict[str, Any]]:
        for page in range(1, MOST_PAGES + 1):
            found = self._asked("GET", f"{self.url}?per_page={PER_PAGE}&page={page}")
            comments = found if isinstance(found, list) else []
            yield from (one for one in comments if str(one.get("body", "")).startswith(marker))
            if len(comments) < PER_PAGE:
                return

    def put(self, body: str, marker: str) -> str:
        """Update the comment with the marker, or create it; "updated" or "created". Raises: Refused, Unreachable."""
        number = self.with_marker(marker)
        if number is None:
            self._asked("POST", self.url, {"body": body})
            return "created"
        self._asked("PATCH", f"{self.repository_url}/issues/comments/{number}", {"body": body})
        return "updated"

    def _asked(self, method: str, url: str, content: dict[str, str] | None = None) -> object:
        request = Request(  # noqa: S310 - the API's address is the runner's, and is checked in main
            url,
            method=method,
            data=None if content is None else json.dumps(content).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "User-Agent": "fusebench",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        why = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE_S * 2 ** (attempt - 1))
            try:
                with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - as above
                    return json.loads(answer.read() or b"null")
            except HTTPError as error:
                why = f"{method} {url}: {error.code} {_said(error)}"
                is_limited = error.code == _FORBIDDEN and error.headers.get("Retry-After") is not None
                if error.code in REFUSALS and not is_limited:
                    raise Refused(why) from error
                if error.code not in _BUSY and not is_limited:
                    raise Unreachable(why) from error
            except (URLError, TimeoutError, ConnectionError, ValueError) as error:
                why = f"{method} {url}: {error}"
            if method == "POST" and not why.split(": ", 1)[1].startswith(("429", "403")):
                break  # it may have been posted; a second one would be worse than none
        raise Unreachable(why)


def _is_by(user: dict[str, Any], login: str | None) -> bool:
    return user.get("type") == "Bot" if login is None else user.get("login") == login


def body_of(reports: Sequence[str], marker: str) -> str:
    """Return the comment: the marker, which nobody sees, then the reports.

    Where they are too long for one, each has its share of it, and what a shorter one leaves; it is cut there.
    """
    room, left = MOST_CHARACTERS - len(marker) - 2 * len(reports), len(reports)
    fitting = list(reports)
    for place in sorted(range(left), key=lambda each: len(reports[each])):
        fitting[place] = _cut(reports[place], room // left)
        room, left = room - len(fitting[place]), left - 1
    return f"{marker}\n" + "\n\n".join(fitting)


def _cut(report: str, most: int) -> str:
    """Return a report of at most `most` characters; what is folded where it is cut ends there."""
    if len(report) <= most:
        return report
    n_kept = most - len(_CUT) - len(_ENDS_FOLD)
    end = report.rfind("\n", max(0, n_kept - _LINE), n_kept)
    kept = report[: end if end > 0 else n_kept]
    is_folded = kept.count("<details>") > kept.count("</details>")
    return kept + (_ENDS_FOLD if is_folded else "") + _CUT


def main(arguments: Sequence[str] | None = None) -> int:
    """Comment; 0 where that was done or may not be done, 2 where the server could not be reached."""
    parser = argparse.ArgumentParser(prog="ci.comment", description=__doc__)
    parser.add_argument("--file", type=Path, action="append", required=True, help="report as Markdown; may be repeated")
    parser.add_argument("--number", type=int, required=True, help="of the pull request")
    parser.add_argument("--marker", default="report", help="name of the report, where one repository has several")
    asked = parser.parse_args(arguments)
    reports = [
        file.read_text(encoding="utf-8") if file.is_file() else _MISSING.format(name=file.stem) for file in asked.file
    ]
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    token, repository = os.environ.get("GITHUB_TOKEN", ""), os.environ.get("GITHUB_REPOSITORY", "")
    if not any(file.is_file() for file in asked.file):
        message("warning", f"No report to post: {', '.join(map(str, asked.file))} was not written.")
        return 0
    report = "\n\n".join(reports)
    if not api.startswith(("https://", "http://127.0.0.1:", "http://localhost:")) or not repository:
        message("error", f"GITHUB_API_URL ({api}) is no https address, or GITHUB_REPOSITORY is not set.")
        return 64
    marker = f"<!-- fusebench: {asked.marker.replace('-->', '')} -->"
    comments = Comments(api=api, repository=repository, number=asked.number, token=token)
    try:
        done = comments.put(body_of(reports, marker), marker) if token else None
    except Refused as error:
        return _left_in_summary(
            report, f"This token may not comment here, as on a pull request of a fork ({error}).", 0
        )
    except Unreachable as error:
        return _left_in_summary(report, f"The comment could not be posted: {error}.", 2)
    if done is None:
        return _left_in_summary(report, "There is no GITHUB_TOKEN, so nothing is posted.", 0)
    print(f"Comment {done} on {repository}#{asked.number}.")
    return 0


def _left_in_summary(report: str, why: str, code: int) -> int:
    message("warning" if code else "notice", f"{why} The report is in the summary of this step.")
    summary(report)
    return code


def _said(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read()).get("message", error.reason))
    except (ValueError, AttributeError, OSError):
        return str(error.reason)


if __name__ == "__main__":
    sys.exit(main())
