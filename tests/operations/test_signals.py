"""Recall signals: nexo's golden values, the weights that sum to one, and what the SQL model says of the same events."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.operations.options import SIGNAL_WEIGHTS
from slowwave.operations.scoring import (
    Recalls,
    nexo_queries,
    nexo_signals,
    recalls_of,
    score_memories,
    signals,
)
from slowwave.snapshots.models import load_models, run_models
from slowwave.snapshots.snapshot import Snapshot
from slowwave.store.settings import Settings
from tests.snapshots import TAKEN_AT, make_inputs, make_snapshot, uid

SIGNALS = ("frequency", "relevance", "recency", "diversity", "consolidation", "selected_rate")


def uses(
    recalls: float, relevance: float, queries: float, days: float, days_since: float, selections: float = 0
) -> Recalls:
    """One row."""
    return Recalls(*(np.array([v], np.float64) for v in (recalls, queries, days, selections, relevance, days_since)))


@pytest.mark.parametrize(
    ("used", "printed", "exact"),
    [
        (uses(3, 1, 3, 1, 0), 0.7310, 0.24 * math.log(4) / math.log(7) + 0.30 + 0.15 + 0.15 * 0.6 + 0.10 * 0.2),
        (uses(3, 0.1, 2, 1, 0), 0.4310, 0.24 * math.log(4) / math.log(7) + 0.03 + 0.15 + 0.15 * 0.4 + 0.10 * 0.2),
        (
            uses(3, 0.1, 2, 1, 365),
            0.2900,
            0.24 * math.log(4) / math.log(7) + 0.03 + 0.15 * 0.5 ** (365 / 90) + 0.15 * 0.4 + 0.10 * 0.2,
        ),
        (
            uses(6, (1 + 0.5 + 0.333 + 1 + 0.5 + 0.2) / 6, 4, 3, 10),
            0.7355,
            0.24 + 0.30 * 3.533 / 6 + 0.15 * 0.5 ** (10 / 90) + 0.15 * 0.8 + 0.10 * 0.6,
        ),
    ],
)
def test_nexos_golden_values(used: Recalls, printed: float, exact: float) -> None:
    """The compatible formula to 1e-6, and to the four digits that are printed."""
    score = nexo_signals(used, 90.0).score[0]
    assert score == pytest.approx(exact, abs=1e-6)
    assert round(float(score), 4) == pytest.approx(printed, abs=1e-9)


def test_nexos_golden_signals() -> None:
    """Six hits on three days by four questions, the last ten days ago."""
    found = nexo_signals(uses(6, 3.533 / 6, 4, 3, 10), 90.0)
    printed = (1, 0.5889, 0.9259, 0.8, 0.6)
    names = ("frequency", "relevance", "recency", "diversity", "consolidation")
    assert [round(float(getattr(found, n)[0]), 4) for n in names] == pytest.approx(printed, abs=1e-4)


def test_in_nexo_two_days_pass_for_two_questions() -> None:
    """Its gate rebuilds the questions from diversity, to which days count as well; ours has the questions themselves."""
    used = uses(3, 1, 1, 2, 0)
    assert nexo_queries(nexo_signals(used, 90.0))[0] == 2
    assert round(float(nexo_signals(used, 90.0).score[0]), 4) == 0.7210
    assert signals(used, 90.0).diversity[0] == pytest.approx(0.2)


def test_weights_sum_to_one_and_nexos_to_its_own() -> None:
    """What saturates every signal scores 1, and 0.94 in nexo."""
    assert sum(SIGNAL_WEIGHTS.values()) == pytest.approx(1)
    most = uses(50, 1, 9, 9, 0, 50)
    assert signals(most, 90.0).score[0] == pytest.approx(1)
    assert nexo_signals(most, 90.0).score[0] == pytest.approx(0.94)


counts = st.integers(0, 60)


@given(
    n=counts, more=st.integers(0, 9), queries=counts, days=counts, relevance=st.floats(0, 1), since=st.floats(0, 1e5)
)
def test_scores_are_within_0_and_1_and_more_use_never_lowers_them(
    n: int, more: int, queries: int, days: int, relevance: float, since: float
) -> None:
    """More recalls, questions and days, of the same relevance and no longer ago."""
    for formula in (lambda u: signals(u, 90.0), lambda u: nexo_signals(u, 90.0)):
        less = formula(uses(n, relevance, queries, days, since))
        greater = formula(uses(n + more, relevance, queries + more, days + more, since * 0.9))
        assert 0 <= less.score[0] <= greater.score[0] <= 1
        assert all(0 <= getattr(less, name)[0] <= 1 for name in SIGNALS)


def recalled() -> Snapshot:
    """Three memories of different kinds, recalled here and there, and one that never was."""
    events = [
        {"query": f"question {n % 3}", "occurred_at": TAKEN_AT - timedelta(days=20 * n, hours=1),
         "hit_ids": [uid("a"), uid("b"), uid("c")][: n + 1], "selected_ids": [uid("b")][: n % 2], "scores": []}
        for n in range(4)
    ]  # fmt: skip
    kinds = {"a": "feedback", "b": "episodic", "c": "reference", "never": "user"}
    return make_snapshot(recall_events=events, memories=[{"id": uid(n), "kind": k} for n, k in kinds.items()])


def test_formulas_and_sql_model_agree() -> None:
    """With one half-life, the window, the model's columns are the formulas'."""
    model = make_inputs(recalled()).models["recall_signals"]
    found = signals(recalls_of(model["row_id"], model, TAKEN_AT), 90.0)
    for name in (*SIGNALS, "score"):
        assert getattr(found, name) == pytest.approx(model[name].to_numpy()), name


def test_a_memory_has_the_recency_of_its_kind() -> None:
    """A person's preference is as fresh after two months as on the day; an episode is not; what was never recalled scores 0."""
    snapshot = recalled()
    memories = snapshot.table("memories")
    inputs = make_inputs(snapshot)
    found = score_memories(memories, inputs.models, inputs.settings, TAKEN_AT)
    recency = dict(zip(memories["id"].to_pylist(), found.signals.recency.tolist(), strict=True))
    hour = 1 / 24
    assert recency[uid("a")] == pytest.approx(0.5 ** (hour / 365))
    assert recency[uid("b")] == pytest.approx(0.5 ** ((20 + hour) / 90))
    assert recency[uid("c")] == pytest.approx(0.5 ** ((40 + hour) / 10_000))
    score = dict(zip(memories["id"].to_pylist(), found.signals.score.tolist(), strict=True))
    assert score[uid("never")] == 0


def test_compat_takes_all_of_the_history_and_questions_word_for_word() -> None:
    """A recall of two years ago counts, and its rank is its score whatever was logged."""
    events = [
        {"query": q, "occurred_at": TAKEN_AT - timedelta(days=d), "hit_ids": [uid("x"), uid("m")], "scores": [9.0, 9.0]}
        for q, d in (("Where?", 700), ("where", 1))
    ]
    snapshot = make_snapshot(
        settings={"signals_compat": True}, recall_events=events, memories=[{"id": uid("m"), "kind": "project"}]
    )
    inputs = make_inputs(snapshot)
    found = score_memories(snapshot.table("memories"), inputs.models, inputs.settings, TAKEN_AT)
    assert (found.uses.recalls[0], found.uses.queries[0], found.uses.relevance[0]) == (2, 2, 0.5)
    assert found.days[0] == math.inf, "no gate on days"
    ours = run_models(load_models(), snapshot, Settings())["recall_signals"].to_pylist()
    assert {r["recalls"] for r in ours} == {1}
