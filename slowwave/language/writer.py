"""The writer: the model that words summaries, when the settings name one. What it is asked belongs to ``slowwave.operations.planners``."""

from __future__ import annotations

from typing import Final

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError
from slowwave.language.chat import Chat, EndpointChat
from slowwave.language.completions import Role

WRITER: Final = Role(
    *("The writer's", "so it wrote nothing", "SLOWWAVE_WRITER_API_KEY"),
    *("SLOWWAVE_WRITER_ENDPOINT", "SLOWWAVE_WRITER_TIMEOUT_SECONDS"),
)


def writer_for(settings: Settings) -> Chat | None:
    """The model that words summaries of communities, or None. Raises ``SettingsError`` when there is no endpoint that serves it."""
    return _served(settings, settings.operations.community_summaries.model, "OPERATIONS__COMMUNITY_SUMMARIES__MODEL")


def consolidator_for(settings: Settings) -> Chat | None:
    """The model that words summaries of memories and shorter texts, at the same endpoint; None and errors as of ``writer_for``."""
    return _served(settings, settings.consolidation_model, "CONSOLIDATION_MODEL")


def _served(settings: Settings, model: str, setting: str) -> Chat | None:
    if not model:
        return None
    if not settings.writer_endpoint:
        raise SettingsError(
            f"The model {model} is to write summaries, and no endpoint that serves it is set, so it cannot be asked. Set "
            f"SLOWWAVE_WRITER_ENDPOINT to a server that has it, or SLOWWAVE_{setting} to nothing."
        )
    return EndpointChat(settings.writer_endpoint, model, timeout=settings.writer_timeout_seconds, role=WRITER)
