"""Names of a text: a bounded number, each of a length that an index takes."""

from __future__ import annotations

import pytest

from slowwave.sources.pipeline import import_messages
from slowwave.sources.turns import MOST_NAMES, NEIGHBOURS, read_names
from slowwave.text.extraction import LONGEST_NAME
from slowwave.text.secrets import secrets

TOKEN = "ghp_" + "X7uMq2Zr9LbT4wVn8KcYd3FhJs6PgE1oAKkq"


def test_no_text_brings_more_names_than_may_be():
    """The first ones, with all their occurrences."""
    letters = "abcdefghijkl"
    names = [f"Anna Q{a}{b}{c}" for a in letters for b in letters for c in letters]
    read = read_names(", ".join([*names, names[0]]))
    assert len(names) > MOST_NAMES == len(read.found)
    assert read.found["person", names[0].casefold()] == (names[0], 2)


def test_a_name_that_folding_makes_too_long_is_none():
    """One ligature of Unicode is eighteen letters in its folded form."""
    read = read_names(f"See `{chr(0xFDFA) * 99}` and Jane Smith.")
    assert all(len(name) <= LONGEST_NAME for _, name in read.found)
    assert ("person", "jane smith") in read.found


def test_names_of_one_sentence_are_tied_and_no_others():
    """Each to the next few; a code or an address to nothing; a name that comes again is one."""
    people = ["Anna Berg", "Omar Haddad", "Petra Lang", "Ines Costa", "Jonas Weber", "Rosa Diaz"]
    assert read_names("Anna Berg called. Omar Haddad wrote!\nPetra Lang slept.").ties == ()
    assert read_names("Anna Berg met Anna Berg at `make test`, https://x.org and /etc/x/y.conf.").ties == ()
    ties = read_names(f"{', '.join(people)} came.").ties
    assert {(a[1], b[1]) for a, b in ties} == {
        (a.casefold(), b.casefold())
        for n, a in enumerate(people)
        for b in people[n + 1 : n + 1 + NEIGHBOURS]
    }  # fmt: skip


@pytest.mark.parametrize(
    "said",
    [
        f"Jane Smith pushed with {TOKEN} today.",
        f"Jane Smith: my password is Liverpool{1892}.",
        f"Jane Smith connects to mongodb+srv://app:{'KfPICIWSHqSDABxo'}@cluster0.ab1cd.mongodb.net/app.",
    ],
)
def test_a_secret_is_no_name(said: str) -> None:
    """Nor is a piece of one: an entity of it would be found by whoever searches, long after its memory was set aside."""
    (secret,) = secrets(said)
    read = read_names(said)
    assert ("person", "jane smith") in read.found
    assert not any(said[secret.start : secret.end][:12].casefold() in name.casefold() for _, name in read.found)


def test_a_secret_of_another_text_is_no_name(store, embedder, jsonl):
    """In one import, in any order of the batch: the text that only says that it has changed would give it an entity."""
    value = f"Marmalade-Tiger-{88}"
    texts = [
        f"The wifi password isn't {value} any more.",
        f"My wifi password is {value}, just so you remember it.",
        "We saw Zorblax again.",
    ]
    rows = [
        {"namespace": "demo", "created_at": f"2026-03-01T09:0{n}:00Z", "role": "user", "content": text}
        for n, text in enumerate(texts)
    ]
    assert any(value.casefold() in name for _, name in read_names(texts[0]).found)
    with store.connect("owner") as connection:
        import_messages(connection, jsonl(*rows, name="some.jsonl"), embedder=embedder)
        names = [str(row[0]) for row in connection.execute("SELECT name FROM memory.entities").fetchall()]
    assert names == ["Zorblax"]


def test_a_name_without_a_type_is_the_one_that_has_one(store, embedder, jsonl):
    """In one import, in a later one, and the other way round; two that differ in their types stay two."""

    def said(text: str, minute: int) -> dict[str, object]:
        return {"namespace": "demo", "created_at": f"2026-03-01T09:0{minute}:00Z", "role": "user", "content": text}

    texts = (
        ["I watch Zorblax daily.", "Hello, my name is Zorblax."],
        ["We saw Zorblax again.", "They like Quuxly there."],
        ["She works at Quuxly now.", "I moved to Vextor.", "She works for Vextor."],
    )
    with store.connect("owner") as connection:
        for n, some in enumerate(texts):
            path = jsonl(*(said(text, 3 * n + k) for k, text in enumerate(some)), name=f"{n}.jsonl")
            import_messages(connection, path, embedder=embedder)
        rows = connection.execute(
            "SELECT entity_type, name, mention_count FROM memory.entities ORDER BY 2, 1"
        ).fetchall()
    assert rows == [
        ("unknown", "Quuxly", 2),
        ("location", "Vextor", 1),
        ("organization", "Vextor", 1),
        ("person", "Zorblax", 3),
    ]
