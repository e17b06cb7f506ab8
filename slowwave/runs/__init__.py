"""Runs: the only writer of ``night.runs``. Their states, who holds a namespace, heartbeats, and what people ask of a run under way.

What a run does is no matter of this room: planning belongs to ``slowwave.night.night``, plans to ``slowwave.plans``, writing to
``slowwave.applying``. It rests on the store, the settings and the errors alone.
"""
