"""docs/start.md is run as it stands: every command, and every line of output that the page promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slowwave.store.connect import Store
from slowwave.store.doctor import digest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_first_ten_minutes(store: Store, programs: Path, tmp_path: Path) -> None:
    """In an empty folder, by a shell; HASH, ITEM and RUN are what the commands before have printed."""
    environment = os.environ | {
        **{"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        **{"SLOWWAVE_DATABASE_URL": store.owner, "COLUMNS": "200"},
    }
    text = (ROOT / "docs" / "start.md").read_text()
    said, all_said, promised, begun = "", "", 0, ""
    for language, block in BLOCKS.findall(text):
        if language == "text":
            for line in block.splitlines():
                assert one_line(line) in one_line(said), f"{line!r} is not in what was printed:\n{said}"
                promised += 1
            continue
        if language not in ("sh", "python"):
            assert "pip install .\n" in block
            continue
        hash_ = re.search(r"plans approve diary ([0-9a-f]{12})", all_said)
        item = re.search(r"^([0-9a-f]{8})  resolve_conflicts", all_said, re.MULTILINE)
        run = next(reversed(list(re.finditer(r"slowwave undo ([0-9a-f-]{36})", all_said))), None)
        for word, found in (("HASH", hash_), ("ITEM", item), ("RUN", run)):
            if word in block:
                assert found is not None, f"nothing printed {word} before\n{block}"
                block = block.replace(word, found[1])
        shell = ["bash", "-eu", "-o", "pipefail", "-c"] if language == "sh" else [sys.executable, "-c"]
        ran = subprocess.run(
            [*shell, block], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert ran.returncode == 0, f"{block}\n{ran.stdout}{ran.stderr}"
        said = ran.stdout
        all_said += said
        if not begun and "digest" in block:
            begun = digest(store, "diary")
    assert promised > 15
    assert digest(store, "diary") == begun
    assert not re.search(r"\b(?:apply|undo|why)\b.*Traceback", all_said)
