"""Chat completions of an OpenAI-compatible endpoint in a role: asked again without a parameter that the server refuses, read as far as all
answers are alike, and told of in sentences that repeat neither the key nor the texts.

What is asked, and what an answer means, belongs to ``slowwave.language.chat`` and ``slowwave.language.tool_chat``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from slowwave.errors import ChatError, SettingsError
from slowwave.language.endpoint import Endpoint, Reply

ATTEMPTS: Final = 2

Kind = Literal["timeout", "unreachable", "error status", "refused", "bad answer"]

_SEED: Final = 7
_LONGEST_PAUSE: Final = 10.0
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


class Completion(NamedTuple):
    """The first choice of an answer: its message, why it ended, and the tokens that asking cost: as the server reports them, else the
    estimate."""

    message: Mapping[str, Any]
    ended: object
    tokens: int


class Completions:
    """Requests of one model. Temperature 0 and a fixed seed are asked for; a parameter that the server names when it refuses (400, 422) is
    left out from then on, and ``max_tokens`` is then called ``max_completion_tokens``."""

    def __init__(
        self,
        base_url: str,
        model: str,
        role: Role,
        *,
        timeout: float,
        pause: Callable[[float], None],
        most_bytes: int,
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
                most_bytes=most_bytes,
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

    def ask(
        self,
        body: Callable[[], Mapping[str, object]],
        max_tokens: int,
        estimate: int,
        again: Callable[[int, str], bool] = lambda status, said: False,
    ) -> Completion:
        """One answer to a body with messages. ``again`` says of a status and the server's words whether the body is another one now, which
        may do. Raises ``ChatError`` with the tokens that asking may have cost; refusals are errors, too."""
        lost = 0
        with self._endpoint.client() as client:
            while True:
                reply = self._endpoint.post(client, self._sent(body(), max_tokens))
                lost += reply.lost
                if not self._differently(reply, again):
                    break
        if reply.kind:
            raise self.error(reply.kind, reply.problem, lost * estimate)
        return self._read(reply.content, lost * estimate, estimate)

    def error(self, kind: Kind, problem: str, tokens: int) -> ChatError:
        """What went wrong, as a sentence; ``problem`` goes on one that begins with the server."""
        role = self._role
        message = f"The model {self.model} at {self._endpoint.shown} {problem}, {role.outcome}. {role.advice(kind)}"
        return ChatError(message, kind, tokens)

    def _sent(self, body: Mapping[str, object], max_tokens: int) -> dict[str, object]:
        whole: dict[str, object] = {
            "model": self.model,
            **body,
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": _SEED,
        }
        if "max_tokens" in self._left_out:
            whole["max_completion_tokens"] = max_tokens
        return {name: value for name, value in whole.items() if name not in self._left_out}

    def _differently(self, reply: Reply, again: Callable[[int, str], bool]) -> bool:
        """Whether a refused request may succeed without a parameter, or with another body."""
        if reply.status < 400 or reply.status == 429:
            return False
        try:
            error: Any = json.loads(reply.content)["error"]
            name, said = str(error.get("param")).partition(".")[0], str(error.get("message"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            name = said = ""
        if reply.status in (400, 422) and name in _OPTIONAL:
            known = name in self._left_out
            self._left_out.add(name)
            return not known
        return again(reply.status, said)

    def _read(self, content: bytes, lost: int, estimate: int) -> Completion:
        tokens = lost + estimate
        try:
            answer: Any = json.loads(content)
            tokens = lost + _used(answer.get("usage"), estimate)
            choice = answer["choices"][0]
            message, ended = choice["message"], choice.get("finish_reason")
            refusal = message.get("refusal")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise self.error("bad answer", "gave an answer that is not a chat completion", tokens) from None
        if refusal or ended == "content_filter":
            raise self.error("refused", "refused to answer", tokens)
        return Completion(message, ended, tokens)


def _used(usage: Any, estimate: int) -> int:
    """The tokens that a server says were used; ``estimate`` when it says nothing that makes sense."""
    if not isinstance(usage, dict):
        return estimate
    total = usage.get("total_tokens")
    return total if type(total) is int and total > 0 else estimate
