"""Folders of Markdown that are worked on in place: their blocks are rows of a bound table, and the files follow the rows."""
