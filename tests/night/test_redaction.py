"""Redaction: what stands under a key of ours is told from memory by where it stands, and in doubt it is hidden."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.errors import ModelError, Refused, SettingsError
from slowwave.night.run_events import (
    HIDDEN,
    KEYS,
    LONGEST,
    WORDS,
    LlmCalled,
    OperationEvent,
    Rationale,
    Stream,
    cut,
    in_words,
    level_of,
    operation_names,
    redact,
    redact_event,
    redact_numbers,
    redact_report,
    redact_rows,
    strictest,
)
from slowwave.operations import AUDITS, PLANNERS
from slowwave.plans.report import Bars, Finding, Numbers, Report
from slowwave.store.connect import Store
from tests.snapshots import make_inputs, make_snapshot, uid

MARK = "Xanthippe"
SECRET = "Mara Reyes moved to Lisbon"
ID = str(uuid.UUID(int=7))
WHEN = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)

texts = st.text(min_size=1, max_size=30) | st.sampled_from([SECRET, "merge", "entities", ID, "a" * 300, "2026-03-01"])
keys = st.sampled_from(sorted(KEYS)) | texts
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


def strings(value: object) -> Iterator[str]:
    """Every string in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from strings(key)
            yield from strings(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from strings(part)


def is_ours(text: str) -> bool:
    return (
        not text
        or text in KEYS
        or text in WORDS
        or text in operation_names()
        or bool(re.fullmatch(r"hidden \d+", text))
        or bool(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text))
        or bool(re.fullmatch(r"[0-9a-f]{8,128}", text))
        or bool(re.fullmatch(r"\d{4}-\d\d-\d\d.*", text))
    )


@given(values)
def test_all_leaves_no_text_but_ours(value: object) -> None:
    """Whatever the shape: words of the vocabulary, ids, hashes, instants, and nothing else."""
    assert all(map(is_ours, strings(redact(value, "all"))))


@given(values)
def test_summary_cuts_every_text_and_keeps_the_shape(value: object) -> None:
    """Nothing is longer than the limit, nothing short is changed, and what was there is there."""
    redacted = redact(value, "summary")
    assert all(len(text) <= LONGEST for text in strings(redacted))
    if all(len(text) <= LONGEST for text in strings(value)):
        assert json.dumps(redacted) == json.dumps(value)


@given(values)
def test_none_changes_nothing(value: object) -> None:
    assert redact(value, "none") is value


@given(st.text(max_size=600))
def test_a_cut_text_is_its_beginning(text: str) -> None:
    """At most so long, in whole words where there are any."""
    short = cut(text)
    assert len(short) <= LONGEST
    assert text.startswith(short.removesuffix("…").rstrip()) or short == text


@pytest.mark.parametrize("escape", ["\\u00e9", "\\x41", "&amp;", "%C3", "\\*", "\\U0001F600"])
def test_no_escape_is_cut_in_two(escape: str) -> None:
    """A text without spaces is cut where no escape is open, wherever the limit falls in it."""
    for shift in range(len(escape) + 1):
        short = cut("a" * (LONGEST - 1 - shift) + escape + "b" * 100).removesuffix("…")
        rest = short.lstrip("a")
        assert rest in ("", escape) or rest.startswith(escape), (shift, rest)


def test_words_stay_whole() -> None:
    assert cut("word " * 100) == "word " * 39 + "word…"


def test_a_name_in_a_list_is_hidden_as_in_a_string() -> None:
    """khora's defect P7: merge names, member names and rename lists leaked under all."""
    evidence = {
        "names": [SECRET, "Reyes, Mara"],
        "pairs": [{"names": (SECRET,), "probability": 0.97, "name_level": "exact"}],
        "waterfall": [{"evidence": "name", "weight": 6.1, "detail": f"Both are called {SECRET}"}],
    }
    assert redact({"evidence": evidence}, "all") == {
        "evidence": {
            "names": [None, None],
            "pairs": [{"names": [None], "probability": 0.97, "name_level": "exact"}],
            "waterfall": [{"evidence": None, "weight": 6.1, "detail": None}],
        }
    }


def test_attributes_are_hidden_whole() -> None:
    """Their keys are words of the agent, their numbers may be of a telephone, and their ids of a bank."""
    found = redact({"attributes": {"phone": 5551234, "iban": ID, "name": {"first": "Mara"}, "vip": True}}, "all")
    assert found == {
        "attributes": {"hidden 1": None, "hidden 2": None, "hidden 3": {"hidden 1": None}, "hidden 4": True}
    }


def test_ids_hashes_and_instants_stay_where_they_are_ours() -> None:
    """The same forms elsewhere are texts that somebody wrote: an external id may be a UUID, a key of an API is hexadecimal."""
    ours = {"rows": [ID], "plan_hash": "ab" * 32, "started_at": WHEN.isoformat(), "kind": "merge_rows", "count": 3}
    assert redact(ours, "all") == ours
    theirs = {
        "external_id": ID,
        "name": ID,
        "content": "ab" * 32,
        "title": WHEN.isoformat(),
        "kind": SECRET,
        "id": "17",
    }
    assert redact(theirs, "all") == dict.fromkeys(theirs)
    assert redact({"types": {SECRET: {"rows": 4, "oldest": WHEN.isoformat()}}}, "all") == {
        "hidden 1": {"hidden 1": {"hidden 1": 4, "hidden 2": None}}
    }


