"""No spelling of a database's URL lets a password through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.redaction import redact

# Around a password in any spelling, right or wrong.
SPELLINGS = (
    "postgres://user:{}@host/db",
    "postgresql+psycopg://user:{}@[::1]:5432/db?sslmode=require",
    "mysql://user:{}@host:1/db",
    "POSTGRES://:{}@host",
    "postgres://user:{}",
    "postgres://user:{}/db",
    "postgres://us/er:{}@host",
    "postgres://user%3A{}@host",
    "postgres://my user:{}@host",
    "postgres:/user:{}@host/db",
    "postgres:user:{}@host/db",
    "//user:{}@host/db",
    "user:{}@host/db",
    "postgres://host/db?user=u&password={}&sslmode=require",
    "postgres://host/db?PASSWORD={}",
    "postgres://host/db?p%61ssword={}",
    "postgres://host/db?passfile=/home/{}",
    "postgres://host/db?sslpassword={}",
    "host=x password={} dbname=y",
    "host=x password = '{}' dbname=y",
    "cannot open 'postgres://user:{}@host/db': it is down; see postgres://user@other:5432/db",
    "from postgres://user:{}@host/a into 'postgres://user:{}@host/b'",
)
SECRET = "t0ps3cret"  # noqa: S105 - nobody's
UNUSUAL = (
    "{}",
    "a:{}",
    "{}:1",
    "a/{}",
    "a@{}",
    "{}@b",
    "a?{}",
    "a#{}",
    "a%40{}",
    "%{}",
    "a'{}",
    'a"{}',
    "[{}]",
    "é{}",
    "***{}",
)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_password_is_hidden_in_every_spelling(spelling):
    hidden = redact(spelling.replace("{}", SECRET))
    assert SECRET not in hidden
    assert "***" in hidden


@pytest.mark.parametrize("unusual", UNUSUAL)
def test_a_password_with_unusual_characters_is_hidden_whole(unusual):
    for spelling in (*SPELLINGS[:3], "postgres://host/db?password={}"):
        assert SECRET not in redact(spelling.replace("{}", unusual.replace("{}", SECRET)))


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20))
def test_no_part_of_any_password_is_left_in_a_url(password):
    assert redact(f"cannot open postgres://user:{password}@host/db") == "cannot open postgres://user:***@host/db"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_hiding_twice_changes_nothing_more(spelling):
    hidden = redact(spelling.replace("{}", SECRET))
    assert redact(hidden) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "/home/me/store.db is damaged (row 12: cell 3)",
        "sqlite:////tmp/a.db: unable to open",
        "postgresql+psycopg://me@127.0.0.1:5432/test: connection refused",
        "postgresql://[::1]:5432/db?sslmode=require",
        "listening at http://127.0.0.1:8050/?batch=64&provider=fused",
        "mlp.time_forward(64, 'float32'): 12:30, 3.5 ms",
        "fusebench ingest ../scipy-bench/results --project scipy",
    ],
)
def test_what_holds_no_password_stays_as_it_is(text):
    assert redact(text) == text
