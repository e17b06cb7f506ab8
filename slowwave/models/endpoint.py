"""Endpoints that speak OpenAI's protocol: requests with retries and deadlines, chat completions, and calls of tools."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from slowwave.errors import ChatError, SettingsError

if TYPE_CHECKING:
    import ssl

    import httpx2


# One resource of a server with OpenAI's protocol: requests through the client ``openai``, and descriptions of failures.
#
# Nothing here repeats the key or the request. The client is imported by the first request: importing it takes a second and 50 MB, and most
# processes use no model.

Kind = Literal["timeout", "unreachable", "error status", "bad answer"]


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


_CLIENT_LOGS: Final = ("httpx", "httpx2")


@contextmanager
def without_client_logs() -> Generator[None]:
    """Silence HTTP clients in the block: they log the address of each request, which may hold a password or token."""
    none = logging.Filter("slowwave")
    with ExitStack() as undone:
        for name in _CLIENT_LOGS:
            log = logging.getLogger(name)
            log.addFilter(none)
            undone.callback(log.removeFilter, none)
        yield


class Endpoint:
    """One resource, "embeddings" or "chat.completions", of the server at ``base_url``, which may end in ``/v1`` or not.

    Raises ``ValueError`` if ``base_url`` is not an http(s) address, and ``SettingsError`` if the client is not installed. A request that is
    late, that breaks off, or that the server answers with 408, 409, 429 or 5xx is sent ``attempts`` times in all, after the pauses that
    ``openai`` makes. ``timeout`` applies to the whole answer of one attempt, ``most_bytes`` to its size. The key is read from
    ``key_variable`` for each request.
    """

    def __init__(
        self, base_url: str, resource: str, *, key_variable: str, timeout: float, attempts: int, most_bytes: int
    ) -> None:
        url = urlsplit(base_url)
        place = f"{url.hostname}:{url.port}" if url.port else url.hostname
        if url.scheme not in ("http", "https") or not place:
            raise ValueError("not an http(s) address")
        if importlib.util.find_spec("openai") is None:
            raise SettingsError(
                "The client for models at an endpoint is not installed, so no model can be asked. "
                'Install it by `pip install "slowwave[models]"`, or set no endpoint.'
            )
        self.shown = f"{url.scheme}://{place}"
        self._url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1"
        self._resource = resource
        self._key_variable = key_variable
        self._timeout = timeout
        self._attempts = attempts
        self._most_bytes = most_bytes

    def connect(self) -> httpx2.Client:
        """Open connections for several requests of one thread; the caller closes them."""
        import openai

        # A redirect is an error, because it would send memory text to another server.
        return openai.DefaultHttpxClient(verify=_certificates(), follow_redirects=False)

    @without_client_logs()
    def post(self, connections: httpx2.Client, body: Mapping[str, object]) -> Reply:
        """Send ``body`` as JSON; lone surrogates, which no server takes, are replaced. Raises nothing for the server's faults."""
        import httpx2
        import openai

        began: list[float] = []
        answered: list[int] = []
        received = bytearray()
        connections.event_hooks = {
            "request": [lambda _: began.append(time.monotonic())],
            "response": [lambda answer: answered.append(answer.status_code)],
        }
        key = os.environ.get(self._key_variable, "").strip()
        # The client would add what the variables OPENAI_… hold, which are not meant for this server.
        headers: dict[str, str | openai.Omit] = dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), openai.Omit())
        headers["Authorization"] = f"Bearer {key}" if key else openai.Omit()
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")

        def lost() -> int:
            return len(began) - sum(status < 500 for status in answered)

        try:
            client = openai.OpenAI(
                api_key=key or "none",
                base_url=self._url,
                timeout=self._timeout,
                max_retries=self._attempts - 1,
                http_client=connections,
            )
            resource: Any = client.embeddings if self._resource == "embeddings" else client.chat.completions
            with resource.with_streaming_response.create(**json.loads(text), extra_headers=headers) as answer:
                for part in answer.iter_bytes():
                    received += part
                    if time.monotonic() > began[-1] + self._timeout:
                        raise httpx2.ReadTimeout("late")
                    if len(received) > self._most_bytes:
                        problem = f"gave an answer of more than {self._most_bytes:,} bytes"
                        return Reply(kind="bad answer", problem=problem, lost=lost() + 1)
        except openai.APIStatusError as error:
            status = error.status_code
            return Reply(status, error.response.content, "error status", f"answered with status {status}", lost())
        except (openai.APIConnectionError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            cause = error.__cause__ or error
            if isinstance(cause, httpx2.TimeoutException):
                kind, problem = "timeout", f"did not answer within {self._timeout:g} s"
            else:
                kind, problem = "unreachable", f"could not be asked ({type(cause).__name__})"
            never_sent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
            return Reply(kind=kind, problem=problem, lost=0 if never_sent else max(1, lost()))
        return Reply(200, bytes(received), lost=lost())


@cache
def _certificates() -> ssl.SSLContext:
    """Load the trusted certificates once per process, because loading them takes twenty times as long as making a client."""
    import httpx2

    return httpx2.create_ssl_context()


# Chat completions of an OpenAI-compatible endpoint in a role: a request is repeated without a parameter that the server refuses, the common
# part of all answers is parsed, and failures are described in sentences that repeat neither the key nor the texts.

ATTEMPTS: Final = 2

CompletionKind = Literal["timeout", "unreachable", "error status", "refused", "bad answer"]

_SEED: Final = 7
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
        most_bytes: int,
        attempts: int = ATTEMPTS,
    ) -> None:
        try:
            self._endpoint = Endpoint(
                base_url,
                "chat.completions",
                key_variable=role.key_variable,
                timeout=timeout,
                attempts=attempts,
                most_bytes=most_bytes,
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
        with self._endpoint.connect() as connections:
            while True:
                reply = self._endpoint.post(connections, self._sent(body(), max_tokens))
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
        self, base_url: str, model: str, *, timeout: float = 30.0, role: Role = JUDGE, attempts: int = ATTEMPTS
    ) -> None:
        self._completions = Completions(
            base_url, model, role, timeout=timeout, most_bytes=_MOST_BYTES, attempts=attempts
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

    def __init__(self, base_url: str, model: str, *, timeout: float = 120.0, role: Role = DEEP) -> None:
        self._completions = Completions(base_url, model, role, timeout=timeout, most_bytes=_MOST_BYTES_TOOL_CHAT)
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
