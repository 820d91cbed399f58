"""The step that posts a report, against a server of this test's own that answers as GitHub's does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARKER = "<!-- fusebench: report -->"


class GitHub(ThreadingHTTPServer):
    """Comments of one pull request.

    may_write: whether the token may; login: whose it is, None of a workflow's own, which may not ask; failures: status
    codes to answer first.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.comments, self.asked, self.may_write, self.failures = [], [], True, []
        self.login = None

    def has(self, body, *, user="Bot", login="x"):
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"type": user, "login": login}})


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/user":
            login = self.server.login
            status, user = (403, {"message": "Resource not accessible"}) if login is None else (200, {"login": login})
            self.answer(status, user)
            return
        page = int(re.search(r"[?&]page=(\d+)", self.path)[1])
        self.answer(200, self.server.comments[100 * (page - 1) : 100 * page])

    def do_POST(self):
        if self.is_refused():
            return
        login = self.server.login
        self.server.has(self.content()["body"], **({} if login is None else {"user": "User", "login": login}))
        self.answer(201, self.server.comments[-1])

    def do_PATCH(self):
        if self.is_refused():
            return
        number = int(self.path.rpartition("/")[2])
        self.server.comments[number - 1]["body"] = self.content()["body"]
        self.answer(200, self.server.comments[number - 1])

    def is_refused(self):
        if self.server.may_write:
            return False
        self.content()
        self.answer(403, {"message": "Resource not accessible by integration"})
        return True

    def content(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, status, content):
        self.server.asked.append((self.command, self.path, self.headers["Authorization"]))
        if self.server.failures:
            status, content = self.server.failures.pop(0), {"message": "not now"}
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def github():
    server = GitHub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def commented(github, tmp_path):
    """Run the step on a report; the process that ended, and the step's summary."""

    def run(report, *arguments, **variables):
        file, summary = tmp_path / "comment.md", tmp_path / "summary.md"
        if report is not None:
            file.write_text(report)
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "tools"),
            "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
            "GITHUB_REPOSITORY": "owner/project",
            "GITHUB_TOKEN": "secret-token",
            "GITHUB_STEP_SUMMARY": str(summary),
            **variables,
        }
        command = [sys.executable, "-m", "ci.comment", "--file", str(file), "--number", "12", *arguments]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
        assert "secret-token" not in done.stdout + done.stderr
        return done, summary.read_text() if summary.exists() else ""

    return run


def test_a_report_becomes_one_comment_that_later_runs_update(github, commented):
    github.has("A person said something.", user="User")
    done, summary = commented("first report")
    assert (done.returncode, summary) == (0, "")
    assert "Comment created on owner/project#12." in done.stdout
    done, _ = commented("second report")
    assert "Comment updated" in done.stdout
    assert [one["body"] for one in github.comments] == ["A person said something.", f"{MARKER}\nsecond report"]
    assert {authorization for *_, authorization in github.asked} == {"Bearer secret-token"}
    assert github.asked[0][1].startswith("/repos/owner/project/issues/12/comments?")


def test_it_is_found_among_many(github, commented):
    for number in range(150):
        github.has(f"comment {number}")
    github.has(f"{MARKER}\nold")
    commented("new")
    assert len(github.comments) == 151
    assert github.comments[-1]["body"] == f"{MARKER}\nnew"


def test_reports_of_different_names_are_different_comments(github, commented):
    commented("one")
    commented("two", "--marker", "gpu")
    assert [one["body"].splitlines()[0] for one in github.comments] == [MARKER, "<!-- fusebench: gpu -->"]


def test_what_a_person_wrote_is_never_overwritten(github, commented):
    github.has(f"{MARKER}\nI have copied this", user="User")
    commented("ours")
    assert github.comments[0]["body"] == f"{MARKER}\nI have copied this"
    assert len(github.comments) == 2


def test_a_token_of_a_person_updates_that_persons_comment_and_nobody_elses(github, commented):
    github.login = "ada"
    for user, login in (("Bot", "github-actions[bot]"), ("User", "eve")):
        github.has(f"{MARKER}\ntheirs", user=user, login=login)
    for report, done in (("first", "created"), ("second", "updated")):
        assert f"Comment {done}" in commented(report)[0].stdout
    theirs = f"{MARKER}\ntheirs"
    assert [one["body"] for one in github.comments] == [theirs, theirs, f"{MARKER}\nsecond"]


def test_a_fork_without_permission_is_no_failure_and_the_report_is_in_the_summary(github, commented):
    github.may_write = False
    done, summary = commented("the report")
    assert done.returncode == 0
    assert "may not comment here, as on a pull request of a fork" in done.stdout
    assert "Resource not accessible by integration" in done.stdout
    assert summary == "the report\n"
    assert github.comments == []


def test_without_a_token_the_report_is_in_the_summary(github, commented):
    done, summary = commented("the report", GITHUB_TOKEN="")
    assert (done.returncode, summary, github.asked) == (0, "the report\n", [])


def test_a_server_that_is_busy_is_asked_again(github, commented):
    github.failures = [502]
    done, _ = commented("the report")
    assert done.returncode == 0
    assert len(github.comments) == 1


def test_a_server_that_refuses_nonsense_ends_it_and_the_report_is_in_the_summary(github, commented):
    github.failures = [422]
    done, summary = commented("the report")
    assert done.returncode == 2
    assert "::warning" in done.stdout
    assert "422 not now" in done.stdout
    assert summary == "the report\n"


def test_a_post_that_may_have_arrived_is_not_sent_twice(github, commented):
    github.failures = [200, 502]  # the list is answered by nothing of ours, the comment by an error of the server
    done, summary = commented("the report")
    assert done.returncode == 2
    assert [method for method, *_ in github.asked] == ["GET", "POST"]
    assert summary == "the report\n"


def test_a_report_that_is_too_long_is_cut_and_says_so(github, commented):
    commented("x" * 100_000)
    assert 65_500 < len(github.comments[0]["body"]) <= 65_536
    assert github.comments[0]["body"].endswith("the whole report is in the summary of the workflow's run.")


def test_of_several_reports_none_is_cut_away_by_another(github, commented, tmp_path):
    other = tmp_path / "times.md"
    table = "".join(f"| row {i} {'é' * 60} |\n" for i in range(1_000))
    other.write_text(f"**times**\n\n<details><summary>Show</summary>\n\n{table}\n\n</details>\n", encoding="utf-8")
    commented("exact" + "x" * 64_000, "--file", str(other))
    body = github.comments[0]["body"]
    assert 60_000 < len(body) <= 65_536
    assert body.count("… cut") == 2
    assert "row 100 " in body
    assert body.count("<details>") == body.count("</details>") == 1
    commented("short", "--file", str(other))
    assert "short" in github.comments[0]["body"]
    assert github.comments[0]["body"].count("… cut") == 1


def test_a_report_that_is_missing_beside_another_is_told(github, commented, tmp_path):
    """Times that a busy machine refused look like times that are fine otherwise."""
    commented("exact", "--file", str(tmp_path / "times.md"))
    assert "No report `times`" in github.comments[0]["body"]


def test_no_report_is_told(commented, github):
    done, _ = commented(None)
    assert (done.returncode, github.asked) == (0, [])
    assert "No report to post" in done.stdout


@pytest.mark.parametrize("address", ["file:///etc/passwd", "http://example.org", "ftp://x"])
def test_a_token_is_sent_to_no_address_in_the_clear(commented, github, address):
    done, _ = commented("the report", GITHUB_API_URL=address)
    assert (done.returncode, github.asked) == (64, [])
