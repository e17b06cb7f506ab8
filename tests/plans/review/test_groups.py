"""Questions of one form are answered as a group, and only a checked sample frees such an answer from the caps of the blast radius."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from slowwave.errors import ProbesFailed, Refused
from slowwave.night.answers import answer, answer_alike, newest_wins_command
from slowwave.night.executor import apply_approval
from slowwave.night.night import run_night
from slowwave.night.undo import undo_run
from slowwave.plans.gate import revoke
from slowwave.plans.ledger import StoredPlan, read_plan
from slowwave.plans.review.drafts import NewDraft, Verdict, answered_by_person, read_drafts, save_drafts, undo_last
from slowwave.plans.review.groups import SAMPLE, QuestionForm, draw_sample, form_of, split_group
from slowwave.plans.review.queue import AlikeQuestions, alike, ask_about_group, count_recalls, queue
from slowwave.search.request import SearchRequest
from slowwave.search.search import search
from slowwave.store.connect import Store
from slowwave.store.doctor import digest
from slowwave.store.logins import Role
from tests.memories import ago, ask, remember
from tests.permitting import sign
from tests.plans.review.reviews import CAPTAINS, SHIPS, captains, courtesies
from tests.snapshots import uid

pytestmark = pytest.mark.slow

STRICT = {"blast_radius_share": 0.02, "blast_radius_rows": 5}


def group_of(store: Store, plan: StoredPlan) -> AlikeQuestions:
    """Return the largest group of a plan, as surfaces show it."""
    found = queue(plan, read_drafts(store, "acme", plan.plan_hash))
    return max((alike(found, w.id) for w in found.items), key=lambda group: len(group.items))


def stored(store: Store, plan_hash: str) -> StoredPlan:
    with store.connect("reader") as connection:
        return read_plan(connection, plan_hash)


def own(store: Store, plan: StoredPlan) -> frozenset[str]:
    with store.connect("approver") as connection:
        return answered_by_person(connection, plan, read_drafts(store, "acme", plan.plan_hash))


def checked(group: AlikeQuestions, verdict: Verdict = "yes") -> Mapping[str, Verdict]:
    return {w.id: verdict for w in group.sample}


def bulk(store: Store, plan: StoredPlan, items: Sequence[str], reviewer: str = "mara", note: str = "") -> None:
    """Store a yes for many items at once, as the answer for a group is stored."""
    drafts = [NewDraft(item, "yes", note) for item in items]
    save_drafts(store, "acme", plan.plan_hash, drafts, reviewer=reviewer)


def test_questions_of_one_form_are_one_group_with_examples_and_counter_examples(store: Store) -> None:
    """Pairs without an order by date, and pairs that were answered otherwise, are no part of it and are shown as counter-examples."""
    plan = captains(store, 14, ties=2)
    group = group_of(store, plan)
    assert group.asks == "14 statements of the form “the captain of … is” have a later value. Do the later ones hold?"
    assert [len(group.items), len(group.sample), len(group.examples)] == [14, SAMPLE, 3]
    assert {w.form.direction for w, _ in group.counter_examples if w.form} == {"undated"}
    assert len(group.counter_examples) == 2
    ties = {w.id for w, _ in group.counter_examples}
    assert ties.isdisjoint(w.id for w in group.items)
    (other, *_) = group.items
    answer(store, plan, other.id, "both", by="jon")
    after = group_of(store, plan)
    assert len(after.items) == 13
    assert ("jon answered that the later one does not hold") in [why for _, why in after.counter_examples]
    tie = next(s for s in plan.items if s.id in ties)
    assert ask_about_group(plan, {}, tie) == ""
    assert ask_about_group(plan, {}, next(s for s in plan.items if s.id == group.of.id)) == group.asks


def test_answer_for_a_checked_group_is_applied_without_force_and_undone_exactly(store: Store) -> None:
    plan = captains(store, 14, settings=STRICT)
    before = digest(store, "acme")
    group = group_of(store, plan)
    answer_alike(store, plan, group, "yes", by="mara", checked=checked(group))
    assert own(store, plan) == {w.id for w in group.items}
    signed = sign(store, "acme", plan.plan_hash, reviewer="mara")
    assert (signed.approved, signed.approval_id is not None) == (14, True)
    ((probes,),) = ask(store, "SELECT probes FROM night.approvals")
    assert isinstance(probes, dict)
    assert (probes["blast_radius"]["retired"], probes["blast_radius"]["answered"]) == (0, 14)
    assert probes["recall"], "only the caps do not count these answers"
    assert set(probes["answered"]) == {w.id for w in group.items}
    run = apply_approval(store, str(signed.approval_id))
    assert run.counts["applied"] == 14
    live = {str(text) for (text,) in ask(store, CAPTAINS)}
    assert live == {f"The captain of the {ship} is Otto." for ship in SHIPS[:14]}
    undo_run(store, run.run_id)
    assert digest(store, "acme") == before


def test_answer_for_a_group_without_a_check_counts_against_the_cap(store: Store) -> None:
    plan = captains(store, 14, settings=STRICT)
    answer_alike(store, plan, group_of(store, plan), "yes", by="mara")
    assert own(store, plan) == frozenset()
    with pytest.raises(ProbesFailed, match="Beyond the cap"):
        sign(store, "acme", plan.plan_hash, reviewer="mara")
    assert ask(store, "SELECT 1 FROM night.approvals") == []


def test_single_answers_of_a_person_do_not_count_against_the_cap(store: Store) -> None:
    """Nor do they leave room for a later approval: what one approval exempts, the next one does not count either."""
    plan = captains(store, 14, settings=STRICT)
    items = sorted(s.id for s in plan.items)
    for item in items[:10]:
        answer(store, plan, item, "this", by="mara")
    assert own(store, plan) == set(items[:10])
    sign(store, "acme", plan.plan_hash, reviewer="mara")
    plan = stored(store, plan.plan_hash)
    bulk(store, plan, items[10:12])
    assert own(store, plan) == frozenset()
    sign(store, "acme", plan.plan_hash, reviewer="mara")
    retired = "SELECT (probes #>> '{blast_radius,retired}')::int FROM night.approvals ORDER BY recorded_at"
    assert ask(store, retired) == [(0,), (2,)]


def test_revoked_approval_exempts_nothing_of_a_later_one(store: Store) -> None:
    plan = captains(store, 14, settings=STRICT)
    items = sorted(s.id for s in plan.items)
    for item in items[:8]:
        answer(store, plan, item, "this", by="mara")
    first = sign(store, "acme", plan.plan_hash, reviewer="mara")
    revoke(store, "acme", str(first.approval_id), revoked_by="mara", reason="Too early.")
    bulk(store, stored(store, plan.plan_hash), items[:8])
    with pytest.raises(ProbesFailed, match="Beyond the cap"):
        sign(store, "acme", plan.plan_hash, reviewer="mara")


def test_sample_with_another_answer_keeps_the_group_open(store: Store) -> None:
    plan = captains(store, 14)
    group = group_of(store, plan)
    mixed = {**checked(group), group.sample[3].id: "no"}
    done = answer_alike(store, plan, group, "yes", by="mara", checked=mixed)  # type: ignore[arg-type]
    assert "have another answer than the group would get" in done.problem
    drafts = read_drafts(store, "acme", plan.plan_hash)
    assert {id_: draft.verdict for id_, draft in drafts.items()} == mixed


def test_group_is_not_answered_by_a_part_of_its_sample_or_by_other_questions(store: Store) -> None:
    """A form can claim what it wants: the questions to check are drawn here, and all of them need an answer."""
    plan = captains(store, 14)
    group = group_of(store, plan)
    outside = next(w.id for w in group.items if w.id not in checked(group))
    for given in (
        dict(list(checked(group).items())[1:]),
        {**checked(group), outside: "yes"},
        {outside: "yes"},
    ):
        with pytest.raises(Refused, match="of the sample are checked"):
            answer_alike(store, plan, group, "yes", by="mara", checked=given)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="yes or no"):
        answer_alike(store, plan, group, "skip", by="mara")
    assert read_drafts(store, "acme", plan.plan_hash) == {}


def test_no_stored_answer_can_claim_that_a_sample_was_checked(store: Store) -> None:
    """Neither a note, nor ten answers stored at once, nor those of somebody else, nor ten others, nor answers that were undone."""
    plan = captains(store, 14)
    group = group_of(store, plan)
    items, sample = [w.id for w in group.items], [w.id for w in group.sample]
    bulk(store, plan, items, note="As 10 like it were answered: a sample of ten was checked")
    assert own(store, plan) == frozenset()
    bulk(store, plan, sample)
    assert own(store, plan) == frozenset(), "ten at once are another group"
    for item in sample:
        bulk(store, plan, [item], reviewer="jon")
    assert own(store, plan) == set(sample), "jon checked, and mara answered for the group"
    for item in sample:
        bulk(store, plan, [item])
    assert own(store, plan) == set(items)
    undo_last(store, "acme", plan.plan_hash, reviewer="mara")
    assert own(store, plan) == set(sample), "one of the ten was undone, and jon's answers are still his own"


def test_answers_at_once_to_questions_of_several_kinds_are_several_groups(store: Store) -> None:
    """A checked sample of one form frees no question of another form that was stored with it."""
    plan = captains(store, 14, ties=3)
    group = group_of(store, plan)
    for item in checked(group):
        bulk(store, plan, [item])
    bulk(store, plan, [s.id for s in plan.items])
    assert own(store, plan) == {w.id for w in group.items}


def test_checked_group_of_an_earlier_plan_is_checked_again(store: Store) -> None:
    """Answers follow to identical items of a new plan; those to single questions stay a person's own, that for a group does not."""
    plan = captains(store, 14)
    group = group_of(store, plan)
    answer_alike(store, plan, group, "yes", by="mara", checked=checked(group))
    more = [{"id": f"{n}", "kind": "observation", "current_version_id": f"{n} v", "valid_from": ago(n)} for n in (3, 2)]
    texts = [
        {"id": f"{n} v", "memory_id": f"{n}", "ordinal": 1, "content": f"The captain of the Wanderer is {name}."}
        for n, name in ((3, "Ada"), (2, "Otto"))
    ]
    remember(store, "acme", memories=more, memory_versions=texts)
    night = run_night(store, "acme", ops="contradictions,resolve_conflicts", force=True)
    assert night.plan is not None
    new = stored(store, night.plan.plan_hash)
    assert new.plan_hash != plan.plan_hash
    assert len(read_drafts(store, "acme", new.plan_hash)) == 14
    assert own(store, new) == set(checked(group))


