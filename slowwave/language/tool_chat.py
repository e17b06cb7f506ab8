"""Chat models that call tools: a conversation in, the next turn out, as OpenAI's ``POST /v1/chat/completions`` has it.

What the tools do and when a conversation ends belongs to ``slowwave.deep``. The endpoint, its key, retries and deadlines are those of
``slowwave.language.chat``; no error repeats the key or the texts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from slowwave.config.settings import Settings
from slowwave.errors import ChatError, SettingsError
from slowwave.language.chat import Kind, Role
from slowwave.language.endpoint import Endpoint, Reply

ATTEMPTS: Final = 2

MOST_CALLS: Final = 16
"""Tool calls of one turn; further ones are left out."""

DEEP: Final = Role(
    *("The deep pass's", "so the pass ended", "SLOWWAVE_WRITER_API_KEY"),
    *("SLOWWAVE_WRITER_ENDPOINT", "SLOWWAVE_OPERATIONS__DEEP_PASS__ANSWER_SECONDS"),
)

_SEED: Final = 7
_LONGEST_PAUSE: Final = 10.0
_MOST_BYTES: Final = 2_000_000
_OPTIONAL: Final = ("temperature", "seed", "max_tokens")

Message = Mapping[str, object]


class ToolCall(NamedTuple):
    """One call: the id that its answer names, the tool, and its arguments as the model wrote them, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """What a model said and called, the tokens that asking cost, and ``message``, which the conversation goes on with."""

    text: str
    calls: tuple[ToolCall, ...]
    tokens: int
    message: Message


class ToolChat:
    """A model at an endpoint, asked turn by turn. Temperature 0 and a fixed seed are asked for; a parameter that the server names when it
    refuses is left out from then on."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        timeout: float = 120.0,
        pause: Callable[[float], None] = time.sleep,
        role: Role = DEEP,
    ) -> None:
        try:
            self._endpoint = Endpoint(
                base_url,
                "chat/completions",
                key_variable=role.key_variable,
                timeout=timeout,
                attempts=ATTEMPTS,
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

    def turn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], max_tokens: int) -> ModelTurn:
        """The next turn. Raises ``ChatError`` with the tokens that asking may have cost."""
        estimate = most_tokens(messages, tools, max_tokens)
        lost = 0
        with self._endpoint.client() as client:
            while True:
                reply = self._endpoint.post(client, self._body(messages, tools, max_tokens))
                lost += reply.lost
                if not self._leave_out(reply):
                    break
        if reply.kind:
            raise self._error(reply.kind, reply.problem, lost * estimate)
        return self._read(reply.content, lost * estimate, estimate)

    def _body(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], max_tokens: int
    ) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self.model,
            "messages": list(messages),
            "tools": list(tools),
            "tool_choice": "auto",
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": _SEED,
        }
        if "max_tokens" in self._left_out:
            body["max_completion_tokens"] = max_tokens
        return {name: value for name, value in body.items() if name not in self._left_out}

    def _leave_out(self, reply: Reply) -> bool:
        """Whether a refused request may succeed without the parameter that the server names."""
        if reply.status not in (400, 422):
            return False
        try:
            name = str(json.loads(reply.content)["error"].get("param")).partition(".")[0]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return False
        if name not in _OPTIONAL or name in self._left_out:
            return False
        self._left_out.add(name)
        return True

    def _read(self, content: bytes, lost: int, estimate: int) -> ModelTurn:
        tokens = lost + estimate
        try:
            answer: Any = json.loads(content)
            total = (answer.get("usage") or {}).get("total_tokens")
            tokens = lost + (total if type(total) is int and total > 0 else estimate)
            choice = answer["choices"][0]
            message, ended = choice["message"], choice.get("finish_reason")
            text = message.get("content") or ""
            called = [_call(call) for call in (message.get("tool_calls") or [])[:MOST_CALLS]]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise self._error("bad answer", "gave an answer that is not a chat completion", tokens) from None
        if message.get("refusal") or ended == "content_filter":
            raise self._error("refused", "refused to answer", tokens)
        if not isinstance(text, str) or (not text.strip() and not called):
            raise self._error("bad answer", "gave an empty answer", tokens)
        return ModelTurn(text, tuple(called), tokens, _said(text, called))

    def _error(self, kind: Kind, problem: str, tokens: int) -> ChatError:
        role = self._role
        message = f"The model {self.model} at {self._endpoint.shown} {problem}, {role.outcome}. {role.advice(kind)}"
        return ChatError(message, kind, tokens)


def answered(call: ToolCall, text: str) -> Message:
    """The message that answers a tool call."""
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def deep_chat(settings: Settings) -> ToolChat | None:
    """The model of the deep pass, or None where the settings name none. Raises ``SettingsError`` when it has no endpoint."""
    options = settings.operations.deep_pass
    if not options.model:
        return None
    if not settings.writer_endpoint:
        raise SettingsError(
            f"The model {options.model} is to work on the memory, and no endpoint that serves it is set, so it cannot be asked. Set "
            "SLOWWAVE_WRITER_ENDPOINT to a server that has it, or SLOWWAVE_OPERATIONS__DEEP_PASS__MODEL to nothing."
        )
    return ToolChat(settings.writer_endpoint, options.model, timeout=options.answer_seconds)


def most_tokens(messages: Sequence[Message], tools: Sequence[Mapping[str, object]], max_tokens: int) -> int:
    """An upper estimate of what one turn costs: half the UTF-8 bytes of what is sent, and the longest answer."""
    sent = json.dumps([*messages, *tools], ensure_ascii=False).encode("utf-8", "replace")
    return len(sent) // 2 + max_tokens


def _call(call: Any) -> ToolCall:
    function = call["function"]
    arguments = function.get("arguments") or ""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(str(call.get("id") or "call")[:200], str(function["name"])[:200], text)


def _said(text: str, calls: Sequence[ToolCall]) -> Message:
    """The model's turn as it goes back to it: nothing but what the protocol has."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in calls
        ]
    return message
