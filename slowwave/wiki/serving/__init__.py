"""The interface for agents over HTTP and MCP, with its tokens.

What a call does is implemented in the package of its subject. This package handles how it is requested.
"""

from __future__ import annotations
