"""Audits: each reads a snapshot and reports what it finds; none proposes or writes anything.

Each audit is one module with a function of its name. ``OPERATIONS`` declares them without importing them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from slowwave.operations.operation import FIRST, MEMORIES, Operation
from slowwave.operations.options import (
    AbstentionDriftOptions,
    ContradictionsOptions,
    NeighbourGraphOptions,
    OrphansOptions,
)
from slowwave.store.tables import EXPORTED, VECTORS

OPERATIONS: Final[tuple[Operation[Any], ...]] = (
    Operation(
        "abstention_drift",
        "audit",
        "slowwave.operations.audits.abstention_drift:abstention_drift",
        """Check whether the thresholds below which the agent gives no answer still fit the scores of its recalls.

        Set the agent's thresholds with `SLOWWAVE_OPERATIONS__ABSTENTION_DRIFT__MIN_TOP_SCORE` and
        `SLOWWAVE_OPERATIONS__ABSTENTION_DRIFT__COMBINED_THRESHOLD`; the scores come from `memory.log_recall`.
        """,
        reads=("recall_events",),
        after=("tombstones",),
        khora=("chronicle_abstention_drift_report",),
        planted=("abstention drift",),
        options=AbstentionDriftOptions,
    ),
    Operation(
        "census",
        "audit",
        "slowwave.operations.audits.census:census",
        """Count what the namespace holds: rows and live rows by table and type, vectors, recalls, tokens and age.

        The figures are the denominators of every other report. Rows without a vector cause a warning, because a similarity search does not
        find them.
        """,
        reads=(*(table.name for table in EXPORTED), *VECTORS),
        models=("type_census",),
        after=FIRST,
    ),
    Operation(
        "contradictions",
        "audit",
        "slowwave.operations.audits.contradictions:contradictions",
        """Find relationships, facts and memories that cannot both be true.

        They differ in an object, a number, a date, polarity, a property or direction. A description that merely adds something is not a
        contradiction. Each pair becomes a row of `night.conflicts` with the plan. `slowwave conflicts list NAMESPACE` shows them, and
        `slowwave conflicts resolve NAMESPACE CONFLICT --right a` decides one. The planner `resolve_conflicts` proposes which row to retire.
        """,
        reads=(
            *("entities", "entity_aliases", "relationships", "memory_facts"),
            *("memories", "memory_versions", "memory_vectors"),
        ),
        after=("abstention_drift",),
        english=True,
        compares=replace(MEMORIES, alone=False),
        khora=("vectorcypher_contradiction_detect",),
        planted=("contradictions",),
        columns=("a says", "b says"),
        options=ContradictionsOptions,
    ),
    Operation(
        "dead_links",
        "audit",
        "slowwave.operations.audits.dead_links:dead_links",
        """Find links to missing pages, headings or blocks, links from a page to itself, and pages to which nothing links.

        Numbers and findings only; `slowwave corpus link NAMESPACE lint` lists the same at any time. Pages belong to a corpus
        (`slowwave corpus add NAMESPACE FOLDER`).
        """,
        reads=("links", "documents"),
        after=("dead_references",),
    ),
    Operation(
        "dead_references",
        "audit",
        "slowwave.operations.audits.dead_references:dead_references",
        """Find provenance that names missing chunks or documents, and rows that have no vector.

        The report shows how long the reference arrays are and which rows hold the most dead ids. The planner `gc_references` proposes to
        remove them.
        """,
        reads=(
            "entities",
            "relationships",
            "memories",
            "memory_versions",
            "memory_facts",
            "chunks",
            "documents",
            *VECTORS,
        ),
        models=("dead_references",),
        after=("orphans",),
        khora=("vectorcypher_source_chunk_ids_audit",),
    ),
    Operation(
        "decay_due",
        "audit",
        "slowwave.operations.audits.decay_due:decay_due",
        """Count the memories that are due for their next decay stage now, within a week and within a month.

        Pinned memories, shocks, procedures and instructions never decay. The planner `decay_transition` proposes the next stage of the
        memories that are due.
        """,
        reads=("memories", "memory_versions"),
        after=("relative_dates",),
    ),
    Operation(
        "neighbour_graph",
        "audit",
        "slowwave.operations.audits.neighbour_graph:neighbour_graph",
        """Report each memory's nearest neighbours by stored vectors, their similarity, and the memories without a vector.

        `dedupe_memories` merges memories that state the same; `consolidate_clusters` summarizes many memories about one subject.
        """,
        reads=("memories", "memory_versions", "memory_vectors"),
        after=("contradictions",),
        compares=MEMORIES,
        columns=("a says", "b says"),
        options=NeighbourGraphOptions,
    ),
    Operation(
        "orphans",
        "audit",
        "slowwave.operations.audits.orphans:orphans",
        """Find entities with hardly any links that were mentioned at most once and that no recall returned in the window.

        *Isolated* entities have no edge at all; *weak* ones are in the bottom percentile of PageRank, where a mere co-occurrence counts a
        fifth of a named relationship. The audit archives nothing.
        """,
        reads=("relationships",),
        models=("live_entities", "live_relationships", "recall_signals"),
        after=("schema_drift",),
        khora=("vectorcypher_orphan_report",),
        planted=("orphans",),
        options=OrphansOptions,
    ),
    Operation(
        "relative_dates",
        "audit",
        "slowwave.operations.audits.relative_dates:relative_dates",
        """Count memories with relative dates such as "yesterday", by kind, and the dates that cannot be resolved, with the reason.

        Words such as "last week" or "in two days" mean another day each time they are read. The planner `absolutize_dates` proposes to
        write the dates out.
        """,
        reads=("memories", "memory_versions"),
        after=("relevance",),
    ),
    Operation(
        "relevance",
        "audit",
        "slowwave.operations.audits.relevance:relevance",
        """Report what memories are worth: effective importance, which fades with age, and relevance, which comes from use.

        The report shows both per kind and ring, and how many memories do not fade because they are pinned, shocks, procedural or
        instructions. The planner `archive_stale` proposes to archive the memories with the lowest values.
        """,
        reads=("memories", "memory_versions", "recall_events"),
        after=("neighbour_graph",),
    ),
    Operation(
        "safety_scan",
        "audit",
        "slowwave.operations.audits.safety_scan:safety_scan",
        """Find secrets, instructions to models, hidden characters and look-alike words in what recall shows.

        The audit also lists memories without a privacy class. Findings name the row, the rule and the position, never the text. The planner
        `redact_or_quarantine` proposes what to do about memories. A person who has checked a memory may set its attribute `screening` to
        `cleared`.
        """,
        reads=("memories", "memory_versions", "chunks", "entities", "pages"),
        after=("decay_due",),
    ),
    Operation(
        "schema_drift",
        "audit",
        "slowwave.operations.audits.schema_drift:schema_drift",
        """Compare the types in use with those that the namespace declares, and with those of the previous night.

        The report has six lists: new, unused and strongly changed types, of entities and of relationships. Declare the types under
        `expertise` in the namespace's settings. Without a declaration no type is new or unused; without a previous night no type has
        changed.
        """,
        reads=(),
        models=("type_census",),
        after=("census",),
        khora=("vectorcypher_schema_drift_report",),
        planted=("schema drift",),
    ),
    Operation(
        "session_backlog",
        "audit",
        "slowwave.operations.audits.session_backlog:session_backlog",
        """Count the sessions since the last night and those that no summary covers yet, with their size and age.

        Numbers only. The weekly operations start when there are enough new sessions; see the settings whose names begin with `gate_`.
        """,
        reads=("memories", "memory_versions", "documents"),
        after=("safety_scan",),
    ),
    Operation(
        "tombstones",
        "audit",
        "slowwave.operations.audits.tombstones:tombstones",
        """Count retired rows that are still kept, with their age and the names that have the most of them.

        The report says how many are older than `SLOWWAVE_OPERATIONS__PURGE_EXPIRED__RETENTION_DAYS`; the planner `purge_expired` proposes
        to delete those.
        """,
        reads=("memory_facts", "relationships", "entities", "memories", "chunks", "documents"),
        after=("dead_references",),
        khora=("chronicle_tombstone_audit",),
        planted=("tombstones",),
    ),
)
