"""``python -m benchmarks.deep_pass [--memories 1000] [--turns 20] [--seconds 1]``: what a deep pass costs beside the model's own time.

A model that takes a fixed time for each turn searches, reads and edits, and then ends. Told are the seconds in which it was waited for,
those of the loop beside them (tools, the ledger), and those of the rest: snapshot, copy, comparison, proof and sealed plan.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from slowwave.models.embedding_models import STATIC_MODEL
from slowwave.models.endpoint import Message, ModelTurn, ToolCall
from slowwave.sources.tables import import_memories
from slowwave.store import server
from slowwave.store.configured_models import embedder_for
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.store.settings import Settings
from slowwave.wiki.deep.run import DeepPass, run_deep

_CALLS = (
    ("list", {}),
    ("grep", {"pattern": "boat [0-9]+7 ", "folder": "memories"}),
    ("read", {"file": "memories/boats-3.md"}),
    ("run", {"command": "wc", "arguments": ["memories/boats-1.md", "memories/boats-2.md"]}),
)


class Steady:
    """A model that takes ``seconds`` for each of its ``turns`` turns."""

    model = "steady"

    def __init__(self, turns: int, seconds: float) -> None:
        self._left, self._seconds = turns, seconds

    def turn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, object]], max_tokens: int) -> ModelTurn:
        """Some calls, or at last none."""
        time.sleep(self._seconds)
        self._left -= 1
        if self._left <= 0:
            return ModelTurn("Done.", (), 100, {"role": "assistant", "content": "Done."})
        text = f"# notes\n\n- Note {self._left}.\n"
        made = (*_CALLS, ("write", {"file": "memories/notes.md", "text": text}))
        calls = tuple(ToolCall(f"{self._left}-{n}", name, json.dumps(asked)) for n, (name, asked) in enumerate(made))
        return ModelTurn("", calls, 100, {"role": "assistant", "content": ""})


def measured(store: Store, memories: int, turns: int, seconds: float) -> tuple[DeepPass, float]:
    """A pass over so many memories, and the seconds of all of it."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for n in range(memories):
            text = f"Boat {n} of the harbour lies at pier {n % 40} and is painted every {n % 7 + 2} years."
            row = {"id": str(n), "text": text, "kind": "semantic", "subject": f"boats {n % 50}"}
            file.write(json.dumps(row) + "\n")
        file.flush()
        with store.connect("owner") as connection:
            embedder = embedder_for(Settings.for_namespace({}))
            import_memories(connection, Path(file.name), embedder=embedder, namespace="deep")
    with store.connect("owner") as connection:
        options = {"model": "steady", "max_turns": turns + 1, "timeout_seconds": 3600}
        overlay = json.dumps({"operations": {"deep_pass": options}})
        connection.execute("UPDATE memory.namespaces SET settings = settings || %s::jsonb", (overlay,))
    began = time.perf_counter()
    done = run_deep(store, "deep", force=True, model=Steady(turns, seconds))
    return done, time.perf_counter() - began


def main() -> None:
    """Print the three, and the shares of the model's time."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--memories", type=int, default=1_000)
    asked.add_argument("--turns", type=int, default=20)
    asked.add_argument("--seconds", type=float, default=1.0)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        os.environ |= {"SLOWWAVE_HOME": home, "SLOWWAVE_EMBEDDING_MODEL": STATIC_MODEL}
        try:
            done, whole = measured(open_store(), given.memories, given.turns, given.seconds)
        finally:
            server.stop(Path(home))
    loop = done.seconds - done.model_seconds
    table = Table(
        *("", "seconds", "of the model's time"),
        title=f"{given.memories:,} memories, {done.turns} turns, {machine()['commit']}",
    )
    table.add_row("the model", f"{done.model_seconds:.2f}", "100 %")
    table.add_row("the loop beside it", f"{loop:.2f}", f"{100 * loop / done.model_seconds:.1f} %")
    rest = whole - done.seconds
    table.add_row("snapshot, copy, proof, plan", f"{rest:.2f}", f"{100 * rest / done.model_seconds:.1f} %")
    Console().print(table)


if __name__ == "__main__":
    main()
