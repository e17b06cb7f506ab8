"""Line 10: shortened texts were made of scraps. Lists kept their numbers and lost what stood behind them, items came to stand under
another owner, headings stayed without their bodies, code and tables fell into lines, quotations were cut in the middle. A text is
shortened by whole passages, each in its place; where it cannot be, it is left.
"""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise

import pytest

from slowwave.changes.simulate import simulate
from slowwave.operations import PLANNERS
from slowwave.text.tokens import count
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

decay_transition = PLANNERS["decay_transition"]

CREW = [("Anna", "tar"), ("Bert", "rope"), ("Cleo", "sail"), ("Dirk", "brass")]
OWNED = "\n\n".join(
    f"{name}:\n" + "\n".join(f"- {n} crates of {ware} in bay {n * 3}, paid by the harbour" for n in range(1, 8))
    for name, ware in CREW
)
SPEAKERS = "\n".join(
    f"{CREW[n % 4][0]}: I counted {n * 11} {CREW[n % 4][1]} parcels near gate {n}.\nThey were dry and well tied and nobody touched them."
    for n in range(1, 26)
)
HEADED = "\n\n".join(
    f"## {name}\n\n{name} came aboard in {1990 + n} and signs for {ware}. The rest is as it was in the year before and the one "
    "before that, with the same hands and the same hours."
    for n, (name, ware) in enumerate(CREW * 3)
)
NESTED = "\n".join(
    f"- Deck {d}\n" + "\n".join(f"    - cabin {d}{c}: two beds, a basin, lamp number {d * 10 + c}" for c in range(1, 7))
    for d in range(1, 6)
)
TABLE = "| Bay | Ware | Crates |\n| --- | --- | --- |\n" + "\n".join(
    f"| {n} | {CREW[n % 4][1]} | {n * 17} |" for n in range(1, 30)
)
CODE = (
    "The pump is started from the shell. "
    + "It has been like that for years and nobody minds. " * 8
    + "Start it like this:\n\n```\npump --open 4\npump --start\n\npump --close 4\n```\n\n"
    + "\n\n".join(f"On day {n} the pump of hall {n} gave {n * 13} litres and no more." for n in range(1, 25))
)
KEYED = "\n".join(f"bay {n}: {CREW[n % 4][1]}, {n * 17} crates, seen by the watch of hour {n}" for n in range(1, 30))
QUOTED = (
    'Cleo wrote a letter. "The sail is torn. Do not go out before the 14th. I will be there with 12 men." '
    + "She sent it with the boy from the mill who always takes the long road by the water. " * 16
)
CONTRACT = (
    "Crates are handed out to the crew of the day at bay 4. However, tar is never handed out after 20:00. "
    + "The lamp in the bay is an old one and gives a yellow light that everybody knows. " * 20
)
ABBREVIATED = (
    "Dr. A. B. Falk of St. Ives, e.g., sold v2.3.1 for 3.5 m to Messrs. Lund & Co. on 4 Mar. 2024 (cf. https://falk.example/a.b?c=1.2). "
    + "The gulls were loud all day and the sea was as flat as a plate on a table. " * 20
)
SHAPES = {
    **{"owned": OWNED, "speakers": SPEAKERS, "headed": HEADED, "nested": NESTED, "table": TABLE, "code": CODE},
    **{"keyed": KEYED, "quoted": QUOTED, "contract": CONTRACT, "abbreviated": ABBREVIATED},
}


def shortened(text: str, stage: str) -> str:
    """What a memory says after its next stage; and the night after has nothing to propose."""
    began = TAKEN_AT - timedelta(days=100)
    row = {"id": uid("m"), "kind": "semantic", "stage": stage, "valid_from": began, "recorded_at": began}
    version = {"id": uid("v"), "memory_id": uid("m"), "content": text, "recorded_at": began}
    snapshot = make_snapshot(memories=[{**row, "current_version_id": uid("v")}], memory_versions=[version])
    (item,) = decay_transition(make_inputs(snapshot)).items
    later = simulate(snapshot, [item])
    assert decay_transition(make_inputs(later)).items == ()
    (new,) = [v["content"] for v in later.table("memory_versions").to_pylist() if v["id"] != uid("v")]
    return str(new)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["full", "compressed", "summary"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_line_that_stays_is_whole(shape: str, stage: str) -> None:
    """Of lists and tables each line is a line of the source, or says that others are gone; of turns each is one or
    its first sentence; and nothing grows."""
    text = SHAPES[shape]
    found = shortened(text, stage)
    assert count(found) <= count(text)
    if shape == "speakers":
        assert all(any(whole.startswith(part) for whole in turns(text)) for part in turns(found))
    elif shape not in ("quoted", "contract", "abbreviated", "code", "headed"):
        assert {line for line in found.splitlines() if "…" not in line} <= set(text.splitlines())


def turns(text: str) -> set[str]:
    """What each speaker said, on one line."""
    return {" ".join(turn.split()) for turn in re.split(r"\n(?=\w+: )", text)}


@pytest.mark.parametrize("stage", ["full", "compressed", "summary"])
def test_an_item_stays_with_its_owner(stage: str) -> None:
    """Above it stands the name above which it stood."""
    of = {line: name for name, ware in CREW for line in OWNED.splitlines() if f"of {ware} " in line}
    owner = ""
    for line in shortened(OWNED, stage).splitlines():
        if line.startswith("- "):
            assert of[line] == owner
        elif line:
            owner = line.removesuffix(":")
    said = shortened(SPEAKERS, stage).splitlines()
    assert all(a != "They were dry and well tied and nobody touched them." or ":" in b for b, a in pairwise(said))
    assert said[0].split(":")[0] in dict(CREW)
    deck = ""
    for line in shortened(NESTED, stage).splitlines():
        deck = line.removeprefix("- Deck ") if line.startswith("- ") else deck
        assert line.startswith("- ") or line.strip() == "- …" or line.strip().startswith(f"- cabin {deck}")


@pytest.mark.parametrize("stage", ["full", "compressed", "summary"])
def test_a_heading_has_its_body_and_a_body_its_heading(stage: str) -> None:
    parts = re.split(r"(?m)^## ", shortened(HEADED, stage))
    assert parts[0].strip() == ""
    for part in parts[1:]:
        name, _, body = part.partition("\n")
        assert body.strip().startswith((f"{name} came aboard", "The rest"))
    lines = shortened(TABLE, stage).splitlines()
    assert lines[:2] == TABLE.splitlines()[:2]
    assert len(lines) > 2


@pytest.mark.parametrize("stage", ["full", "compressed"])
def test_code_and_quotations_are_kept_whole_with_what_leads_them_in(stage: str) -> None:
    code = shortened(CODE, stage)
    assert ("Start it like this:" in code) == ("pump --close 4\n```" in code) == ("```\npump --open 4" in code)
    letter = shortened(QUOTED, stage)
    assert ("The sail is torn." in letter) == ("with 12 men.”" in letter or 'with 12 men."' in letter)


@pytest.mark.parametrize("stage", ["full", "compressed", "summary"])
def test_a_rule_stays_with_its_exception(stage: str) -> None:
    """Without the second sentence the first says something else."""
    found = shortened(CONTRACT, stage)
    assert ("handed out to the crew" in found) == ("never handed out after 20:00" in found)
    assert "handed out to the crew" in found


@pytest.mark.parametrize("stage", ["full", "compressed", "summary"])
def test_a_full_stop_that_ends_no_sentence_cuts_none(stage: str) -> None:
    assert shortened(ABBREVIATED, stage).startswith(ABBREVIATED.split(" The gulls")[0])
