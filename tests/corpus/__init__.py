"""Folders of Markdown and what becomes of them."""
