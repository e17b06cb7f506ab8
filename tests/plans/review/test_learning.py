"""Answers of a review teach about its remaining questions, and never about those that a person has answered."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.plans.ledger import StoredItem
from slowwave.plans.review.drafts import Draft
from slowwave.plans.review.rules import ENOUGH, LIKE, MOST, SURE, learn

NAMES = ("Jorlel chess", "Femo backup", "Gespo office", "Moneo tax", "Taklen music", "Zothchex video", "Kavgro print")


def item(
    name: str, rows: str, names: tuple[str, str] = ("", ""), *, weight: float = 0.0, question: str = "same"
) -> StoredItem:
    """A question about two rows, each a letter."""
    named = [{"id": row, "external_id": None} for row in rows]
    mutation = {"kind": "merge_rows", "table": "entities", "keep": named[0], "absorb": named[1:], "rows": []}
    evidence = {"waterfall": [{"evidence": "name", "weight": weight, "level": "contained"}], "names": list(names)}
    p = 1 / (1 + np.exp(-weight))
    return StoredItem(
        *(name, "dedupe_entities", "review", "high", 0, p, json.dumps(mutation), json.dumps(evidence), "[]"),
        *("merge_rows", "pending", "", question),
    )


def said(verdicts: dict[str, str], against: tuple[str, ...] = ()) -> dict[str, Draft]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return {name: Draft(name, verdict, "", "mara", at, against) for name, verdict in verdicts.items()}


def software() -> list[StoredItem]:
    """Of each name a pair in which one says "windows", w0 to w6, and one in which one says "upgrade", u0 to u6."""
    return [
        item(
            f"{word[0]}{k}",
            f"{chr(97 + 2 * k)}{chr(98 + 2 * k)}" if word == "windows" else f"{chr(65 + 2 * k)}{chr(66 + 2 * k)}",
            (name, f"{name} {word}"),
        )
        for word in ("windows", "upgrade")
        for k, name in enumerate(NAMES)
    ]


def test_a_word_that_means_nothing_is_learnt_beside_one_that_does() -> None:
    """Four answers for each word: what is left of them looks decided, each way, and says by what."""
    answered = {f"w{k}": "yes" for k in range(4)} | {f"u{k}": "no" for k in range(4)}
    found = learn(software(), said(answered))
    assert set(found.likely) == {"w4", "w5", "w6", "u4", "u5", "u6"}
    assert min(found.likely[f"w{k}"] for k in (4, 5, 6)) >= 0.8
    assert max(found.likely[f"u{k}"] for k in (4, 5, 6)) <= 0.2
    more = learn(software(), said({f"w{k}": "yes" for k in range(6)} | {f"u{k}": "no" for k in range(6)}))
    told = {(group.verdict, group.says, group.answers, group.items) for group in more.decided}
    assert told <= {
        ("yes", "only one name says “windows”", 6, ("w6",)),
        ("no", "only one name says “upgrade”", 6, ("u6",)),
    }


def test_a_name_that_was_cut_short_is_learnt_where_no_word_tells() -> None:
    """Of each name one that ends in the middle of a word, c0 to c6, and one that ends in another word, o0 to o6: no word is in two."""
    ends = ("bolvander", "crestiuno", "dwarmelik", "flintagor", "gruselath", "hoptrendi", "jastomelu")
    others = ("vemikat", "zuplora", "trankis", "wobelin", "xandury", "mirkeso", "quelboj")
    cut = [
        item(f"c{k}", f"{chr(97 + k)}{chr(65 + k)}", (f"{n} {end}", f"{n} {end[:5]}"))
        for k, (n, end) in enumerate(zip(NAMES, ends, strict=True))
    ]
    other = [
        item(f"o{k}", f"{chr(104 + k)}{chr(72 + k)}", (f"{n} {end}", f"{n} {word}"))
        for k, (n, end, word) in enumerate(zip(NAMES, ends, others, strict=True))
    ]
    found = learn([*cut, *other], said({f"c{k}": "yes" for k in range(4)} | {f"o{k}": "no" for k in range(4)}))
    left = range(4, len(NAMES))
    assert min(found.likely[f"c{k}"] for k in left) > 0.6 > 0.4 > max(found.likely[f"o{k}"] for k in left)


def test_sure_evidence_with_like_answers_looks_decided() -> None:
    """And not while one of their kind was answered otherwise, nor with too few answers."""
    names = [(f"{name} suite", f"{name} suite windows") for name in NAMES]
    asked = [item(f"w{k}", f"{chr(97 + 2 * k)}{chr(98 + 2 * k)}", pair, weight=2.0) for k, pair in enumerate(names)]
    (group,) = learn(asked, said({f"w{k}": "yes" for k in range(ENOUGH)})).decided
    assert (group.verdict, group.answers, sorted(group.items)) == ("yes", ENOUGH, ["w5", "w6"])
    assert group.note == "As 5 like it were answered: only one name says “windows”"
    assert not learn(asked, said({f"w{k}": "yes" for k in range(ENOUGH - 1)})).decided
    assert not learn(asked, said({"w0": "no"} | {f"w{k}": "yes" for k in range(1, ENOUGH)})).decided
    assert LIKE < ENOUGH
    assert SURE > 0.5


def alike(pairs: int, weight: float = 2.0) -> list[StoredItem]:
    """So many questions of one kind, of rows that nothing else is asked of."""
    return [
        item(f"q{k:02d}", f"{chr(200 + 2 * k)}{chr(201 + 2 * k)}", (f"suite {k}", f"suite {k} windows"), weight=weight)
        for k in range(pairs)
    ]


def test_no_more_look_decided_than_the_answers_bear_out() -> None:
    """Two for each answer, the surest, with those that were drafted so before."""
    asked, drafts = alike(30), said({f"q{k:02d}": "yes" for k in range(ENOUGH)})
    (group,) = learn(asked, drafts).decided
    assert len(group.items) == MOST * ENOUGH
    marked = {id_: Draft(id_, "yes", group.note, "mara", datetime(2026, 1, 1, tzinfo=UTC)) for id_ in group.items}
    assert learn(asked, drafts | marked).decided == ()
    some = dict(list(marked.items())[:4])
    (rest,) = learn(asked, drafts | some).decided
    assert len(rest.items) == MOST * ENOUGH - 4
    assert not set(rest.items) & set(some)


def test_one_answer_otherwise_and_nothing_of_the_kind_looks_decided() -> None:
    """However sure the rest is: what tells that one from the others is not known."""
    asked, drafts = alike(30, 6.0), said({f"q{k:02d}": "yes" for k in range(12)})
    assert len(learn(asked, drafts).decided[0].items) == 18
    otherwise = learn(asked, drafts | said({"q12": "no"}), 0.9)
    assert min(otherwise.likely.values()) >= 0.9
    assert otherwise.decided == ()


def test_what_was_drafted_as_it_looked_decided_teaches_nothing() -> None:
    """The other questions are judged as without it, and an answer that a person gives in its place counts."""
    asked, drafts = alike(30), said({f"q{k:02d}": "yes" for k in range(ENOUGH)})
    alone = learn(asked, drafts)
    (group,) = alone.decided
    one = group.items[0]
    marked = {one: Draft(one, "no", group.note, "mara", datetime(2026, 1, 1, tzinfo=UTC))}
    beside = learn(asked, drafts | marked)
    assert beside.likely == {id_: p for id_, p in alone.likely.items() if id_ != one}
    assert learn(asked, drafts | said({one: "no"})).decided == ()


def test_what_follows_from_answers() -> None:
    """a = b and b = c make a = c; a = b and b ≠ d make a ≠ d; where a person contradicts themselves nothing follows."""
    asked = [item(rows, rows) for rows in ("ab", "bc", "ac", "bd", "ad", "xy")]
    found = learn(asked, said({"ab": "yes", "bc": "yes", "bd": "no"}))
    assert found.follows == {"ac": "yes", "ad": "no"}
    assert found.likely == {"ac": 1.0, "ad": 0.0}
    assert learn(asked, said({"ab": "yes", "bc": "yes", "ac": "no", "bd": "no"})).follows == {}


def test_other_questions_and_disputed_answers_teach_nothing() -> None:
    verdicts = {f"w{k}": "yes" for k in range(7)}
    lost = [item(f"w{k}", f"{chr(97 + 2 * k)}{chr(98 + 2 * k)}", question="value_lost") for k in range(7)]
    assert learn([*lost, item("z", "yz")], said(verdicts)).likely == {}
    assert learn(software(), said(verdicts, against=("ben",))).likely == {}
    assert learn([], {}).likely == {}


verdicts = st.dictionaries(st.sampled_from([i.id for i in software()]), st.sampled_from(["yes", "no", "skip"]))


@settings(max_examples=40, deadline=None)
@given(verdicts, st.randoms(use_true_random=False))
def test_a_persons_answer_stands_and_order_means_nothing(given_: dict[str, str], r: object) -> None:
    """Whatever was answered, in any order of items and drafts: no answered question is judged, and the rest is judged the same."""
    asked, drafts = software(), said(given_)
    found = learn(asked, drafts)
    answered = {name for name, verdict in given_.items() if verdict != "skip"}
    assert answered.isdisjoint(found.likely)
    assert answered.isdisjoint(found.follows)
    assert answered.isdisjoint(id_ for group in found.decided for id_ in group.items)
    assert all(0 <= p <= 1 for p in found.likely.values())
    turned, order = list(asked), list(drafts)
    r.shuffle(turned)  # type: ignore[attr-defined]
    r.shuffle(order)  # type: ignore[attr-defined]
    assert learn(turned, {name: drafts[name] for name in order}) == found