def test_only_the_database_says_when_an_answer_was_stored(store: Store) -> None:
    """An approver's login cannot choose the time by which single answers are told from those for a group; other logins store no answer."""
    plan = captains(store, 3)
    row = (plan.header.namespace_id, plan.plan_hash, plan.items[0].id)
    columns = "namespace_id, plan_hash, item_id, verdict, reviewer"
    timed = f"INSERT INTO night.review_drafts ({columns}, recorded_at) VALUES (%s, %s, %s, 'yes', 'mara', now())"
    plain = f"INSERT INTO night.review_drafts ({columns}) VALUES (%s, %s, %s, 'yes', 'mara')"
    attacks: list[tuple[Role, str]] = [("approver", timed)]
    attacks += [(role, plain) for role in ("planner", "server", "applier", "reader")]
    for role, forged in attacks:
        with store.connect(role) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(forged.encode(), row)


def test_newest_wins_is_a_command_that_keeps_the_relations_named_before(store: Store) -> None:
    """No answer sets it: the group's relation is offered, quoted for a shell, after those that the namespace names."""
    plan = captains(store, 3, settings={"operations": {"resolve_conflicts": {"newest_wins": ["lives in"]}}})
    group = group_of(store, plan)
    command = newest_wins_command(store, plan, group)
    assert command == (
        'slowwave namespace set acme \'operations.resolve_conflicts.newest_wins=["lives in", "the captain of … is"]\''
    )
    answer_alike(store, plan, group, "yes", by="mara", checked=checked(group))
    sign(store, "acme", plan.plan_hash, reviewer="mara")
    ((settings,),) = ask(store, "SELECT settings FROM memory.namespaces WHERE slug = 'acme'")
    assert isinstance(settings, dict)
    assert settings["operations"] == {"resolve_conflicts": {"newest_wins": ["lives in"]}}


