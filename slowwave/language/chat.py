"""Chat models: a system text and a user text in, one JSON text out, through any OpenAI-compatible endpoint.

What is asked and what an answer means belongs to the caller (``slowwave.matching.judge``). The endpoint's key comes from the
environment variable of its role and nowhere else, and no error repeats it or the texts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError
from slowwave.language.completions import ATTEMPTS, Completions, Role

_MOST_BYTES: Final = 1_000_000
_FORMATS: Final = ("json_schema", "json_object")

JUDGE: Final = Role(
    *("The judges'", "so it has no say", "SLOWWAVE_JUDGE_API_KEY"),
    *("SLOWWAVE_JUDGE_ENDPOINT", "SLOWWAVE_JUDGE_TIMEOUT_SECONDS"),
)


class Answer(NamedTuple):
    """What a model wrote, and the tokens that asking cost: as the server reports them, else the estimate."""

    text: str
    tokens: int


class Chat(Protocol):
    """A model that answers a question with JSON of a schema."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
        """One answer, which may still break the schema. Raises ``ChatError``."""
        ...


class EndpointChat:
    """Any server that speaks OpenAI's ``POST /v1/chat/completions``.

    Temperature 0, a fixed seed and a strict ``json_schema`` are asked for. A server that refuses a parameter (400, 422, or a 500 about the
    format, as llama-cpp-python gives) is asked again without it, and never with it again: ``max_tokens`` is then called
    ``max_completion_tokens``, the schema stands in the instructions, and ``json_object`` is asked for with the schema beside it, as
    llama-cpp-python takes it, or no format at all. Statuses 429 and 5xx, broken connections and late answers are tried ``attempts``
    times in all.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        timeout: float = 30.0,
        pause: Callable[[float], None] = time.sleep,
        role: Role = JUDGE,
        attempts: int = ATTEMPTS,
    ) -> None:
        self._completions = Completions(
            base_url, model, role, timeout=timeout, pause=pause, most_bytes=_MOST_BYTES, attempts=attempts
        )
        self.model = model
        self._formats = list(_FORMATS)

    def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
        """One answer. Raises ``ChatError``; refusals and answers that were cut off are errors, too."""
        estimate = most_tokens(system, user, schema, max_tokens)
        message, ended, tokens = self._completions.ask(
            lambda: self._body(system, user, schema), max_tokens, estimate, self._leave_out_format
        )
        if ended == "length":
            raise self._completions.error("bad answer", "was cut off before its answer was whole", tokens)
        text = message.get("content")
        if not isinstance(text, str) or not text.strip():
            raise self._completions.error("bad answer", "gave an empty answer", tokens)
        return Answer(text, tokens)

    def _body(self, system: str, user: str, schema: Mapping[str, object]) -> dict[str, object]:
        if self._formats[:1] != ["json_schema"]:
            system += f"\nAnswer with one JSON object of this JSON schema and nothing else:\n{json.dumps(schema)}"
        body: dict[str, object] = {
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]
        }
        match self._formats[:1]:
            case ["json_schema"]:
                strict = {"name": "answer", "strict": True, "schema": schema}
                body["response_format"] = {"type": "json_schema", "json_schema": strict}
            case ["json_object"]:
                body["response_format"] = {"type": "json_object", "schema": schema}
            case _:
                pass
        return body

    def _leave_out_format(self, status: int, said: str) -> bool:
        """Whether a refused request may succeed with another response format, or none."""
        refused = status in (400, 422) or "response_format" in said
        return refused and bool(self._formats) and bool(self._formats.pop(0))


def judges_for(settings: Settings) -> tuple[Chat, ...]:
    """The two models that the settings name, or none. Raises ``SettingsError`` when they have no endpoint."""
    if settings.judge_models and not settings.judge_endpoint:
        raise SettingsError(
            "Judge models are set, and no endpoint that serves them, so nobody can be asked. Set SLOWWAVE_JUDGE_ENDPOINT to "
            "a server that has them, or SLOWWAVE_JUDGE_MODELS to []."
        )
    timeout = settings.judge_timeout_seconds
    return tuple(EndpointChat(settings.judge_endpoint, model, timeout=timeout) for model in settings.judge_models)


def most_tokens(system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> int:
    """An upper estimate of what one call costs: half the UTF-8 bytes of what is sent, and the longest answer.

    Tokenisers take about four bytes of English, three of Chinese and two of a hexadecimal id for a token.
    """
    sent = sum(len(text.encode("utf-8", "replace")) for text in (system, user, json.dumps(schema)))
    return sent // 2 + max_tokens
