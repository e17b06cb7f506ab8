"""The maintenance benchmark: its histories and labels, its scores of systems that follow from the definitions, and Slowwave in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.maintenance import __main__ as program
from benchmarks.maintenance.adapter import LiveText, Question, Statement
from benchmarks.maintenance.adapters import SHARE, DeleteRandomly, DoNothing, KeepNewest, Slowwave, SlowwaveNewestWins
from benchmarks.maintenance.generator import KINDS, STATED, History, PublicPair, generate, read_grammar
from benchmarks.maintenance.scorer import score, score_history

HISTORIES = generate(20, seed=7)


class Oracle(DoNothing):
    """A system that knows the labels: it deletes what must end, or asks about it."""

    name = "oracle"

    def __init__(self, history: History, *, asks: bool = False) -> None:
        super().__init__()
        self._history, self._asks = history, asks

    def maintain(self) -> None:
        if not self._asks:
            self._kept = [one for one in self._kept if one.id not in self._history.must_end()]

    def questions(self) -> list[Question]:
        ended = self._history.must_end() if self._asks else frozenset[int]()
        return [Question(frozenset((k, min(self._history.labels[k].ended_by)))) for k in ended]


class Fixed(DoNothing):
    """A system with given live texts and questions after maintenance."""

    def __init__(self, live: Sequence[LiveText] = (), questions: Sequence[Question] = ()) -> None:
        super().__init__()
        self._live, self._questions, self._maintained = list(live), list(questions), False

    def maintain(self) -> None:
        self._maintained = True

    def live(self) -> list[LiveText]:
        return self._live if self._maintained else super().live()

    def questions(self) -> list[Question]:
        return self._questions


def test_generate_with_equal_seeds_makes_equal_histories() -> None:
    assert generate(3, seed=7) == list(HISTORIES[:3])
    assert generate(3, seed=8) != list(HISTORIES[:3])


def test_relations_have_at_least_four_phrasings_in_every_register() -> None:
    relations = read_grammar()["relation"]
    assert len(relations) >= 25
    assert len({r.get("many", False) for r in relations}) == 2
    for relation in relations:
        assert all(relation[register] for register in (*STATED, "news")), relation["name"]
        assert sum(len(relation[register]) for register in STATED) >= 4, relation["name"]
        stated = [t for r in (*STATED, "news") for t in relation[r]] + [*relation["ended"], relation["clause"]]
        assert all("{v}" in t for t in stated), relation["name"]
        assert "subjects" not in relation or all("{s}" in t for t in stated), relation["name"]


def test_values_of_a_pool_do_not_contain_each_other() -> None:
    for pool in read_grammar()["pools"].values():
        assert not [(a, b) for a in pool for b in pool if a != b and a.casefold() in b.casefold()]


def test_labels_agree_with_texts_and_times() -> None:
    for history in HISTORIES:
        assert [s.id for s in history.statements] == list(range(len(history.statements)))
        assert [s.at for s in history.statements] == sorted(s.at for s in history.statements)
        for statement, label in zip(history.statements, history.labels, strict=True):
            assert "{" not in statement.text
            assert label.contains.casefold() in statement.text.casefold()
            assert label.claim.subject.casefold() in statement.text.casefold()
            for end in label.ended_by:
                assert end > statement.id
                assert history.labels[end].claim[:2] == label.claim[:2]
                assert history.labels[end].claim != label.claim


def test_only_kinds_that_change_end_statements() -> None:
    ending = {label.kind for history in HISTORIES for label in history.labels if label.ended_by}
    assert ending == {"change", "repeated change", "return", "correction", "withdrawal"}
    moods = {(label.kind, label.claim.mood) for history in HISTORIES for label in history.labels}
    assert {("condition", "condition"), ("quotation", "quotation"), ("hypothesis", "hypothesis")} <= moods


def test_coexisting_pairs_include_two_values_of_a_relation_with_many() -> None:
    for history in HISTORIES:
        kinds = {history.labels[a].kind for a, _ in history.coexisting()}
        assert {"coexistence", "condition", "quotation", "hypothesis"} <= kinds
        assert not any({a, b} & history.must_end() for a, b in history.coexisting())


def test_return_leaves_the_first_statement_true() -> None:
    for history in HISTORIES:
        first, second, third = (k for k, label in enumerate(history.labels) if label.kind == "return")
        assert history.labels[first].claim == history.labels[third].claim
        assert history.must_end() & {first, second, third} == {second}


def test_questions_have_an_answer_that_holds_and_none_that_is_over() -> None:
    for history in HISTORIES:
        assert len(history.asked) == len(KINDS)
        for asked in history.asked:
            assert asked.right
            assert asked.right <= history.true_claims()
            assert not asked.ended & history.true_claims()


def test_public_pairs_are_added_with_their_labels() -> None:
    pairs = [PublicPair(str(n), f"Claim {n}.", f"Other claim {n}.", n % 2 == 0) for n in range(4)]
    history = generate(1, seed=7, pairs=pairs)[0]
    public = {s.text: label for s, label in zip(history.statements, history.labels, strict=True) if "laim" in s.text}
    assert len(public) == 8
    assert {text for text, label in public.items() if label.ended_by} == {"Claim 0.", "Claim 2."}
    assert len(history.asked) == len(KINDS)


def test_score_of_do_nothing_finds_and_breaks_nothing() -> None:
    result = score(HISTORIES, DoNothing)
    assert (result.ended, result.asked, result.questions, result.wrong_changes) == (0, 0, 0, 0)
    assert result.changes == sum(len(history.must_end()) for history in HISTORIES)
    assert result.answered_after == result.answered_before > 0
    assert result.tokens_after == result.tokens_before


def test_score_of_keep_newest_counts_deleted_statements() -> None:
    history = HISTORIES[0]
    deleted = set(range(round(SHARE * len(history.statements))))
    result = score_history(history, KeepNewest())
    left = {label.claim for k, label in enumerate(history.labels) if k not in deleted}
    assert result.ended == len(history.must_end() & deleted)
    assert result.wrong_changes == len(history.true_claims() - left) > 0
    assert result.tokens_after < result.tokens_before


def test_score_of_delete_randomly_ends_about_its_share() -> None:
    result = score(HISTORIES, DeleteRandomly)
    assert SHARE / 2 < result.ended / result.changes < SHARE * 2
    assert result.wrong_changes > result.ended
    assert result.to_json() == score(HISTORIES, DeleteRandomly).to_json() | {
        "cpu_seconds": result.to_json()["cpu_seconds"]
    }


def test_score_of_an_oracle_finds_all_changes_and_improves_answers() -> None:
    for history in HISTORIES:
        ends, asks = score_history(history, Oracle(history)), score_history(history, Oracle(history, asks=True))
        assert (ends.ended, ends.wrong_changes) == (ends.changes, 0)
        assert (asks.asked, asks.ended, asks.wrong_questions, asks.questions) == (asks.changes, 0, 0, asks.changes)
        assert asks.answered_after == asks.answered_before
        assert asks.answered_if_reviewed == ends.answered_after > ends.answered_before


def test_score_counts_a_merge_that_loses_a_value_as_a_wrong_change() -> None:
    history = HISTORIES[0]
    a, b = next(pair for pair in history.coexisting() if history.labels[pair[0]].kind == "coexistence")
    kept = [LiveText(s.text, frozenset((s.id,))) for s in history.statements if s.id not in (a, b)]
    text = history.statements[a].text
    assert score_history(history, Fixed([*kept, LiveText(text, frozenset((a, b)))])).wrong_changes == 1
    both = f"{text} {history.statements[b].text}"
    assert score_history(history, Fixed([*kept, LiveText(both, frozenset((a, b)))])).wrong_changes == 0


def test_score_calls_a_question_about_coexisting_statements_wrong() -> None:
    history = HISTORIES[0]
    pair = frozenset(next(iter(history.coexisting())))
    repeated = frozenset(k for k, label in enumerate(history.labels) if label.kind == "repetition")
    live = [LiveText(s.text, frozenset((s.id,))) for s in history.statements]
    asked = [Question(pair), Question(pair, "other"), Question(repeated)]
    result = score_history(history, Fixed(live, asked))
    assert (result.questions, result.wrong_questions) == (3, 1)


def test_slowwave_keeps_all_true_claims_and_asks_about_changes() -> None:
    result = score(HISTORIES[:5], Slowwave)
    assert result.wrong_changes == 0
    assert result.asked > 0
    assert result.wrong_questions < result.questions / 2
    assert result.answered_if_reviewed > result.answered_before


def test_slowwave_with_newest_wins_ends_statements_unasked() -> None:
    form = [
        Statement(k, f"The captain of the Aurora is {name}.", HISTORIES[0].statements[k].at, f"day {k}")
        for k, name in enumerate(("Ada Berg", "Otto Lund"))
    ]
    system = SlowwaveNewestWins()
    system.load(form)
    system.maintain()
    assert [live.sources for live in system.live()] == [{1}]
    assert not system.questions()


def test_program_measures_a_named_adapter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    named = "benchmarks.maintenance.adapters:KeepNewest"
    monkeypatch.setattr(sys, "argv", ["maintenance", "--histories", "2", "--adapter", named, "--json"])
    program.main()
    printed = json.loads(capsys.readouterr().out)
    assert printed == {
        "keep newest": score(generate(2, 0), KeepNewest).to_json() | {"cpu_seconds": pytest.approx(0, abs=5)}
    }


def test_program_writes_tables_of_both_systems_between_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("\n".join(("# Before", *program.MARKS, "After")), encoding="utf-8")
    monkeypatch.setattr(program, "PAGE", page)
    monkeypatch.setattr(program, "ADAPTERS", (Slowwave, DoNothing))
    monkeypatch.setattr(sys, "argv", ["maintenance", "--histories", "2", "--write"])
    program.main()
    written = page.read_text(encoding="utf-8")
    assert written.startswith("# Before")
    assert written.endswith("After")
    assert "| do nothing | 0.000 | 0 |" in written
    assert "### Slowwave: changes by phrasing" in written
    assert "### do nothing: changes" not in written
