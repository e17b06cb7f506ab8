"""The words of whole rows, wherever they stand."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from slowwave.matching.candidates import Records
from slowwave.matching.population import Population


def shared(*rows: tuple[str, dict[str, object]]) -> list[set[int]]:
    """The words that each row shares with the first."""
    table = pa.table(
        {
            "id": [str(k) for k in range(len(rows))],
            "entity_type": ["thing"] * len(rows),
            "name": [name for name, _ in rows],
            "attributes": [json.dumps(a) for _, a in rows],
        }
    )
    records = Records.from_population(Population.from_table(table))
    at, word = records.read(np.arange(len(rows)))
    held = [set(word[at == k].tolist()) for k in range(len(rows))]
    assert all(h and max(h) < records.words for h in held)
    return [h & held[0] for h in held]


def test_a_word_counts_whatever_attribute_it_stands_in() -> None:
    """The artist inside the title, title and venue swapped."""
    own, other, none = shared(
        ("Crooked River - Broken Promise", {"album": "Blue Lantern"}),
        ("Blue Lantern", {"artist": "Crooked River"}),
        ("Something else", {"artist": "Nobody"}),
    )
    assert len(other) >= 4
    assert len(own) > len(other)
    assert not none


def test_model_numbers_are_one_word_however_they_are_parted() -> None:
    """ "KDL-46XBR4", "KDL46 XBR4" and "kdl46xbr4"."""
    own, parted, whole = shared(("Bravia KDL-46XBR4", {}), ("Television kdl46 xbr4", {}), ("kdl46xbr4", {}))
    assert own
    assert parted
    assert whole


def test_names_that_sound_alike_share_a_word() -> None:
    """Another spelling, an umlaut on another keyboard, most slips; not any two names."""
    _, spelling, umlaut, slip, other = shared(
        ("Cathy Müller", {}), ("Kathie Miller", {}), ("K. Mueller", {}), ("Muler", {}), ("Marsh", {})
    )
    assert spelling
    assert umlaut
    assert slip
    assert not other


def test_a_date_is_known_by_its_year_and_by_its_day() -> None:
    """A slip in the year leaves the day, and the other way round; a year is no day."""
    rows = [("Ann", {"born": d}) for d in ("1974-05-12", "1947-05-12", "1974-12-05", "2011-03-04")]
    _, year_wrong, day_wrong, other = (len(s) for s in shared(*rows))
    assert year_wrong == day_wrong == other + 1


def test_rows_that_say_nothing_have_no_words() -> None:
    """An empty name is no word that rows could share."""
    table = pa.table({"id": ["a", "b"], "entity_type": ["t", "t"], "name": ["", " "], "attributes": ["{}", "{}"]})
    assert len(Records.from_population(Population.from_table(table)).read(np.arange(2))[0]) == 0
