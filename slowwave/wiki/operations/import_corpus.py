"""``import_corpus``: the permits of a migration (Dory 4.8).

A folder is not part of a namespace, so a night has nothing to migrate. ``slowwave migrate FOLDER NAMESPACE`` reads the folder and makes
the items (``slowwave.wiki.migration``). This module declares what they may contain: pages of a corpus, and claims of a subject with their
evidence.

A person requests each of these changes by name, so they need no measurement (``slowwave.plans.items``).
"""

from __future__ import annotations

from typing import Final

from slowwave.operations import Inputs, Proposal
from slowwave.plans.report import Report

OPERATION: Final = "import_corpus"


def import_corpus(inputs: Inputs) -> Proposal:
    """Import pages and claims of a folder or an export, as `slowwave migrate` plans them; a night by itself proposes none."""
    headline = (
        "A migration is planned by `slowwave migrate FOLDER NAMESPACE`, which names its folder; a night has none."
    )
    return Proposal((), Report(OPERATION, headline, numbers={"items": 0}))
