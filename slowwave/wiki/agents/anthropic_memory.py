"""Anthropic's memory tool over a namespace: ``AnthropicMemory`` and its async twin.

They are for the tool runner of the package ``anthropic``. A model sees files under /memories, which are pages of the namespace
(``slowwave.wiki.corpus.memory_files``): every edit is a version, every deletion a tombstone, text that screening refuses is not stored,
and searches find the current text. Answers and errors are those of the tool's documentation. Needs ``slowwave[anthropic]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anyio.to_thread import run_sync

from slowwave.errors import AlreadyThere, NotInCorpus, Refused
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store
from slowwave.wiki.corpus.memory_files import MemoryFile, MemoryFiles

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )


Answer = TypeVar("Answer")

ROOT: Final = "/memories"
MOST_LINES: Final = 999_999
_WIDTH: Final = len(str(MOST_LINES))
_AROUND: Final = 2  # lines shown above and below a change
_SIZES: Final = ("B", "K", "M", "G")


class _Commands:
    """The six commands over the files of a namespace, with the messages of the tool's documentation."""

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files

    def view(self, path: str, view_range: Sequence[int] | None) -> str:
        name = _name_of(path)
        files = self._files.files()
        if name in {file.name for file in files}:
            return _numbered_page(path, _found(path, lambda: self._files.read(name)), view_range)
        inside = [file for file in files if not name or file.name.startswith(f"{name}/")]
        if name and not inside:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return _listing(path.rstrip("/"), name, inside)

    def create(self, path: str, text: str) -> str:
        name = _file_name(path)
        _with_tool_errors(lambda: self._files.create(name, text), there=f"Error: File {path} already exists")
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old: str, new: str) -> str:
        name, at = _file_name(path), 0

        def replaced(text: str) -> str:
            nonlocal at
            at = _only_place(path, text, old)
            return text[:at] + new + text[at + len(old) :]

        missing = f"Error: The path {path} does not exist. Please provide a valid path."
        text = _with_tool_errors(lambda: self._files.edit(name, replaced), missing=missing)
        return f"The memory file has been edited.\n{_snippet(text, at, new)}"

    def insert(self, path: str, line: int, inserted: str) -> str:
        name = _file_name(path)

        def longer(text: str) -> str:
            lines = text.split("\n")
            ended = lines[-1] == ""
            lines = lines[:-1] if ended else lines
            if not 0 <= line <= len(lines):
                raise ToolError(
                    f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: "
                    f"[0, {len(lines)}]"
                )
            lines[line:line] = inserted.removesuffix("\n").split("\n")
            return "\n".join(lines) + "\n"

        _with_tool_errors(lambda: self._files.edit(name, longer), missing=f"Error: The path {path} does not exist")
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        name = _name_of(path)
        if not name:
            raise ToolError(f"Error: {ROOT} itself cannot be deleted")
        _with_tool_errors(lambda: self._files.delete(name), missing=f"Error: The path {path} does not exist")
        return f"Successfully deleted {path}"

    def rename(self, old: str, new: str) -> str:
        name, other = _name_of(old), _file_name(new)
        if not name:
            raise ToolError(f"Error: {ROOT} itself cannot be renamed")
        _with_tool_errors(
            lambda: self._files.rename(name, other),
            missing=f"Error: The path {old} does not exist",
            there=f"Error: The destination {new} already exists",
        )
        return f"Successfully renamed {old} to {new}"

    def clear(self) -> str:
        _with_tool_errors(lambda: self._files.delete(""))
        return "All memory cleared"


