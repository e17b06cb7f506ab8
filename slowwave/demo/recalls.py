"""What a demo agent has looked up over sixty days: recall events, and the counters that they leave on memories."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Final

from slowwave.demo.scribe import PlantedQuery, Row, Script
from slowwave.demo.world import World

WINDOW: Final = timedelta(days=60)

_PHRASINGS: Final = ("{}", "{}", "Remind me: {}")


def make_recalls(world: World, script: Script, rng: random.Random, now: datetime) -> list[Row]:
    """Two or three events a question, by time. Hits are ids of memories, chunks and entities, best first, with falling scores.

    Selected hits are those that the agent used: always the answer, at times its chunk and what it is about. The answer's
    ``access_count`` and ``last_accessed_at`` follow.
    """
    memories = {row["id"]: row for row in script.memories}
    elsewhere = [row["id"] for row in script.memories if row["kind"] == "episodic"]
    events: list[Row] = []
    for number, question in enumerate(script.questions):
        for repeat in range(rng.randint(2, 3)):
            earliest = max(question.asked_after, now - WINDOW)
            when = earliest + (now - earliest) * rng.uniform(0.02, 0.95)
            hits, selected = _answer(question, elsewhere, rng)
            scale = world.abstention.scale
            scores = sorted((round(scale * rng.uniform(0.31, 0.93), 4) for _ in hits), reverse=True)
            events.append(
                {
                    "id": world.id("recall", number, repeat),
                    "namespace_id": world.id(),
                    "external_id": f"recall-{number:03}-{repeat}",
                    "occurred_at": when,
                    "query": rng.choice(_PHRASINGS).format(question.text),
                    "hit_ids": hits,
                    "selected_ids": selected,
                    "scores": scores,
                }
            )
            answer = memories[question.memory]
            answer["access_count"] += 1
            answer["last_accessed_at"] = max(when, answer["last_accessed_at"] or when)
    return sorted(events, key=lambda event: (event["occurred_at"], event["id"]))


def _answer(question: PlantedQuery, elsewhere: list[str], rng: random.Random) -> tuple[list[str], list[str]]:
    """Hits and selected hits. The answer stands first, or second in about a third of the cases."""
    about = [figure.id for figure in question.figures]
    hits = [question.memory, question.chunk, *about, *rng.sample(question.neighbours, min(2, len(question.neighbours)))]
    hits += [memory for memory in rng.sample(elsewhere, 3) if memory not in hits]
    selected = [question.memory]
    if rng.random() < 0.3:
        selected.append(question.chunk)
    if about and rng.random() < 0.2:
        selected.append(about[0])
    if rng.random() < 0.35:
        hits[0], hits[1] = hits[1], hits[0]
    return hits, selected
