"""Line 10: a shortened memory began with "She does not eat them" and nobody knew who. A sentence that begins with a pronoun or a
connective takes along the sentence that it leans on, or goes with it.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from slowwave.operations import PLANNERS
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

decay_transition = PLANNERS["decay_transition"]

FILLER = "The weather over the moor was grey and the sheep stood close together behind the wall of stones. "

CASES = [
    (
        "My aunt came to stay in the spring.",
        "She does not eat 4 of the things that I cook: eggs, fish, nuts and leeks.",
    ),
    ("Tomas Rey runs the ferry.", "His licence, number 4471, ends on 2027-02-01 and is not renewed without a test."),
    ("The old bridge is shut for lorries.", "It carries 12 tons and no more since 2019-08-04."),
    ("Two brothers own the mill at Dunmore.", "They sold 300 sacks to Port Vale on 2024-03-09."),
    ("The lock of the shed was changed.", "Therefore key 17 does not fit any more, and key 18 does."),
    ("Meetings are held in the barn.", "When they last met on 2024-05-02, 31 people came and 4 did not stay."),
    ("The doctor looked at the knee.", "Afterwards she wrote down 3 pills a day, not 4, until 2024-06-30."),
    ("They argued about the fence.", "As a result, 40 posts were pulled out on 2024-07-11 and never put back."),
]


@pytest.mark.parametrize(("subject", "said"), CASES)
@pytest.mark.parametrize("stage", ["compressed", "summary"])
def test_what_leans_on_a_sentence_stands_beside_it(subject: str, said: str, stage: str) -> None:
    text = f"{FILLER * 6}{subject} {said} {FILLER.replace('moor', 'hill') * 6}".strip()
    began = TAKEN_AT - timedelta(days=100)
    row = {"id": uid("m"), "kind": "semantic", "stage": stage, "valid_from": began, "recorded_at": began}
    version = {"id": uid("v"), "memory_id": uid("m"), "content": text, "recorded_at": began}
    snapshot = make_snapshot(memories=[{**row, "current_version_id": uid("v")}], memory_versions=[version])
    (item,) = decay_transition(make_inputs(snapshot)).items
    found = str(item.evidence["text"])
    assert f"{subject} {said}" in found or said.split(",")[0] not in found
    assert stage == "summary" or f"{subject} {said}" in found