class AnthropicMemory(BetaAbstractMemoryTool):
    """The memory tool over a namespace's pages: pass it to ``client.beta.messages.tool_runner(tools=[…])``.

    ``folder`` is the folder of its pages among the namespace's others, ``corpus`` the name of the followed folder if there are several,
    and ``agent`` the author of the edits. With a ``token`` it writes as a server's login does, within the token's scopes.
    """

    def __init__(
        self,
        namespace: str,
        store: Store | None = None,
        *,
        folder: str = "memories",
        corpus: str | None = None,
        agent: str = "",
        token: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        files = MemoryFiles(store or open_store(), namespace, folder=folder, corpus=corpus, agent=agent, token=token)
        self._commands = _Commands(files)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """List a folder, or return the lines of a file with their numbers."""
        return self._commands.view(command.path, command.view_range)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a page."""
        return self._commands.create(command.path, command.file_text)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file: the page gets its next version."""
        return self._commands.str_replace(command.path, command.old_str, command.new_str)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line of a file: the page gets its next version."""
        return self._commands.insert(command.path, command.insert_line, command.insert_text)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with all its files: each leaves a tombstone."""
        return self._commands.delete(command.path)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or a folder; pages keep their versions."""
        return self._commands.rename(command.old_path, command.new_path)

    def clear_all_memory(self) -> str:
        """Delete all files."""
        return self._commands.clear()


class AsyncAnthropicMemory(BetaAsyncAbstractMemoryTool):
    """The memory tool ``AnthropicMemory`` for the async client; a thread accesses the store."""

    def __init__(
        self,
        namespace: str,
        store: Store | None = None,
        *,
        folder: str = "memories",
        corpus: str | None = None,
        agent: str = "",
        token: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        files = MemoryFiles(store or open_store(), namespace, folder=folder, corpus=corpus, agent=agent, token=token)
        self._commands = _Commands(files)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Run ``AnthropicMemory.view``."""
        return await run_sync(self._commands.view, command.path, command.view_range)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Run ``AnthropicMemory.create``."""
        return await run_sync(self._commands.create, command.path, command.file_text)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Run ``AnthropicMemory.str_replace``."""
        return await run_sync(self._commands.str_replace, command.path, command.old_str, command.new_str)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Run ``AnthropicMemory.insert``."""
        return await run_sync(self._commands.insert, command.path, command.insert_line, command.insert_text)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Run ``AnthropicMemory.delete``."""
        return await run_sync(self._commands.delete, command.path)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Run ``AnthropicMemory.rename``."""
        return await run_sync(self._commands.rename, command.old_path, command.new_path)

    async def clear_all_memory(self) -> str:
        """Run ``AnthropicMemory.clear_all_memory``."""
        return await run_sync(self._commands.clear)


def _name_of(path: str) -> str:
    """Return a path under the root as a name, empty for the root.

    Raises ``ToolError`` for a path that leads elsewhere.
    """
    if path.rstrip("/") == ROOT:
        return ""
    parts = path.removeprefix(f"{ROOT}/").removesuffix("/").split("/")
    wrong = not path.startswith(f"{ROOT}/") or any(part in ("", ".", "..") or part.startswith(".") for part in parts)
    if wrong or "\\" in path or re.search("%[0-9A-Fa-f]{2}", path) or not path.isprintable():
        raise ToolError(f"Error: The path {path[:300]!r} is not within {ROOT}. Paths look like {ROOT}/notes/tides.md")
    return "/".join(parts)


def _file_name(path: str) -> str:
    name = _name_of(path)
    if not name:
        raise ToolError(f"Error: The path {path} is a directory")
    return name


def _with_tool_errors(do: Callable[[], Answer], *, missing: str = "", there: str = "") -> Answer:
    """Return the result of an operation; raise a refusal as ``ToolError``, with the given message if there is one."""
    try:
        return do()
    except NotInCorpus as problem:
        raise ToolError(missing or f"Error: {problem}") from None
    except AlreadyThere as problem:
        raise ToolError(there or f"Error: {problem}") from None
    except Refused as problem:
        raise ToolError(f"Error: {problem}") from None


def _found(path: str, read: Callable[[], Answer]) -> Answer:
    return _with_tool_errors(read, missing=f"The path {path} does not exist. Please provide a valid path.")


def _only_place(path: str, text: str, old: str) -> int:
    """Return the position of a text that occurs exactly once.

    Raises ``ToolError`` if it occurs never or more than once.
    """
    places = [found.start() for found in re.finditer(f"(?={re.escape(old)})", text)] if old else []
    if not places:
        raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if len(places) > 1:
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. Please ensure it is unique"
        )
    return places[0]


def _numbered_page(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = (view_range[0], view_range[1]) if view_range and len(view_range) == 2 else (1, -1)
    last = len(lines) if last == -1 else last
    if not 1 <= first <= len(lines) or last < first:
        raise ToolError(
            f"Error: Invalid `view_range` parameter: {list(view_range or ())}. It should be within the lines of the file: [1, {len(lines)}]"
        )
    return f"Here's the content of {path} with line numbers:\n{_numbered(lines, first, last)}"


def _snippet(text: str, at: int, new: str) -> str:
    lines = text.split("\n")
    first = text.count("\n", 0, at) + 1
    last = first + new.count("\n")
    return _numbered(lines, max(1, first - _AROUND), last + _AROUND)


def _numbered(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines[first - 1 : last], first))


def _listing(path: str, name: str, files: Sequence[MemoryFile]) -> str:
    """List two levels of a folder, with the sizes of files and the total sizes of folders."""
    sizes: dict[str, int] = {}
    for file in files:
        parts = file.name.removeprefix(f"{name}/" if name else "").split("/")
        if "node_modules" in parts:
            continue
        for depth in range(1, min(len(parts), 2) + 1):
            shown = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[shown] = sizes.get(shown, 0) + file.size
    total = sum(file.size for file in files)
    rows: Mapping[str, int] = {path: total} | {f"{path}/{shown}": size for shown, size in sorted(sizes.items())}
    header = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
    )
    return "\n".join([header, *(f"{_human(size)}\t{shown}" for shown, size in rows.items())])


def _human(size: int) -> str:
    """Format a number of bytes as 512B, 5.5K, 1.2M."""
    value, unit = float(size), 0
    while value >= 1024 and unit + 1 < len(_SIZES):
        value, unit = value / 1024, unit + 1
    return f"{value:.0f}{_SIZES[unit]}" if value == int(value) else f"{value:.1f}{_SIZES[unit]}"
