"""Transcripts of sessions from the JSONL files of Claude Code, Codex CLI or an OpenAI-style program.

The format is detected line by line. Tool calls, their results, thoughts, side chains and text that the harness inserted as the user are
left out; secrets are removed from the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from slowwave.sources.rows import BadRow, RowCheck, bounded_lines, content_id, parse_json, unreadable
from slowwave.text.screening import redact

LONGEST_LINE: Final = 16_000_000  # bytes; results of tools may be whole files

_SPEAKERS: Final = frozenset({"user", "assistant"})
_TOOL_LINE: Final = re.compile(
    r"^\s*(?:"
    r"\[?\s*tool[ _-]?(?:call|use|result|output|response)s?\b|"
    r"</?(?:tool|function)[_-]?(?:calls?|use|results?|response|call_result)\b|"
    r"\{\s*\"(?:tool|tool_name|function|tool_use_id|tool_call_id|recipient_name)\"\s*:|"
    r"(?:calling|called|running|invoking) (?:the )?(?:tool|function)\b"
    r").*$",
    re.IGNORECASE,
)
_HARNESS: Final = re.compile(
    r"^\s*<(?:environment_context|user_instructions|system-reminder|command-name|command-message|local-command-stdout|turn_aborted)\b"
)
_ENV: Final = re.compile(
    r"\b([A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|CREDENTIALS?)[A-Z0-9_]*)(\s*=\s*)(\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'`]+)"
)
_BEARER: Final = re.compile(r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_SK: Final = re.compile(r"\bsk-[A-Za-z0-9_-]{8,}")


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One turn of a transcript; ``at`` is in UTC, or None if the file gives no time."""

    role: str
    text: str
    at: datetime | None


@dataclass(slots=True)
class Transcript:
    """A session of one agent, its turns in the order of the file."""

    agent: str
    session_id: str
    folder: str = ""
    turns: list[TranscriptTurn] = field(default_factory=list)

    @property
    def begun(self) -> datetime | None:
        """Return the time of the first turn, or None if no turn has one."""
        return min((turn.at for turn in self.turns if turn.at), default=None)

    @property
    def ended(self) -> datetime | None:
        """Return the time of the last turn, or None if no turn has one."""
        return max((turn.at for turn in self.turns if turn.at), default=None)


def cleaned(text: str) -> str:
    """Return a turn without lines that call a tool or give its result, and without secrets."""
    lines = [line for line in text.splitlines() if not _TOOL_LINE.match(line)]
    kept = "\n".join(lines).strip()
    kept = _ENV.sub(r"\1\2[redacted]", kept)
    kept = _BEARER.sub(r"\1[redacted]", kept)
    return redact(_SK.sub("[redacted]", kept))


def read_transcripts(path: Path, check: RowCheck) -> list[Transcript]:
    """Return the sessions of a file that contain text; lines that cannot be parsed are reported to ``check``."""
    found: dict[tuple[str, str], Transcript] = {}
    reader = _Reader(path.stem)
    try:
        with path.open("rb") as file:
            for line in bounded_lines(file.readline, LONGEST_LINE):
                if line.text is not None and not line.text.strip(b"\xef\xbb\xbf \t\r\n"):
                    continue
                check.seen += 1
                try:
                    if line.text is None:
                        raise BadRow(f"the line has more than {LONGEST_LINE:,} bytes")
                    row = parse_json(line.text.removeprefix(b"\xef\xbb\xbf"))
                    if not isinstance(row, dict):
                        raise BadRow("not a JSON object")
                    turns = list(reader.turns(row))
                except BadRow as problem:
                    check.bad(line.number, str(problem))
                    continue
                for agent, session, folder, turn in turns:
                    transcript = found.setdefault((agent, session), Transcript(agent, session, folder))
                    if (text := cleaned(turn.text)) and (not transcript.turns or transcript.turns[-1].text != text):
                        transcript.turns.append(TranscriptTurn(turn.role, text, turn.at))
    except OSError as problem:
        unreadable(path, problem)
    return [transcript for transcript in found.values() if transcript.turns]


