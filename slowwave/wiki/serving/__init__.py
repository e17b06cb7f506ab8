"""What agents reach from outside: HTTP, MCP, tokens. What a call does is its room's; here is how it is asked for."""

from __future__ import annotations
