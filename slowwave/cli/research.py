"""``slowwave research``: an answer as a page, printed or written into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slowwave.cli.session import Json, Namespace, err, open_store, out, say, show_json
from slowwave.errors import Refused
from slowwave.plans.commands import argument


def research(
    namespace: Namespace,
    question: Annotated[str, typer.Argument(help="What is to be answered.")],
    kind: Annotated[str, typer.Option(help="report, briefing, wiki-note or proposal.")] = "report",
    corpus: Annotated[str, typer.Option(help="durable, sessions or all.")] = "all",
    limit: Annotated[int, typer.Option(min=1, max=20, help="How many sources at most.")] = 8,
    save: Annotated[
        Path | None, typer.Option(help="Folder of a corpus in which the page is written, over no file.")
    ] = None,
    json: Json = False,
) -> None:
    """Answer a question as a page in Markdown, each line with its sources."""
    from slowwave.api.memory import Memory

    told = Memory(namespace, open_store()).research(question, kind=kind, corpus=corpus, limit=limit)
    written = None if save is None else _written(save, told.research.target, told.research.page)
    if json:
        show_json(told.model_dump(mode="json"))
        return
    for warning in told.warnings:
        say(warning, console=err)
    if written is None:
        out.print(told.research.body, markup=False, highlight=False, soft_wrap=True, end="")
    else:
        say(f"Written: {written}. `slowwave corpus sync {argument(namespace)}` takes it into memory.")


def _written(folder: Path, target: str, text: str) -> Path:
    """The file that was made. Raises ``Refused`` for a folder that is none, and where a file is there already."""
    if not folder.is_dir():
        raise Refused(f"{str(folder)[:200]!r} is no folder. Nothing was written.")
    file = folder / target
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.parent.resolve().is_relative_to(folder.resolve()):
        raise Refused(f"{target} leads out of the folder. Nothing was written.")
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise Refused(f"{target} is there already. Nothing was written.") from None
    return file
