"""A client's calls as lines of JSON: one for each call, and one for its answer. It imports nothing but the standard library: whoever runs
it has the environment of a client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

Call = Callable[..., Awaitable[object]]
"""Does something (``do``) in a bank, with what is given besides."""


def answer_with(client: Callable[[], AbstractAsyncContextManager[Call]]) -> None:
    """Answer calls until there is none, by the ``client`` that is open until then. Whatever libraries print goes to the errors, so that
    answers stay lines of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**answer: object) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    async def answer() -> None:
        async with client() as call:
            tell(found="ready")
            for line in sys.stdin:
                try:
                    found = await call(**json.loads(line))
                except Exception as problem:  # noqa: BLE001 - the test says what it means
                    tell(problem=f"{type(problem).__name__}: {problem}"[:2000])
                else:
                    tell(found=found)

    asyncio.run(answer())
