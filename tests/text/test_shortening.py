"""A text in fewer tokens: whole units, none without what it needs, what was asked of it first."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.text.shortening import Shortened, shorten, units
from slowwave.text.tokens import count

TALK = "The hens were in the yard and the sun was warm and all of them were quite happy there."
STAGES = (250, 150, 50)


def told(text: str, room: int, *questions: str) -> str:
    """The shortened text, which fits."""
    found = shorten(text, room, questions)
    assert count(found.text) <= room < count(text)
    return found.text


def test_what_is_short_enough_stays_as_it_is() -> None:
    assert shorten("Hall 4 has 12 pumps.  It is  old.", 20).text == "Hall 4 has 12 pumps.  It is  old."
    assert shorten("", 1) == Shortened("", ())


def test_items_are_whole_with_what_goes_on_below_them() -> None:
    text = "Keys:\n" + "".join(
        f"- Key {n} opens gate {n * 7} of Port Vale,\n  and the lamp beside it too.\n" for n in range(8)
    )
    found = told(text, 90)
    assert found.startswith("Keys:\n- ")
    assert found.count(" opens gate ") == found.count("\n  and the lamp beside it too.") >= 4


def test_a_list_that_lost_items_says_so() -> None:
    """Once, where the first is gone, in the form of that item; a list of which not half would stay goes whole."""
    text = "The plan for Hall 4 is below.\n\n" + "".join(
        f"{n}. Pump {n * 11} gets a new seal from Port Vale.\n" for n in range(1, 9)
    )
    found = told(text, 75)
    assert len(re.findall(r"^\d\. …$", found, re.MULTILINE)) == 1
    assert len(re.findall(r"^\d\. Pump", found, re.MULTILINE)) >= 4
    mixed = f"{TALK} Rita Falk keeps 12 hens in Port Vale. She sells no eggs. " * 2 + "\n\n" + text[31:]
    assert "Pump" not in told(mixed, 60)


def test_a_text_that_is_a_list_stays_where_not_half_of_it_would_be_left() -> None:
    text = "Pumps:\n" + "".join(f"- Pump {n} of Hall {n * 3} was sealed in Port Vale on day {n}.\n" for n in range(20))
    assert shorten(text, 50).text == ""


def test_steps_stay_all_or_go_all() -> None:
    steps = "".join(f"{n}. Open the gate {n * 7} of Port Vale with the key of hall {n}.\n" for n in range(1, 6))
    text = f"A restore of the wiki takes 20 minutes. {TALK}\n\n{steps}\nIn January 2026 the archive was empty. {TALK} {TALK}"
    for room in (100, 90, 60):
        assert told(text, room).count("Open the gate") in (0, 5)
    assert "Open the gate" in told(text, 100)
    assert shorten(steps, 50).text == ""


def test_what_warns_is_worth_more_than_its_figures_say() -> None:
    """The tea has more words."""
    text = f"We met. {TALK} The tea of our farm is green, mild, cheap, fresh. Goats of our farm must stay behind the fence. {TALK}"
    assert "must stay" in told(text, 16)


def test_what_is_mostly_code_or_quotation_stays_as_it_is() -> None:
    """The sentence around it is not what the text is about."""
    quoted = "\n".join(f"> Anna said that pump {n} is old." for n in range(12))
    assert shorten(f"Hall 4 has 12 pumps.\n\n{quoted}", 50).text == ""
    assert "12 pumps" in told(f"Hall 4 has 12 pumps. {TALK * 6}\n\n{quoted}", 50)


def test_a_row_keeps_its_head_and_a_gap_is_a_row() -> None:
    text = "| pump | hall |\n| --- | --- |\n" + "".join(
        f"| number {n} of the old works | hall {n * 3} |\n" for n in range(9)
    )
    found = told(text, 70).splitlines()
    assert found[:2] == ["| pump | hall |", "| --- | --- |"]
    assert found.count("| … | … |") == 1


def test_code_is_whole_or_not_there_and_nothing_leads_in_what_is_gone() -> None:
    """Indented below a label it is code as well as between fences."""
    lines = "\n".join(f"    pump_{n} = seal(hall={n}, port='Vale')" for n in range(12))
    for block in (f"```\n{lines}\n```", lines):
        text = f"Hall 4 has 12 pumps. {TALK * 6}\n\nExample:\n\n{block}\n\nThe lamp of Port Vale is 30 metres high."
        found = told(text, 60)
        assert "pump_" not in found
        assert "Example" not in found
        assert "30 metres" in found
        whole = told(f"{text}\n\n{TALK * 20}", 300)
        assert block in whole


def test_a_heading_stands_only_over_something() -> None:
    text = "\n\n".join(f"# Part {n}\n\nPump {n * 13} of Hall {n} was sealed in Port Vale. {TALK}" for n in range(6))
    found = told(text, 80)
    blocks = found.split("\n\n")
    assert any(b.startswith("#") for b in blocks)
    assert all(not after.startswith("#") for b, after in pairwise(blocks) if b.startswith("#"))
    assert not blocks[-1].startswith("#")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The seal broke.", "Therefore Hall 4 of Port Vale stood still until 2026-05-04."),
        ("The seal broke.", "It cost Port Vale 4,300 euros on 2026-05-04."),
        ("Refunds are paid.", "Unless they were asked for before 2026-05-04, Port Vale refuses 4 of 5."),
        ("The cat may stay.", "If this rule is changed, Port Vale tells all 12 tenants by 2026-05-04."),
        ("The landlord is old.", "On 2026-05-04 he sold all 12 flats of Port Vale for 4,300 euros."),
    ],
)
def test_a_consequence_stays_with_its_cause(first: str, second: str) -> None:
    """And a pronoun with its subject: the second says most, but where there is no room for the first it goes as well."""
    text = f"We met. {TALK} {first} {second} {TALK.replace('hens', 'geese')}"
    found = told(text, len(f"We met. {first} {second}") // 4 + 2)
    assert f"{first} {second}" in found
    assert second not in told(text, len(f"We met. {second}") // 4 + 2)


def test_what_was_taken_back_stays_with_what_takes_it_back() -> None:
    text = (
        f"We met. {TALK} Hall 4 of Port Vale has 12 pumps and 7 lamps. That was wrong. {TALK.replace('hens', 'geese')}"
    )
    found = told(text, 20)
    assert "12 pumps and 7 lamps. That was wrong." in found
    assert "12 pumps" not in told(text, 14)  # nor where there is room for one of the two


def test_what_was_asked_is_answered_first() -> None:
    """Without the question other figures are worth more."""
    bus = "The bus home leaves from the mill at noon."
    busy = " ".join(f"Crate {n} of Port Vale weighs {n * 7} kg." for n in range(20))
    text = f"{busy} {bus} {busy}"
    assert bus not in told(text, 50)
    assert bus in told(text, 50, "when does the bus leave")


def test_what_answers_less_stands_in_for_an_answer_that_does_not_fit() -> None:
    """The next best, or what the best leans on; and of a question in the text what is said behind it."""
    text = (
        "We met. Bus 37 goes. It leaves the dam at 15:10, 16:20 and 17:40, and the last one goes at 18:55 on all days but Sundays. "
        + TALK
    )
    assert "last one goes" in told(text, 50, "when does the last bus leave the dam")
    assert told(text, 8, "when does the last bus leave the dam").endswith("Bus 37 goes.")
    talk = f"{TALK} {TALK} Where is the key of the cellar? Behind the fuse box. {TALK.replace('hens', 'geese')}"
    assert "Behind the fuse box." in told(talk, 9, "where is the key of the cellar")


def test_what_the_best_answer_leans_on_comes_before_what_nobody_asked_for() -> None:
    late = "It leaves the dam at 15:10, 16:20 and 17:40, and the last one goes at 18:55 on all days but Sundays."
    text = f"{TALK} Bob Ray is 81. {TALK} Bus 37 goes. {late} {TALK}"
    assert told(text, 4, "when does the last one leave the dam") == "Bus 37 goes."
    assert told(text, 4) == "Bob Ray is 81."


def test_a_unit_with_one_word_of_many_is_no_answer() -> None:
    """Then what is worth most stays, as if nobody had asked."""
    late = "On Sundays the last bus to the village leaves the dam at half past nine in the evening, and not before."
    text = f"{TALK} Bob Ray is 81. {TALK} The dam is old. {late} {TALK}"
    assert told(text, 4, "when does the last bus to the village leave the dam on Sundays") == "Bob Ray is 81."


def test_words_that_were_asked_for_are_worth_more_wherever_they_stand() -> None:
    text = f"{TALK} The rope is dear. {TALK} The lamp is dear. {TALK} The pump costs 40 euros."
    assert told(text, 12, "price of pump costs and lamp") == "The lamp is dear. The pump costs 40 euros."
    assert told(text, 12, "price of pump costs and rope") == "The rope is dear. The pump costs 40 euros."


def test_of_a_conversation_courtesies_go_and_an_answer_keeps_its_question() -> None:
    text = (
        "User: Hello, it is good to talk to you again today, my friend!\nAssistant: Hello! Welcome back, it is so nice to see you here. "
        "Which bus goes back from the mill?\nUser: Number 37, every hour.\n"
        "Assistant: Thank you so much, that is great. Have a wonderful day and see you soon!\nUser: Good night, and thank you for the talk!"
    )
    assert told(text, 30) == "Assistant: Which bus goes back from the mill?\nUser: Number 37, every hour."


def test_a_courtesy_is_not_kept_even_where_there_is_room() -> None:
    text = f"User: Welcome back, dear old friend.\nRita: Pumps 12 and 13 run in hall 4.\nUser: {TALK}\nRita: {TALK}"
    assert told(text, 22) == "Rita: Pumps 12 and 13 run in hall 4."


def test_what_somebody_tells_an_assistant_is_worth_more_than_what_it_says() -> None:
    """Sentences of the same words; where nobody is an assistant, who speaks makes no difference."""
    talk = "{0}: The weather was fine.\n{1}: The pears of our garden are sweet.\n{0}: Trees are small.\n{1}: The plums there are sour."
    assert (
        told(talk.format("Assistant", "Rita"), 26)
        == "Rita: The pears of our garden are sweet.\nRita: The plums there are sour."
    )
    mine = talk.format("Rita", "Assistant")
    assert "The weather was fine" in told(mine, 26)


def test_what_does_not_fit_is_not_cut_within_a_sentence() -> None:
    """Then there is no shorter text, and what is missing is said of none."""
    assert shorten("word " * 50, 5).text == ""
    assert shorten("Hall 4 has 12 pumps in Port Vale. " + "Word " * 50, 10).text == "Hall 4 has 12 pumps in Port Vale."


def test_one_unit_that_is_worth_more_than_many_small_ones_is_taken() -> None:
    """Greedy choice by worth a byte alone would fill the room with the small ones."""
    large = (
        "Anna Lund, Bob Ray, Carl Fox and Dora Kay met on 2026-05-04 in Port Vale about 12 pumps, 7 lamps and 30 seals."
    )
    small = "Hall 4. "
    assert large in told(f"{small} {large} {TALK}", -(-len(large) // 4))


part = st.sampled_from(
    [
        "# Pumps", "## Hall 4", "- Pump 4 of Port Vale has a new seal.", "- It is red.\n  and old", "  - one under it, with 12 bolts",
        "1. Open the gate of Port Vale.", "2. Close valve 37.", "Mara keeps 12 hens. She sells no eggs. It was not always so.",
        "The seal broke on 2026-05-04. Therefore Hall 4 stood still. However, the lamp burned.", "Notes:",
        "User: Which bus goes to Port Vale?",
        "Assistant: Number 37. It is slow.", "User: Thank you!", "| pump | hall |\n| --- | --- |\n| 4 | 12 |\n| 5 | 13 |\n| 6 | 14 |",
        "```\ncode(1)\n\ncode(2)\n```", "    indented = code(1)", "> Anna said so.", "I first thought of the queue. It was the disk.",
        "Steps: (a) open, (b) close, (c) go home.",
    ]
)  # fmt: skip
documents = st.lists(st.tuples(part, st.sampled_from(["\n", "\n\n"])), max_size=14).map(
    lambda ps: "".join(a + b for a, b in ps)
)
asked = st.lists(
    st.sampled_from(["which bus goes to Port Vale", "hens", "why did hall 4 stand still", "…"]), max_size=2
)


@given(documents, st.integers(1, 80), asked)
def test_it_is_whole_units_in_their_order_that_fit_and_need_nothing_that_is_gone(
    text: str, room: int, questions: list[str]
) -> None:
    """Whatever the text: beside marks of what is left out, nothing but its units; each with what it needs; the same text every time."""
    found = shorten(text, room, questions)
    own = units(text)
    assert found == shorten(text, room, questions)
    if count(text) <= room:
        assert found.text == text
        return
    assert count(found.text) <= room
    assert list(found.places) == sorted(set(found.places))
    assert found.units == tuple(own[k].text for k in found.places)
    assert all(set(own[k].needs) <= set(found.places) for k in found.places)
    told_ = [w for line in found.text.splitlines() if "…" not in line for w in line.split()]
    assert told_ == [w for u in found.units for w in u.split()]


@given(documents, st.lists(st.integers(5, 80), min_size=2, max_size=3))
def test_shortened_again_it_stays_or_loses_whole_units_only(text: str, rooms: list[int]) -> None:
    """The same stage changes nothing; each stage takes whole units of the last, and what stands after all stood there, in its order."""
    before = text.split()
    for room in sorted(rooms, reverse=True):
        found = shorten(text, room)
        shorter = found.text or text
        assert shorten(shorter, max(room, count(shorter))).text == shorter
        assert set(found.units) <= {u.text for u in units(text)}
        rest = iter(before)
        assert all(word in rest for line in shorter.splitlines() if "…" not in line for word in line.split())
        text = shorter
