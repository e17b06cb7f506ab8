"""The waterfall reads the same in the browser and in the terminal, and what memory says in it does nothing."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from slowwave.plans.waterfall import bars, markdown, one_in, percent, reading, steps, terminal

FALL = [
    {"evidence": "prior", "weight": -3.0, "detail": "Of the pairs that were looked at, about one in 21 is a match"},
    {"evidence": "name", "weight": 5.5, "level": "compact", "detail": "The names are the same but for spaces"},
    {"evidence": "born", "weight": -1.4, "detail": "Dates differ by one digit", "value": "1990-01-02 | 1990-01-12"},
]
HOSTILE = "[Approve](http://evil.example) [bold red]x[/] | ` \x1b[31m\u202e"


def shown(waterfall: object) -> str:
    """What a terminal gets."""
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(terminal(steps(waterfall)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_weights_add_up_step_by_step() -> None:
    """The last step's probability is that of the pair."""
    found = steps(FALL)
    assert [s.total for s in found] == [-3.0, 2.5, pytest.approx(1.1)]
    assert [percent(s.probability) for s in found] == ["4.7 %", "92.4 %", "75.0 %"]
    assert found[2].says == "Dates differ by one digit (1990-01-02 | 1990-01-12)"
    assert found[1].to_json()["reading"] == "240 times likelier"


def test_both_faces_show_the_same_words_bars_and_numbers() -> None:
    """One line a step: evidence, bar on its side, weight, plain reading, probability so far."""
    table, text = markdown(steps(FALL)).replace("\u00a0", " ").split("\n"), shown(FALL).splitlines()
    assert (len(table), len(text)) == (2 + 3, 1 + 3)
    assert table[3] == "| The names are the same but for spaces |  | █████▌ | +5.50 | 240 times likelier | 92.4 % |"
    assert re.split(r"\s{2,}", text[2].strip()) == [
        *("The names are the same but for spaces", "█████▌", "+5.50", "240 times likelier", "92.4 %")
    ]
    assert "| ▐█ |  | -1.40 | 4.1 times less likely |" in table[4]


def test_evidence_without_a_phrase_is_named_by_its_parts() -> None:
    """Plans of an earlier version, or of another planner."""
    old = [{"evidence": "name_3gram", "weight": 6.1}, {"evidence": "name", "level": "exact", "weight": 6}]
    assert [s.says for s in steps(old)] == ["Name 3gram", "Name exact"]


@pytest.mark.parametrize("waterfall", [None, [], "text", {"weight": 1}, [1, {"weight": "heavy"}]])
def test_what_is_no_waterfall_has_no_steps(waterfall: object) -> None:
    """An item of another kind is not an error."""
    assert steps(waterfall) == ()


def test_memory_text_is_harmless_in_both_faces() -> None:
    """No link, no markup, no control character, and no cell more."""
    fall = [{"evidence": "name", "weight": 1.0, "detail": HOSTILE}]
    row = markdown(steps(fall)).split("\n")[2]
    assert len(re.findall(r"(?<!\\)\|", row)) == 7
    assert not re.search(r"(?<!\\)[\[\]()`]", row)
    assert "[bold red]x[/]" in shown(fall)
    for text in (row, shown(fall)):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_words_for_numbers() -> None:
    """Bars end at ten blocks, and nothing is called certain."""
    assert bars(30) == ("", "█" * 10)
    assert bars(-0.6) == ("▐", "")
    assert bars(0.1) == ("", "")
    assert reading(0.01) == "says nothing"
    assert reading(-0.7) == "2 times less likely"
    assert reading(8.2) == "3,600 times likelier"
    assert percent(0.999999) == "> 99.9 %"
    assert percent(0) == "< 0.1 %"
    assert one_in(0.002) == "about one in 500"
    assert one_in(0) == "fewer than one in ten thousand"
