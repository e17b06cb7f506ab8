"""Every exception of Slowwave, in one small hierarchy.

A message is a sentence for the operator: what happened, what it means, what to do next. ``Refused`` means that a rule said
no and nothing was written (exit code 2); every other error is exit code 1.
"""

from __future__ import annotations


class SlowwaveError(Exception):
    """Base of all errors raised on purpose."""


class Refused(SlowwaveError):  # noqa: N818 - a refusal is an answer, and reads as one
    """A rule of the gate said no; nothing was written."""


class Forbidden(Refused):
    """Whoever asks may not do that."""


class AlreadyThere(Refused):
    """Something else is there already."""


class ProbesFailed(Refused):
    """What was to be approved did not pass its probes, and nobody forced it."""


class StoreError(SlowwaveError):
    """The database is missing, unreachable or not as this version needs it. ``statements`` are SQL that somebody is to run as it is, after
    ``said``."""

    def __init__(self, said: str, *statements: str) -> None:
        super().__init__(" ".join([said, *(f"{statement};" for statement in statements)]))
        self.said, self.statements = said, statements


class NoAnswer(StoreError):  # noqa: N818 - what happened, in two words
    """A server that does not answer: what was found, and what may mend it."""

    def __init__(self, finding: str, remedy: str) -> None:
        super().__init__(f"{finding} {remedy}")
        self.finding, self.remedy = finding, remedy


class SettingsError(SlowwaveError):
    """A setting has a value that it cannot have."""


class NotInCorpus(Refused):
    """What was asked for is no page that a corpus holds, or none that is shown."""


class BindingError(Refused):
    """A binding says what cannot be; nothing was connected."""


class ImportRefused(Refused):
    """A row of an import file cannot be taken."""


class SnapshotError(SlowwaveError):
    """A snapshot is missing, damaged or of another night."""


class ModelError(SlowwaveError):
    """A SQL model cannot be read or run."""


class EmbeddingError(SlowwaveError):
    """An embedding model or endpoint did not give what was asked."""


class ChatError(SlowwaveError):
    """A chat model gave no answer that can be used; ``tokens`` is what asking may have cost all the same."""

    def __init__(self, message: str, kind: str, tokens: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.tokens = tokens


class DreamDisabledError(Refused):
    """The setting ``enabled`` is off for the namespace, so no night is planned."""


class DreamApplyDisabled(Refused):
    """The kill switch is set or the namespace is read-only."""


class NightFailed(SlowwaveError):  # noqa: N818 - it names what happened
    """The night of one namespace among several ended with an error that is none of Slowwave's own; the cause is that error."""


class DreamForbiddenOpError(Refused):
    """An operation that no night may do: deleting documents, purging before the retention floor, an unknown kind."""


class DreamLockUnavailable(Refused):
    """Another run holds the namespace."""


class DreamRunStuckError(SlowwaveError):
    """A run began and its heartbeat has expired: the process that held the namespace is gone."""

    def __init__(self, message: str, run_id: str, heartbeat_age_seconds: int) -> None:
        super().__init__(message)
        self.run_id = run_id
        self.heartbeat_age_seconds = heartbeat_age_seconds


class DreamCancelled(SlowwaveError):  # noqa: N818 - what a person asked for is no fault
    """A person cancelled the run; what it committed stands."""


class DeepPassEscaped(SlowwaveError):  # noqa: N818 - it names what happened
    """A model's scratch copy came back with what no tool may do, or with too much taken away: nothing of it becomes a plan.

    ``escapes`` are what was found, by the hashes of the trees before and after.
    """

    def __init__(self, message: str, escapes: tuple[str, ...]) -> None:
        super().__init__(message)
        self.escapes = escapes


class DeepPassUnfinished(SlowwaveError):  # noqa: N818 - it names what happened
    """The time or the turns of a deep pass were up before the model was done; nothing of its work becomes a plan."""


class ReportError(SlowwaveError):
    """A report file is missing, damaged or of another schema."""


class ApprovalWithdrawn(Refused):
    """An approval was revoked, or its plan rejected or superseded, before all of it was applied."""


class UndoBlocked(Refused):
    """Later changes stand on what would be undone; ``rows`` are the ids of some of those on which they do, ``items`` all items that wrote
    them, where the others can be undone."""

    def __init__(self, message: str, rows: tuple[str, ...] = (), items: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.rows, self.items = rows, items


class JournalDamaged(Refused):
    """The journal of what would be undone is not what was written when it was applied."""


def plain_fault(message: str) -> str:
    """What a model of Pydantic says of a value; a sentence of ours without the name of Python's error before it."""
    return message.removeprefix("Value error, ")
