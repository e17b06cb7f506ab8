"""The page on what is shortened says what the code does."""

from __future__ import annotations

from benchmarks.shortened import PAGE, TEXTS, section, stages, written
from slowwave.operations.options import DecayTransitionOptions
from slowwave.store.settings import Settings
from slowwave.text.tokens import count


def test_the_page_shows_what_the_code_does_now() -> None:
    """``python -m benchmarks.shortened`` renews it; read the texts again before that, as the judgements are of a reader."""
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page
    assert section() in page


def test_ten_texts_good_and_bad_half_of_them_written_before_they_were_seen() -> None:
    assert len(TEXTS) == 10
    assert sum(not t["seen"] for t in TEXTS) == 5
    assert {t["verdict"] for t in TEXTS} == {"good", "mixed", "bad"}
    assert all(count(t["text"].strip()) > 240 for t in TEXTS)


def test_a_stage_begins_with_the_text_of_the_one_before() -> None:
    tokens = Settings().options("decay_transition", DecayTransitionOptions).tokens
    for entry in TEXTS:
        told = stages(entry["text"].strip(), tuple(entry.get("recalled", ())))
        assert list(told) == ["full", "compressed", "summary", "essence"]
        sizes = [count(t) for t in told.values()]
        assert sizes == sorted(sizes, reverse=True)
        assert all(
            count(t) <= tokens[s] or t == before
            for (s, t), before in zip(list(told.items())[1:], told.values(), strict=False)
        )
