"""Chat models that call tools: a conversation in, the next turn out, as OpenAI's ``POST /v1/chat/completions`` has it.

What the tools do and when a conversation ends belongs to ``slowwave.deep``. The endpoint, its key, retries and deadlines are those of
``slowwave.language.completions``; no error repeats the key or the texts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from slowwave.config.settings import Settings
from slowwave.errors import SettingsError
from slowwave.language.completions import Completions, Role

MOST_CALLS: Final = 16
"""Tool calls of one turn; further ones are left out."""

DEEP: Final = Role(
    *("The deep pass's", "so the pass ended", "SLOWWAVE_WRITER_API_KEY"),
    *("SLOWWAVE_WRITER_ENDPOINT", "SLOWWAVE_OPERATIONS__DEEP_PASS__ANSWER_SECONDS"),
)

_MOST_BYTES: Final = 2_000_000

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
        self._completions = Completions(base_url, model, role, timeout=timeout, pause=pause, most_bytes=_MOST_BYTES)
        self.model = model

    def turn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], max_tokens: int) -> ModelTurn:
        """The next turn. Raises ``ChatError`` with the tokens that asking may have cost."""
        body = {"messages": list(messages), "tools": list(tools), "tool_choice": "auto"}
        estimate = most_tokens(messages, tools, max_tokens)
        message, _, tokens = self._completions.ask(lambda: body, max_tokens, estimate)
        try:
            text = message.get("content") or ""
            called = [_call(call) for call in (message.get("tool_calls") or [])[:MOST_CALLS]]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self._completions.error(
                "bad answer", "gave an answer that is not a chat completion", tokens
            ) from None
        if not isinstance(text, str) or (not text.strip() and not called):
            raise self._completions.error("bad answer", "gave an empty answer", tokens)
        return ModelTurn(text, tuple(called), tokens, _said(text, called))


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
