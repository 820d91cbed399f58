from __future__ import annotations

import re

import pytest


@pytest.mark.parametrize("path", ["/", "/nowhere", "/healthz", "/throughput.csv", "/assets/dashboard.css"])
def test_every_answer_has_the_headers(client, path):
    answer = client.get(path)
    answer.close()
    headers = answer.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


def test_a_refusal_has_them_too(client):
    assert "Content-Security-Policy" in client.get("/", headers={"Host": "evil.example"}).headers


def test_inline_scripts_run_by_their_hash_and_nothing_is_evaluated(client):
    policy = client.get("/").headers["Content-Security-Policy"]
    scripts = re.search(r"script-src ([^;]*)", policy)[1]
    assert re.search(r"'sha256-[\w+/=]+'", scripts)
    assert "unsafe" not in scripts


def test_scripts_are_kept_for_ever_and_measurements_never(client):
    script = next(part for part in client.get("/").text.split('"') if "dash_renderer" in part and part.endswith(".js"))
    assert "max-age=31536000" in client.get(script).headers["Cache-Control"]
    assert client.get("/throughput.csv").headers["Cache-Control"] == "no-store"