def test_names_of_numbers_are_ours_by_their_type() -> None:
    """Whatever words they use; what only looks like them, under the same key, is hidden as everything else."""
    numbers = {"rows": 4, "sprockets by gear": 2}
    assert redact({"numbers": Numbers(numbers)}, "all") == {"numbers": numbers}
    assert redact_numbers(numbers, "all") == numbers
    assert redact({"numbers": {"rows": 4, SECRET: 9}}, "all") == {"numbers": {"rows": 4, "hidden 2": 9}}
    assert redact({SECRET: {"numbers": {"rows": 4}}}, "all") == {"hidden 1": {"hidden 1": {"hidden 1": 4}}}


def test_an_event_keeps_its_own_fields() -> None:
    """Operation, decision, status, scores and times are typed and ours; inputs and outputs are not."""
    event = OperationEvent(
        run_id=ID,
        namespace="acme",
        at=WHEN,
        op_id=ID,
        phase="plan",
        op_type="dedupe_entities",
        decision="merge",
        status="pending",
        inputs={"rows": [ID], "table": "entities", "kind": "merge_rows", "risk": "low"},
        outputs={
            "evidence": {"names": [SECRET]},
            "headline": SECRET,
            "numbers": Numbers({"rows": 2, "gears": 1}),
            "cells": 4,
        },
        rationale=Rationale(strategy="dedupe_entities", score=0.98),
    )
    told = redact_event(event, "all")
    assert isinstance(told, OperationEvent)
    assert told.inputs == event.inputs
    assert told.outputs == {
        "evidence": {"names": [None]},
        "headline": None,
        "numbers": {"rows": 2, "gears": 1},
        "cells": 4,
    }
    assert (told.op_type, told.decision, told.rationale) == (event.op_type, event.decision, event.rationale)
    called = LlmCalled(run_id=ID, namespace="acme", at=WHEN, op_type="x", model="m", input_tokens=1, output_tokens=2)
    assert redact_event(called, "all") is called
    assert redact_event(event, "none") is event


def test_a_report_tells_its_counts_again() -> None:
    """Under all the sentences are made from the operation's name and its numbers; rows stay as ids."""
    report = Report(
        "orphans",
        f"{SECRET} could be archived.",
        numbers={"live_entities": 12, "isolated": 1},
        findings=(
            Finding(
                f"Tied to nothing: {SECRET}.", rows=(ID, "not an id"), severity="warning", details={"name": SECRET}
            ),
        ),
        table=({"entity_id": ID, "name": SECRET, "list": "weak", "score": 0.5, "empty": None},),
        plots=(
            Bars("Live entities by type", [SECRET, "3 to 5"], [1, 2]),
            Bars("Gears", ["entities: chunks"], [3], own=True),
        ),
        details={"isolated": [SECRET]},
    )
    told = redact_report(report, "all")
    assert told.headline == "orphans: live entities 12; isolated 1; findings 1."
    assert told.findings == (
        Finding(f"Its text is hidden. Rows: {ID}.", rows=(ID,), severity="warning", details={"name": None}),
    )
    assert told.table == ({"entity_id": ID, "name": HIDDEN, "list": "weak", "score": 0.5, "empty": None},)
    assert told.plots == (Bars("Live entities by type", ["hidden 1", "hidden 2"], [1, 2]), report.plots[1])
    for shown in (told.summary(), told.markdown(), json.dumps(dict(told.details))):
        assert "Mara" not in shown
    assert redact_report(report, "none") is report
    assert redact_report(Report("orphans", SECRET, skipped="op_disabled_by_config"), "all").headline == (
        "orphans did not run: op_disabled_by_config."
    )


def test_every_operation_is_in_the_vocabulary() -> None:
    """Else its reports would not even say who speaks."""
    assert {*AUDITS, *PLANNERS} <= operation_names()


