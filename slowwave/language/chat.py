"""Chat models: a system text and a user text in, one JSON text out, through any OpenAI-compatible endpoint.

What is asked and what an answer means belongs to the caller (``slowwave.matching.judge``). The endpoint's key comes from the
environment variable of its role and nowhere else, and no error repeats it or the texts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

from slowwave.config.settings import Settings
from slowwave.errors import ChatError, SettingsError
from slowwave.language.endpoint import Endpoint, Reply

ATTEMPTS: Final = 2

Kind = Literal["timeout", "unreachable", "error status", "refused", "bad answer"]

_SEED: Final = 7
_LONGEST_PAUSE: Final = 10.0
_MOST_BYTES: Final = 1_000_000
_FORMATS: Final = ("json_schema", "json_object")
_OPTIONAL: Final = ("temperature", "seed", "max_tokens")


class Role(NamedTuple):
    """What a model is asked for: how its errors name its endpoint and end, and the variables that they point to."""

    whose: str
    outcome: str
    key_variable: str
    endpoint_variable: str
    timeout_variable: str

    def advice(self, kind: Kind) -> str:
        """What to do about a failure."""
        match kind:
            case "timeout":
                return f"Raise {self.timeout_variable}, or choose a faster model."
            case "unreachable":
                return f"Check that the server of {self.endpoint_variable} is up."
            case "error status":
                return f"Check that the server serves this model and accepts the key in {self.key_variable}."
            case "refused":
                return "Another model may answer."
            case "bad answer":
                return "Check that it is a chat model that can write JSON."


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
        try:
            self._endpoint = Endpoint(
                base_url,
                "chat/completions",
                key_variable=role.key_variable,
                timeout=timeout,
                attempts=attempts,
                longest_pause=_LONGEST_PAUSE,
                most_bytes=_MOST_BYTES,
                pause=pause,
            )
        except ValueError:
            raise SettingsError(
                f"{role.whose} endpoint is not an http(s) address, so no model can be asked. "
                f"Set {role.endpoint_variable} to the server's base URL."
            ) from None
        self.model = model
        self._role = role
        self._left_out: set[str] = set()
        self._formats = list(_FORMATS)

    def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
        """One answer. Raises ``ChatError``; refusals and answers that were cut off are errors, too."""
        estimate = most_tokens(system, user, schema, max_tokens)
        lost = 0
        with self._endpoint.client() as client:
            while True:
                reply = self._endpoint.post(client, self._body(system, user, schema, max_tokens))
                lost += reply.lost
                if not self._leave_out(reply):
                    break
        if reply.kind:
            raise self._error(reply.kind, reply.problem, lost * estimate)
        return self._read(reply.content, lost * estimate, estimate)

    def _body(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> dict[str, object]:
        if self._formats[:1] != ["json_schema"]:
            system += f"\nAnswer with one JSON object of this JSON schema and nothing else:\n{json.dumps(schema)}"
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        body: dict[str, object] = {
            "model": self.model,
            "messages": messages,
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": _SEED,
        }
        match self._formats[:1]:
            case ["json_schema"]:
                strict = {"name": "answer", "strict": True, "schema": schema}
                body["response_format"] = {"type": "json_schema", "json_schema": strict}
            case ["json_object"]:
                body["response_format"] = {"type": "json_object", "schema": schema}
            case _:
                pass
        if "max_tokens" in self._left_out:
            body["max_completion_tokens"] = max_tokens
        return {name: value for name, value in body.items() if name not in self._left_out}

    def _leave_out(self, reply: Reply) -> bool:
        """Whether a refused request may succeed without a parameter: the one that the server names, else the response format."""
        if reply.status < 400 or reply.status == 429:
            return False
        try:
            error: Any = json.loads(reply.content)["error"]
            name, said = str(error.get("param")).partition(".")[0], str(error.get("message"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            name = said = ""
        if reply.status in (400, 422) and name in _OPTIONAL:
            if name in self._left_out:
                return False
            self._left_out.add(name)
            return True
        refused = reply.status in (400, 422) or "response_format" in said
        return refused and bool(self._formats) and bool(self._formats.pop(0))

    def _read(self, content: bytes, lost: int, estimate: int) -> Answer:
        tokens = lost + estimate
        try:
            answer: Any = json.loads(content)
            tokens = lost + _used(answer.get("usage"), estimate)
            choice = answer["choices"][0]
            message, ended = choice["message"], choice.get("finish_reason")
            text, refusal = message.get("content"), message.get("refusal")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise self._error("bad answer", "gave an answer that is not a chat completion", tokens) from None
        if refusal or ended == "content_filter":
            raise self._error("refused", "refused to answer", tokens)
        if ended == "length":
            raise self._error("bad answer", "was cut off before its answer was whole", tokens)
        if not isinstance(text, str) or not text.strip():
            raise self._error("bad answer", "gave an empty answer", tokens)
        return Answer(text, tokens)

    def _error(self, kind: Kind, problem: str, tokens: int) -> ChatError:
        role = self._role
        message = f"The model {self.model} at {self._endpoint.shown} {problem}, {role.outcome}. {role.advice(kind)}"
        return ChatError(message, kind, tokens)


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


def _used(usage: Any, estimate: int) -> int:
    """The tokens that a server says were used; ``estimate`` when it says nothing that makes sense."""
    if not isinstance(usage, dict):
        return estimate
    total = usage.get("total_tokens")
    return total if type(total) is int and total > 0 else estimate
