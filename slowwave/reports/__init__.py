"""Reports: what they hold and how they become harmless Markdown."""
