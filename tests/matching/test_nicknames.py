"""The table of short forms."""

from __future__ import annotations

from slowwave.matching.names import FORMAL


def test_short_forms_know_their_names() -> None:
    """Common ones of several languages; an ambiguous one stands for several names."""
    assert FORMAL["bob"] == ("robert",)
    assert set(FORMAL["alex"]) >= {"alexander", "alexandra"}
    assert (FORMAL["pepe"], FORMAL["sepp"], FORMAL["beppe"]) == (("jose",), ("josef",), ("giuseppe",))


def test_the_table_is_sound() -> None:
    """Folded words, at most four names each, and what is a name of its own stands for itself first."""
    for short, names in FORMAL.items():
        assert short.isascii()
        assert short.islower()
        assert len(short) > 1
        assert 1 <= len(set(names)) == len(names) <= 4
        assert short not in names[1:]
