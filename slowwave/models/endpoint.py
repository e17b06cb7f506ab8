"""Endpoints that speak OpenAI's protocol: requests with retries and deadlines, chat completions, and calls of tools."""

from __future__ import annotations

import json
import os
import random
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from slowwave.errors import ChatError, SettingsError

if TYPE_CHECKING:
    import httpx


# One path of a server with OpenAI's protocol: posting JSON with retries and deadlines, and descriptions of failures.
#
# Nothing here repeats the key or the request. The first endpoint imports the HTTP client: with its command line that takes half as long as
# starting a server, and most processes use no model.

Kind = Literal["timeout", "unreachable", "error status", "bad answer"]

_FIRST_PAUSE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Reply:
    """Outcome of a request: the ``content`` received, plus ``kind`` and ``problem`` if the last attempt failed.

    ``problem`` continues a sentence whose subject is the server. ``lost`` counts the failed attempts that the server may have processed
    anyway.
    """

    status: int = 0
    content: bytes = b""
    kind: Kind | None = None
    problem: str = ""
    lost: int = 0


class Endpoint:
    """Endpoint ``base_url`` + ``/v1/`` + ``path`` of a server; the base may end in ``/v1`` or not.

    Raises ``ValueError`` if ``base_url`` is not an http(s) address. If the answer is late, broken, 429 or 5xx, the request is tried
    ``attempts`` times in all. Before each new attempt it pauses as long as ``Retry-After`` asks, or up to 0.5, 1, 2, … seconds, never
    more than ``longest_pause`` seconds. A random part of up to half is taken off the latter pauses, so that clients that failed together
    do not return together. If the last attempt was answered with 429, the next request pauses first as well. ``timeout`` applies to a
    whole answer, ``most_bytes`` to its size. The key is read from ``key_variable`` whenever a client is made.
    """

    def __init__(
        self,
        base_url: str,
        path: str,
        *,
        key_variable: str,
        timeout: float,
        attempts: int,
        longest_pause: float,
        most_bytes: int,
        pause: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        import httpx

        try:
            url = httpx.URL(base_url)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("not an http(s) address")
        self.shown = f"{url.scheme}://{url.netloc.decode()}"
        self._url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1/{path}"
        self._key_variable = key_variable
        self._timeout = timeout
        self._attempts = attempts
        self._longest_pause = longest_pause
        self._most_bytes = most_bytes
        self._pause = pause
        self._chance = chance
        self._rests_until = 0.0

    def client(self) -> httpx.Client:
        """Open a client that sends the key; the caller closes it, and one client serves many requests."""
        key = os.environ.get(self._key_variable, "").strip()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        import httpx

        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        return httpx.Client(timeout=self._timeout, headers=raw, verify=_certificates())

    def post(self, client: httpx.Client, body: Mapping[str, object]) -> Reply:
        """Send ``body`` as JSON; lone surrogates, which no server takes, are replaced. Raises nothing for the server's faults."""
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if (rest := self._rests_until - time.monotonic()) > 0:
            self._pause(rest)
        self._rests_until = 0.0
        lost, attempt = 0, 1
        while True:
            reply, wait = self._once(client, content)
            lost += reply.lost
            passing = reply.kind in ("timeout", "unreachable") or reply.status == 429 or reply.status >= 500
            if not passing:
                return replace(reply, lost=lost)
            own = _FIRST_PAUSE * 2 ** (attempt - 1) * (1 - self._chance() / 2)
            seconds = min(_seconds(wait, own), self._longest_pause)
            if attempt == self._attempts:
                if reply.status == 429:
                    self._rests_until = time.monotonic() + seconds
                return replace(reply, lost=lost)
            self._pause(seconds)
            attempt += 1

    def _once(self, client: httpx.Client, content: bytes) -> tuple[Reply, str]:
        """Send the request once; return the reply and its ``Retry-After``."""
        import httpx

        until = time.monotonic() + self._timeout
        received = bytearray()
        late = f"did not answer within {self._timeout:g} s"
        try:
            with client.stream("POST", self._url, content=content) as answer:
                for part in answer.iter_bytes():
                    received += part
                    if time.monotonic() > until:
                        return Reply(kind="timeout", problem=late, lost=1), ""
                    if len(received) > self._most_bytes:
                        problem = f"gave an answer of more than {self._most_bytes:,} bytes"
                        return Reply(kind="bad answer", problem=problem, lost=1), ""
        except httpx.TimeoutException as error:
            return Reply(kind="timeout", problem=late, lost=int(not isinstance(error, httpx.ConnectTimeout))), ""
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            problem = f"could not be asked ({type(error).__name__})"
            return Reply(kind="unreachable", problem=problem, lost=int(not isinstance(error, httpx.ConnectError))), ""
        if answer.is_success:
            return Reply(answer.status_code, bytes(received)), ""
        problem = f"answered with status {answer.status_code}"
        reply = Reply(answer.status_code, bytes(received), "error status", problem, int(answer.status_code >= 500))
        return reply, answer.headers.get("retry-after", "")


@cache
def _certificates() -> ssl.SSLContext:
    """Load the trusted certificates once per process, because loading them takes twenty times as long as making a client."""
    import httpx

    return httpx.create_ssl_context()


def _seconds(retry_after: str, otherwise: float) -> float:
    """Return the number of seconds that ``Retry-After`` asks for, given as a number or a date.

    Return ``otherwise`` if the header is absent, malformed or in the past.
    """
    try:
        asked = float(retry_after or "nan")
    except ValueError:
        try:
            asked = (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):  # a date without a zone is invalid as well
            return otherwise
    return asked if asked >= 0 else otherwise


# Chat completions of an OpenAI-compatible endpoint in a role: a request is repeated without a parameter that the server refuses, the common
# part of all answers is parsed, and failures are described in sentences that repeat neither the key nor the texts.

ATTEMPTS: Final = 2

CompletionKind = Literal["timeout", "unreachable", "error status", "refused", "bad answer"]

_SEED: Final = 7
_LONGEST_PAUSE: Final = 10.0
_OPTIONAL: Final = ("temperature", "seed", "max_tokens")


class Role(NamedTuple):
    """Purpose of a model: the wording of its error messages and the environment variables that they name."""

    whose: str
    outcome: str
    key_variable: str
    endpoint_variable: str
    timeout_variable: str

    def advice(self, kind: CompletionKind) -> str:
        """Return the advice for the user on a failure of this kind."""
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
    """First choice of an answer: its message, the reason why it ended, and the tokens that the request cost.

    The tokens are those that the server reports; if it reports none, the estimate.
    """

    message: Mapping[str, Any]
    ended: object
    tokens: int


class Completions:
    """Requests to one model.

    They ask for temperature 0 and a fixed seed. If the server refuses a request (400, 422) and names one of the optional parameters, that
    parameter is left out from then on. ``max_tokens`` is then sent as ``max_completion_tokens``.
    """

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
        """Send a body with messages and return one answer.

        ``again`` receives a status and the server's message and returns whether the body has changed, so that another attempt may
        succeed. Raises ``ChatError`` with the tokens that the request may have cost; a refusal is an error, too.
        """
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

    def error(self, kind: CompletionKind, problem: str, tokens: int) -> ChatError:
        """Build the error for a failure; ``problem`` continues a sentence whose subject is the server."""
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
        """Return whether a refused request may succeed without a parameter or with another body.

        An optional parameter that the server names is left out of later requests.
        """
        if reply.status < 400 or reply.status == 429:
            return False
        try:
            error: Any = json.loads(reply.content)["error"]
            name, message = str(error.get("param")).partition(".")[0], str(error.get("message"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            name = message = ""
        if reply.status in (400, 422) and name in _OPTIONAL:
            known = name in self._left_out
            self._left_out.add(name)
            return not known
        return again(reply.status, message)

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
    """Return the tokens that a server reports as used, or ``estimate`` if it reports no valid number."""
    if not isinstance(usage, dict):
        return estimate
    total = usage.get("total_tokens")
    return total if type(total) is int and total > 0 else estimate


# Chat models: a system text and a user text in, one JSON text out, through any OpenAI-compatible endpoint.
#
# The callers write the texts and interpret the answers (``slowwave.matching.review``). The endpoint's key comes only from the environment
# variable of its role, and no error repeats it or the texts.

_MOST_BYTES: Final = 1_000_000
_FORMATS: Final = ("json_schema", "json_object")

JUDGE: Final = Role(
    *("The judges'", "so it has no say", "SLOWWAVE_JUDGE_API_KEY"),
    *("SLOWWAVE_JUDGE_ENDPOINT", "SLOWWAVE_JUDGE_TIMEOUT_SECONDS"),
)


class Answer(NamedTuple):
    """Text that a model wrote and the tokens that the request cost: as the server reports them, otherwise the estimate."""

    text: str
    tokens: int


class Chat(Protocol):
    """A model that answers a question with JSON of a schema."""

    @property
    def model(self) -> str:
        """Return the model's name."""
        ...

    def ask(self, system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> Answer:
        """Ask for one answer, which may still violate the schema.

        Raises ``ChatError``.
        """
        ...


class EndpointChat:
    """Chat model of any server with OpenAI's ``POST /v1/chat/completions``.

    Requests ask for temperature 0, a fixed seed and a strict ``json_schema``. If a server refuses a parameter (400, 422, or a 500 about the
    format, as llama-cpp-python sends), the request is repeated without it, and later requests leave it out:
    - ``max_tokens`` is then sent as ``max_completion_tokens``
    - the schema is written into the instructions, and ``json_object`` is asked for together with the schema, as llama-cpp-python accepts it
    - if that is refused, no format is asked for

    Requests with status 429 or 5xx, broken connections and late answers are tried ``attempts`` times in all.
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
        """Ask for one answer.

        Raises ``ChatError``; refusals and truncated answers are errors, too.
        """
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
        """Return whether a refused request may succeed with another response format or without one.

        The format that was refused is dropped for later requests.
        """
        refused = status in (400, 422) or "response_format" in said
        return refused and bool(self._formats) and bool(self._formats.pop(0))


def most_tokens(system: str, user: str, schema: Mapping[str, object], max_tokens: int) -> int:
    """Return an upper estimate of the tokens of one call: half the UTF-8 bytes sent, plus the longest answer.

    Tokenisers need one token for about four bytes of English, three bytes of Chinese or two bytes of a hexadecimal id.
    """
    sent = sum(len(text.encode("utf-8", "replace")) for text in (system, user, json.dumps(schema)))
    return sent // 2 + max_tokens


# Chat models that call tools: a conversation in, the next turn out, as in OpenAI's ``POST /v1/chat/completions``.
#
# ``slowwave.wiki.deep`` runs the tools and ends conversations. Endpoint, key, retries and deadlines are the same as above; no error repeats
# the key or the texts.

MOST_CALLS: Final = 16
"""Maximum number of tool calls of one turn; further ones are left out."""

DEEP: Final = Role(
    *("The deep pass's", "so the pass ended", "SLOWWAVE_WRITER_API_KEY"),
    *("SLOWWAVE_WRITER_ENDPOINT", "SLOWWAVE_OPERATIONS__DEEP_PASS__ANSWER_SECONDS"),
)

_MOST_BYTES_TOOL_CHAT: Final = 2_000_000

Message = Mapping[str, object]


class ToolCall(NamedTuple):
    """One call: the id that its answer names, the tool, and its arguments as the model wrote them, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """Text and tool calls of one turn, the tokens that it cost, and the ``message`` that continues the conversation."""

    text: str
    calls: tuple[ToolCall, ...]
    tokens: int
    message: Message


class ToolChat:
    """Model at an endpoint that holds a conversation turn by turn.

    Requests ask for temperature 0 and a fixed seed. A parameter that the server names in a refusal is left out from then on.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        timeout: float = 120.0,
        pause: Callable[[float], None] = time.sleep,
        role: Role = DEEP,
    ) -> None:
        self._completions = Completions(
            base_url, model, role, timeout=timeout, pause=pause, most_bytes=_MOST_BYTES_TOOL_CHAT
        )
        self.model = model

    def turn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], max_tokens: int) -> ModelTurn:
        """Ask for the next turn.

        Raises ``ChatError`` with the tokens that the request may have cost.
        """
        body = {"messages": list(messages), "tools": list(tools), "tool_choice": "auto"}
        estimate = most_tokens_tool_chat(messages, tools, max_tokens)
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
    """Build the message that answers a tool call."""
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def most_tokens_tool_chat(messages: Sequence[Message], tools: Sequence[Mapping[str, object]], max_tokens: int) -> int:
    """Return an upper estimate of the tokens of one turn: half the UTF-8 bytes sent, plus the longest answer."""
    sent = json.dumps([*messages, *tools], ensure_ascii=False).encode("utf-8", "replace")
    return len(sent) // 2 + max_tokens


def _call(call: Any) -> ToolCall:
    function = call["function"]
    arguments = function.get("arguments") or ""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(str(call.get("id") or "call")[:200], str(function["name"])[:200], text)


def _said(text: str, calls: Sequence[ToolCall]) -> Message:
    """Build the message that returns the model's turn to it, with only the fields of the protocol."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in calls
        ]
    return message
