"""The real packages: a compiled graph of LangGraph and the two tools of LangMem remember in a namespace, against a scripted model."""

from __future__ import annotations

import json
from typing import Any, cast

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langmem import create_manage_memory_tool, create_search_memory_tool

import slowwave
from slowwave.store.connect import Store
from slowwave.wiki.agents.langgraph_store import SlowwaveStore
from tests.wiki.agents.models import ScriptedModel, calls


def test_a_graph_remembers_across_threads(store: Store) -> None:
    """What a node puts in one conversation another reads in the next."""
    model = ScriptedModel(script=[AIMessage("Noted."), AIMessage("Green tea.")])

    def answer(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        assert runtime.store is not None
        said = str(state["messages"][-1].content)
        known = runtime.store.search(("notes", "mara"), query=said)
        runtime.store.put(("notes", "mara"), f"note-{len(known)}", {"content": said})
        told = [HumanMessage(f"Known: {item.value['content']}") for item in known]
        return {"messages": [model.invoke([*told, *state["messages"]])]}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    with SlowwaveStore("acme", store) as items:
        compiled = graph.compile(store=items)
        compiled.invoke({"messages": [HumanMessage("I drink green tea in the morning.")]})
        said = compiled.invoke({"messages": [HumanMessage("What do I drink in the morning?")]})
    assert said["messages"][-1].content == "Green tea."
    assert model.shown[1][0].content == "Known: I drink green tea in the morning."
    assert slowwave.Memory("acme", store).search("green tea").results[0].kind == "memories"


def tooled(model: ScriptedModel, items: BaseStore) -> Any:
    """A graph that lets a model call LangMem's tools until it has none to call."""
    tools = [
        create_manage_memory_tool(namespace=("memories", "{user}")),
        create_search_memory_tool(namespace=("memories", "{user}")),
    ]
    bound = model.bind_tools(tools)

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])]}

    graph = (
        StateGraph(MessagesState).add_node("think", think).add_node("tools", ToolNode(tools)).add_edge(START, "think")
    )
    return graph.add_conditional_edges("think", tools_condition).add_edge("tools", "think").compile(store=items)


def test_langmem_creates_searches_updates_and_deletes(store: Store) -> None:
    """Each user has a namespace; the key that the tool drew leads to the memory."""
    mara = {"configurable": {"user": "mara"}}
    with SlowwaveStore("acme", store) as items:

        def run(*script: AIMessage, config: dict[str, Any] = mara) -> list[Any]:
            graph = tooled(ScriptedModel(script=[*script, AIMessage("Done.")], shown=[]), items)
            return graph.invoke({"messages": [HumanMessage("Go on.")]}, config)["messages"]

        run(calls("manage_memory", action="create", content="Mara lives in Oslo."))
        (item,) = items.search(("memories", "mara"))
        found = run(calls("search_memory", query="Where does she live?"))[2].content
        assert [hit["value"] for hit in json.loads(cast("str", found))] == [{"content": "Mara lives in Oslo."}]
        nobody = run(calls("search_memory", query="Where does she live?"), config={"configurable": {"user": "ada"}})
        assert nobody[2].content == "[]"
        run(calls("manage_memory", action="update", content="Mara lives in Bergen.", id=item.key))
        changed = items.get(("memories", "mara"), item.key)
        assert changed is not None
        assert changed.value == {"content": "Mara lives in Bergen."}
        run(calls("manage_memory", action="delete", id=item.key))
        assert items.search(("memories",)) == []
    assert slowwave.Memory("acme", store).search("Bergen", include_retired=True).count == 1
