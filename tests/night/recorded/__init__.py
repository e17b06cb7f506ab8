"""Small namespaces that ``grammar.toml`` describes, drawn by a seed, in which nearly every operation finds something to do.

The records of their nights, ``memories.json``, ``graph.json`` and ``pages.json``, are next to the grammar.
"""

from __future__ import annotations

import itertools
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from slowwave.store.configured_models import embedder_for
from slowwave.store.settings import Settings
from slowwave.wiki.corpus.requests import session_page
from slowwave.wiki.operations.digest_text import body_hash
from tests.snapshots import uid

HERE: Final = Path(__file__).parent
NOW: Final = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
"""The instant of the recorded nights."""

Row = dict[str, Any]
Tables = dict[str, list[Row]]


def generate(topic: str, seed: int) -> tuple[dict[str, Any], Tables]:
    """Return the settings and the rows of a namespace, as ``tests.memories.remember`` loads them.

    ``topic`` is ``memories``, ``graph`` or ``pages``. The seed decides which words occur.
    """
    grammar = tomllib.loads((HERE / "grammar.toml").read_text("utf-8"))
    words = _draw_words(grammar["words"], seed)
    section = _fill(grammar[topic], words)
    tables = {"memories": _memories, "graph": _graph, "pages": _pages}[topic](section)
    tables["recall_events"] = list(_recalls(section))
    return section["settings"], tables


def _draw_words(lists: Mapping[str, Sequence[str]], seed: int) -> dict[str, str]:
    drawn = random.Random(seed)  # a namespace is equal each time
    words = {"key": "AKIA" + "Q7ZK3M5N2P8R4T6V"}  # the form of a cloud key, put together so that no file contains it
    for kind, candidates in lists.items():
        shuffled = sorted(candidates, key=lambda _: drawn.random())
        for number, word in enumerate(shuffled):
            name = f"{kind}{number}"
            words |= {
                name: word,
                f"{name}_lower": word.lower(),
                f"{name}_first": word.split(" ")[0],
                f"{name}_title": word.title(),
                f"{name}_path": word.replace(" ", "-"),
                f"{name}_reversed": ", ".join(reversed(word.split(" "))),
            }
    return words


def _fill(value: Any, words: Mapping[str, str]) -> Any:
    """Return a part of the grammar with its words, and each repeated row as often as it says."""
    if isinstance(value, str):
        return value.format_map({"n": "{n}", **words})
    if isinstance(value, Mapping):
        return {key: _fill(inner, words) for key, inner in value.items()}
    if isinstance(value, list):
        return [row for inner in value for row in _repeated(_fill(inner, words))]
    return value


def _repeated(row: Any) -> Iterator[Any]:
    if not isinstance(row, Mapping) or "repeat" not in row:
        yield row
        return
    for n in range(1, row["repeat"] + 1):
        filled = {key: value.replace("{n}", str(n)) if isinstance(value, str) else value for key, value in row.items()}
        yield {**filled, "name": f"{row['name']} {n}", "n": n}


def _memories(section: Mapping[str, Any]) -> Tables:
    tables: Tables = {"memories": [], "memory_versions": [], "promotions": []}
    texts: dict[str, str] = {}
    for row in section["memories"]:
        name = row["name"]
        text = row.get("text") or " ".join(row["long"].replace("{n}", str(n)) for n in range(1, row["sentences"] + 1))
        columns = {
            **{
                "id": name,
                "external_id": name,
                "kind": "episodic",
                "author": "user",
                "source": "import",
                "ring": "working",
            },
            **{"session_id": f"session {row['days']}", "subject": "", "importance": 0.5, "access_count": 0, "tags": []},
            **{"attributes": {}, "valid_from": _ago(row["days"]), "invalidated_at": _ago(row.get("retired"))},
            **{"recorded_at": _ago(row["days"]), "current_version_id": f"{name} text"},
        }
        tables["memories"].append({column: row.get(column, value) for column, value in columns.items()})
        version = {"id": f"{name} text", "memory_id": name, "content": text, "recorded_at": _ago(row["days"])}
        tables["memory_versions"].append(version)
        if row.get("vector", True):
            texts[name] = text
        if "promoted" in row:
            ring = {"from_ring": "working", "to_ring": "longterm", "recorded_at": _ago(row["promoted"])}
            tables["promotions"].append({"id": f"{name} promoted", "memory_id": name, **ring})
    return {**tables, "memory_vectors": _vectors(texts)}


