"""Search: one retriever for agents, probes and benchmarks: candidates, fusion, priors, and what is logged of a recall."""

from __future__ import annotations
