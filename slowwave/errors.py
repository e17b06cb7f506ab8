"""The exceptions of Slowwave, in one small hierarchy.

A message is a sentence for the operator: what happened, what it means and what to do next. ``Refused`` means that a rule refused the
request and nothing was written (exit code 2). Every other error has exit code 1.
"""

from __future__ import annotations

from typing import Final

INTERRUPTED: Final = "Interrupted by a person."
"""Recorded error of a run that Ctrl-C ended; such a run is shown as interrupted."""


class SlowwaveError(Exception):
    """The base of all errors raised on purpose."""


class Refused(SlowwaveError):  # noqa: N818 - a refusal is an answer, and reads as one
    """A refusal by a rule of the gate; nothing was written."""


class UnknownName(Refused, ValueError):  # noqa: N818 - a refusal, as its base
    """A refusal of an argument that names a mode, namespace or operation that does not exist; also a ``ValueError``, as in khora."""


class Forbidden(Refused):
    """A refusal of a request that the caller is not allowed to make."""


class AlreadyThere(Refused):
    """A refusal because something else already exists in the place that was requested."""


class ProbesFailed(Refused):
    """A refusal to approve items that did not pass their probes and were not forced."""


class StoreError(SlowwaveError):
    """An error of a database that is missing, unreachable or not in the form that this version needs.

    ``said`` is the message. ``statements`` are SQL statements for the operator to run as they are; they follow ``said`` in the text.
    """

    def __init__(self, said: str, *statements: str) -> None:
        super().__init__(" ".join([said, *(f"{statement};" for statement in statements)]))
        self.said, self.statements = said, statements


class NoAnswer(StoreError):  # noqa: N818 - what happened, in two words
    """An error of a server that does not answer: ``finding`` is the observation and ``remedy`` what may fix it."""

    def __init__(self, finding: str, remedy: str) -> None:
        super().__init__(f"{finding} {remedy}")
        self.finding, self.remedy = finding, remedy


class SettingsError(SlowwaveError):
    """An error of a setting that has an invalid value."""


class NotInCorpus(Refused):
    """A refusal of a request for a page that no corpus holds or that is not shown."""


class BindingError(Refused):
    """A refusal of a binding that makes invalid statements; nothing was connected."""


class ImportRefused(Refused):
    """A refusal of an import file, or of one of its rows."""


class SnapshotError(SlowwaveError):
    """An error of a snapshot that is missing, damaged or from another night."""


class ModelError(SlowwaveError):
    """An error of a SQL model that cannot be parsed or run."""


class EmbeddingError(SlowwaveError):
    """An error of an embedding model or endpoint that did not return the requested vectors."""


class EncoderError(SlowwaveError):
    """An error of a model in a folder that cannot be loaded or run."""


class ChatError(SlowwaveError):
    """An error of a chat model that gave no usable answer.

    ``tokens`` is the number of tokens that the call may have used nevertheless.
    """

    def __init__(self, message: str, kind: str, tokens: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.tokens = tokens


class DreamDisabledError(Refused):
    """A refusal to plan a night because the setting ``enabled`` is off for the namespace."""


class DreamApplyDisabled(Refused):
    """A refusal to write because the kill switch is set or the namespace is read-only."""


class NightFailed(SlowwaveError):  # noqa: N818 - it names what happened
    """An error of one of several namespaces whose night ended with an error that is not Slowwave's own.

    The cause of this exception is that error.
    """


class DreamForbiddenOpError(Refused):
    """A refusal of an operation that no night may do.

    Such operations are deleting documents, purging before the retention floor, and operations of an unknown kind.
    """


class DreamLockUnavailable(Refused):
    """A refusal because another run holds the namespace."""


class DreamRunStuckError(SlowwaveError):
    """An error of a run whose heartbeat has expired: the process that held the namespace is gone."""

    def __init__(self, message: str, run_id: str, heartbeat_age_seconds: int) -> None:
        super().__init__(message)
        self.run_id = run_id
        self.heartbeat_age_seconds = heartbeat_age_seconds


class DreamCancelled(SlowwaveError):  # noqa: N818 - what a person asked for is no fault
    """The end of a run that a person cancelled; what it committed remains."""


class DeepPassEscaped(SlowwaveError):  # noqa: N818 - it names what happened
    """An error of a deep pass whose scratch copy has forbidden changes, or had too much removed.

    Nothing of it becomes a plan. ``escapes`` are the faults, found by the hashes of the trees before and after.
    """

    def __init__(self, message: str, escapes: tuple[str, ...]) -> None:
        super().__init__(message)
        self.escapes = escapes


class DeepPassUnfinished(SlowwaveError):  # noqa: N818 - it names what happened
    """An error of a deep pass that ran out of time or turns before the model was done; none of its work becomes a plan."""


class ReportError(SlowwaveError):
    """An error of a report file that is missing, damaged or of another schema."""


class ApprovalWithdrawn(Refused):
    """A refusal to apply further items of an approval that no longer counts, or does not count yet.

    The approval was revoked, its plan was rejected or superseded before all of it was applied, or an approver is missing.
    """


class UndoBlocked(Refused):
    """A refusal to undo, above all because later changes depend on what would be undone.

    ``rows`` are the ids of some of the rows on which later changes depend. ``items`` are all items that wrote these rows; it is set where
    the other items can be undone.
    """

    def __init__(self, message: str, rows: tuple[str, ...] = (), items: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.rows, self.items = rows, items


class JournalDamaged(Refused):
    """A refusal to undo because the journal differs from what was written at the time of the apply."""


def plain_fault(message: str) -> str:
    """Return the message of a Pydantic validation error without the ``Value error,`` prefix."""
    return message.removeprefix("Value error, ")