class _Reader:
    """Parser of the turns in successive lines; Codex names the session in its first line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._codex: tuple[str, str] | None = None

    def turns(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str, str, TranscriptTurn]]:
        """Yield (agent, session id, folder, turn) of a line, without tool calls and other machinery.

        Raises ``BadRow`` for a line that does not belong to a session.
        """
        kind, payload = row.get("type"), row.get("payload")
        if kind == "session_meta" and isinstance(payload, dict):
            self._codex = (_word(payload.get("id")) or self._name, _word(payload.get("cwd")))
        elif isinstance(payload, dict):  # Codex: turns are in response items, and repeated in events
            if kind == "response_item" and payload.get("type") == "message":
                yield from self._codex_turn(payload, row.get("timestamp"))
        elif "instructions" in row and "id" in row and "role" not in row:  # the first line of an older Codex
            self._codex = (_word(row.get("id")) or self._name, "")
        elif self._codex is not None and kind in ("message", "reasoning", "function_call", "function_call_output"):
            if kind == "message":
                yield from self._codex_turn(row, row.get("timestamp"))
        elif "sessionId" in row or kind in ("summary", "file-history-snapshot", "queue-operation"):
            yield from self._claude(row)
        elif isinstance(row.get("messages"), list):
            session = _word(row.get("id") or row.get("session_id")) or content_id(str(row["messages"]))
            for message in row["messages"]:
                yield from self._openai(message, row, session)
        elif "role" in row:
            yield from self._openai(row, row, _word(row.get("session_id") or row.get("conversation_id")) or self._name)
        elif kind is None:
            raise BadRow("no line of a session: neither type, role nor messages")

    def _claude(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str, str, TranscriptTurn]]:
        message = row.get("message")
        if (
            row.get("type") not in _SPEAKERS
            or not isinstance(message, dict)
            or row.get("isSidechain")
            or row.get("isMeta")
        ):
            return
        turn = turn_of(message, row.get("timestamp"))
        if turn is not None:
            yield "claude-code", _word(row.get("sessionId")) or self._name, _word(row.get("cwd")), turn

    def _codex_turn(self, message: Mapping[str, Any], at: object) -> Iterator[tuple[str, str, str, TranscriptTurn]]:
        session, folder = self._codex or (self._name, "")
        if (turn := turn_of(message, at)) is not None:
            yield "codex", session, folder, turn

    def _openai(
        self, message: object, row: Mapping[str, Any], session: str
    ) -> Iterator[tuple[str, str, str, TranscriptTurn]]:
        if not isinstance(message, dict):
            raise BadRow("a message is not a JSON object")
        at = next((message[k] for k in ("timestamp", "created_at", "created") if k in message), None)
        at = at if at is not None else next((row[k] for k in ("timestamp", "created_at", "created") if k in row), None)
        if (turn := turn_of(message, at)) is not None:
            yield _word(row.get("agent")) or "openai", session, "", turn


def turn_of(message: Mapping[str, Any], at: object) -> TranscriptTurn | None:
    """Return the turn of a user or an assistant in a chat message, or None for any other message.

    ``at`` is a timestamp as programs write it.
    """
    role, text = message.get("role"), _text(message.get("content"))
    if role not in _SPEAKERS or not text.strip() or _HARNESS.match(text):
        return None
    return TranscriptTurn(str(role), text, _instant(at))


def _text(content: object) -> str:
    """Return the words of a message: the text itself, or its text parts joined."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (
        part.get("text")
        for part in parts
        if isinstance(part, dict) and part.get("type") in ("text", "input_text", "output_text")
    )
    return "\n\n".join(text for text in texts if isinstance(text, str) and not _HARNESS.match(text))


def _instant(value: object) -> datetime | None:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1_000 if value > 1e11 else value, UTC)
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _word(value: object) -> str:
    """Return a short text as one line; empty for anything else."""
    return " ".join(value.split())[:200] if isinstance(value, str) else ""
