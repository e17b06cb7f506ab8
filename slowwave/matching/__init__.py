"""Matching: who is the same as whom. ``match.match`` is the way in; the steps before it have a module each."""
