"""Another order, by a model that a local server plays: nothing is lost by it, and nothing that it invents is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave.search.planner import RERANKED, SELECTED, SHOWN, Candidate, reranked, selected
from slowwave.search.request import SearchRequest
from slowwave.search.search import search_on
from slowwave.store.connect import Store
from tests.endpoints import Server
from tests.memories import remember
from tests.models.tiny_onnx import write_model
from tests.search.test_planner import answers, helped, helper
from tests.search.test_search import TODAY, Axes, asked, corpus, file
from tests.snapshots import uid
from tests.wiki.recall.test_wake_rows import KEY

FOUND = [Candidate(f"{n}.md", f"text {n}") for n in range(4)]


@pytest.fixture
def server() -> Iterator[Server]:
    """A server whose answer a test sets."""
    found = Server(lambda *_: (500, {}, {}))
    yield found
    found.close()


def ranking(*scores: tuple[object, object]) -> dict[str, object]:
    """An answer of scores."""
    return {"ranking": [{"chunk_id": id_, "score": score} for id_, score in scores]}


def test_scores_make_the_order_and_what_is_omitted_follows(server: Server) -> None:
    """Unknown candidates, scores that are none and second scores count for nothing."""
    answers(server, ranking(("3", 0.2), ("1", 0.9), ("9", 1), ("0", 7), ("1", 0.1), ("2", "much")))
    assert reranked(helper(server), "q", FOUND).places == [1, 3, 0, 2]


def test_selected_paths_come_first(server: Server) -> None:
    """In the order in which they are named."""
    answers(server, {"selected_paths": ["2.md", "none.md", "1.md"]})
    assert selected(helper(server), "q", FOUND).places == [2, 1, 0, 3]


@pytest.mark.parametrize("step", [reranked, selected])
@pytest.mark.parametrize("said", ["no", "{}", '{"ranking": 1, "selected_paths": 1}'])
def test_nonsense_leaves_the_order(server: Server, step: object, said: str) -> None:
    """Whatever it is."""
    answers(server, said)
    assert step(helper(server), "q", FOUND).places == [0, 1, 2, 3]  # type: ignore[operator]


def test_the_model_reads_a_bounded_part_without_secrets(server: Server) -> None:
    """So many candidates, so many characters, and no id of the store."""
    answers(server, ranking())
    reranked(helper(server), "q", [Candidate("a.md", f"{KEY} {'x' * 900}")] * 99)
    selected(helper(server), "q", FOUND * 9)
    one, other = (json.loads(asked["messages"][1]["content"])["candidates"] for asked in server.requests)
    assert (len(one), len(other)) == (RERANKED, SELECTED)
    assert all(len(candidate["text"]) <= SHOWN and KEY not in candidate["text"] for candidate in one)
    assert {candidate["chunk_id"] for candidate in one} == {str(n) for n in range(RERANKED)}


def test_a_search_is_reranked_where_it_is_set_and_not_refused(store: Store, server: Server) -> None:
    """What was third comes first; a request may do without; a failure leaves the plain order and a warning."""
    corpus(store, *(file(f"p{n}", f"{n}.md", f"tea {'and more ' * n}") for n in range(3)))
    plain = [r.id for r in helped(store, server, "tea", mode="bm25").results]
    assert plain == [uid("p0"), uid("p1"), uid("p2")]
    answers(server, ranking(("2", 0.9)))
    assert helped(store, server, "tea", "rerank", mode="bm25").results[0].id == uid("p2")
    assert [r.id for r in helped(store, server, "tea", "rerank", mode="bm25", k=1).results] == [uid("p2")]
    assert [r.id for r in helped(store, server, "tea", "rerank", mode="bm25", rerank="false").results] == plain
    answers(server, {"selected_paths": ["1.md"]})
    assert helped(store, server, "tea", "select", mode="bm25").results[0].id == uid("p1")
    server.answer = lambda *_: (404, {}, {})
    found = helped(store, server, "tea", "rerank", "select", mode="bm25")
    assert [r.id for r in found.results] == plain
    assert len(found.warnings) == 1
    assert "No reranker is set" in helped(store, server, "tea", mode="bm25", rerank="true").warnings[0]


def test_a_local_reranker_orders_the_results(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the settings decides; a request, a plain search and an exact search do without, and a namespace names no folder."""
    texts = ("tea", "tea and more", "tea and more green")
    remember(store, "acme", {"reranker_model": "elsewhere"})
    corpus(store, *(file(f"p{n}", f"{n}.md", text) for n, text in enumerate(texts)))
    plain = [r.id for r in asked(store, "tea", mode="bm25").results]
    assert plain == [uid("p0"), uid("p1"), uid("p2")]
    assert not asked(store, "tea", mode="bm25").warnings
    folder = str(write_model(tmp_path, {"green": [2], "more": [-1], "tea": [0.5]}, ["score"]))
    monkeypatch.setenv("SLOWWAVE_RERANKER_MODEL", folder)
    reranked_ids = [uid("p2"), uid("p0"), uid("p1")]
    found = asked(store, "tea", mode="bm25", rerank="true")
    assert ([r.id for r in found.results], found.warnings) == (reranked_ids, ())
    assert [r.id for r in asked(store, "tea", mode="bm25", k=1).results] == reranked_ids[:1]
    assert [r.id for r in asked(store, "tea", mode="bm25", rerank="false").results] == plain
    exact, also_exact = (asked(store, "tea", mode="exact", rerank=rerank).results for rerank in ("auto", "false"))
    assert [r.id for r in exact] == [r.id for r in also_exact]
    with store.connect("server") as connection:
        request = SearchRequest(query="tea", mode="bm25")
        assert [
            r.id for r in search_on(connection, "acme", request, embedder=Axes(), today=TODAY, plain=True).results
        ] == plain


@pytest.mark.parametrize("fault", ["nothing", "three labels", "broken"])
def test_a_local_reranker_that_fails_leaves_the_order_and_one_sentence(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The search goes on, whatever is in the folder."""
    corpus(store, *(file(f"p{n}", f"{n}.md", f"tea {'and more ' * n}") for n in range(3)))
    plain = [r.id for r in asked(store, "tea", mode="bm25").results]
    if fault != "nothing":
        write_model(tmp_path, {"more": (1, 1, 1)})
    if fault == "broken":
        (tmp_path / "model.onnx").write_bytes(b"no model")
    monkeypatch.setenv("SLOWWAVE_RERANKER_MODEL", str(tmp_path))
    found = asked(store, "tea", mode="bm25")
    assert [r.id for r in found.results] == plain
    (warning,) = found.warnings
    assert warning.startswith("The results were not reranked. The ")
