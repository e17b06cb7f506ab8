"""Dead rows and size of each table of the schemas after many nights without autovacuum, and dead rows after a VACUUM.

``python -m benchmarks.bloat [NIGHTS]``. Each night six messages come in, three operations plan, the decided items are approved and
applied, and every tenth apply is undone. Autovacuum is off, so all dead rows are counted that a server would have to remove: nights of a
benchmark follow each other within seconds, and autovacuum would find nothing to do yet.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import psycopg

from slowwave.models.embedder import OfflineEmbedder
from slowwave.models.embedding_models import STATIC_MODEL
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.operations import permits
from slowwave.plans.gate import approve
from slowwave.sources.pipeline import import_messages
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.surfaces.cli.session import open_store

NAMESPACE: Final = "bloat"
OPERATIONS: Final = "absolutize_dates,dedupe_memories,resolve_conflicts"
TABLES: Final = """
SELECT s.schemaname || '.' || s.relname, s.n_live_tup, s.n_dead_tup, pg_total_relation_size(s.relid), s.n_tup_upd, s.n_tup_hot_upd
FROM pg_stat_user_tables s WHERE s.schemaname IN ('memory', 'night') AND s.n_live_tup + s.n_dead_tup > 0
ORDER BY s.n_dead_tup DESC, 1
"""
CATALOGUE: Final = """
SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'
"""


def main() -> None:
    """Run the nights and print the tables, before and after a VACUUM."""
    nights = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory(prefix="slowwave-bloat-") as home:
        os.environ |= {"SLOWWAVE_HOME": home, "SLOWWAVE_EMBEDDING_MODEL": STATIC_MODEL}
        store = open_store()
        try:
            running = server.start()
            with psycopg.connect(running.url("slowwave"), autocommit=True) as admin:
                admin.execute("ALTER SYSTEM SET autovacuum = off")
                admin.execute("SELECT pg_reload_conf()")
                ((catalogue,),) = admin.execute(CATALOGUE).fetchall()
                applied = sum(_night(store, n, Path(home)) for n in range(nights))
                admin.execute("SELECT pg_stat_force_next_flush()")
                ((grown,),) = admin.execute(CATALOGUE).fetchall()
                print(
                    f"{nights} nights, {applied} items applied; catalogues {catalogue / 2**20:.1f} → {grown / 2**20:.1f} MiB"
                )
                before = admin.execute(TABLES).fetchall()
                admin.execute("VACUUM")
                admin.execute("SELECT pg_stat_force_next_flush()")
                after = {row[0]: row for row in admin.execute(TABLES).fetchall()}
        finally:
            server.stop(Path(home))
    print(f"{'table':32}{'live':>9}{'dead':>9}{'MiB':>8}{'updates':>9}{'HOT':>7}{'dead after VACUUM':>19}")
    for name, live, dead, size, updates, hot in before:
        left = after[name][2] if name in after else 0
        share = f"{hot / updates:.0%}" if updates else ""
        print(f"{name:32}{live:9,}{dead:9,}{size / 2**20:8.2f}{updates:9,}{share:>7}{left:19,}")
    print(
        f"{'total':32}{sum(r[1] for r in before):9,}{sum(r[2] for r in before):9,}{sum(r[3] for r in before) / 2**20:8.2f}"
    )


def _night(store: Store, n: int, folder: Path) -> int:
    """Bring in a day's messages, run its night and apply what is decided; return the number of items applied."""
    day = datetime.now(UTC) - timedelta(days=200 - n)
    said = (
        f"Crane {n} was painted yesterday.",
        f"Night work on crane {n} always needs a second person.",
        f"Night work on crane {n} always needs a second person",
        f"Gate {n} opens at 06:00.",
        f"Gate {n} opens at 05:30 now, no longer at 06:00.",
        f"The insurer of pier {n} visits tomorrow.",
    )
    file = folder / "messages.jsonl"
    rows = [
        {
            "namespace": NAMESPACE,
            "role": "user",
            "created_at": (day + timedelta(minutes=k)).isoformat(),
            "content": text,
        }
        for k, text in enumerate(said)
    ]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with store.connect("owner") as connection:
        import_messages(connection, file, embedder=OfflineEmbedder())
    night = run_night(store, NAMESPACE, ops=OPERATIONS)
    if night.plan is None or not any(item.decision != "review" for item in night.plan.items):
        return 0
    approval = approve(store, NAMESPACE, night.plan.plan_hash, approver="benchmark", permits=permits())
    done = apply_approval(store, approval.id)
    if n % 10 == 9:
        undo_run(store, done.run_id)
    return done.counts["applied"]


if __name__ == "__main__":
    main()
