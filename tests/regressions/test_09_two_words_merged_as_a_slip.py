"""Two memories that say opposite things became one, because the words in which they differ are a letter or two apart: "including" and
"excluding", "ascending" and "descending", hyper- and hypo-, two drugs. The night took the difference for a slip of the finger.

Line 9: contradictions merge as slips of the finger. Two known words are never a slip; real typos still merge.
"""

from __future__ import annotations

import pytest

from slowwave.operations import PLANNERS
from slowwave.text.sameness import sameness
from tests.snapshots import make_inputs, make_snapshot, uid

dedupe_memories = PLANNERS["dedupe_memories"]

WORDS = """
including excluding|inclusive exclusive|ascending descending|hypertension hypotension|hyperkalemia hypokalemia|interstate intrastate
prednisone prednisolone|fluoxetine duloxetine|metoprolol metaprolol|clonazepam lorazepam|methane ethane|propane propene|nitrate nitrite
sulfate sulfite|encryption decryption|increment decrement|introvert extrovert|microscopic macroscopic|typical atypical|inductive deductive
mortgagor mortgagee|afferent efferent|abduction adduction|affect effect|county country|contract contact|ileum ilium|shared sharded
reversible irreversible|symptomatic asymptomatic|endogenous exogenous|hyperqorvia hypoqorvia|suite suit|untied united|getuser setuser
"""
TYPOS = """
recieve receive|adress address|seperate separate|enviroment environment|goverment government|neccessary necessary|passwrod password
occured occurred|begining beginning|colour color|libary library|databse database|serivce service|alergic allergic
"""
PAIRS = [tuple(p.split()) for line in WORDS.strip().splitlines() for p in line.split("|")]
SLIPS = [tuple(p.split()) for line in TYPOS.strip().splitlines() for p in line.split("|")]
SAYS = "The {} was on the list that the team read this morning."


def merges(kind: str, *texts: str) -> int:
    """How many merges a night proposes among memories with these texts and one vector."""
    ids = [uid(f"m{k}") for k in range(len(texts))]
    snapshot = make_snapshot(
        memories=[
            {"id": id_, "kind": kind, "subject": "list", "current_version_id": uid(id_), "valid_from": None}
            | ({"valid_from": make_snapshot().taken_at} if kind == "event" else {})
            for id_ in ids
        ],
        memory_versions=[
            {"id": uid(id_), "memory_id": id_, "content": text} for id_, text in zip(ids, texts, strict=True)
        ],
        vectors={"memory_vectors": dict.fromkeys(ids, (1.0, 0.0))},
    )
    return len(dedupe_memories(make_inputs(snapshot)).items)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["semantic", "event"])
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_two_words_never_merge(kind: str, a: str, b: str) -> None:
    """Neither as notes nor as events, of which one may say more than the other."""
    assert merges(kind, SAYS.format(a), SAYS.format(b)) == 0


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_two_words_do_not_say_the_same(a: str, b: str) -> None:
    """In whatever order they are compared."""
    assert sameness(SAYS.format(a), SAYS.format(b)).decision != "same"
    assert sameness(SAYS.format(b), SAYS.format(a)).decision != "same"


@pytest.mark.parametrize(("a", "b"), SLIPS)
def test_a_mistyped_word_still_merges(a: str, b: str) -> None:
    """One is a word and the other is not, or both are one word in two spellings."""
    assert merges("semantic", SAYS.format(a), SAYS.format(b)) == 1


def test_a_word_that_the_namespace_uses_is_no_slip() -> None:
    """A drug that no dictionary has stands in other memories as well: it is meant."""
    texts = ["The patient takes receive daily.", "The patient takes recieve daily."]
    assert merges("semantic", *texts) == 1
    others = ["Order recieve for the ward.", "Is recieve covered?", "Tom asked about recieve."]
    assert merges("semantic", *texts, *others) == 0