def _graph(section: Mapping[str, Any]) -> Tables:
    tables: Tables = {"documents": [{"id": "document", "title": "Notes", "recorded_at": _ago(30)}], "chunks": []}
    for ordinal, row in enumerate(section["chunks"]):
        columns = {"id": row["name"], "document_id": "document", "ordinal": ordinal, "content": row["text"]}
        tables["chunks"].append({**columns, "recorded_at": _ago(row["days"])})
    tables["entities"] = [
        {
            **{"id": row["name"], "external_id": row["name"], "entity_type": row["type"], "name": row["title"]},
            **{"description": row["text"], "attributes": row.get("attributes", {}), "source": "import"},
            **{"mention_count": row.get("mentions", 1), "recorded_at": _ago(30), "source_chunk_ids": ["stated"]},
        }
        for row in section["entities"]
    ]
    ties: list[Row] = [
        {"name": f"{a} and {b} of {tie['members']}", "ends": [f"{tie['members']} {a}", f"{tie['members']} {b}"], **tie}
        for tie in section["communities"]
        for a, b in itertools.combinations(range(1, tie["count"] + 1), 2)
    ]
    tables["relationships"] = [
        {
            **{"id": row["name"], "external_id": row["name"], "relationship_type": row["type"]},
            **{"source_entity_id": row["ends"][0], "target_entity_id": row["ends"][1]},
            **{"description": row.get("text", ""), "properties": row.get("properties", {})},
            **{"confidence": row.get("confidence", 0.9), "source_chunk_ids": row.get("sources", ["stated"])},
            **{"valid_from": _ago(60), "recorded_at": _ago(60), "invalidated_at": _ago(row.get("retired"))},
        }
        for row in [*section["relationships"], *ties]
    ]
    tables["memory_facts"] = []
    for row in section["facts"]:
        subject, predicate, value = row["fact"].split(" | ")
        tables["memory_facts"].append(
            {
                **{"id": row["name"], "external_id": row["name"], "subject": subject, "predicate": predicate},
                **{"object": value, "fact_text": f"{subject} {predicate} {value}", "confidence": 0.9},
                **{"is_active": "retired" not in row, "source_chunk_ids": ["stated"], "valid_from": _ago(row["days"])},
                **{"recorded_at": _ago(row["days"]), "invalidated_at": _ago(row.get("retired"))},
            }
        )
    tables["entity_vectors"] = _vectors(
        {row["name"]: f"{row['title']}. {row['text']}" for row in section["entities"] if row.get("vector", True)}
    )
    tables["chunk_vectors"] = _vectors(
        {row["name"]: row["text"] for row in section["chunks"] if row.get("vector", True)}
    )
    return tables


def _pages(section: Mapping[str, Any]) -> Tables:
    subject = section["subject"]
    entity = {"id": subject, "external_id": f"project:{subject.lower()}", "entity_type": "project", "name": subject}
    tables: Tables = {
        "corpora": [
            {"id": root, "root": root, "profile": "dory", "recorded_at": _ago(500)} for root in ("pages:", "sessions:")
        ],
        "documents": [],
        "chunks": [],
        "entities": [{**entity, "source": "semantic", "recorded_at": _ago(30)}],
        "memories": [],
        "memory_versions": [],
    }
    texts: dict[str, str] = {}
    for page in section["pages"]:
        path, title = page["path"], page["text"].partition("\n")[0].lstrip("# ")
        fields = {"title": title, "type": "knowledge", "status": "active", "updated": str(_ago(page["days"]).date())}
        text = session_page(fields, page["text"].rstrip())
        tables["documents"].append(_document(path, "pages:", page["days"], text, fields))
        passage = {"id": f"{path} passage", "document_id": path, "ordinal": 0, "content": page["text"]}
        tables["chunks"].append({**passage, "recorded_at": _ago(page["days"])})
        texts[f"{path} passage"] = page["text"]
    for session in section["sessions"]:
        day = _ago(session["days"])
        turns = [line.partition(": ") for line in session["lines"]]
        content = "\n\n".join(f"**{who}** {day:%Y-%m-%d} 09:{n:02}\n\n{said}" for n, (who, _, said) in enumerate(turns))
        fields = {
            **{"title": session["name"], "type": "session", "status": "done", "agent": "team"},
            **{"session_id": session["name"], "updated": str(day.date())},
        }
        path = f"logs/sessions/team/{day:%Y-%m-%d}-{session['name']}.md"
        document = _document(path, "sessions:", session["days"], session_page(fields, content), fields)
        tables["documents"].append({**document, "plane": "sessions"})
    for claim in section["claims"]:
        name = claim["name"]
        tables["memories"].append(
            {
                **{"id": name, "external_id": name, "kind": "claim", "subject": subject, "author": "team"},
                **{"source": "import", "current_version_id": f"{name} text", "valid_from": _ago(claim["days"])},
                **{"attributes": {"claim_kind": claim["kind"], "entity_id": uid(subject)}},
                **{"recorded_at": _ago(claim["days"])},
            }
        )
        version = {"id": f"{name} text", "memory_id": name, "content": claim["text"]}
        tables["memory_versions"].append({**version, "recorded_at": _ago(claim["days"])})
    claims = {claim["name"]: claim["text"] for claim in section["claims"]}
    return {**tables, "chunk_vectors": _vectors(texts), "memory_vectors": _vectors(claims)}


def _document(path: str, corpus: str, days: int, text: str, fields: Mapping[str, object]) -> Row:
    return {
        **{"id": path, "path": path, "corpus_id": corpus, "title": fields["title"], "content": text},
        **{"metadata": dict(fields), "content_hash": body_hash(text)},
        **{"valid_from": _ago(days), "recorded_at": _ago(days)},
    }


def _recalls(section: Mapping[str, Any]) -> Iterator[Row]:
    for row in section.get("recalls", ()):
        hits, n = row["hits"], row.get("n", 1)
        yield {
            **{"id": row["name"], "occurred_at": _ago(row["days"] + n), "query": row["query"], "hit_ids": hits},
            **{"selected_ids": hits, "scores": [0.9] * len(hits)},
        }


def _vectors(texts: Mapping[str, str]) -> list[Row]:
    vectors = embedder_for(Settings()).embed(list(texts.values()))
    return [{"id": name, "vector": vector.tolist()} for name, vector in zip(texts, vectors, strict=True)]


def _ago(days: float | None) -> Any:
    """Return the instant so many days before the night, or None."""
    return None if days is None else NOW - timedelta(days=days)
