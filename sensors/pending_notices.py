"""The sensor ``pending_notices``: messages that an endpoint did not accept at the end of a run are sent again."""

import dagster as dg

from resources.store import STORE_PROBLEMS, error_text
from slowwave.night.delivery import deliver
from slowwave.store.connect import Store
from slowwave.text.tokens import counted


@dg.sensor(
    name="pending_notices",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Sends messages that are pending for a webhook, if the daemon's environment names its address.",
)
def pending_notices(store: dg.ResourceParam[Store]) -> dg.SkipReason:
    """Send what is pending. The sensor starts nothing."""
    try:
        sent = deliver(store, seconds=10.0)
    except STORE_PROBLEMS as problem:
        return dg.SkipReason(error_text(problem))
    return dg.SkipReason(f"Sent {counted(sent, 'message')}." if sent else "Nothing could be sent.")
