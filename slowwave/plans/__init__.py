"""Plans: items, sealing, the gate, the ledger and what is shown to an operator. Nothing here writes memory."""

from __future__ import annotations
