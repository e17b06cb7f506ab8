"""Relative dates in other languages: phrases that mean one date wherever they occur, and others that are left alone."""

from __future__ import annotations

import importlib.util
from datetime import UTC, date, datetime

import pytest

from slowwave.text.dates import absolutize
from slowwave.text.foreign_dates import DATED_LANGUAGES, find_foreign_dates

WEDNESDAY = date(2026, 3, 11)
NOW = datetime(2026, 3, 11, tzinfo=UTC)


def dates(text: str, language: str) -> dict[str, str]:
    """Phrase → value."""
    return {text[f.start : f.end]: f.value.iso for f in find_foreign_dates(text, language, WEDNESDAY)}


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("de", "Vorgestern war Markt.", {"Vorgestern": "2026-03-09"}),
        ("de", "Vor drei Wochen zog sie um.", {"Vor drei Wochen": "2026-02-18"}),
        ("fr", "Il y a 10 jours, il neigeait.", {"Il y a 10 jours": "2026-03-01"}),
        ("fr", "Je pars la semaine prochaine.", {"la semaine prochaine": "2026-03-16/2026-03-22"}),
        ("es", "Ayer llovió.", {"Ayer": "2026-03-10"}),
        ("it", "Il mese scorso era a Roma.", {"mese scorso": "2026-02"}),
        ("pt", "Anteontem choveu.", {"Anteontem": "2026-03-09"}),
        ("zh", "我去年搬到北京。", {"去年": "2025"}),
        ("ja", "一昨日、東京へ行きました。", {"一昨日": "2026-03-09"}),
    ],
)
def test_find_foreign_dates_returns_phrase_and_value(language: str, text: str, found: dict[str, str]) -> None:
    assert dates(text, language) == found


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Am Morgen kommt sie, morgen nicht."),  # "morgen" is also the morning
        ("de", "Heute ist die Firma weltweit tätig."),  # the present age
        ("de", "Die letzte Woche im September war warm."),
        ("es", "Mañana por la mañana, o pasado mañana."),
        ("es", "Trabajo aquí hace tres años."),  # a duration
        ("es", "Antes de ayer llovió."),
        ("it", "Viene dopo domani."),
        ("pt", "Depois de amanhã ela volta."),
        ("zh", "考试3天前他生病了。"),  # before the exam
        ("zh", "我们上周三见过面。"),
        ("ja", "事故の3日後、翌週に会った。"),  # after the accident
        ("ja", "来年度の予算です。"),  # the fiscal year
    ],
)
def test_find_foreign_dates_leaves_phrase_of_two_meanings_alone(language: str, text: str) -> None:
    """A wrong date is worse than none."""
    assert dates(text, language) == {}


def test_find_foreign_dates_without_the_library_finds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert not [d for language in DATED_LANGUAGES for d in find_foreign_dates("gestern hier ayer", language, WEDNESDAY)]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Gestern kam Ada zurück.", "Gestern (2026-03-10) kam Ada zurück."),
        ("Sie sagte: „Gestern kam Ada.“ `gestern`", None),
        ("Am 3. Mai hatte sie gestern gesagt, es sei Sonntag.", None),
        ("Seit 2019 wohnt sie dort, gestern zog sie um.", None),
    ],
)
def test_absolutize_writes_foreign_date_once_and_none_next_to_another_date(text: str, written: str | None) -> None:
    once = absolutize(text, NOW, language="de").text
    assert once == (written or text)
    assert absolutize(once, NOW, language="de").text == once
