"""Plans: items, sealing, the gate, the ledger and what an operator sees of them. Nothing here writes memory."""

from __future__ import annotations
