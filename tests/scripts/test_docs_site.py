"""The site of ``docs/``: every link leads somewhere, every page has a place, and the references are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import slowwave
from slowwave.surfaces.cli.main import VERBS
from slowwave.wiki.serving.calls import CALLS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def _text(page: Path) -> str:
    return re.sub(r"<[^>]+>", "", page.read_text())


def test_the_site_is_built_with_its_references_and_takes_nothing_from_elsewhere(tmp_path: Path) -> None:
    """In strict mode (``--quiet`` would switch that off): a page without a place, a link or an anchor that leads nowhere is a failure."""
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    reference = tmp_path / "reference"
    commands = _text(reference / "cli" / "index.html")
    assert [verb for verb in VERBS if f"slowwave {verb}" not in commands] == []
    calls = _text(reference / "http" / "index.html")
    assert [call.name for call in CALLS.values() if f"{call.method} {call.path}" not in calls] == []
    names = _text(reference / "python" / "index.html")
    assert [name for name in slowwave.__all__ if f"slowwave.{name}" not in names] == []
    loaded = {
        found
        for page in tmp_path.rglob("*.html")
        for found in re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text())
    }
    assert loaded == set()
