from __future__ import annotations

import pytest

from dashboard.app import create_app
from results.store import open_store


@pytest.fixture(scope="module")
def store(tmp_path_factory, journals):
    """Store of two commits, whose folder has a name that no answer may show."""
    folder = tmp_path_factory.mktemp("hidden-folder")
    journals.write_journals(folder, journals.history(2))
    with open_store(str(folder / "hidden-name.db")) as store:
        store.ingest([folder])
        yield store


@pytest.fixture(scope="module")
def app(store):
    app = create_app(store)
    app.server.test_client().get("/_dash-dependencies")  # the callbacks are known from the first request on
    return app


@pytest.fixture(scope="module")
def client(app):
    return app.server.test_client()


@pytest.fixture(scope="module")
def payload(app):
    """Build the payload of the callback that fills a component, as the page sends it at first."""

    def build(component):
        name = next(name for name in app.callback_map if f"{component}." in name)
        places = [one.partition("@")[0].rpartition(".") for one in name.strip(".").split("...")]
        outputs = [{"id": place, "property": prop} for place, _, prop in places]
        callback = app.callback_map[name]
        values = {"search": "", "pathname": "/", "throughput-providers": []}
        return {
            "output": name,
            "outputs": outputs if name.startswith("..") else outputs[0],
            "inputs": [
                {**one, "value": values.get(one["property"], values.get(one["id"]))} for one in callback["inputs"]
            ],
            "state": [{**one, "value": None} for one in callback["state"]],
            "changedPropIds": [],
        }

    return build