def test_no_operation_names_a_number_after_what_it_read() -> None:
    """Names of numbers, titles and own labels are shown at every level: a type or a name among them would be a leak."""
    texts = ("lives in Lisbon", "likes green tea", "likes green tea", "I met Mara yesterday.")
    snapshot = make_snapshot(
        settings={
            "operations": {
                "normalize_schema": {"mapping": {MARK: f"{MARK} new"}},
                "prune_edges": {"target_predicates": [MARK]},
            }
        },
        entities=[
            {"id": uid(f"e{n}"), "name": f"{MARK} {n // 2}", "entity_type": MARK, "source_chunk_ids": [uid("gone")]}
            | {"attributes": {MARK: f"{MARK}@example.org"}}
            for n in range(6)
        ],
        relationships=[
            {"source_entity_id": uid(f"e{n}"), "target_entity_id": uid(f"e{n + 1}"), "relationship_type": MARK}
            | {"confidence": 0.1, "source_chunk_ids": [uid("gone")]}
            for n in range(5)
        ],
        memory_facts=[
            {"subject": MARK, "predicate": MARK, "object": f"{MARK} {n // 2}", "fact_text": MARK} for n in range(4)
        ],
        memories=[
            {"id": uid(f"m{n}"), "kind": MARK, "subject": MARK, "ring": MARK, "current_version_id": uid(f"v{n}")}
            for n in range(len(texts))
        ],
        memory_versions=[
            {"id": uid(f"v{n}"), "memory_id": uid(f"m{n}"), "content": f"{MARK} {text}"} for n, text in enumerate(texts)
        ],
        vectors={
            "memory_vectors": {uid(f"m{n}"): [1.0, 0.0] for n in range(len(texts))},
            "entity_vectors": {uid(f"e{n}"): [1.0, 0.0] for n in range(6)},
        },
    )
    inputs = make_inputs(snapshot)
    reports = [audit(inputs) for audit in AUDITS.values()] + [p(inputs).report for p in PLANNERS.values()]
    assert any(MARK in str(report) for report in reports)
    for report in reports:
        shown = [
            *report.numbers,
            *(b.title for b in report.plots),
            *(w for b in report.plots if b.own for w in b.labels),
        ]
        assert not any(MARK.casefold() in text.casefold() for text in shown), report.operation


def test_rows_of_a_table_keep_their_columns() -> None:
    """Columns that are not ours keep their place, not their name."""
    assert redact_rows([{"name": SECRET, "rows": 3, SECRET: "x"}], "all") == [
        {"name": HIDDEN, "rows": 3, "hidden 3": HIDDEN}
    ]
    assert redact_rows([{"name": "n" * 300}], "summary") == [{"name": "n" * 199 + "…"}]


def test_the_level_is_read_even_where_another_setting_is_wrong() -> None:
    """A night that ends for a bad setting must not quote memory on its way out."""
    assert level_of({}) == "summary"
    assert level_of({"redact_text": "none"}) == "none"
    assert level_of({"redact_text": "none", "recall_window_days": 0}) == "none"
    assert level_of({"redact_text": "sometimes"}) == "all"
    assert level_of({"recall_window_days": 0}) == "all"
    assert strictest(["none", "all", "summary"]) == "all"
    assert strictest(["none", "summary"]) == "summary"
    assert strictest([]) == "all"


def test_errors_say_what_the_level_lets_them() -> None:
    """Sentences of our own stay; those of others may quote a row."""
    assert in_words(Refused("Run 7 holds acme."), "all") == "Refused: Run 7 holds acme."
    assert in_words(SettingsError("The setting x is 0."), "all") == "SettingsError: The setting x is 0."
    for problem in (ValueError(f"could not convert {SECRET}"), ModelError(f"Could not convert string '{SECRET}'")):
        assert re.fullmatch(
            rf"{type(problem).__name__} \([0-9a-f]{{16}}\); .*hidden by redact_text\.", in_words(problem, "all")
        )
        assert SECRET in in_words(problem, "summary")
    assert len(in_words(ValueError("word " * 200), "summary")) <= LONGEST + len("ValueError: ")


def test_what_a_database_error_quotes_of_rows_is_left_out(store: Store) -> None:
    """The primary message of a data exception holds the value itself, whatever the level."""
    for query in ("SELECT %s::uuid", "SELECT %s::int", "SELECT %s::jsonb", "SELECT %s::timestamptz"):
        with store.connect("reader") as connection, pytest.raises(psycopg.Error) as raised:
            connection.execute(query.encode(), (SECRET,))
        for level in ("none", "summary", "all"):
            assert SECRET not in in_words(raised.value, level)
    with store.connect("reader") as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute("SELECT 1 FROM memory.nothing")
    assert "memory.nothing" in in_words(raised.value, "all")


def test_a_stream_redacts_once_for_all_its_sinks() -> None:
    """Callbacks get no more than files; a stream that nobody told a level hides all."""

    class Kept:
        name = "kept"

        def __init__(self) -> None:
            self.events: list[object] = []

        def emit(self, event: object) -> None:
            self.events.append(event)

        def close(self) -> None:
            pass

    one, two = Kept(), Kept()
    event = OperationEvent(
        run_id=ID,
        namespace="acme",
        at=WHEN,
        op_id=ID,
        phase="plan",
        op_type="x",
        decision="merge",
        outputs={"names": [SECRET]},
    )
    Stream(ID, "acme", (one, two)).emit(event)
    assert one.events[0] is two.events[0]
    assert "Mara" not in repr(one.events)
    Stream(ID, "acme", (one,), "none").emit(event)
    assert one.events[1] is event


def test_ids_and_hashes_stand_whatever_other_tables_have_under_these_names() -> None:
    """A text column of memory is hidden by its name; those two are never memory."""
    ours = {"id": ID, "content_hash": "ab" * 32}
    assert redact({**ours, "title": ID}, "all") == {**ours, "title": None}
