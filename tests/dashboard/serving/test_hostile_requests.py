"""Requests that nobody should send: none is a fault, none reads or changes what it should not, each one line of log."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest

CALLBACK_PATH = "/_dash-update-component"
SQL = (
    "' OR 1=1 --",
    "'; DROP TABLE value; --",
    "1) UNION SELECT sql FROM sqlite_master --",
    "%' ESCAPE '",
    '" OR ""="',
)
PATHS = (
    "../../../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "..%2f..%2fother.db",
    "C:\\boot.ini",
    "\\\\host\\x",
)
TEXTS = ("\0", "\ud800", "x" * 30_000, "<script>alert(1)</script>", "{{7*7}}",
         "${jndi:ldap://x}", "\r\nSet-Cookie: a=b",
         "%00", "\u202e", "NaN", "1e999", "-1", "9" * 5_000, "__proto__", "null")  # fmt: skip
VALUES = (*SQL, *PATHS, *TEXTS, 0, -1, 2**70, 1.5, True, [], [[]], {}, {"a": {"a": 1}}, ["x"] * 2_000,
          {"points": "x"},
          {"points": [None]}, {"points": [{"customdata": ["'"]}]}, {"query": ["x"]}, {"type": "x"})  # fmt: skip
COMPONENTS = ("page", "overview-changes", "overview-maps", "throughput-answer", "explore-changes", "profile-url",
              "profile-operators-slot", "roofline-url", "roofline-points-slot", "roofline-picked", "regressions-url",
              "compare-url")  # fmt: skip
BODIES = (
    b"", b"null", b"[]", b"0", b'"x"', b"{", b"\xff\xfe", b"[" * 5_000, b'{"output":' * 500, b"NaN", b'{"output": NaN}',
    b'{"output": "page.children"}', b'{"output": ["page.children"]}', b'{"output": "..a.b...c.d..", "inputs": {}}',
    b'{"output": "_pages_content.children", "inputs": []}', b'{"output": {"id": "page"}}', b'{"output": "\\ud800.x"}',
)  # fmt: skip
URLS = ("/", "/throughput", "/explore", "/throughput.csv", "/explore.csv")
LATER_URLS = (
    "/regressions", "/compare", "/profile", "/roofline", "/regressions.csv", "/regressions.xml", "/compare.csv",
    "/roofline.csv", "/profile-operators.csv", "/profile-difference.csv", "/profile-trace",
)  # fmt: skip
METHODS = ("PUT", "DELETE", "PATCH", "POST", "TRACE")
NAMES = ("operation", "hidden", "batch", "commit", "providers", "project", "benchmark", "line")
FORGED = ("/_dash-layout/../../etc/passwd", "/assets/../app.py", "/assets/..%2fapp.py", "/assets/%2e%2e/app.py",
          "/_dash-component-suites/../../app.py", "/_dash-component-suites/dashboard/app.py",
          "/_dash-component-suites/dash/../../x.js",
          "/_dash-component-suites/os/path.py", "/_reload-hash",
          "/_dash-component-suites/%00", "/%ff%fe", "//evil.example/", "/;/", "/results/data")  # fmt: skip
LEAKS = (
    "hidden-folder",
    "hidden-name",
    "Traceback",
    "sqlalchemy",
    "sqlite3",
    "root:x:",
    "def create_app",
    "site-packages",
)


@pytest.fixture(scope="module", autouse=True)
def unchanged(store):
    """Compare the database before and after all of them."""
    before = _content(store)
    yield
    assert _content(store) == before


@pytest.fixture
def harmless(client, caplog):
    """Send a request, and look at what comes back and at the log."""

    def check(method, path, **sent):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="dashboard"):
            answer = client.open(path, method=method, **sent)
        text = answer.get_data(as_text=True)
        answer.close()
        assert answer.status_code < 500
        assert [leak for leak in LEAKS if leak in text] == []
        logged = [record.getMessage() for record in caplog.records]
        assert len(logged) <= 1
        assert all(len(line) < 500 and "\n" not in line for line in logged)
        return answer

    return check


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:24])
def test_no_value_of_a_callback_does_harm(harmless, payload, component, value):
    asked = payload(component)
    for part in ("inputs", "state"):
        # Each value meets a third of the places, and each place a third of the values: a minute, not three.
        for i in range(VALUES.index(value) % 3 if len(asked[part]) > 3 else 0, len(asked[part]), 3):
            sent = copy.deepcopy(asked)
            sent[part][i]["value"] = value
            assert harmless("POST", CALLBACK_PATH, json=sent).status_code in {200, 204, 400}


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:24]))
def test_no_body_does_harm(harmless, body):
    answer = harmless("POST", CALLBACK_PATH, data=body, content_type="application/json")
    assert answer.status_code == 400


@pytest.mark.parametrize("part", ["inputs", "state", "outputs", "changedPropIds"])
@pytest.mark.parametrize("forged", ["page", "throughput-url", {"index": 0, "type": "x"}, ["x"], 7, "'; --", "../x"])
def test_no_forged_id_does_harm(harmless, payload, part, forged):
    sent = payload("throughput-answer")
    sent[part] = [{"id": forged, "property": "value", "value": "x"}] if part != "changedPropIds" else [forged]
    answer = harmless("POST", CALLBACK_PATH, json=sent)
    assert answer.status_code == 400 or (part == "changedPropIds" and isinstance(forged, str))


def test_a_list_without_end_is_refused_before_anything_looks_at_it(harmless, payload):
    sent = payload("throughput-answer")
    sent["inputs"] *= 200
    assert harmless("POST", CALLBACK_PATH, json=sent).status_code == 400
    endless = json.dumps(["x"] * 2_000_000).encode()
    assert harmless("POST", CALLBACK_PATH, data=endless, content_type="application/json").status_code == 413


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("value", [*SQL, *PATHS, *TEXTS], ids=lambda value: repr(value)[:24])
def test_no_query_string_does_harm(harmless, url, value):
    written = quote(value.encode(errors="surrogatepass"), safe="")
    harmless("GET", f"{url}?{written}")
    for name in NAMES[:4] if len(value) > 1_000 else NAMES:
        assert harmless("GET", f"{url}?{name}={written}").status_code in {200, 302}


@pytest.mark.parametrize("url", LATER_URLS)
@pytest.mark.parametrize("value", [*SQL, *PATHS, *TEXTS[:8]], ids=lambda value: repr(value)[:24])
def test_no_query_string_of_a_page_for_one_question_does_harm(harmless, url, value):
    written = quote(value.encode(errors="surrogatepass"), safe="")
    for name in ("operation", "commit", "machine", "against"):
        assert harmless("GET", f"{url}?{name}={written}").status_code in {200, 302, 404}


@pytest.mark.parametrize("value", [*SQL, *PATHS, *TEXTS], ids=lambda value: repr(value)[:24])
@pytest.mark.parametrize("origin", ["http://localhost", "http://evil.example", None])
def test_no_form_does_harm(harmless, value, origin):
    sent = {name: value.encode(errors="surrogatepass") for name in ("finding", "by", "note", "decision")}
    headers = {"Origin": origin} if origin else {}
    assert harmless("POST", "/regressions/decide", data=sent, headers=headers).status_code < 500


@pytest.mark.parametrize("path", FORGED)
def test_no_path_does_harm(harmless, path):
    answer = harmless("GET", path)
    assert answer.status_code in {200, 301, 302, 308, 400, 404, 421}
    assert "evil.example" not in answer.headers.get("Location", "")


@pytest.mark.parametrize(("method", "path"), list(product(METHODS, (CALLBACK_PATH, *URLS))))
def test_no_method_does_harm(harmless, method, path):
    if (method, path) != ("POST", CALLBACK_PATH):
        assert harmless(method, path, data=b"x").status_code == 405


def _content(store):
    path = Path(store.name)
    return [hashlib.sha256(path.with_name(path.name + end).read_bytes()).hexdigest() for end in ("", "-wal")]
