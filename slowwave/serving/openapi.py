"""The OpenAPI page, made of the calls and their models, and of the stream."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from slowwave.serving.calls import Call
from slowwave.serving.stream import StreamRequest

_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "type"],
            "properties": {name: {"type": "string"} for name in ("code", "message", "type", "request_id")},
        }
    },
}


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    told = {"content": {"application/json": {"schema": schema}}}
    return {"description": description, **told} if description else told


_FAILED: Final = {"default": _content("Why there is no answer.", {"$ref": "#/components/schemas/Error"})}
_EVENTS: Final = (
    "Events status (what the call status answers, at once and after each change), reindex (memory changed: ask again), error (in the shape "
    "of errors) and done, each with JSON."
)


def openapi(calls: Iterable[Call]) -> dict[str, Any]:
    """OpenAPI 3.1 of ``calls``."""
    calls = tuple(calls)
    every = [StreamRequest, *(model for call in calls for model in (call.request, call.response))]
    models = [(model, "validation") for model in every]
    references, schemas = models_json_schema(models, ref_template="#/components/schemas/{model}")  # pyright: ignore[reportArgumentType]
    defined = schemas.get("$defs", {})
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        paths.setdefault(call.path, {})[call.method.lower()] = {
            "operationId": call.tool,
            "summary": call.description,
            "security": [{"token": [call.scope]}],
            **_asked(call, references[call.request, "validation"], defined),
            "responses": {"200": _content("The answer.", references[call.response, "validation"]), **_FAILED},
        }
    paths["/v1/stream"] = {
        "get": {
            "operationId": "stream",
            "summary": "What changes in this memory, as it happens (server-sent events).",
            "security": [{"token": ["read"]}],
            "parameters": _parameters(references[StreamRequest, "validation"], defined),
            "responses": {
                "200": {"description": _EVENTS, "content": {"text/event-stream": {"schema": {"type": "string"}}}},
                **_FAILED,
            },
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Slowwave", "version": version("slowwave"), "description": "An agent's memory by day."},
        "paths": paths,
        "components": {
            "schemas": {**defined, "Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _asked(call: Call, reference: dict[str, Any], defined: dict[str, Any]) -> dict[str, Any]:
    if call.method == "POST":
        at = [told for told in _parameters(reference, defined, call.at) if told["in"] == "path"]
        return {"requestBody": {"required": True, **_content("", reference)}, **({"parameters": at} if at else {})}
    return {"parameters": _parameters(reference, defined, call.at)}


def _parameters(reference: dict[str, Any], defined: dict[str, Any], at: str = "") -> list[dict[str, Any]]:
    schema = defined[reference["$ref"].rsplit("/", 1)[1]]
    return [
        {
            "name": name,
            "in": "path" if name == at else "query",
            "required": name in schema.get("required", ()),
            "schema": told,
        }
        for name, told in schema.get("properties", {}).items()
    ]
