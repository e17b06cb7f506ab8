"""The pages of a snapshot that canonical pages stand among: those of folders that are followed and those of no folder, without sessions and
evidence. Which page is whose is said by its frontmatter (``subject_id``), else by its path.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from slowwave.claims.subject_ref import FAMILIES, slug_of, undated
from slowwave.corpus.corpora import EVIDENCE_ROOT, PAGES_PROFILE, PAGES_ROOT, SESSIONS_ROOT, UNFOLLOWED
from slowwave.corpus.profile import Profile, profile
from slowwave.snapshots.snapshot import Snapshot
from slowwave.texts.page_paths import fold_path

SUBJECT_ID: Final = "subject_id"
"""The field of a page's frontmatter that says whose page it is: an entity's id."""

_WITHIN: Final = ("state", "index", "README")
"""Files that are called after their folder."""

SUBJECT_TYPES: Final = frozenset({"person", "project", "concept"})
"""The types of pages that a folder's profile has if canonical pages go there. A vault names no type for decisions, and takes any."""

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_COLUMNS: Final = ("id", "corpus_id", "path", "title", "plane", "metadata", "version_of", "invalidated_at", "valid_to")


@dataclass(frozen=True, slots=True)
class ShelvedPage:
    """A live page. ``fields`` are what it says of itself, by its profile; ``written`` its frontmatter as it is written."""

    id: str
    root: str
    path: str
    title: str
    fields: Mapping[str, Any]

    @property
    def written(self) -> Mapping[str, Any]:
        """Its frontmatter."""
        found = self.fields.get("frontmatter")
        return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]

    @property
    def type(self) -> str:
        """Its type."""
        return str(self.fields.get("type") or "")

    @property
    def subject(self) -> str:
        """Whose page it says it is; empty where it does not."""
        return str(self.written.get(SUBJECT_ID) or "")

    @property
    def names(self) -> frozenset[str]:
        """What it is called, as slugs: by its title, its slug, and its file without a day."""
        path = PurePosixPath(self.path)
        stem = path.parent.name if path.stem in _WITHIN else undated(path.stem)
        return frozenset(
            slug_of(name) for name in (self.title, str(self.fields.get("slug") or ""), stem) if name.strip()
        )

    @property
    def aliases(self) -> frozenset[str]:
        """What else it says that it is called, as slugs."""
        told = self.fields.get("aliases")
        return frozenset(slug_of(str(name)) for name in (told if isinstance(told, list) else ()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]

    @property
    def gone(self) -> bool:
        """Whether it was forgotten or set aside."""
        return "forgotten" in self.fields or "quarantined" in self.fields

    @property
    def closed(self) -> bool:
        """Whether nothing is told on it any more: forgotten, set aside or superseded."""
        return self.gone or self.fields.get("status") == "superseded" or bool(self.fields.get("superseded_by"))

    @property
    def guarded(self) -> bool:
        """Whether it says that it is private, or of a sensitive kind."""
        return self.fields.get("visibility") == "private" or self.fields.get("sensitivity") not in (None, "", "none")


@dataclass(frozen=True)
class PageShelf:
    """The pages by path and by whose they are; ``home`` is the root of the corpus for new ones, ``corpora`` id → (root, profile)."""

    snapshot: Snapshot
    home: str
    corpora: Mapping[str, tuple[str, str]]
    pages: Sequence[ShelvedPage]
    _at: Mapping[str, Sequence[ShelvedPage]] = field(repr=False)
    _of: Mapping[tuple[str, str], Sequence[ShelvedPage]] = field(repr=False)

    @classmethod
    def of_snapshot(cls, snapshot: Snapshot) -> PageShelf:
        """Read the pages of a snapshot: needs the tables documents and corpora. Cost: a pass over documents."""
        corpora = {row["id"]: (row["root"], row["profile"]) for row in snapshot.live("corpora").to_pylist()}
        kept = {id_ for id_, (root, _) in corpora.items() if root not in (SESSIONS_ROOT, EVIDENCE_ROOT)}
        pages = _pages(snapshot, corpora, kept, "durable")
        at: defaultdict[str, list[ShelvedPage]] = defaultdict(list)
        of: defaultdict[tuple[str, str], list[ShelvedPage]] = defaultdict(list)
        for page in pages:
            at[fold_path(page.path)].append(page)
            if page.subject:
                of[page.subject, page.type].append(page)
        return cls(snapshot, _home(corpora.values()), corpora, pages, at, of)

    def sessions(self) -> list[ShelvedPage]:
        """Pages of sessions, among which no page of a subject stands."""
        return _pages(self.snapshot, self.corpora, self.corpora.keys(), "sessions")

    def written_days(self) -> dict[str, list[ShelvedPage]]:
        """Day (ISO) → the pages of subjects at home that were written then, by path, as they and their earlier texts say of themselves."""
        mine = {page.id: page for page in self.pages if page.subject and page.root == self.home and not page.gone}
        rows = self.snapshot.table("documents").select(["version_of", "metadata"])
        rows = rows.filter(pc.is_in(rows["version_of"], value_set=pa.array(sorted(mine), pa.string())))
        versions = zip(rows["version_of"].to_pylist(), rows["metadata"].to_pylist(), strict=True)
        texts = [(page, page) for page in mine.values()]
        texts += [(mine[id_], replace(mine[id_], fields=json.loads(metadata))) for id_, metadata in versions]
        found: defaultdict[str, dict[str, ShelvedPage]] = defaultdict(dict)
        for page, text in texts:
            if text.subject and _DAY.fullmatch(day := str(text.fields.get("updated") or "")):
                found[day][page.path] = page
        return {day: [pages[path] for path in sorted(pages)] for day, pages in found.items()}

    def at(self, path: str) -> Sequence[ShelvedPage]:
        """Return the pages of a path: one, none, or one in each of several corpora. Case does not count, as for agents' writes."""
        return self._at.get(fold_path(path), ())

    def new_path(self, path: str, root: str) -> str:
        """Spell the path of a new page with the case of the folders that a corpus has."""
        folders = {
            fold_path(str(up)): str(up) for p in self.pages if p.root == root for up in PurePosixPath(p.path).parents
        }
        *parts, name = path.split("/")
        folder = ""
        for part in parts:
            folder = folders.get(fold_path(f"{folder}{part}"), f"{folder}{part}") + "/"
        return folder + name

    def of(self, subjects: Collection[str], family: str) -> list[ShelvedPage]:
        """The pages of a family that say that they are about one of these entities, by path."""
        found = [page for id_ in subjects for page in self._of.get((id_, family), ())]
        return sorted(found, key=lambda page: (page.path, page.root))

    def named(self, family: str, slugs: Collection[str]) -> tuple[list[ShelvedPage], list[ShelvedPage]]:
        """The open pages of a family that are called so, and those that only have it as an alias, by path."""
        called, also = ({p.id: p for s in slugs for p in of.get((family, s), ())} for of in self._called)
        order = [sorted(found.values(), key=lambda p: (p.path, p.root)) for found in (called, also)]
        return order[0], [page for page in order[1] if page.id not in called]

    def taken_over(self, page: ShelvedPage) -> bool:
        """Whether a page was a person's before a subject's statements stood on it."""
        rows = self.snapshot.table("documents").select(["version_of", "metadata"])
        earlier = rows.filter(pc.equal(rows["version_of"], page.id))["metadata"].to_pylist()
        return any(not replace(page, fields=json.loads(metadata)).subject for metadata in earlier)

    @cached_property
    def _called(self) -> tuple[dict[tuple[str, str], list[ShelvedPage]], dict[tuple[str, str], list[ShelvedPage]]]:
        called: defaultdict[tuple[str, str], list[ShelvedPage]] = defaultdict(list)
        also: defaultdict[tuple[str, str], list[ShelvedPage]] = defaultdict(list)
        for page in self.pages:
            if page.type in FAMILIES and not page.closed:
                for names, of in ((page.names, called), (page.aliases, also)):
                    for name in names:
                        of[page.type, name].append(page)
        return called, also

    def layout(self, root: str) -> Profile:
        """The profile of a corpus by its root."""
        return profile(next((name for at, name in self.corpora.values() if at == root), PAGES_PROFILE))

    def texts(self, pages: Collection[ShelvedPage]) -> dict[str, str]:
        """Page → its whole text, by ids."""
        table = self.snapshot.table("documents").select(["id", "content"])
        wanted = pa.array(sorted({page.id for page in pages}), pa.string())
        rows = table.filter(pc.is_in(table["id"], value_set=wanted))
        return dict(zip(rows["id"].to_pylist(), rows["content"].to_pylist(), strict=True))


def _pages(
    snapshot: Snapshot, corpora: Mapping[str, tuple[str, str]], kept: Collection[str], plane: str
) -> list[ShelvedPage]:
    rows = snapshot.live("documents", _COLUMNS)
    rows = rows.filter(pc.is_in(rows["corpus_id"], value_set=pa.array(sorted(kept), pa.string())))
    return [
        ShelvedPage(row["id"], corpora[row["corpus_id"]][0], row["path"], row["title"], json.loads(row["metadata"]))
        for row in rows.filter(pc.equal(rows["plane"], plane)).to_pylist()
    ]


def _home(corpora: Collection[tuple[str, str]]) -> str:
    """Return where new pages go: into the one followed folder whose profile has pages about subjects, else to the pages of no folder."""
    folders = [root for root, name in corpora if root not in UNFOLLOWED and profile(name).types.keys() >= SUBJECT_TYPES]
    return folders[0] if len(folders) == 1 else PAGES_ROOT
