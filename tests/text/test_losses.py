"""What goes, what comes and what stays of a text."""

from __future__ import annotations

from slowwave.text.specifics import Piece, losses


def test_passages_go_whole_and_figures_are_named() -> None:
    found = losses("Rita has 12 hens. Rui has 40 goats.", "Rita has 12 hens.")
    assert found.lines == ((Piece("kept", "Rita has 12 hens."),), (Piece("lost", "Rui has 40 goats."),))
    assert (found.passages, found.lost, "40" in " ".join(found.terms)) == (2, 1, True)


def test_terms_that_a_text_beside_states_are_not_lost() -> None:
    """Ending the older of two contradicting memories loses its value, and not what both state."""
    ended, kept = "The export for Acme starts at 06:00 UTC.", "The export for Acme starts at 07:30 UTC."
    assert losses(ended, "").terms == ("06:00", "acme")
    assert losses(ended, "", [kept]).terms == ("06:00",)


def test_a_reworded_passage_shows_its_words() -> None:
    ((*pieces,),) = losses("Yesterday Rita came.", "Yesterday (2024-01-02) Rita came.").lines
    assert pieces == [Piece("kept", "Yesterday"), Piece("new", "(2024-01-02)"), Piece("kept", "Rita came.")]


def test_what_is_said_twice_and_stands_once_is_kept() -> None:
    assert losses("Rita came. Rita came.", "Rita came.").lost == 0


def test_nothing_stands_for_it() -> None:
    found = losses("- tea\n- eggs", "")
    assert ([p.mark for line in found.lines for p in line], found.tokens[1]) == (["lost", "lost"], 0)
