"""What a folder is: a corpus laid out as Dory's, an Obsidian vault, a workspace or memory of an agent, an export, or any folder of files.

It is seen from names alone, and the report says it. Where several corpora lie side by side, each is seen by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, Literal, NamedTuple

FolderKind = Literal[
    "dory", "vault", "workspace", "claude-code", "codex", "export", "markdown", "files",
]  # fmt: skip

NAMES: Final[Mapping[FolderKind, str]] = {
    "dory": "Dory corpus",
    "vault": "Obsidian vault",
    "workspace": "agent's workspace",
    "claude-code": "Claude Code project memory",
    "codex": "Codex project memory",
    "export": "data export",
    "markdown": "folder of Markdown",
    "files": "folder of files",
}
AT_HOME: Final[frozenset[FolderKind]] = frozenset(("dory", "vault"))
"""Kinds whose pages keep their places."""

_BUCKETS: Final = frozenset(
    ("core", "people", "projects", "concepts", "decisions", "logs", "digests", "knowledge", "ideas")
)
_SOULS: Final = frozenset(("SOUL.md", "USER.md", "IDENTITY.md", "HEARTBEAT.md"))
_EXPORTS: Final = frozenset(("conversations.json", "memories.json", "projects.json"))
_MARKDOWN: Final = (".md", ".markdown")


class CorpusRoot(NamedTuple):
    """A folder (with a slash behind it, empty for the whole) and what it is."""

    folder: str
    kind: FolderKind


def corpus_roots(paths: Collection[str], root: Path) -> list[CorpusRoot]:
    """What the paths belong to, the longest folder first. A folder that holds nothing but folders is seen as these, one by one."""
    kind = _kind(paths, root)
    if kind in ("markdown", "files") and paths and all("/" in path for path in paths):
        inside: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            first, _, rest = path.partition("/")
            inside[first].append(rest)
        kinds: dict[str, FolderKind] = {first: _kind(rests, root / first) for first, rests in inside.items()}
        if any(found not in ("markdown", "files") for found in kinds.values()):
            return [CorpusRoot(f"{first}/", found) for first, found in sorted(kinds.items())]
    return [CorpusRoot("", kind)]


def root_of(path: str, roots: Collection[CorpusRoot]) -> CorpusRoot:
    """The root that a path lies under."""
    return next(root for root in roots if path.startswith(root.folder))


def _kind(paths: Collection[str], root: Path) -> FolderKind:
    names = {path for path in paths if "/" not in path}
    tops = {PurePosixPath(path).parts[0] for path in paths if "/" in path and path.endswith(_MARKDOWN)}
    if (root / ".obsidian").is_dir():
        return "vault"
    if names & _SOULS:
        return "workspace"
    if len(tops & _BUCKETS) >= 2 and tops & {"core", "people", "projects", "decisions", "concepts"}:
        return "dory"
    if names & _EXPORTS or any(name.endswith((".af", ".zip")) for name in names):
        return "export"
    if names & {"CLAUDE.md", "MEMORY.md"} or (root / ".claude").is_dir():
        return "claude-code"
    if "AGENTS.md" in names or any(PurePosixPath(path).name.startswith("rollout-") for path in paths):
        return "codex"
    return "markdown" if paths and all(path.endswith(_MARKDOWN) for path in paths) else "files"
