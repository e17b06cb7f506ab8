"""``SlowwaveStore`` answers as LangGraph's own ``InMemoryStore`` does, whatever is put, deleted, read, listed and filtered.

Where the two differ on purpose: the store in memory lists namespaces that were read and never written, or that are empty again, and tells
items in the order in which they were first put; ours tells those that changed last first.
"""

from __future__ import annotations

from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from slowwave.store.connect import Store
from slowwave.wiki.agents.langgraph_store import SlowwaveStore

LABELS = st.sampled_from(["users", "mara", "a/b", "%2F", "*", "ü 1"])
SPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
KEYS = st.sampled_from(["k", "k/2", "%25", "0b9c3f6e-5a53-4a5e-9f0e-2d4c7b8a9e01", "deadbeefdeadbeef"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12) | st.sampled_from(
    ["I like tea.", "I like coffee."]
)
NUMBERS = st.integers(-3, 3) | st.floats(-1e12, 1e12, allow_nan=False)
VALUES = st.fixed_dictionaries(
    {"n": NUMBERS},
    optional={
        "text": TEXTS,
        "done": st.booleans() | st.none(),
        "tags": st.lists(st.sampled_from(["x", "y", ""]), max_size=2),
        "of": st.fixed_dictionaries({}, optional={"n": st.integers(0, 2), "t": TEXTS}),
    },
)
FILTERS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "n": NUMBERS
        | st.dictionaries(
            st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), NUMBERS, min_size=1, max_size=2
        ),
        "text": TEXTS | TEXTS.map(lambda text: {"$ne": text}),
        "done": st.booleans() | st.none(),
        "tags": st.lists(st.sampled_from(["x", "y", ""]), max_size=2),
        "of": st.fixed_dictionaries({}, optional={"n": st.integers(0, 2), "t": st.none()}),
        "missing": st.none() | st.just({"$ne": 1}),
    },
)
CONDITIONS = st.lists(
    st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), st.lists(LABELS, max_size=2).map(tuple)),
    max_size=2,
).map(tuple)
PUTS = st.builds(PutOp, SPACES, KEYS, VALUES | st.none(), st.sampled_from([None, False, ["text"], ["of.t", "tags[*]"]]))
GETS = st.builds(GetOp, SPACES, KEYS)
SEARCHES = st.builds(SearchOp, PREFIXES, FILTERS, st.just(1_000), st.just(0), st.just(""))
LISTS = st.builds(ListNamespacesOp, CONDITIONS, st.none() | st.integers(1, 3), st.integers(0, 9), st.integers(0, 3))


def plain(answer: Any) -> Any:
    """An answer without instants and order, neither of which LangGraph promises."""
    if isinstance(answer, Item):
        return answer.namespace, answer.key, answer.value
    if isinstance(answer, list) and answer and isinstance(answer[0], Item):
        return sorted((plain(item) for item in answer), key=repr)
    return answer


class Conformance(RuleBasedStateMachine):
    """Two stores that are told the same."""

    database: Store

    def __init__(self) -> None:
        super().__init__()
        self.reference = InMemoryStore()
        self.store = SlowwaveStore(f"n-{uuid4()}", self.database)

    def same(self, *ops: Op) -> None:
        """Both answer one batch alike."""
        data = self.reference._data  # pyright: ignore[reportPrivateUsage] - it has no other way to forget what is empty
        for space in [space for space, items in data.items() if not items]:
            del data[space]
        lists = [op for op in ops if isinstance(op, ListNamespacesOp)]
        others = [op for op in ops if not isinstance(op, ListNamespacesOp)]
        expected = self.reference.batch([*lists, *others])  # lists first: a get would add a namespace
        assert [*map(plain, self.store.batch([*lists, *others]))] == [*map(plain, expected)]

    @rule(op=PUTS)
    def put(self, op: PutOp) -> None:
        self.same(op)

    @rule(op=PUTS)
    def put_and_get(self, op: PutOp) -> None:
        self.same(op)
        self.same(GetOp(op.namespace, op.key))

    @rule(op=GETS)
    def get(self, op: GetOp) -> None:
        self.same(op)

    @rule(op=SEARCHES)
    def search(self, op: SearchOp) -> None:
        self.same(op)

    @rule(op=LISTS)
    def list_namespaces(self, op: ListNamespacesOp) -> None:
        self.same(op)

    @rule(ops=st.lists(PUTS | GETS | SEARCHES | LISTS, max_size=8))
    def batch(self, ops: list[Op]) -> None:
        self.same(*ops)

    @rule(prefix=PREFIXES, wanted=FILTERS, size=st.integers(1, 3))
    def pages(self, prefix: tuple[str, ...], wanted: dict[str, Any] | None, size: int) -> None:
        """Pages are the whole, each item once and in one order."""
        whole = self.store.search(prefix, filter=wanted, limit=1_000)
        pages = [
            self.store.search(prefix, filter=wanted, limit=size, offset=start)
            for start in range(0, len(whole) + 1, size)
        ]
        assert [item for page in pages for item in page] == whole

    def teardown(self) -> None:
        """No item is left behind another's back: what is live in the reference is live here."""
        self.same(SearchOp((), None, 1_000, 0), ListNamespacesOp(None, None, 1_000, 0))
        self.store.close()


def test_it_answers_as_langgraphs_own_store(store: Store) -> None:
    """Whole batches and single calls, namespaces with every character, and filters of every kind."""
    machine = type("Conformance", (Conformance,), {"database": store})
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=30))


@pytest.mark.parametrize("value", [{"n": 1}, {"n": True}, {"n": [1, {"a": None}]}, {"text": "é\u2028"}, {}])
def test_a_value_comes_back_as_it_was_put(store: Store, value: dict[str, Any]) -> None:
    """Types included: neither true nor 1 is 1.0, which Python takes for equal."""
    items = SlowwaveStore("acme", store)
    items.put(("a",), "k", {"n": 1.0})
    items.put(("a",), "k", value)
    found = items.get(("a",), "k")
    assert found is not None
    assert repr(found.value) == repr(value)


def test_every_condition_on_namespaces_is_met_alike(store: Store) -> None:
    """Prefixes and suffixes of up to three labels, with and without wildcards, at every depth."""
    items, reference = SlowwaveStore("acme", store), InMemoryStore()
    spaces = [space for n in (1, 2, 3) for space in product("ab", repeat=n)]
    puts: list[Op] = [PutOp(space, "k", {"n": 1}) for space in spaces]
    assert items.batch(puts) == reference.batch(puts)
    conditions = [
        MatchCondition(kind, path)
        for kind in ("prefix", "suffix")
        for n in range(4)
        for path in product("ab*", repeat=n)
    ]
    lists: list[Op] = [ListNamespacesOp((c,), depth, 100, 0) for c in conditions for depth in (None, 1, 2)]
    assert items.batch(lists) == reference.batch(lists)
