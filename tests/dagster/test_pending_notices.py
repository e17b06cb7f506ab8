"""The sensor sends messages that an endpoint did not accept at the end of a run."""

from __future__ import annotations

import dagster as dg
import pytest

from slowwave.dagster.sensors import pending_notices
from slowwave.night.delivery import NoticeSink
from slowwave.store.connect import Store
from tests.memories import remember
from tests.night.test_delivery import SECRET, started
from tests.receivers import Receiver


def test_pending_message_is_sent_by_the_next_tick(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(store, "acme", memories=[])
    NoticeSink(store).emit(started())
    context = dg.build_sensor_context(resources={"store": store})
    assert pending_notices(context) == dg.SkipReason("Nothing could be sent.")
    receiver = Receiver()
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_URL", receiver.url)
    monkeypatch.setenv("SLOWWAVE_WEBHOOK_SECRET", SECRET)
    assert pending_notices(context) == dg.SkipReason("Sent 1 message.")
    assert pending_notices(context) == dg.SkipReason("Nothing could be sent.")
    receiver.close()
    assert receiver.types == ["dream.run.started"]
