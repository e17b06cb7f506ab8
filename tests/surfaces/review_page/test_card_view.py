"""What a card marks, and that what it quotes is text."""

from __future__ import annotations

from slowwave.night.answers import edit
from slowwave.night.night import run_night
from slowwave.plans.ledger import read_plan
from slowwave.plans.review.card import MarkedRun, card
from slowwave.store.connect import Store
from slowwave.surfaces.review_page.plan_pages import card_values, cell
from tests.memories import ago, remember


def test_words_that_differ_are_marked_without_the_spaces_around_them() -> None:
    """And not at all where nothing is compared; a row that says nothing says so."""
    runs = [
        MarkedRun("Mara Reyes ", differs=False),
        MarkedRun("of  Porto ", differs=True),
        MarkedRun("now", differs=False),
    ]
    assert cell(runs) == "<bdi>Mara Reyes <mark>of  Porto</mark> now</bdi>"
    assert cell(runs, mark=False) == "<bdi>Mara Reyes of  Porto now</bdi>"
    assert "nothing" in cell([])


def test_heading_over_a_text_speaks_of_a_loss_only_if_a_word_is_lost(store: Store) -> None:
    remember(
        store,
        "acme",
        memories=[{"id": "m", "kind": "semantic", "current_version_id": "v", "valid_from": ago(days=3)}],
        memory_versions=[
            {
                "id": "v",
                "memory_id": "m",
                "content": "The insurer visits the north pier tomorrow.",
                "recorded_at": ago(3),
            }
        ],
    )
    plan = run_night(store, "acme", ops="absolutize_dates", force=True).plan
    assert plan is not None
    (item,) = plan.items
    made = edit(store, "acme", plan.plan_hash, item.id, text="The insurer visits the pier tomorrow.", by="mara")
    headings: list[object] = []
    for hash_ in (plan.plan_hash, made.plan_hash):
        with store.connect("reader") as connection:
            stored = read_plan(connection, hash_)
        headings.append(card_values(card(store, stored, stored.items[0]), stored.items[0])["loses"])
    assert headings == ["What would be added to the text", "What a text would no longer say"]


def test_marked_words_are_text_and_a_cut_is_said() -> None:
    """A word may be a tag, and a text without an end."""
    assert cell([MarkedRun("<b>x</b>", differs=True)]) == "<bdi><mark>&lt;b&gt;x&lt;/b&gt;</mark></bdi>"
    assert "U+202E" in cell([MarkedRun("a\u202eb", differs=False)])
    assert "only its first 4,000 characters" in cell([MarkedRun("a" * 4_000, differs=False)])
    assert "only" not in cell([MarkedRun("a" * 3_999, differs=False)])
