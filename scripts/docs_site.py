"""A hook of mkdocs: the reference pages of the site, made from the code when it is built, and links that leave ``docs/``.

The command line as typer prints it, the calls of ``slowwave serve`` from its OpenAPI page, and the names of the Python
API. None of them is a file, so none can be out of date.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
_LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {"cli": command_line(), "python": python_names(), "http": http_calls()}
    for name, text in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links that leave the site by their text, and give the wide table of settings the width of the page."""
    if page.file.src_uri == "settings.md":
        page.meta["hide"] = ["toc"]
    return _LINK.sub(lambda link: _within(link, page.file.src_uri), markdown)


def _within(link: re.Match[str], page: str) -> str:
    target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[2]))
    if link[2].startswith(("http:", "https:", "mailto:")) or target.startswith("docs/"):
        return link[0]
    return link[1]


def command_line() -> str:
    """Every command with its arguments and options. Raises ``CalledProcessError`` where typer cannot tell them."""
    told = subprocess.run(
        [sys.executable, "-m", "typer", "slowwave.surfaces.cli.main", "utils", "docs", "--name", "slowwave"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout.replace("# `slowwave`", "# Command line", 1)


def python_names() -> str:
    """Return the page of the names in ``import slowwave``, each with its signature and docstring."""
    import slowwave

    return "# Python\n\n" + "\n".join(f"::: slowwave.{name}\n" for name in slowwave.__all__)


def http_calls() -> str:
    """Return the page of the calls of ``slowwave serve``: their requests and their answers."""
    from slowwave.wiki.serving.calls import CALLS
    from slowwave.wiki.serving.http_app import openapi

    page = openapi(CALLS.values())
    schemas = page["components"]["schemas"]
    lines = [
        "# HTTP",
        "",
        "The calls of `slowwave serve`, as `GET /openapi.json` has them. MCP tools have the same names and fields.",
        "",
    ]
    for path, methods in page["paths"].items():
        for method, call in methods.items():
            lines += [
                f"## {method.upper()} {path}",
                "",
                call["summary"],
                "",
                f"Tool `{call['operationId']}`, scope `{call['security'][0]['token'][0]}`.",
                "",
            ]
            lines += _asked(call, schemas)
            answer = call["responses"]["200"]["content"].get("application/json")
            lines += _fields("Answer", answer["schema"], schemas) if answer else []
    return "\n".join(lines) + "\n"


def _asked(call: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[str]:
    if body := call.get("requestBody"):
        return _fields("Request", body["content"]["application/json"]["schema"], schemas)
    rows = [(told["name"], told["schema"], told["required"]) for told in call.get("parameters", ())]
    return _table("Request", rows)


def _fields(title: str, schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[str]:
    found = schemas[schema["$ref"].rsplit("/", 1)[1]]
    needed = found.get("required", ())
    return _table(title, [(name, told, name in needed) for name, told in found.get("properties", {}).items()])


def _table(title: str, rows: Iterable[tuple[str, Mapping[str, Any], bool]]) -> list[str]:
    lines = [
        f"| `{n}`{' (required)' if needed else ''} | {_type(t)} | {t.get('description', '')} |".replace("\n", " ")
        for n, t, needed in rows
    ]
    return [f"| {title} | Type | |", "| --- | --- | --- |", *lines, ""] if lines else []


def _type(schema: Mapping[str, Any]) -> str:
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(option) for option in options))
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
