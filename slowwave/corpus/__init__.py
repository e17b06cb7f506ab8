"""Folders of Markdown as documents: reading, frontmatter, chunks, links, sync and export."""
