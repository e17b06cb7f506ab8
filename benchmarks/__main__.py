"""``python -m benchmarks [--sizes 2000 10000 50000] [--write]``: how fast every step of a night is, and how it grows."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.report import show
from benchmarks.speed import measure
from benchmarks.tables import markdown, parts
from slowwave.store import server

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def main() -> None:
    """Measure on a server of its own: in a temporary home, or in ``SLOWWAVE_HOME``, whose databases are left alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 10_000, 50_000], metavar="ENTITIES")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.parent.name}/{PAGE.name} as well")
    given = parser.parse_args()
    console = Console()
    chosen = os.environ.get("SLOWWAVE_HOME")
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as folder:
        home = Path(chosen or folder)
        alone = not server.is_running(home)
        try:
            with console.status("starting") as status:
                figures = measure(home, sorted(given.sizes), status.update)
        finally:
            if alone:
                server.stop(home)
    show(parts(figures), console)
    if given.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(markdown(figures))
        console.print(f"Written: {PAGE}")


if __name__ == "__main__":
    main()
