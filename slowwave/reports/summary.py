"""What a run came to, read from its events: for the ``summary.md`` of its report files. One pass, a bounded sample in memory."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from slowwave.reports.model import escape, markdown_table

SAMPLED: Final = 20
"""Items that a summary shows."""

_RISKS: Final = {"high": 2, "medium": 1, "low": 0}
_TEXTS: Final = {
    "none": "whole, as `redact_text` is none",
    "summary": "cut at 200 characters, as `redact_text` is summary",
    "all": "hidden, as `redact_text` is all",
}


@dataclass(slots=True)
class RunAccount:
    """A run in numbers. ``items`` counts items by operation, decision and status; ``sample`` holds those of most impact."""

    run_id: str = ""
    namespace: str = ""
    mode: str = ""
    trigger: str = ""
    state: str = ""
    started_at: str = ""
    ended_at: str = ""
    duration_ms: float = 0.0
    error: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    phases: list[dict[str, object]] = field(default_factory=list)
    operations: list[dict[str, object]] = field(default_factory=list)
    items: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    sample: list[tuple[tuple[int, int, str], Mapping[str, Any]]] = field(default_factory=list)
    tokens: int = 0

    def markdown(self, schema: str, redacted: str) -> str:
        """The summary; what comes from memory is escaped."""
        about = {
            "Namespace": self.namespace,
            "Mode": self.mode,
            "Trigger": self.trigger,
            "State": self.state,
            "Started": self.started_at,
            "Ended": self.ended_at,
            "Duration": f"{self.duration_ms / 1000:,.2f} s",
            "Items": f"{self.items.total():,}",
            "Tokens of models": f"{self.tokens:,}",
            **({"Error": self.error} if self.error else {}),
            **{f"Of them {name}": f"{n:,}" for name, n in self.counts.items()},
        }
        parts = [
            f"<!-- {schema} -->",
            f"# Run {escape(self.run_id)}",
            markdown_table([{"": name, "value": value} for name, value in about.items() if value]),
            f"Memory text is {_TEXTS.get(redacted, 'hidden')}.",
        ]
        if self.phases:
            parts += ["## Phases", markdown_table(self.phases)]
        if self.operations:
            parts += ["## Operations", markdown_table(self.operations)]
        if self.items:
            rows = [
                {"operation": operation, "decision": decision, "status": status, "items": f"{n:,}"}
                for (operation, decision, status), n in sorted(self.items.items())
            ]
            parts += ["## Items by decision", markdown_table(rows), *self._samples()]
        return "\n\n".join(parts) + "\n"

    def _samples(self) -> list[str]:
        chosen = [event for _, event in sorted(self.sample, key=lambda s: s[0], reverse=True)]
        how = f"{len(chosen):,} of {self.items.total():,}: the riskiest first, of equal risk those with most rows, then by id."
        return ["## Items of most impact", how, markdown_table([_row(event) for event in chosen])]


def account_of(events: Iterable[Mapping[str, Any]]) -> RunAccount:
    """The account of a run from its events as JSON. What a run reported before it was resumed counts as well."""
    account = RunAccount()
    for event in events:
        _take(account, event)
    if not account.state:
        account.state = "crashed"
    return account


def _take(account: RunAccount, event: Mapping[str, Any]) -> None:
    account.run_id, account.namespace = str(event.get("run_id", "")), str(event.get("namespace", ""))
    account.started_at = account.started_at or str(event.get("at", ""))
    account.ended_at = str(event.get("at", ""))
    match event.get("event"):
        case "RunStarted":
            account.mode, account.trigger = str(event["mode"]), str(event["trigger"])
            account.state, account.error = "", ""
        case "PhaseCompleted":
            account.phases.append(
                {
                    "phase": event["phase"],
                    "outcome": event["outcome"],
                    "operations": event["ops_total"],
                    "seconds": f"{event['duration_ms'] / 1000:,.2f}",
                }
            )
        case "LlmCalled":
            account.tokens += int(event["input_tokens"]) + int(event["output_tokens"])
        case "OperationEvent":
            _take_operation(account, event)
        case "RunCompleted":
            account.mode, account.state, account.counts = str(event["mode"]), str(event["state"]), dict(event["counts"])
            account.duration_ms += float(event["duration_ms"])
        case "RunFailed":
            account.mode, account.state = str(event["mode"]), "crashed"
            account.error = f"{event['error_type']} ({event['error_hash']})"
            account.duration_ms += float(event["duration_ms"])
        case _:
            pass


def _take_operation(account: RunAccount, event: Mapping[str, Any]) -> None:
    operation, decision, status = str(event["op_type"]), str(event["decision"]), str(event["status"])
    if event["op_id"] == operation:  # a whole audit or planner
        account.operations.append(
            {
                "operation": operation,
                "decision": decision,
                "seconds": f"{event['duration_ms'] / 1000:,.2f}",
                "says": event["outputs"].get("headline") or "",
            }
        )
        return
    account.items[operation, decision, status] += 1
    inputs = event["inputs"]
    weight = (_RISKS.get(str(inputs.get("risk")), 0), len(inputs.get("rows") or ()), str(event["op_id"]))
    keep = heapq.heappush if len(account.sample) < SAMPLED else heapq.heappushpop
    if not any(weight == known for known, _ in account.sample):  # an item reported twice is one
        keep(account.sample, (weight, event))


def _row(event: Mapping[str, Any]) -> dict[str, object]:
    inputs = event["inputs"]
    evidence = event["outputs"].get("evidence")
    names = evidence.get("names") if isinstance(evidence, dict) else None
    shown = [str(name) for name in names if name] if isinstance(names, list) else []
    score = (event.get("rationale") or {}).get("score")
    return {
        "operation": event["op_type"],
        "decision": event["decision"],
        "status": event["status"],
        "risk": inputs.get("risk") or "",
        "rows": f"{len(inputs.get('rows') or ()):,} of {inputs.get('table') or ''}",
        "probability": "" if score is None else f"{score:.4f}",
        "what": " = ".join(shown) or inputs.get("kind") or "",
        "item": event["op_id"],
    }
