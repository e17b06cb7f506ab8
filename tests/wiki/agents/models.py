"""A chat model of LangChain that says what a script says, and keeps what it was shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    """Answers with the next message of ``script``; ``shown`` are the messages of each call."""

    script: list[AIMessage]
    shown: list[list[BaseMessage]] = []  # noqa: RUF012 - a field of a pydantic model, copied for each

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.shown.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.script[len(self.shown) - 1])])

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> ScriptedModel:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


def calls(name: str, **arguments: Any) -> AIMessage:
    """A message that calls one tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=arguments, id=f"call-{name}-{len(str(arguments))}")])
