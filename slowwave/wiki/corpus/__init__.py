"""Folders of Markdown as documents: reading, frontmatter, chunks, links, sync and export."""

from __future__ import annotations
