"""Documents, chunks and memories of a demo agent, made from hand-written templates."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from slowwave.surfaces.demo.world import Cast, CastEntity, MergeTrap, PlantedContradiction, RelativeDate, World

# Templates: hand-written texts are filled with slots, word lists, numbers, clock times and choices.
#
# ``Slots`` hold the choices of one scene, so that its turns and questions are about the same entities. The scribe below decides which
# sentences are written, and when.

_SLOT: Final = re.compile(r"\{([A-Za-z_.]+?)(\d?)(?::(\d+)-(\d+))?\}")
_CHOICE: Final = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")


@dataclass(slots=True)
class Slots:
    """The figures and words chosen for the slots of one scene."""

    figures: dict[str, CastEntity] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


class Pen:
    """A writer that fills the templates of one world and names every figure about equally often."""

    def __init__(self, world: World, figures: Iterable[CastEntity], rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        self._uses: dict[str, dict[str, int]] = {}
        self._figures: dict[str, list[CastEntity]] = {}
        for figure in figures:
            if not figure.apart:
                self._figures.setdefault(figure.family, []).append(figure)
                self._uses.setdefault(figure.family, {})[figure.id] = 0

    def write(self, template: str, binding: Slots, *, choose: bool = True) -> tuple[str, list[CastEntity]]:
        """Fill a template and return the sentence and the figures that it names.

        With ``choose=False`` an unfilled slot is an error of the material and raises ``KeyError``.
        """
        named: list[CastEntity] = []

        def fill(slot: re.Match[str]) -> str:
            kind, digit, low, high = slot.groups()
            if low:
                return str(self._rng.randint(int(low), int(high)))
            key = kind + digit
            if kind.isupper():
                if key not in binding.figures:
                    if not choose:
                        raise KeyError(key)
                    binding.figures[key] = self._next(kind, binding)
                named.append(binding.figures[key])
                return binding.figures[key].name
            if key not in binding.words:
                if not choose:
                    raise KeyError(key)
                binding.words[key] = self._word(kind, binding)
            return binding.words[key]

        text = _CHOICE.sub(lambda found: self._rng.choice(found[1].split("|")), template)
        text = _SLOT.sub(fill, text)
        # Names keep their case; a common word at the start of a sentence is capitalised.
        if template.startswith("{word."):
            text = text[0].upper() + text[1:]
        return text, list(dict.fromkeys(named))

    def _next(self, family: str, binding: Slots) -> CastEntity:
        """Choose the least-named figure of the family whose group does not occur in the scene yet."""
        groups = {figure.group for figure in binding.figures.values()}
        uses = self._uses[family]
        free = [figure for figure in self._figures[family] if figure.group not in groups]
        least = min(uses[figure.id] for figure in free)
        chosen = self._rng.choice([figure for figure in free if uses[figure.id] == least])
        uses[chosen.id] += 1
        return chosen

    def _word(self, kind: str, binding: Slots) -> str:
        if kind == "time":
            return f"{self._rng.randint(0, 23):02}:{self._rng.choice((0, 5, 10, 15, 20, 30, 40, 45, 50)):02}"
        words = self._world.words[kind.removeprefix("word.")]
        return self._rng.choice([word for word in words if word not in binding.words.values()])


# Conversations and notes of a demo agent: documents, their chunks and the memories made of them, one per turn.
#
# Every mention of an entity is recorded on its figure. Edges, facts and recall events are written elsewhere.

Row = dict[str, Any]

SESSIONS: Final = 40
NOTES: Final = 36
RELATIVE_NOTES: Final = 12
OLDEST: Final = timedelta(days=75)
"""Age of the oldest session."""

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PAST: Final = (
    "yesterday",
    "three days ago",
    "last {weekday}",
    "two weeks ago",
    "the day before yesterday",
    "last {weekday}",
)
_FUTURE: Final = ("tomorrow", "in two weeks", "in three days", "the day after tomorrow", "in ten days", "in a week")
_DAYS: Final = {
    "yesterday": -1,
    "the day before yesterday": -2,
    "three days ago": -3,
    "two weeks ago": -14,
    "tomorrow": 1,
    "the day after tomorrow": 2,
    "in three days": 3,
    "in a week": 7,
    "in ten days": 10,
    "in two weeks": 14,
}


@dataclass(frozen=True, slots=True)
class PlantedQuery:
    """A question that the agent may ask later.

    It holds the text, the memory that answers it, the chunk of that memory, and the neighbouring memories.
    """

    text: str
    asked_after: datetime
    memory: str
    chunk: str
    figures: tuple[CastEntity, ...]
    neighbours: tuple[str, ...]  # other memories of the conversation


@dataclass(slots=True)
class Script:
    """Documents, chunks and memories that were written, with their entries in the answer key."""

    documents: list[Row] = field(default_factory=list)
    chunks: list[Row] = field(default_factory=list)
    memories: list[Row] = field(default_factory=list)
    versions: list[Row] = field(default_factory=list)
    questions: list[PlantedQuery] = field(default_factory=list)
    named_together: dict[str, tuple[CastEntity, ...]] = field(default_factory=dict)  # chunk → figures of one turn
    retracted: list[str] = field(default_factory=list)  # invalidated chunks
    contradictions: list[PlantedContradiction] = field(default_factory=list)
    traps: list[MergeTrap] = field(default_factory=list)
    relative_dates: list[RelativeDate] = field(default_factory=list)


def resolve(phrase: str, day: date) -> date:
    """Return the date that an injected phrase means on the day it was said, ignoring the case of its first letter.

    ``last <weekday>`` is the latest such day before ``day``.
    """
    phrase = phrase[:1].lower() + phrase[1:]
    if phrase.startswith("last "):
        return day - timedelta(days=(day.weekday() - _WEEKDAYS.index(phrase[5:]) - 1) % 7 + 1)
    return day + timedelta(days=_DAYS[phrase])


def write_script(world: World, cast: Cast, rng: random.Random, now: datetime) -> Script:
    """Write the sessions of the last 75 days, notes, the register of entities and a few retracted pages."""
    return _Scribe(world, cast, rng, now).write()


class _Scribe:
    def __init__(self, world: World, cast: Cast, rng: random.Random, now: datetime) -> None:
        self.world, self.cast, self.rng, self.now = world, cast, rng, now
        self.pen = Pen(world, cast.figures, rng)
        self.script = Script()

    def write(self) -> Script:
        self._register()
        self._sessions()
        self._notes()
        self._relative_notes()
        self._contradicting_notes()
        self._passing_remarks()
        self._retracted_pages()
        return self.script

    def _document(self, name: str, title: str, source: str, when: datetime, gone: datetime | None = None) -> Row:
        row: Row = {
            "id": self.world.id("document", name),
            "namespace_id": self.world.id(),
            "external_id": name,
            "source": source,
            "title": title,
            "content": "",
            "metadata": {"agent": self.world.agent},
            "valid_from": when,
            "recorded_at": when,
            "invalidated_at": gone,
        }
        self.script.documents.append(row)
        return row

    def _chunk(self, document: Row, ordinal: int, text: str, figures: list[CastEntity], when: datetime) -> str:
        row: Row = {
            "id": self.world.id("chunk", document["external_id"], ordinal),
            "namespace_id": self.world.id(),
            "external_id": f"{document['external_id']}/{ordinal}",
            "document_id": document["id"],
            "ordinal": ordinal,
            "content": text,
            "recorded_at": when,
            "invalidated_at": document["invalidated_at"],
        }
        self.script.chunks.append(row)
        for figure in figures:
            figure.mention(row["id"], document["id"])
        return row["id"]

    def _memory(
        self, document: Row, ordinal: int, text: str, figures: list[CastEntity], when: datetime, **more: object
    ) -> Row:
        """Add a memory of one chunk, with its chunk and its version."""
        chunk = self._chunk(document, ordinal, text, figures, when)
        path = (document["external_id"], ordinal)
        row: Row = {
            "id": self.world.id("memory", *path),
            "namespace_id": self.world.id(),
            "external_id": f"{document['external_id']}/{ordinal}",
            "kind": "semantic",
            "ring": "working",
            "scope": self.world.slug,
            "subject": figures[0].name if figures else "",
            "author": "user",
            "source": document["source"],
            "session_id": None,
            "importance": round(self.rng.uniform(0.25, 0.75), 2),
            "confidence": round(self.rng.uniform(0.7, 1.0), 2),
            "access_count": 0,
            "last_accessed_at": None,
            "pinned": False,
            "tags": [document["title"].lower()],
            "source_document_ids": [document["id"]],
            "source_chunk_ids": [chunk],
            "current_version_id": self.world.id("version", *path),
            "valid_from": when,
            "recorded_at": when,
            **more,
        }
        self.script.memories.append(row)
        self.script.versions.append(
            {
                "id": row["current_version_id"],
                "namespace_id": self.world.id(),
                "memory_id": row["id"],
                "ordinal": 1,
                "content": text,
                "reason": "written",
                "recorded_at": when,
            }
        )
        return row

    def _register(self) -> None:
        """Write one page per entity type with one chunk per entity, so that every description has a source."""
        when = self.now - OLDEST - timedelta(days=5)
        for family in dict.fromkeys(sorted(figure.family for figure in self.cast.figures)):
            page = self._document(f"register-{family.lower()}", f"Register: {family.lower()}", "register", when)
            entries = [figure for figure in self.cast.figures if figure.family == family and not figure.apart]
            for ordinal, figure in enumerate(entries):
                self._chunk(page, ordinal, f"{figure.name}: {figure.description}", [figure], when)

    def _sessions(self) -> None:
        scenes = [scene for _ in range(SESSIONS // len(self.world.scenes)) for scene in self.world.scenes]
        self.rng.shuffle(scenes)
        for number, scene in enumerate(scenes):
            age = OLDEST - number * (OLDEST - timedelta(days=2)) / len(scenes)
            start = self.now - age + timedelta(minutes=self.rng.randint(0, 600))
            page = self._document(f"session-{number:02}", scene.title, "session", start)
            binding, memories = Slots(), list[Row]()
            for ordinal, turn in enumerate(scene.turns):
                speaker, template = turn.split(": ", 1)
                text, figures = self.pen.write(template, binding)
                start += timedelta(seconds=self.rng.randint(20, 240))
                memory = self._memory(
                    page, ordinal, text, figures, start, kind="episodic", author=speaker, session_id=page["external_id"]
                )
                memories.append(memory)
                self.script.named_together[memory["source_chunk_ids"][0]] = tuple(figures)
            for ask in scene.asks:
                answer, template = ask.split(": ", 1)
                text, figures = self.pen.write(template, binding, choose=False)
                memory = memories[int(answer)]
                others = tuple(other["id"] for other in memories if other is not memory)
                chunk = memory["source_chunk_ids"][0]
                self.script.questions.append(PlantedQuery(text, start, memory["id"], chunk, tuple(figures), others))

    def _notes(self) -> None:
        page = self._document("notes", self.world.notes.title, "notes", self.now - OLDEST)
        for ordinal in range(NOTES):
            text, figures = self.pen.write(self.world.notes.lines[ordinal % len(self.world.notes.lines)], Slots())
            when = self.now - OLDEST + timedelta(days=2 * ordinal, hours=1)
            memory = self._memory(page, ordinal, text, figures, when, ring="short", author=self.world.agent)
            if ordinal % 7 == 0:
                self._confirm(memory, when)
        for ordinal, text in enumerate(self.world.notes.pinned, NOTES):
            when = self.now - OLDEST + timedelta(hours=ordinal)
            self._memory(
                page,
                ordinal,
                text,
                [],
                when,
                kind="procedural",
                ring="long",
                pinned=True,
                importance=0.95,
                confidence=1.0,
            )

    def _confirm(self, memory: Row, when: datetime) -> None:
        """Give a note an earlier, unconfirmed wording, so that it has a history."""
        final = self.script.versions[-1]
        first = final | {
            "id": self.world.id("version", memory["external_id"], "first"),
            "content": f"Unconfirmed: {final['content']}",
        }
        final |= {"ordinal": 2, "reason": "confirmed", "recorded_at": when + timedelta(days=1)}
        self.script.versions.append(first)

    def _relative_notes(self) -> None:
        page = self._document("diary", "Diary", "diary", self.now - timedelta(days=50))
        for ordinal in range(RELATIVE_NOTES):
            when = self.now - timedelta(days=50 - 4 * ordinal) + timedelta(hours=9)
            phrase = (_PAST, _FUTURE)[ordinal % 2][ordinal // 2]
            # Choose a weekday that has not yet occurred in the present week: "last Friday", said on a Wednesday, is then unambiguous.
            later = _WEEKDAYS[min(when.weekday() + 2, 6)]
            phrase = phrase.format(weekday=later)
            template = self.world.notes.relative[ordinal % len(self.world.notes.relative)]
            text, figures = self.pen.write(template, Slots(words={"when": phrase}))
            memory = self._memory(page, ordinal, text, figures, when, author=self.world.agent)
            said_on = when.astimezone(UTC).date()
            self.script.relative_dates.append(RelativeDate(memory["id"], phrase, resolve(phrase, said_on).isoformat()))

    def _contradicting_notes(self) -> None:
        page = self._document("hearsay", "Things people said", "notes", self.now - timedelta(days=40))
        ordinal = 0
        for clash in self.world.contradictions:
            if clash.table != "memories":
                continue
            ids: list[str] = []
            for text in clash.texts:
                when = self.now - timedelta(days=40 - ordinal)
                ids.append(self._memory(page, ordinal, text, [], when)["id"])
                ordinal += 1
            pair, values = (ids[0], ids[1]), (clash.texts[0], clash.texts[1])
            self.script.contradictions.append(PlantedContradiction("memories", pair, "", values))
            self.script.traps.append(MergeTrap("negation", "memories", pair))

    def _passing_remarks(self) -> None:
        """Write the only texts that name the weakly connected entities (orphans, recalled, mentioned and rim)."""
        page = self._document("remarks", "Overheard", "remarks", self.now - timedelta(days=30))
        ordinal = 0
        for figure in (*self.cast.orphans, *self.cast.recalled, *self.cast.mentioned, *self.cast.rim):
            texts = figure.texts[:-1] if figure in self.cast.recalled else figure.texts
            for template in texts:
                when = self.now - timedelta(days=30) + timedelta(hours=20 * ordinal)
                text, others = self.pen.write(template, Slots())
                memory = self._memory(page, ordinal, text, [figure, *others], when, author="user")
                chunk = memory["source_chunk_ids"][0]
                self.script.named_together[chunk] = (figure, *others) if figure in self.cast.rim else ()
                if figure in self.cast.recalled:
                    self.script.questions.append(
                        PlantedQuery(figure.texts[-1], when, memory["id"], chunk, (figure,), ())
                    )
                ordinal += 1

    def _retracted_pages(self) -> None:
        when, gone = self.now - timedelta(days=70), self.now - timedelta(days=20)
        page = self._document("retracted", "Withdrawn pages", "upload", when, gone)
        for ordinal, text in enumerate(self.world.notes.retracted):
            self.script.retracted.append(self._chunk(page, ordinal, text, [], when))
