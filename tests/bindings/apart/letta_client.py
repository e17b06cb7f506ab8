"""The managers of Letta's own server in a process of its own, by lines of JSON (``lines``).

Runs by the Python of its own environment (`make test-stores`), and imports nothing of this project. Arguments: the database's address, that
of a server that speaks OpenAI's protocol. The wheel ships no migrations, so its tables are made from its models.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from lines import Call, answer_with

DATABASE, MODELS = sys.argv[1:]
DIMENSIONS = 64
os.environ.update(
    LETTA_PG_URI=DATABASE,
    LETTA_DIR=str(Path.cwd() / "letta"),
    HOME=str(Path.cwd()),
    OPENAI_API_KEY="none",
    OPENAI_API_BASE=MODELS,
    OPENAI_BASE_URL=MODELS,
    NO_PROXY="*",
    DISABLE_SQLALCHEMY_POOLING="true",
    LETTA_TELEMETRY_DISABLE_TRACING="true",
)


def make_tables() -> None:
    """Its tables, and the sequence that its migrations make."""
    import letta.orm  # noqa: F401 - which enters the models
    from letta.orm.base import Base
    from sqlalchemy import create_engine, text

    engine = create_engine("postgresql+psycopg2://" + DATABASE.split("://", 1)[1])
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(text("CREATE SEQUENCE IF NOT EXISTS message_seq_id"))
        connection.execute(text("ALTER TABLE messages ALTER COLUMN sequence_id SET DEFAULT nextval('message_seq_id')"))
    engine.dispose()


@asynccontextmanager
async def client_of() -> AsyncGenerator[Call]:
    """What is done by its calls."""
    make_tables()
    from letta.schemas.agent import CreateAgent
    from letta.schemas.embedding_config import EmbeddingConfig
    from letta.schemas.llm_config import LLMConfig
    from letta.server.server import SyncServer

    server = SyncServer()
    await server.init_async(init_with_default_org_and_user=True)
    actor = await server.user_manager.get_default_actor_async()
    endpoint = {"model_endpoint_type": "openai", "model_endpoint": MODELS}
    embedding = EmbeddingConfig(
        embedding_model="words",
        embedding_endpoint_type="openai",
        embedding_endpoint=MODELS,
        embedding_dim=DIMENSIONS,
        embedding_chunk_size=300,
    )
    agents = {}

    async def agent_of(bank: str):
        if bank not in agents:
            wanted = CreateAgent(
                name=bank,
                llm_config=LLMConfig(model="words", context_window=32000, **endpoint),
                embedding_config=embedding,
                memory_blocks=[],
                include_base_tools=False,
            )
            agents[bank] = await server.agent_manager.create_agent_async(wanted, actor=actor)
        return agents[bank]

    async def passages(bank: str, **given: object) -> object:
        agent = await agent_of(bank)
        found = await server.agent_manager.query_agent_passages_async(
            actor=actor, agent_id=agent.id, embedding_config=embedding, **given
        )
        flat = [one[0] if isinstance(one, tuple) else one for one in found]
        return [[one.id, one.text, one.archive_id] for one in flat]

    async def call(do: str, bank: str, **given: str | list[str]) -> object:
        if do == "insert":
            agent = await agent_of(bank)
            for text in given["texts"]:
                await server.passage_manager.insert_passage(agent_state=agent, text=text, actor=actor, tags=["seed"])
            return None
        if do == "search":
            return await passages(bank, query_text=given["query"], limit=10, embed_query=True)
        if do == "list":
            return await passages(bank, limit=500)
        if do == "get":
            found = await server.passage_manager.get_agent_passage_by_id_async(given["id"], actor)
            return found and found.text
        if do == "delete":
            await server.passage_manager.delete_agent_passage_by_id_async(given["id"], actor)
            return None
        raise ValueError(do)

    yield call


answer_with(client_of)
