"""Check an installed distribution: its files are complete, the command answers, and neither it nor its environment is too large.

Run by ``make dist`` with the Python of an empty environment that the file, the only argument, was installed in.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

import slowwave

LARGEST_WHEEL: Final = 5_000_000
LARGEST_ENVIRONMENT: Final = 560 * 2**20
"""Bytes on disk, as ``du`` counts them."""


def main(file: Path) -> None:
    """Print the size of the file and of its environment, and raise SystemExit with a sentence if something is wrong."""
    package = Path(slowwave.__file__).parent
    for needed in (
        "py.typed",
        "snapshots/sql_models/*.sql",
        "store/migrations/versions/*.sql",
        "surfaces/review_page/templates/*.html",
    ):
        if not list(package.glob(needed)):
            raise SystemExit(
                f"{file.name} installs no {needed} in {package}. Add it to the wheel's files in pyproject.toml."
            )
    subprocess.run([Path(sys.prefix) / "bin" / "slowwave", "--help"], check=True, stdout=subprocess.DEVNULL)
    installed = sum(
        path.lstat().st_blocks * 512 for path in Path(sys.prefix, "lib").rglob("*") if path.suffix != ".pyc"
    )
    packages = len(list(distributions()))
    print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB; installed with {packages} packages: {installed >> 20} MB")
    if file.suffix == ".whl" and file.stat().st_size > LARGEST_WHEEL:
        raise SystemExit(f"The wheel is larger than {LARGEST_WHEEL / 1e6:.0f} MB.")
    if installed > LARGEST_ENVIRONMENT:
        raise SystemExit(
            f"The environment is larger than {LARGEST_ENVIRONMENT >> 20} MB. Move what only an extra needs to that extra."
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
