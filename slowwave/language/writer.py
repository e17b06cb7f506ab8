"""The writer: the model that words summaries, when the settings name one. What it is asked belongs to ``slowwave.operations.planners``."""

from __future__ import annotations

from typing import Final

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError
from slowwave.language.chat import Chat, EndpointChat, Role

WRITER: Final = Role(
    *("The writer's", "so it wrote nothing", "SLOWWAVE_WRITER_API_KEY"),
    *("SLOWWAVE_WRITER_ENDPOINT", "SLOWWAVE_WRITER_TIMEOUT_SECONDS"),
)


def writer_for(settings: Settings, setting: str = "community_summary_model") -> Chat | None:
    """The model that a setting names, at the endpoint of writers, or None. Raises ``SettingsError`` when there is no endpoint.

    ``setting`` is ``community_summary_model`` or ``consolidation_model``.
    """
    model = str(getattr(settings, setting))
    if not model:
        return None
    if not settings.writer_endpoint:
        raise SettingsError(
            f"The model {model} is to write summaries, and no endpoint that serves it is set, so it cannot be asked. Set "
            f"SLOWWAVE_WRITER_ENDPOINT to a server that has it, or SLOWWAVE_{setting.upper()} to nothing."
        )
    return EndpointChat(settings.writer_endpoint, model, timeout=settings.writer_timeout_seconds, role=WRITER)
