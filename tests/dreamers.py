"""Namespaces with much to do, runs that stand as they stood when a process died, and a copy of a database."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowwave.store import server
from slowwave.store.connect import Store
from tests.clusters import cloned
from tests.memories import ago, ask, remember
from tests.permitting import accept_operations
from tests.waiting import until

OPS = "gc_references"


def forgetful(store: Store, slug: str = "acme", rows: int = 12, *, policy: bool = False, **settings: object) -> str:
    """Make entities that cite one living chunk and one that is gone: as many items of ``gc_references``. Return the namespace's name.

    With ``policy`` there is one that approves these items.
    """
    remember(
        store,
        slug,
        settings,
        documents=[{"id": f"{slug} letter", "content": "A letter."}],
        chunks=[{"id": f"{slug} page", "document_id": f"{slug} letter", "content": "A page."}],
        entities=[
            {
                "id": f"{slug} {n}",
                "entity_type": "tool",
                "name": f"Part {n:03d}-{uuid.uuid5(uuid.NAMESPACE_OID, str(n)).hex[:8]}",
                "source_chunk_ids": [f"{slug} page", f"gone {n}"],
                "source_document_ids": [f"{slug} letter"] if n % 2 else [],
                "recorded_at": ago(10 - n % 10),
                "mention_count": 3,
            }
            for n in range(rows)
        ],
    )
    if policy:
        accept_operations(store, slug, [OPS], accepted_by="mara")
    return slug


def dead_run(store: Store, slug: str, mode: str, state: str, seconds: float) -> str:
    """A run whose heart beat last that many seconds ago."""
    ((found,),) = ask(
        store,
        "INSERT INTO night.runs (id, namespace_id, mode, state, heartbeat_at) SELECT gen_random_uuid(), id, %s, %s, "
        "clock_timestamp() - make_interval(secs => %s) FROM memory.namespaces WHERE slug = %s RETURNING id::text",
        mode,
        state,
        seconds,
        slug,
    )
    return str(found)


def row_of(store: Store, run_id: str) -> tuple[object, ...]:
    """Everything of a run that another process could have changed."""
    (found,) = ask(
        store,
        "SELECT state, heartbeat_at, finished_at, cancel_requested_at, error, progress FROM night.runs WHERE id = %s",
        run_id,
    )
    return found


@contextmanager
def copied(postgres: server.Server, database: str) -> Iterator[Store]:
    """A store on an identical copy of a database to which nobody is connected."""
    with cloned(postgres, database) as name:
        yield Store.embedded_in(postgres.url(name), postgres.home)


@contextmanager
def process(store: Store, program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Python in a process of its own on the store; it is killed at the end if it still runs."""

    environment = os.environ | {"SLOWWAVE_DATABASE_URL": store.owner}
    started = subprocess.Popen([sys.executable, "-c", program, *arguments], env=environment, stderr=subprocess.PIPE)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def wait_for(marker: Path, running: subprocess.Popen[bytes]) -> str:
    """What the process wrote into the file, once it is there."""

    def written() -> bool:
        assert running.poll() is None, running.stderr.read().decode() if running.stderr else "it ended by itself"
        return marker.exists()

    until(written)
    return marker.read_text()


def go_on(marker: Path) -> None:
    """Let a process that stands still go on."""
    marker.with_suffix(".gate").write_text("")


STOPPING: str = (
    "import os, pathlib, sys, slowwave\n"
    "marker, writing = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[2] + '.new')\n"
    "gate = marker.with_suffix('.gate')\n"
    "def stop(p):\n"
    "    if p.phase == 'apply' and p.done >= int(sys.argv[3]) and not marker.exists():\n"
    "        os.mkfifo(gate)\n"
    "        writing.write_text(p.run_id)\n"
    "        writing.rename(marker)\n"
    "        gate.read_text()\n"
    "slowwave.dream(sys.argv[1], mode='apply', ops='gc_references', approver='mara', on_progress=stop)\n"
)
"""Dreams of a namespace (1). When so many items (3) are applied, it writes the run's id to a file (2), and stands still until it is
let go on (``go_on``)."""
