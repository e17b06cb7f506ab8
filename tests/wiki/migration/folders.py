"""Folders to migrate, written file by file, all on one day."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slowwave.wiki.migration.files import source_folder
from slowwave.wiki.migration.pages import PageReader
from slowwave.wiki.migration.plan import Migration, migration
from slowwave.wiki.migration.staging import Staging, stage

NOW = datetime(2026, 6, 1, tzinfo=UTC)
WRITTEN = datetime(2026, 5, 4, tzinfo=UTC).timestamp()


def folder(root: Path, files: Mapping[str, str | bytes | Any]) -> Path:
    """A folder of these files: text, bytes, or anything else as JSON."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content if isinstance(content, str) else json.dumps(content)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        os.utime(file, (WRITTEN, WRITTEN))
    return root


def staged(root: Path, files: Mapping[str, Any] | None = None) -> Staging:
    """What a folder is staged as."""
    return stage(source_folder(folder(root, files or {})))


def migrated(root: Path, files: Mapping[str, Any], reader: PageReader | None = None) -> Migration:
    """What a folder would be migrated to, in a namespace that holds nothing."""
    return migration("acme", staged(root, files), None, NOW, reader)


def page(family: str, title: str, body: str, **fields: str) -> str:
    """A page with a head."""
    head = "".join(f"{name}: {value}\n" for name, value in {"title": title, "type": family, **fields}.items())
    return f"---\n{head}---\n\n{body}\n"
