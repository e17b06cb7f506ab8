"""The models that the settings name: judges, writers, searcher, deep pass and embedder.

The prompts belong to their callers, such as ``slowwave.operations.planners``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from slowwave.errors import EmbeddingError, SettingsError
from slowwave.models.embedding_models import MINILM_MODEL, STATIC_MODEL
from slowwave.models.endpoint import ATTEMPTS, Chat, EndpointChat, Role, ToolChat
from slowwave.models.panel import SEARCHER, Budget, Searcher
from slowwave.store.settings import Settings

if TYPE_CHECKING:
    from slowwave.models.embedder import Embedder


# Chat models of the settings: a system text and a user text in, one JSON text out, through any OpenAI-compatible endpoint.


def judges_for(settings: Settings) -> tuple[Chat, ...]:
    """Return the two judge models that the settings name, or an empty tuple.

    Raises ``SettingsError`` if models are set without an endpoint.
    """
    if settings.judge_models and not settings.judge_endpoint:
        raise SettingsError(
            "Judge models are set, and no endpoint that serves them, so nobody can be asked. Set SLOWWAVE_JUDGE_ENDPOINT to "
            "a server that has them, or SLOWWAVE_JUDGE_MODELS to []."
        )
    timeout = settings.judge_timeout_seconds
    return tuple(EndpointChat(settings.judge_endpoint, model, timeout=timeout) for model in settings.judge_models)


WRITER: Final = Role(
    *("The writer's", "so it wrote nothing", "SLOWWAVE_WRITER_API_KEY"),
    *("SLOWWAVE_WRITER_ENDPOINT", "SLOWWAVE_WRITER_TIMEOUT_SECONDS"),
)


def writer_for(settings: Settings, model: str) -> Chat | None:
    """Return the client of the model that writes summaries of communities, or None if ``model`` is empty.

    Raises ``SettingsError`` if a model is set without an endpoint that serves it.
    """
    return _served(settings, model, "OPERATIONS__COMMUNITY_SUMMARIES__MODEL")


def consolidator_for(settings: Settings) -> Chat | None:
    """Return the model that writes summaries of memories and shorter texts, or None.

    It uses the same endpoint as ``writer_for`` and raises the same error.
    """
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


# Embedders of the settings: texts in, unit vectors out, by a model from a wheel or through any OpenAI-compatible endpoint.


def embedder_for(settings: Settings) -> Embedder:
    """Return the embedder that the settings name.

    Raises ``EmbeddingError`` if model and endpoint do not fit together.
    """
    from slowwave.models.embedder import EndpointEmbedder, MiniLMEmbedder, OfflineEmbedder  # they take a while to load

    offline: Mapping[str, Callable[[], Embedder]] = {STATIC_MODEL: OfflineEmbedder, MINILM_MODEL: MiniLMEmbedder}
    if settings.embedding_endpoint:
        if settings.embedding_model in offline:
            raise EmbeddingError(
                f"SLOWWAVE_EMBEDDING_ENDPOINT is set, but the model is still an offline one ({settings.embedding_model}): vectors of "
                "two models must not share a name. Set SLOWWAVE_EMBEDDING_MODEL to the model that the endpoint serves."
            )
        return EndpointEmbedder(settings.embedding_endpoint, settings.embedding_model)
    if settings.embedding_model not in offline:
        raise EmbeddingError(
            f"The model {settings.embedding_model!r} needs an endpoint, and none is set. Set SLOWWAVE_EMBEDDING_ENDPOINT to a "
            f"server that has it, or SLOWWAVE_EMBEDDING_MODEL to {' or '.join(offline)}."
        )
    return offline[settings.embedding_model]()


# The searcher: the model that helps with searches at run time, if the settings name one. ``slowwave.search`` and ``slowwave.wiki.recall``
# use it. If it fails, the plain answer is returned with a warning.


def searcher_for(settings: Settings, budget: Budget | None = None, *, timeout: float | None = None) -> Searcher | None:
    """Return the model that the settings name for steps of searches, or None.

    With ``timeout`` (seconds) it is called once, and for no longer than that. Raises ``SettingsError`` if a model is set without an
    endpoint that serves it.
    """
    if not (settings.search_model and settings.search_steps):
        return None
    if not settings.search_endpoint:
        raise SettingsError(
            f"The model {settings.search_model} is to help with searches, and no endpoint that serves it is set. Set "
            "SLOWWAVE_SEARCH_ENDPOINT to a server that has it, or SLOWWAVE_SEARCH_MODEL to nothing."
        )
    chat = EndpointChat(
        settings.search_endpoint,
        settings.search_model,
        timeout=min(settings.search_timeout_seconds, timeout or settings.search_timeout_seconds),
        role=SEARCHER,
        attempts=1 if timeout else ATTEMPTS,
    )
    return Searcher(chat, frozenset(settings.search_steps), budget or Budget())


# Chat models of the settings that call tools, for ``slowwave.wiki.deep``: a conversation in, the next turn out.


def deep_chat(settings: Settings, model: str, answer_seconds: float) -> ToolChat | None:
    """Return the client of the model of the deep pass, or None if ``model`` is empty.

    Raises ``SettingsError`` if a model is set without an endpoint.
    """
    if not model:
        return None
    if not settings.writer_endpoint:
        raise SettingsError(
            f"The model {model} is to work on the memory, and no endpoint that serves it is set, so it cannot be asked. Set "
            "SLOWWAVE_WRITER_ENDPOINT to a server that has it, or SLOWWAVE_OPERATIONS__DEEP_PASS__MODEL to nothing."
        )
    return ToolChat(settings.writer_endpoint, model, timeout=answer_seconds)
