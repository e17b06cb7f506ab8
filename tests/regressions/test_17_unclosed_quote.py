"""Line 17: in an entities file one quote was opened and not closed. Every row behind it became part of that field, the import said so many
rows had been read and ended with exit code 0. It is refused with the line of the quote, and nothing is written.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slowwave.errors import ImportRefused
from slowwave.sources.tables import import_entities
from slowwave.store.connect import Store
from tests.memories import ask
from tests.sources.conftest import HashEmbedder

HEAD = "id,source,entity_type,name,attrs"
PLAIN = [f"{n},crm,person,Person {n}," for n in range(2, 8)]


def table(folder: Path, *lines: str) -> Path:
    path = folder / "people.csv"
    path.write_text("\n".join((HEAD, *lines)) + "\n")
    return path


UNCLOSED = {
    "to the end of the file": (['1,crm,person,"Ann,', *PLAIN], 2),
    "in the last row": ([*PLAIN, '9,crm,person,"Ann,'], 8),
    "to the next quoted field": (['1,crm,person,"Ann,', *PLAIN, '9,crm,person,"Smith, Bob",'], 2),
    "to a stray quote many rows on": (['1,crm,person,"Ann,', *PLAIN, '9,crm,person,Bob",'], 2),
    "to a stray quote in the next row": (['1,crm,person,"Ann,', '9,crm,person,Bob",', *PLAIN], 2),
    "in attrs": ([*PLAIN, '8,crm,person,Ann,"{""a"": 1}', '9,crm,person,Bob,"{""a"": 1}"'], 8),
    "behind a field of two lines": ([*PLAIN, '8,crm,person,"Ann', 'Reyes","{""a"": 1}', *PLAIN], 9),
    "over more lines than any field has": (['1,crm,person,"Ann,', *("x" for _ in range(2_000)), '",'], 2),
}


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize(("lines", "line"), UNCLOSED.values(), ids=list(UNCLOSED))
def test_the_file_is_refused_with_the_line_of_the_quote(
    store: Store, tmp_path: Path, lines: list[str], line: int, on_error: str
) -> None:
    """Which rows follow cannot be known, so nothing of the file is taken, whatever is to happen to single rows."""
    path = table(tmp_path, *lines)
    with store.connect("owner") as connection, pytest.raises(ImportRefused) as caught:
        import_entities(connection, path, embedder=HashEmbedder(), on_error=on_error)  # pyright: ignore[reportArgumentType]
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert ask(store, "SELECT count(*) FROM memory.entities") == [(0,)]


def test_fields_of_several_lines_are_fine(store: Store, tmp_path: Path) -> None:
    """Names and attributes may break, with commas and doubled quotes in them."""
    lines = [
        '1,crm,person,"Ann',
        'Reyes","{',
        ' ""a"": 1, ""b"": 2, ""c"": 3, ""d"": 4,',
        ' ""e"": [1, 2, 3, 4]}"',
        *PLAIN,
        '9,crm,person,"The ""Old"", new, red, blue',
        'House",',
    ]
    with store.connect("owner") as connection:
        summary = import_entities(connection, table(tmp_path, *lines), embedder=HashEmbedder())
    assert (summary.seen, summary.added["entities"], summary.skipped) == (8, 8, ())
    names = ask(
        store,
        "SELECT name, attributes ->> 'e' FROM memory.entities WHERE external_id IN ('1', '9') ORDER BY external_id",
    )
    assert names == [("Ann\nReyes", "[1, 2, 3, 4]"), ('The "Old", new, red, blue\nHouse', None)]


def test_a_line_whose_quotes_are_its_own_trouble_is_one_bad_row(store: Store, tmp_path: Path) -> None:
    """Both quotes are in the line, so the others are read as they stand."""
    path = table(tmp_path, *PLAIN, '8,crm,person,"Ann" Reyes,', "9,crm,person,Bob,")
    with store.connect("owner") as connection:
        with pytest.raises(ImportRefused, match="line 8: "):
            import_entities(connection, path, embedder=HashEmbedder())
        summary = import_entities(connection, path, embedder=HashEmbedder(), on_error="skip")
    assert ([row.line for row in summary.skipped], summary.added["entities"], summary.seen) == ([8], 7, 8)