def test_budget_lists_the_questions_that_settle_most_and_a_group_once(store: Store) -> None:
    """A group is worth all of its members; what is not listed is counted, and listed on demand; a checked group uses up one question."""
    plan = captains(store, 14, ties=6)
    found = queue(plan, {}, budget=4)
    assert (len(found.items), found.items[0].members, found.later) == (4, 14, 16)
    assert [w.form.direction for w in found.items if w.form] == ["later", *["undated"] * 3]
    assert {w.id for w in queue(plan, {}).items} == {s.id for s in plan.items}
    group = group_of(store, plan)
    answer_alike(store, plan, group, "yes", by="mara", checked=checked(group))
    drafts = read_drafts(store, "acme", plan.plan_hash)
    after = queue(plan, drafts, budget=4)
    assert sum(w.state == "open" for w in after.items) == 3
    assert after.later == 3
    for w in [w for w in after.items if w.state == "open"]:
        answer(store, plan, w.id, "skip", by="mara")
    done = queue(plan, read_drafts(store, "acme", plan.plan_hash), budget=4)
    assert (sum(w.state == "open" for w in done.items), done.later) == (0, 3)
    assert {w.id for w in queue(plan, drafts).items} == {s.id for s in plan.items}, "nothing is lost"


def test_small_talk_is_listed_as_one_question_whose_answer_archives_all_of_it(store: Store) -> None:
    """A conversation has many courtesies, each of which was a card of its own. No command lets the newest win there."""
    courtesies(store, 12)
    before = digest(store, "acme")
    night = run_night(store, "acme", ops="archive_small_talk")
    assert night.plan is not None
    plan = stored(store, night.plan.plan_hash)
    listed = queue(plan, {}, budget=50)
    assert [(w.members, listed.later) for w in listed.items] == [(12, 11)]
    group = group_of(store, plan)
    assert (len(group.items), group.counter_examples, newest_wins_command(store, plan, group)) == (12, (), "")
    assert group.asks == ask_about_group(plan, {}, plan.items[0])
    assert group.asks == "12 memories are nothing but a greeting, thanks or a courtesy. May they leave search?"
    assert group.checks == {"yes": "May leave", "no": "Stays"}
    answer_alike(store, plan, group, "yes", by="mara", checked=checked(group))
    assert own(store, plan) == {w.id for w in group.items}
    run = apply_approval(store, str(sign(store, "acme", plan.plan_hash, reviewer="mara").approval_id))
    assert ask(store, "SELECT state, count(*) FROM memory.memories GROUP BY 1 ORDER BY 1") == [
        ("active", 8),
        ("archived", 12),
    ]
    undo_run(store, run.run_id)
    assert digest(store, "acme") == before


