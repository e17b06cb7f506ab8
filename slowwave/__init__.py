"""Slowwave: the night shift for an agent's memory."""
