"""The same night with snapshots in a folder and in an S3 server of this machine, in CPU seconds of the night's process.

``python -m benchmarks.shared_snapshots [ENTITIES]``. The nights take turns, so that both meet the same machine. The server's own CPU is
left out: in use it is another machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

import fsspec

from benchmarks.generate import fill, make
from slowwave.store import server
from slowwave.surfaces.cli.session import open_store

ROOT: Final = Path(__file__).parents[1]
NAMESPACE: Final = "shared"
ROUNDS: Final = 5
BUCKET: Final = "snapshots"


def main() -> None:
    """Fill a namespace, run its night in turns, and print the CPU seconds of each."""
    entities = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(prefix="slowwave-shared-") as home:
        os.environ["SLOWWAVE_HOME"] = home
        s3 = subprocess.Popen(
            [sys.executable, "-c", _SERVE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            address = s3.stdout.readline().strip() if s3.stdout else ""
            login = {"AWS_ACCESS_KEY_ID": "night", "AWS_SECRET_ACCESS_KEY": "night", "AWS_DEFAULT_REGION": "us-east-1"}
            os.environ.update(login, AWS_ENDPOINT_URL=address)
            fsspec.filesystem("s3").mkdir(BUCKET)
            store = open_store()
            fill(store, make(entities, now=datetime.now(UTC), slug=NAMESPACE))
            bases = {"folder": str(Path(home, "snapshots")), "S3": f"s3://{BUCKET}/nights"}
            spent: dict[str, list[float]] = {name: [] for name in bases}
            for _ in range(ROUNDS):
                for name, base in bases.items():
                    spent[name].append(_night({**os.environ, "SLOWWAVE_SNAPSHOTS": base}))
        finally:
            s3.terminate()
            server.stop(Path(home))
    for name, seconds in spent.items():
        print(f"{name:8} median {median(seconds):6.2f} CPU s of {ROUNDS}: {', '.join(f'{s:.2f}' for s in seconds)}")
    print(f"ratio {median(spent['S3']) / median(spent['folder']):.2f}, at {entities:,} entities")


_SERVE: Final = """
import time
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port(), flush=True)
time.sleep(86400)
"""


def _night(environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(Path(sys.executable).with_name("slowwave")), "night", NAMESPACE, "--force"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The night failed.\n{done.stderr[-3000:]}")
    time.sleep(0.5)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