def test_questions_about_recalled_rows_come_earlier(store: Store) -> None:
    plan = captains(store, 0, ties=4)
    asked = queue(plan, {}).items
    last = asked[-1]
    row = next(s for s in plan.items if s.id == last.id).item.mutation.rows[0].id
    name = next(f"{ship} {who}" for ship in SHIPS for who in ("Ada", "Otto") if uid(f"{ship} {who}") == row)
    recalled = [
        {"id": f"recall {n}", "query": "the captain", "occurred_at": ago(0.1), "hit_ids": [name]} for n in range(9)
    ]
    remember(store, "acme", recall_events=recalled)
    recalls = count_recalls(store, plan)
    assert recalls == {row: 9}
    found = queue(plan, {}, recalls=recalls)
    moved = [w.id for w in found.items].index(last.id)
    assert moved < len(asked) - 1
    assert found.items[moved].information == pytest.approx(2 * last.information)


def test_draw_sample_is_spread_evenly_and_takes_some_of_each_part() -> None:
    """A smaller sample of a part is in a larger one, so parts left out do not change what was to be checked of the others."""
    (one,) = [draw_sample([range(100)])]
    assert len(one) == SAMPLE
    assert {n // 25 for n in one} == {0, 1, 2, 3}
    assert draw_sample([[1, 2]]) == [1, 2]
    parts = [range(70), range(100, 121), range(200, 203)]
    some = draw_sample(parts)
    assert [sum(n in part for n in some) for part in parts] == [10, 4, 3]
    assert draw_sample(parts[1:2], among=3) == [n for n in some if n in parts[1]]
    assert set(draw_sample(parts[1:2], among=9)) < set(draw_sample(parts[1:2]))


@pytest.mark.parametrize(
    ("relation", "topic"),
    [
        ("the captain of … is", "captain"),
        ("… is the captain of the", "captain"),
        ("captain (name)", "captain"),
        ("the phone number of … is 555", "phone number"),
        ("the contact for … is", "contact"),
        ("is in (name)", "is in"),
        ("employer", "employer"),
    ],
)
def test_topic_of_a_relation_is_the_same_for_all_wordings(relation: str, topic: str) -> None:
    assert QuestionForm("resolve_conflicts", "memories", relation, "later").topic == topic


def test_rare_wordings_of_a_topic_are_one_part() -> None:
    """A wording with many questions is checked by itself, because another one of its topic may have other answers."""
    often, seldom, other, apart = (
        QuestionForm("resolve_conflicts", "memories", relation, "later")
        for relation in ("the owner of … is", "owner (name)", "… is the owner of", "the port of … is")
    )
    forms = [often] * 9 + [seldom] * 2 + [other] * 3 + [apart] * 2
    assert [len(part) for part in split_group(forms, lambda form: form)] == [9, 5, 2]


POSTS = ("captain", "owner", "builder")


def of_posts(group: AlikeQuestions, verdicts: Mapping[str, Sequence[Verdict]]) -> Mapping[str, Verdict]:
    """Return answers to the sample of a group: those of each relation in turn."""
    left = {post: [*of] for post, of in verdicts.items()}
    return {w.id: left[w.form.topic].pop(0) for w in group.sample if w.form}


def test_relations_are_one_group_and_each_gets_the_answer_of_its_sample(store: Store) -> None:
    """A relation with both answers stays open; what was checked counts as a person's own, and is undone exactly."""
    plan = captains(store, 24, posts=POSTS, settings=STRICT)
    before = digest(store, "acme")
    group = group_of(store, plan)
    assert group.asks.startswith("24 statements of 3 relations, such as “the ")
    assert group.asks.endswith(" of … is”, have a later value. Do the later ones hold?")
    assert [label for _, label, _ in group.answers] == ["The later ones hold", "Both stay", "As checked"]
    assert queue(plan, {}, budget=50).items[0].members == 24
    said: Mapping[str, Sequence[Verdict]] = {
        "captain": ["yes"] * 4,
        "owner": ["no"] * 4,
        "builder": ["yes", "no", "yes", "no"],
    }
    sample = of_posts(group, said)
    with pytest.raises(Refused, match="yes or no"):
        answer_alike(store, plan, group, "each", by="mara")
    answer_alike(store, plan, group, "each", by="mara", checked=sample)
    given = {id_: draft.verdict for id_, draft in read_drafts(store, "acme", plan.plan_hash).items()}
    topics = {w.id: w.form.topic for w in group.items if w.form}
    assert {id_ for id_ in topics if topics[id_] != "builder"} | sample.keys() == given.keys()
    assert all(
        verdict == {"captain": "yes", "owner": "no"}.get(topics[id_], sample.get(id_)) for id_, verdict in given.items()
    )
    assert own(store, plan) == given.keys()
    signed = sign(store, "acme", plan.plan_hash, reviewer="mara")
    assert signed.approved == 10, "eight captains and two builders"
    run = apply_approval(store, str(signed.approval_id))
    undo_run(store, run.run_id)
    assert digest(store, "acme") == before


def test_relation_whose_sample_was_not_checked_counts_against_the_cap(store: Store) -> None:
    """Ten answers to questions of two relations do not free those of a third one."""
    plan = captains(store, 24, posts=POSTS)
    group = group_of(store, plan)
    topics = {w.id: w.form.topic for w in group.items if w.form}
    single = [id_ for id_, topic in topics.items() if topic != "builder"]
    for item in single:
        bulk(store, plan, [item])
    bulk(store, plan, [id_ for id_, topic in topics.items() if topic == "builder"])
    assert own(store, plan) == set(single)


def test_sample_of_one_relation_is_ten_together_with_those_of_the_others(store: Store) -> None:
    """Single answers to four other relations make the sample of a fifth one smaller, but seven checked questions are too few."""
    plan = captains(store, 40, posts=(*POSTS, "mascot", "sponsor"))
    parts = group_of(store, plan).parts
    single = {part[0].id for part in parts[1:]} | {w.id for w in draw_sample(parts[:1], among=5)}
    for item in single:
        bulk(store, plan, [item])
    bulk(store, plan, [w.id for w in parts[0]])
    assert own(store, plan) == single
    more = [w.id for part in parts[1:] for w in part[1:2]]
    for item in more:
        bulk(store, plan, [item])
    assert own(store, plan) == single.union(more, (w.id for w in parts[0]))


def test_doubtful_pairs_are_one_group(store: Store) -> None:
    """Pairs of a rule that is often wrong have no relation, and are asked about together if a date says which is later."""
    (item,) = captains(store, 1).items
    evidence = item.item.evidence
    doubtful = {**evidence, "relation": "", "conflict": {"doubtful": True}}
    form = form_of(replace(item, evidence=json.dumps(doubtful)))
    assert form is not None
    assert (form.direction, form.topic, form.is_group) == ("doubtful", "", True)
    assert form_of(replace(item, evidence=json.dumps({**doubtful, "conflict": {}}))) is None
    assert form_of(replace(item, evidence=json.dumps({**doubtful, "side": "though nothing says which"}))) is None


def test_form_of_a_question_without_a_relation_is_none(store: Store) -> None:
    plan = captains(store, 3)
    (item, *_) = plan.items
    assert form_of(item) is not None
    assert form_of(replace(item, evidence="{}")) is None
    assert form_of(replace(item, question="same")) is None


def test_restated_memories_are_one_group_whose_answer_merges_them_and_undoes_exactly(store: Store) -> None:
    """The memory that stays has every statement; the absorbed one leaves the live memories and stays on record."""
    texts = [f"{name} likes {thing}." for name in ("Ada", "Otto", "Vera") for thing in ("tea", "tea and opera")]
    remember(
        store,
        "acme",
        memories=[
            {"id": f"m{n}", "kind": "semantic", "subject": text.split()[0], "current_version_id": f"v{n}"}
            for n, text in enumerate(texts)
        ],
        memory_versions=[{"id": f"v{n}", "memory_id": f"m{n}", "content": text} for n, text in enumerate(texts)],
    )
    before = digest(store, "acme")
    night = run_night(store, "acme", ops="dedupe_memories", force=True)
    assert night.plan is not None
    plan = stored(store, night.plan.plan_hash)
    group = group_of(store, plan)
    assert group.asks == "In 3 pairs a memory states a part of what another one states. Merge them?"
    assert [label for _, label, _ in group.answers] == ["Merge them", "Keep both"]
    assert newest_wins_command(store, plan, group) == ""
    answer_alike(store, plan, group, "yes", by="mara", checked=checked(group))
    assert own(store, plan) == {w.id for w in group.items}
    run = apply_approval(store, str(sign(store, "acme", plan.plan_hash, reviewer="mara").approval_id))
    live = "SELECT id::text FROM memory.memories WHERE invalidated_at IS NULL"
    assert {str(id_) for (id_,) in ask(store, live)} == {uid(f"m{n}") for n in (1, 3, 5)}
    undo_run(store, run.run_id)
    assert digest(store, "acme") == before


def test_value_that_a_conflict_ends_leaves_the_searches_and_stays_in_history(store: Store) -> None:
    """A search of the past, and one that includes retired rows, still find it."""
    texts = {
        "before": ("Ilse is the treasurer of the club.", 9),
        "after": ("Marek is the treasurer of the club now.", 3),
    }
    remember(
        store,
        "acme",
        memories=[
            {
                "id": name,
                "kind": "semantic",
                "subject": text.split()[0],
                "current_version_id": f"v {name}",
                "valid_from": ago(day),
                "recorded_at": ago(day),
            }
            for name, (text, day) in texts.items()
        ],
        memory_versions=[{"id": f"v {n}", "memory_id": n, "content": text} for n, (text, _) in texts.items()],
    )

    def ids(**more: Any) -> set[str]:
        request = SearchRequest(query="treasurer of the club", mode="bm25", **more)
        return {result.id for result in search(store, "acme", request, embedder=None).results}

    assert ids() == {uid("before"), uid("after")}
    night = run_night(store, "acme", ops="contradictions,resolve_conflicts", force=True)
    assert night.plan is not None
    plan = stored(store, night.plan.plan_hash)
    (item,) = plan.items
    assert ids() == {uid("before"), uid("after")}, "nobody has answered"
    save_drafts(store, "acme", plan.plan_hash, [NewDraft(item.id, "yes")], reviewer="mara")
    apply_approval(store, str(sign(store, "acme", plan.plan_hash, reviewer="mara").approval_id))
    assert ids() == {uid("after")}
    assert ids(as_of=ago(5)) == {uid("before")}
    assert ids(include_retired=True) == {uid("before"), uid("after")}
