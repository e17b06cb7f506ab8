"""The morning's page leaves the database redacted, signed, to the operator's address alone, and says when nobody took it."""

from __future__ import annotations

import base64

import pytest

from slowwave.errors import SettingsError, StoreError
from slowwave.night.delivery import sign
from slowwave.night.status import morning_page, send_page
from slowwave.store.connect import Store
from tests.dagster.project import failure, project
from tests.memories import ask
from tests.nights import new_world, write_a_plan
from tests.receivers import Receiver

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Receiver:
    """One that answers a first attempt with an error."""
    made = Receiver(lambda _delivery, number: (503 if number == 1 else 204, {}))
    monkeypatch.setenv("SLOWWAVE_DIGEST_URL", f"{made.url}/T0KEN")
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_SECRET", SECRET)
    return made


def test_the_page_is_signed_and_sent_again_where_it_was_not_taken(store: Store, receiver: Receiver) -> None:
    """The same message twice, and a receiver can tell whose it is."""
    shown = send_page(store, "# Slowwave\n")
    first, second = receiver.deliveries
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert second.content["type"] == "status.digest"
    assert second.content["data"]["markdown"] == "# Slowwave\n"
    at = int(second.headers["webhook-timestamp"])
    right = sign([bytes(range(32))], second.headers["webhook-id"], at, second.body)
    assert second.headers["webhook-signature"] == right
    assert "T0KEN" not in shown


def test_what_nobody_takes_and_what_has_no_address_is_said(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A redirect is not followed, and the address is not shown."""
    refusing = Receiver(lambda _delivery, _number: (302, {"location": receiver.url}))
    monkeypatch.setenv("SLOWWAVE_DIGEST_URL", f"{refusing.url}/T0KEN")
    with pytest.raises(StoreError) as refused:
        send_page(store, "x")
    assert "T0KEN" not in str(refused.value)
    assert not receiver.deliveries
    assert ask(store, "SELECT count(*) FROM night.notices") == [(0,)], "an outdated page is not sent later"
    monkeypatch.delenv("SLOWWAVE_DIGEST_URL")
    with pytest.raises(SettingsError):
        send_page(store, "x")


def test_what_a_probe_quotes_is_hidden_where_one_namespace_hides_it(store: Store) -> None:
    """One page for all: the strictest of them holds."""
    world = new_world(store)
    write_a_plan(store, world, needs_force=["It would lose the sentence about Ilse."])
    assert "Ilse" in morning_page(store)[0]
    ask(store, 'UPDATE memory.namespaces SET settings = settings || \'{"redact_text": "all"}\' RETURNING 1')
    page, standing = morning_page(store)
    assert "Ilse" not in page + str(standing)
    assert world.slug in page
    assert "hidden" in page


def test_the_job_shows_the_page_and_only_a_schedule_sends_it(store: Store, receiver: Receiver) -> None:
    """Its materialization is the page; nothing of the address is in the run."""
    world = new_world(store)
    write_a_plan(store, world)
    with project(store, world.slug) as morning:
        assert morning.run("status_job").success
        assert not receiver.deliveries
        result = morning.run("status_job", tags={"dagster/schedule_name": "morning_status"})
        assert result.success
        shown = morning.metadata(result, "night", "status")
        said = str([event.message for event in result.all_events]) + str(shown)
    assert world.slug in shown["status"].value
    assert shown["needs_a_person"].value == 1
    assert shown["to_approve"].value > 0
    assert receiver.deliveries[-1].content["data"]["markdown"].startswith("# Slowwave")
    assert "T0KEN" not in said


def test_a_webhook_that_refuses_fails_the_run_in_words(
    store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page stands in the UI all the same."""
    gone = Receiver(lambda _delivery, _number: (410, {}))
    monkeypatch.setenv("SLOWWAVE_DIGEST_URL", f"{gone.url}/T0KEN")
    with project(store) as morning:
        result = morning.run("status_job", tags={"dagster/schedule_name": "morning_status"})
        assert "did not accept the page" in failure(result)
        assert "T0KEN" not in failure(result)
        assert morning.metadata(result, "night", "status")["namespaces"].value == 0
