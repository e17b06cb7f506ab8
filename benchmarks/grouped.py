"""Nights of many small namespaces: runs of Dagster's schedule beside ``slowwave night ALL``, in CPU seconds of programs and server.

``python -m benchmarks.grouped [NAMESPACES]``. Both begin with Python and end with all plans in the store. The runs of Dagster are processes
of ``dagster job execute`` with the groups that the schedule would ask for, an instance in the same PostgreSQL, and all events.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import yaml

from slowwave.dagster import Timetable
from slowwave.dagster.jobs import night_config
from slowwave.store import server
from slowwave.store.logins import Connection
from slowwave.surfaces.cli.dev import instance_environment
from slowwave.surfaces.cli.session import open_store

ROOT: Final = Path(__file__).parents[1]
WHO: Final = ("Mara Reyes", "Tom Okafor", "Ines Duarte", "Bo Lindqvist")
TEXTS: Final = (
    "{who} lives in {place}.",
    "{who} moved to {place} in May 2025.",
    "{who} prefers green tea.",
    "{who} prefers green tea in the morning.",
    "The release of {place} is on 2026-03-{day:02}.",
    "{who} met Lena Vogel yesterday.",
)

_NAMESPACE: Final = "INSERT INTO memory.namespaces (id, slug) VALUES (gen_random_uuid(), %s) RETURNING id"
_MEMORY: Final = """
WITH m AS (INSERT INTO memory.memories (id, namespace_id, kind, source) VALUES (gen_random_uuid(), %(n)s, 'episodic', 'messages')
  RETURNING id), v AS (INSERT INTO memory.memory_versions (id, namespace_id, memory_id, content)
  SELECT gen_random_uuid(), %(n)s, id, %(text)s FROM m RETURNING id, memory_id)
SELECT id, memory_id FROM v
"""
_CURRENT: Final = "UPDATE memory.memories SET current_version_id = %s WHERE id = %s"


def fill(connection: Connection, count: int) -> list[str]:
    """Make so many namespaces of six memories each; return their names."""
    names = [f"user-{n:04}" for n in range(count)]
    for n, name in enumerate(names):
        (id_,) = connection.execute(_NAMESPACE, (name,)).fetchone() or ("",)
        for text in TEXTS:
            content = text.format(who=WHO[n % len(WHO)], place=("Lisbon", "Porto", "Faro")[n % 3], day=1 + n % 28)
            version, memory = connection.execute(_MEMORY, {"n": id_, "text": content}).fetchone() or ("", "")
            connection.execute(_CURRENT, (version, memory))
    return names


def measured(commands: list[list[str]], environment: dict[str, str]) -> tuple[float, float]:
    """Run commands one after the other; return the CPU seconds of their processes and of PostgreSQL."""
    before, server_before = resource.getrusage(resource.RUSAGE_CHILDREN), postgres_seconds()
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed.\n{done.stderr[-3000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    time.sleep(1)  # until backends that ended are counted for their parent
    return spent, postgres_seconds() - server_before


def postgres_seconds() -> float:
    """Return the CPU seconds of all PostgreSQL servers of this machine, with those of their ended children."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().startswith("postgres"):
                ticks += sum(int(n) for n in (process / "stat").read_text().rsplit(")", 1)[1].split()[11:15])
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Fill two stores alike, measure both, and print the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    program, dagster = (str(Path(sys.executable).with_name(name)) for name in ("slowwave", "dagster"))
    spent: list[float] = []
    for way in ("slowwave night ALL", "night_job"):
        with tempfile.TemporaryDirectory(prefix="slowwave-grouped-") as folder:
            home = Path(folder)
            os.environ["SLOWWAVE_HOME"] = folder
            environment = dict(os.environ)
            try:
                store = open_store()
                with store.connect("owner") as connection:
                    names = fill(connection, count)
                commands = [[program, "night", "ALL"]]
                if way == "night_job":
                    subprocess.run([program, "dev", "--prepare"], env=environment, check=True, capture_output=True)
                    environment |= instance_environment(home)
                    subprocess.run([dagster, "instance", "migrate"], env=environment, check=True, capture_output=True)
                    commands = []
                    for start in range(0, count, Timetable().nights_per_run):
                        config = home / f"run-{start}.yaml"
                        group = names[start : start + Timetable().nights_per_run]
                        config.write_text(yaml.safe_dump(night_config(group)))
                        job = ["-m", "memory_assets.definitions", "-j", "night_job", "-c", str(config)]
                        commands.append([dagster, "job", "execute", *job])
                programs, postgres = measured(commands, environment)
                with store.connect("reader") as connection:
                    (plans,) = connection.execute("SELECT count(*) FROM night.plans").fetchone() or (0,)
                spent.append(programs + postgres)
                print(f"{way}: {programs:.1f} s of programs, {postgres:.1f} s of PostgreSQL, {plans} plans", flush=True)
            finally:
                server.stop(home)
    print(f"{count} namespaces: Dagster takes {spent[1] / spent[0]:.2f} times the CPU")


if __name__ == "__main__":
    main()
